"""What the command of a stage is given: its words, and its environment."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from git_taskctx.model.payloads import StageRun
from git_taskctx.model.pipeline import Settings, Stage
from git_taskctx.pipeline.processes import MARK
from git_taskctx.runner.frozen import hash_json

ENVIRONMENT = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TERM", "XDG_*",
    "VIRTUAL_ENV", "SSL_CERT_*",
)  # fmt: skip
"""What stages see of the environment where `run.env` does not say."""
_CALLERS = (
    "CLAUDECODE", "CLAUDE_CODE_*", "CODEX_SANDBOX*", "GEMINI_CLI", "CURSOR_*", "GIT_TASKCTX*", "TASKCTX_*",
    "TASK_CONTEXT_PATH", "TRACEPARENT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
)  # fmt: skip
"""What says something of the caller alone: never handed on."""


def environment(environ: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Return what stages see of the environment."""
    allowed = ENVIRONMENT if settings.env is None else settings.env
    return {
        name: value
        for name, value in environ.items()
        if any(fnmatchcase(name, one) for one in allowed) and not any(fnmatchcase(name, one) for one in _CALLERS)
    }


def own_variables(task: str, stage: Stage, stage_run: StageRun, mark: str, top: Path) -> dict[str, str]:
    """Return the variables that are ours; the mark names the attempt."""
    trace, span = hash_json(mark.rsplit("/", 3)[0])[:32], hash_json(mark)[:16]
    agent = {"GIT_TASKCTX_AGENT": stage.agent} if stage.agent is not None else {}
    return {
        **agent,
        "GIT_TASKCTX_TASK": task,
        "GIT_TASKCTX_STAGE": stage_run.stage,
        "TASKCTX_PORT": placeholders(task, top)["port"],
        "TRACEPARENT": f"00-{trace}-{span}-01",
        MARK: mark,
    }


def placeholders(task: str, top: Path) -> dict[str, str]:
    """Return what is filled in; the port is the first of ten that no other tree is likely to have."""
    tree = os.fspath(top)
    port = 20_000 + zlib.crc32(os.fsencode(tree)) % 1000 * 10
    return {"task": task, "tree": tree, "port": str(port), "brief": "", "response": "", "prompt": ""}


def filled(argv: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """Fill in what stands between braces; other braces stay, and nothing is filled in twice."""
    pattern = re.compile(r"\{(" + "|".join(values) + r")\}")
    return [pattern.sub(lambda found: values[found[1]], word) for word in argv]
