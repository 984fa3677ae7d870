"""The vendors' own programs call our hooks: headless, with a model on loopback that says what it is told.

They are looked for on PATH, and in the tests' environment: `npm install --prefix "$(python -c 'import sys;
print(sys.prefix)')/node" @anthropic-ai/claude-code @openai/codex @google/gemini-cli`. Tried with Claude Code 2.1.197,
Codex 0.171.0 and Gemini CLI 0.61.0. Cursor's program comes from no registry, so what is known of it is its page. Each
run has a home of its own, a key that is none, and a network in which there is nothing but loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from callers import Hooked
from desk import executable
from gitrepo import ROOT
from test_hook import OUTSIDE, UNRECORDED
from tools import TOOL_PATH

from git_taskctx.agents.dialects import DIALECTS

pytestmark = pytest.mark.deep

HERE = Path(__file__).parent
SEAL = ("unshare", "--map-root-user", "--net")
QUIET = {
    "GEMINI_CLI_TRUST_WORKSPACE": "true", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "TERM": "dumb",
}  # fmt: skip
NOTES = {"command": sys.executable, "args": [os.fspath(HERE / "vendor_tools.py")]}
VENDORS = ("claude", "codex", "gemini")
PLUG_IN = {
    "claude": (
        ("plugin", "validate", "--strict", os.fspath(ROOT)),
        ("plugin", "validate", "--strict", os.fspath(ROOT / "plugins" / "git-taskctx")),
        ("plugin", "marketplace", "add", os.fspath(ROOT)),
        ("plugin", "install", "git-taskctx@git-taskctx"),
    ),
    "codex": (
        ("plugin", "marketplace", "add", os.fspath(ROOT)),
        ("plugin", "add", "git-taskctx@git-taskctx"),
    ),
    "gemini": (
        ("extensions", "validate", os.fspath(ROOT / "plugins" / "gemini")),
        ("extensions", "install", os.fspath(ROOT / "plugins" / "gemini"), "--consent", "--skip-settings"),
    ),
}
"""What each vendor's own program is asked, as docs/agents.md says, with this clone as the marketplace."""


