"""Stages that run the vendors' own programs, with a model on loopback: what they print is on record as they said it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from callers import Hooked
from desk import executable
from test_vendors import HERE, QUIET, SEAL, VENDORS, Vendor

from git_taskctx.pipeline.streams import StreamReader

pytestmark = pytest.mark.deep

OPTIONS = {
    "claude": ["--output-format", "stream-json", "--verbose"],
    "codex": ["--json"],
    "gemini": ["--output-format", "stream-json"],
}
"""What docs/pipelines.md says, for each."""


@pytest.mark.parametrize("name", VENDORS)
def test_a_stage_of_a_vendor(name: str, hooked: Hooked, tmp_path: Path) -> None:
    """Its program writes a file, and its last words, session, tokens and cost are in the events and on record."""
    vendor = Vendor(name, hooked, tmp_path, hooks=False)
    plan, log = tmp_path / "plan.json", tmp_path / "log.json"
    plan.write_text(json.dumps([vendor.write("src/new.py"), "It is finished."]))
    env, argv = getattr(vendor, f"_{name}")("gpt-5.5")
    env = {**executable(tmp_path / "bin"), **QUIET, "TMPDIR": os.fspath(tmp_path), **env}
    at = 1 if name == "codex" else 0
    words = [*argv[:at], *OPTIONS[name], *argv[at:]]
    given = [f"{key}={value}" for key, value in env.items()]
    model = [sys.executable, os.fspath(HERE / "vendor_model.py"), name, os.fspath(plan), os.fspath(log)]
    command = ["env", *given, *SEAL, *model, vendor.program, *words]
    stages = f'[run]\nenv = ["*"]\n[stage.implement]\nagent = "implementer"\nrun = {json.dumps(command)}\n'
    hooked.repo.write(".taskctx.toml", stages)
    hooked.repo.commit("a pipeline")
    hooked.begin()
    said = hooked.ends(0, "run", "--format", "json")
    events: list[dict[str, Any]] = [json.loads(line) for line in said.out.splitlines()]
    (ended,) = [one for one in events if one["type"] == "stage-ended"]
    assert (vendor.top / "src/new.py").read_text() == "written\n"
    assert ended["state"] == "done"
    used = ended["usage"]
    assert (used["input_tokens"], used["output_tokens"]) == (2, 2)  # the model counts one of each a turn
    assert (float(used.get("usd", 0)) > 0) is (name == "claude")  # the others say nothing of cost
    reader = StreamReader()
    reader.feed((vendor.top / ".agent-output/tasks/TASK-1/runs/1/stages/implement/1/stdout").read_text())
    reader.close()
    assert reader.last == "It is finished."
    records = {one["type"]: one for one in hooked.ok("log", "--format", "json").document()["data"]}
    assert records["snapshot"]["stage"]["usage"] == used
    assert records["update"]["session_id"] == reader.session
    assert reader.session
