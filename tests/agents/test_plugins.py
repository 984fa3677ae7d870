"""The plug-ins in the repository hold what `agent-setup` puts in, for agents that install them from a marketplace."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from gitrepo import ROOT
from verbs import OPTIONS

import git_taskctx
from git_taskctx.agents import wiring
from git_taskctx.agents.dialects import DIALECTS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PLUGINS = ROOT / "plugins"
HOOKS = {
    "claude": PLUGINS / "git-taskctx" / "hooks" / "hooks.json",
    "codex": PLUGINS / "git-taskctx" / "hooks" / "codex.json",
    "gemini": PLUGINS / "gemini" / "hooks" / "hooks.json",
}
MANIFESTS = (
    PLUGINS / "git-taskctx" / ".claude-plugin" / "plugin.json",
    PLUGINS / "git-taskctx" / ".codex-plugin" / "plugin.json",
    PLUGINS / "gemini" / "gemini-extension.json",
)


def load(path: Path) -> Any:
    """Return a JSON file."""
    return json.loads(path.read_text())


@pytest.mark.parametrize("agent", HOOKS)
def test_the_hooks_are_those_of_agent_setup(agent: str) -> None:
    """Event by event the same commands, so that the plug-in does neither more nor less."""
    assert load(HOOKS[agent]) == wiring.document(DIALECTS[agent], None)


def test_the_skill_is_one() -> None:
    """Every copy is the one that is packaged, and its head is what Agent Skills ask for."""
    skill = (ROOT / "git_taskctx" / "share" / "agents" / "SKILL.md").read_text()
    copies = [*PLUGINS.rglob("SKILL.md"), *(ROOT / ".agents").rglob("SKILL.md")]
    assert [path.read_text() for path in copies] == [skill] * 3
    assert {path.parent.name for path in copies} == {"git-taskctx"}
    head = re.match(r"---\nname: git-taskctx\ndescription: (.{1,1024})\n---\n", skill)
    assert head is not None


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_the_manifests_agree(path: Path) -> None:
    """Name, version and description are the package's, and what a manifest names is there."""
    manifest = load(path)
    wanted = (PROJECT["name"], git_taskctx.__version__, PROJECT["description"])
    assert (manifest["name"], manifest["version"], manifest["description"]) == wanted
    assert manifest.get("repository", PROJECT["urls"]["Homepage"]) == PROJECT["urls"]["Homepage"]
    top = path.parent if path.name == "gemini-extension.json" else path.parent.parent
    named = [manifest[key] for key in ("skills", "hooks") if key in manifest]
    assert all((top / name).exists() for name in named)


def test_the_marketplaces_lead_to_the_plug_in() -> None:
    """Both name it, and lead from the top of the repository to a folder that has the manifest of their agent."""
    (claude,) = load(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    (codex,) = load(ROOT / ".agents" / "plugins" / "marketplace.json")["plugins"]
    assert claude["name"] == codex["name"] == PROJECT["name"]
    assert (ROOT / claude["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert (ROOT / codex["source"]["path"] / ".codex-plugin" / "plugin.json").is_file()


def test_the_commands_name_verbs() -> None:
    """Each command has a description, and what it types are verbs and options that there are."""
    texts = [path.read_text() for path in (PLUGINS / "git-taskctx" / "commands").glob("*.md")]
    assert all(re.match(r"---\ndescription: .+\n", text) for text in texts)
    toml = tomllib.loads((PLUGINS / "gemini" / "commands" / "taskctx" / "status.toml").read_text())
    assert toml["description"]
    found = [match for text in (*texts, toml["prompt"]) for match in re.findall(r"git taskctx ([\w-]+)([^`:}]*)", text)]
    assert found
    for verb, rest in found:
        assert set(re.findall(r"--[\w-]+", rest)) <= set(OPTIONS[verb])