class Vendor:
    """One vendor's program in a worktree whose task is active and whose agent is set up."""

    def __init__(self, name: str, hooked: Hooked, folder: Path, *, plug_in: bool = False, hooks: bool = True) -> None:
        program = shutil.which(name, path=TOOL_PATH)
        if program is None:
            pytest.skip(f"{name} is not on PATH")
        if shutil.which(SEAL[0]) is None or subprocess.run([*SEAL, "true"], check=False).returncode:
            pytest.skip(f"{' '.join(SEAL)} is not possible here, so that nothing would hold {name} from the network")
        self.name, self.hooked, self.folder, self.program = name, hooked, folder, program
        self.top, self.home = hooked.repo.path, Path(os.environ["HOME"])
        self.servers = {"notes": NOTES}
        if plug_in:
            for words in PLUG_IN[name]:
                self.manage(*words)
        elif hooks:
            hooked.ok("agent-setup", name)
        if hooks:
            hooked.begin()

    def manage(self, *words: str) -> None:
        """Run one of the program's own commands, without a model and without a network."""
        env = self.hooked.environment({**executable(self.folder / "bin"), **QUIET})
        argv = [*SEAL, self.program, *words]
        done = subprocess.run(argv, cwd=self.top, env=env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, *turns: Any, model: str = "gpt-5.5") -> list[str]:
        """Run it with a model that says these turns; return all text that the model was sent, a string for each."""
        plan, log = self.folder / "plan.json", self.folder / "log.json"
        plan.write_text(json.dumps(turns))
        env, argv = getattr(self, f"_{self.name}")(model)
        done = subprocess.run(
            [*SEAL, sys.executable, HERE / "vendor_model.py", self.name, plan, log, self.program, *argv],
            cwd=self.top,
            env=self.hooked.environment(
                {**executable(self.folder / "bin"), **QUIET, "TMPDIR": os.fspath(self.folder), **env}
            ),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return ["\n".join(_texts(request)) for request in json.loads(log.read_text())]

    def write(self, path: str) -> list[Any]:
        """Return the turn in which the model writes a file with the program's own tool."""
        whole = os.fspath(self.top / path)
        if self.name == "codex":
            return ["apply_patch", f"*** Begin Patch\n*** Add File: {path}\n+written\n*** End Patch"]
        return ["Write" if self.name == "claude" else "write_file", {"file_path": whole, "content": "written\n"}]

    def serve(self, tool: str, path: str) -> list[Any]:
        """Return the turn in which the model calls a tool of our MCP server."""
        names = {"claude": "mcp__notes__", "codex": "mcp__notes/", "gemini": "mcp_notes_"}
        return [names[self.name] + tool, {"path": os.fspath(self.top / path)}]

    def _claude(self, _: str) -> tuple[dict[str, str], list[str]]:
        config = self.folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": self.servers}))
        env = {
            "ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "MCP_CONNECTION_NONBLOCKING": "false", "MCP_TIMEOUT": "60000", "MCP_CONNECT_TIMEOUT_MS": "60000",
        }  # fmt: skip
        argv = [
            "-p",
            "go",
            "--permission-mode",
            "acceptEdits",
            "--mcp-config",
            os.fspath(config),
            "--strict-mcp-config",
        ]
        return env, [*argv, "--allowedTools", ",".join(f"mcp__{name}" for name in self.servers)]

    def _codex(self, model: str) -> tuple[dict[str, str], list[str]]:
        config = self.home / ".codex" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        plug_ins = config.read_text() if config.exists() else ""
        servers = "".join(
            f"[mcp_servers.{name}]\ncommand = {json.dumps(one['command'])}\nargs = {json.dumps(one['args'])}\n"
            'default_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60\n'
            for name, one in self.servers.items()
        )
        config.write_text(
            f'model_provider = "stub"\nmodel = "{model}"\ncheck_for_update_on_startup = false\n'
            '[analytics]\nenabled = false\n[model_providers.stub]\nname = "stub"\nbase_url = "{url}/v1"\n'
            f'env_key = "STUB_KEY"\nwire_api = "responses"\n[projects."{self.top}"]\ntrust_level = "trusted"\n'
            f"{servers}{plug_ins}"
        )
        url = 'model_providers.stub.base_url="{url}/v1"'
        return {"STUB_KEY": "none"}, [
            "exec",
            "--dangerously-bypass-hook-trust",
            "-s",
            "workspace-write",
            "-c",
            url,
            "go",
        ]

    def _gemini(self, _: str) -> tuple[dict[str, str], list[str]]:
        config = self.home / ".gemini" / "settings.json"
        config.parent.mkdir(exist_ok=True)
        settings = {
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "mcpServers": {"notes": {**NOTES, "trust": True}},
        }
        config.write_text(json.dumps(settings))
        env = {
            "GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none", "GEMINI_TELEMETRY_ENABLED": "false",
        }  # fmt: skip
        return env, ["-p", "go", "--approval-mode", "auto_edit", "-m", "gemini-2.5-flash"]


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


@pytest.fixture(params=VENDORS)
def vendor(request: pytest.FixtureRequest, hooked: Hooked, tmp_path: Path) -> Vendor:
    """Each of the programs."""
    return Vendor(request.param, hooked, tmp_path)


def test_a_session(vendor: Vendor) -> None:
    """The brief is in the first request; a write outside does not happen, and the model is told why; one inside does;
    a stop without a snapshot is sent back once, and the next one ends the session.
    """
    brief = vendor.hooked.ok("get", "--role", "implementer", "--format", "md").out.strip()
    asked = vendor.run(vendor.write("outside.md"), vendor.write("src/new.py"), "finished", "finished all the same")
    assert brief in asked[0]
    assert not (vendor.top / "outside.md").exists()
    assert OUTSIDE.replace("README", "outside.md") in asked[1]
    assert (vendor.top / "src" / "new.py").read_text() == "written\n"
    assert [UNRECORDED in one for one in asked] == [False, False, False, True]


def test_a_session_whose_work_is_on_record(vendor: Vendor) -> None:
    """Who has snapshotted stops at the first word; and who then goes on writing is told that nobody is at work."""
    vendor.hooked.repo.write("src/new.py", "mine\n")
    vendor.hooked.ok("snapshot", "--agent", "implementer")
    asked = vendor.run(vendor.write("src/other.py"), "finished", "never said")
    assert "next: git taskctx start --agent reviewer" in asked[0]
    assert "nobody is at work on TASK-1" in asked[1]
    assert not (vendor.top / "src" / "other.py").exists()
    assert len(asked) == 2


@pytest.mark.parametrize("name", PLUG_IN)
def test_the_plug_in_alone(name: str, hooked: Hooked, tmp_path: Path) -> None:
    """Its vendor's program takes it from the marketplace, and it does what agent-setup would have done."""
    vendor = Vendor(name, hooked, tmp_path, plug_in=True)
    brief = vendor.hooked.ok("get", "--role", "implementer", "--format", "md").out.strip()
    asked = vendor.run(vendor.write("outside.md"), "finished")
    assert asked[0].count(brief) == 1
    assert OUTSIDE.replace("README", "outside.md") in asked[1]
    assert not (vendor.top / "outside.md").exists()


def test_the_plug_in_beside_agent_setup(hooked: Hooked, tmp_path: Path) -> None:
    """Where a repository of its own has the hooks as well, they answer once."""
    vendor = Vendor("claude", hooked, tmp_path, plug_in=True)
    hooked.ok("agent-setup", "claude")
    brief = hooked.ok("get", "--role", "implementer", "--format", "md").out.strip()
    asked = vendor.run("finished")
    assert asked[0].count(brief) == 1


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_our_own_server(name: str, hooked: Hooked, tmp_path: Path) -> None:
    """The program starts `git taskctx mcp`, offers its tools to the model, and hands back what they answer."""
    vendor = Vendor(name, hooked, tmp_path)
    script = f"import sys; sys.path.insert(0, {os.fspath(ROOT)!r}); from git_taskctx.__main__ import run; run()"
    vendor.servers = {"taskctx": {"command": sys.executable, "args": ["-c", script, "mcp"]}}
    call = {"claude": "mcp__taskctx__status", "codex": "mcp__taskctx/status"}[name]
    asked = vendor.run([call, {}], "finished", "finished all the same")
    assert "worktree: in use by implementer" in asked[1]


def test_tools_of_a_server(vendor: Vendor) -> None:
    """A server's tool that writes is held like the program's own, one that reads is not, and of one that may do either
    the model gets a word, where the program hands that on.
    """
    turns = [vendor.serve(tool, "outside.md") for tool in ("write_note", "read_note", "frobnicate")]
    asked = vendor.run(*turns, vendor.serve("write_note", "src/note"), "finished", "finished all the same")
    assert OUTSIDE.replace("README", "outside.md") in asked[1]
    assert not (vendor.top / "outside.md").exists()
    assert "read_note was called" in asked[2]
    assert "frobnicate was called" in asked[3]
    remark = f"whether {'mcp_notes_' if vendor.name == 'gemini' else 'mcp__notes__'}frobnicate writes here is unknown"
    assert (remark in asked[3]) is (vendor.name != "gemini")
    assert (vendor.top / "src" / "note").read_text() == "written\n"


def test_the_forms_that_codex_publishes() -> None:
    """Every answer fits the schema that stands in the program itself."""
    program = shutil.which("codex", path=TOOL_PATH)
    if program is None:
        pytest.skip("codex is not on PATH")
    (binary,) = Path(program).resolve().parents[2].glob("codex-*/vendor/*/bin/codex")
    dialect, data = DIALECTS["codex"], binary.read_bytes()
    answers = {
        "pre-tool-use": [form("PreToolUse", "why") for form in (dialect.deny, dialect.remark) if form is not None],
        "session-start": [dialect.context("SessionStart", "brief")],
        "subagent-start": [dialect.context("SubagentStart", "brief")],
        "stop": [dialect.go_on("Stop", "why")],
        "subagent-stop": [dialect.go_on("SubagentStop", "why")],
    }
    assert len(answers["pre-tool-use"]) == 2
    for name, given in answers.items():
        at = data.index(f'"title": "{name}.command.output"'.encode())
        text = data[data.rindex(b'{\n  "$schema"', 0, at) : at + 10_000].decode("utf-8", "replace")
        schema, _ = json.JSONDecoder().raw_decode(text)
        for answer in given:
            jsonschema.validate(answer, schema)


def test_a_patch_as_a_command(hooked: Hooked, tmp_path: Path) -> None:
    """A model without a tool for patches writes one into a command; Codex applies it itself, where we let it."""
    codex = Vendor("codex", hooked, tmp_path)

    def patch(path: str) -> list[Any]:
        text = f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {path}\n+written\n*** End Patch\nEOF\n"
        return ["exec_command", {"cmd": text}]

    asked = codex.run(patch("outside.md"), patch("src/new.py"), "finished", "all the same", model="unknown")
    assert OUTSIDE.replace("README", "outside.md") in asked[1]
    assert not (codex.top / "outside.md").exists()
    assert (codex.top / "src" / "new.py").read_text() == "written\n"
