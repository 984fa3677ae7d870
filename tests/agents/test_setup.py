"""What `agent-setup` puts into an agent's files, and that every other byte of them stays."""

from __future__ import annotations

import itertools
import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from callers import AGENTS, CONFIGURED, EVENTS, FORMS, Hooked
from desk import executable
from gitrepo import GitRepo
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.agents import marked, setup, wiring
from git_taskctx.agents.dialects import DIALECTS
from git_taskctx.agents.jsontext import parse
from git_taskctx.errors import TryAgain

FILE = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
}
SKILL = {
    "claude": ".claude/skills/git-taskctx/SKILL.md",
    "codex": ".agents/skills/git-taskctx/SKILL.md",
    "gemini": ".gemini/skills/git-taskctx/SKILL.md",
    "cursor": ".cursor/skills/git-taskctx/SKILL.md",
}
TEXTS = [
    "{}", "{}\n", "{ }", "{\n}\n", '{"a":1}', '{"a":1,}\n', '{\n  "a": 1\n}\n', '{\r\n\t"a": 1\r\n}',
    '{\n  // c\n  "a": 1, // note  \n  /* x */\n}\n', '{\n  "a": 1 /* b */  \n}\n',
    '{"hooks": {}}', '{"hooks":{"PreToolUse":[]}}',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"permissions":{"allow":["Bash(git:*)"]}}',
    '\ufeff{"a": "\\u00e9é \\" {"}', '{"version": 1, "hooks": {}}', '{\n  "version": 1\n}\n',
    '{"hooks": {}, "version": 1}',
    '{\n  "version": 1,\n  "hooks": {\n    "afterFileEdit": [{"command": "./fmt"}]\n  }\n}\n',
    '{\n    "hooks": {\n        "PreToolUse": [\n            {"matcher": "Bash", "hooks": []} // last\n        ],\n'
    '        "BeforeTool": [],\n        "stop": [ { "command": "z" } ]\n    },\n    "z": [1,2] /* t */ \n}',
    '{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [ ]\n      },\n    ],\n  },\n}\n',
]  # fmt: skip


def files(top: Path) -> dict[str, bytes]:
    """Return every file of a worktree but git's."""
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


def _holds(text: str, before: str, agent: str) -> None:
    """Check that a text has our hooks, once, and all that was there before."""
    dialect = DIALECTS[agent]
    assert wiring.found(text, dialect, what="f") == wiring.wiring(dialect, None)
    assert wiring.add(text, dialect, None, what="f") == text
    new, old = (parse(one, what="f").plain() for one in (text, before))
    for key, value in old.items():
        if key != "hooks":
            assert new[key] == value
        else:
            for event, entries in value.items():
                assert new[key][event][: len(entries)] == entries


def test_every_layout() -> None:
    """Put in, put in again, put in for another role, taken out: the bytes are those of before."""
    for agent, text in itertools.product(AGENTS, TEXTS):
        dialect = DIALECTS[agent]
        added = wiring.add(text, dialect, None, what="f")
        _holds(added, text, agent)
        other = wiring.add(added, dialect, "reviewer", what="f")
        assert wiring.found(other, dialect, what="f") == wiring.wiring(dialect, "reviewer")
        assert [wiring.remove(one, dialect, what="f") for one in (added, other)] == [text, text]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_form_of_the_hooks(agent: str) -> None:
    """What is put in is in the form that the agent publishes, with nothing besides."""
    for role in (None, "reviewer"):
        jsonschema.validate(wiring.document(DIALECTS[agent], role), CONFIGURED[agent])


_LEAVES: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
_EVENTS = st.sampled_from([*DIALECTS["claude"].events.values(), *DIALECTS["cursor"].events.values(), "Other"])
_HOOKS = st.dictionaries(_EVENTS, st.lists(st.dictionaries(st.sampled_from(["matcher", "hooks"]), _LEAVES), max_size=2))
_DOCUMENTS = st.fixed_dictionaries({}, optional={"a": _LEAVES, "hooks": _HOOKS, "version": st.just(1), "z": _LEAVES})


@given(_DOCUMENTS, st.sampled_from([None, 0, 1, 2, 4, "\t"]), st.sampled_from(["\n", "\r\n"]), st.sampled_from(AGENTS))
def test_any_document(document: Any, indent: Any, newline: str, agent: str) -> None:
    """Whatever stands in a file, in whatever layout: nothing is lost, and it comes back to the byte."""
    text = json.dumps(document, indent=indent).replace("\n", newline)
    added = wiring.add(text, DIALECTS[agent], None, what="f")
    _holds(added, text, agent)
    assert wiring.remove(added, DIALECTS[agent], what="f") == text


@given(st.text(alphabet="a\n #", max_size=12), st.booleans())
def test_any_text_around_the_block(text: str, crlf: bool) -> None:
    """A block behind any text, however that ends, is put in once and taken out to the byte."""
    text = text.replace("\n", "\r\n" if crlf else "\n")
    added = marked.add(text, "one\ntwo", "<b>", "<e>", what="f")
    assert marked.add(added, "one\ntwo", "<b>", "<e>", what="f") == added
    assert added.startswith(text)
    assert marked.remove(added, "<b>", "<e>", what="f") == text
    assert marked.remove(marked.add(added, "three", "<b>", "<e>", what="f"), "<b>", "<e>", what="f") == text


@pytest.mark.parametrize("agent", AGENTS)
def test_from_nothing_and_back(hooked: Hooked, agent: str) -> None:
    """Hooks, skill and block are put in, once; what they say is right; and with --remove nothing of them is left."""
    before = files(hooked.repo.path)
    hooked.ok("agent-setup", agent)
    after = files(hooked.repo.path)
    assert set(after) - set(before) == {FILE[agent], SKILL[agent], "AGENTS.md"}
    config = json.loads(after[FILE[agent]])
    assert json.loads(hooked.ok("agent-setup", agent, "--print").out) == config
    assert set(EVENTS[agent].values()) <= set(config["hooks"])
    assert hooked.ok("agent-setup", agent, "--project").out == f"{agent} is set up already\n"
    assert files(hooked.repo.path) == after
    hooked.ok("agent-setup", agent, "--check")
    hooked.ok("agent-setup", agent, "--remove")
    assert files(hooked.repo.path) == before
    assert not (hooked.repo.path / f".{agent}").exists()
    assert hooked.ok("agent-setup", agent, "--remove").out == f"nothing of git taskctx is in the files of {agent}\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_the_hooks_that_are_put_in_work(hooked: Hooked, agent: str, tmp_path: Path) -> None:
    """The command of the configuration, run by a shell as the agent runs it, denies what it should."""
    hooked.ok("agent-setup", agent)
    hooked.begin()
    entry = json.loads(files(hooked.repo.path)[FILE[agent]])["hooks"][EVENTS[agent]["write"]][0]
    command = (entry if agent == "cursor" else entry["hooks"][0])["command"]
    env = executable(tmp_path)
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=hooked.repo.path,
        env=hooked.environment(env),
        input=json.dumps(hooked.write_payload(agent, "README")).encode(),
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    jsonschema.validate(json.loads(done.stdout), FORMS[agent][EVENTS[agent]["write"]])


def test_all_four_together(hooked: Hooked) -> None:
    """The block of AGENTS.md is shared, and goes with the last of them."""
    hooked.repo.write("AGENTS.md", b"# Ours\r\nno end")
    before = files(hooked.repo.path)
    for agent in AGENTS:
        hooked.ok("agent-setup", agent)
    text = files(hooked.repo.path)["AGENTS.md"]
    assert text.startswith(b"# Ours\r\nno end\r\n\r\n<!-- git-taskctx: begin -->\r\n")
    assert text.count(b"begin -->") == 1
    for agent in AGENTS:
        assert b"begin -->" in files(hooked.repo.path)["AGENTS.md"]
        hooked.ok("agent-setup", agent, "--remove")
    assert files(hooked.repo.path) == before


def test_dry_run(hooked: Hooked) -> None:
    """It shows the change as a diff, and makes none; also of a removal."""
    hooked.repo.write(FILE["claude"], '{\n  "model": "opus" // mine\n}\n')
    before = files(hooked.repo.path)
    out = hooked.ok("agent-setup", "claude", "--dry-run").out
    assert '-  "model": "opus" // mine\n+  "model": "opus", // mine\n+  "hooks": {\n' in out
    assert files(hooked.repo.path) == before
    hooked.ok("agent-setup", "claude")
    between = files(hooked.repo.path)
    assert "+++ /dev/null" in hooked.ok("agent-setup", "claude", "--dry-run", "--remove").out
    assert files(hooked.repo.path) == between


def test_names(hooked: Hooked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are named from the top of the worktree, wherever one stands in it, or from home; elsewhere by all of it."""
    hooked.repo.write("AGENTS.md", "# Ours\n")
    sub = hooked.repo.path / "src"
    out = hooked.ok("agent-setup", "claude", "--dry-run", cwd=sub).out
    assert [line for line in out.splitlines() if line.startswith(("---", "+++"))] == [
        "--- /dev/null", f"+++ b/{SKILL['claude']}", "--- a/AGENTS.md", "+++ b/AGENTS.md",
        "--- /dev/null", f"+++ b/{FILE['claude']}",
    ]  # fmt: skip
    added = f"added {SKILL['claude']}\nchanged AGENTS.md\nadded {FILE['claude']}\n"
    start = "to start it as the reviewer: GIT_TASKCTX_AGENT=reviewer"
    said = hooked.ok("agent-setup", "claude", cwd=sub)
    assert said.out == f"{added}{start} claude\n"
    assert f"git add -- :/{SKILL['claude']} :/AGENTS.md " in said.err
    data = hooked.data("agent-setup", "claude", "--remove")
    assert [one["path"] for one in data["changes"]] == [FILE["claude"], "AGENTS.md", SKILL["claude"]]
    assert "+++ ~/.cursor/hooks.json\n" in hooked.ok("agent-setup", "cursor", "--user", "--dry-run").out
    out = hooked.ok("agent-setup", "cursor", "--user").out
    assert out == f"added ~/{SKILL['cursor']}\nadded ~/{FILE['cursor']}\n{start} cursor-agent\n"
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    out = hooked.ok("agent-setup", "codex", "--user").out
    assert out == f"added ~/{SKILL['codex']}\nadded {tmp_path}/codex/hooks.json\n{start} codex\n"


def test_the_diff_is_one(hooked: Hooked) -> None:
    """What --dry-run shows is a patch: git applies it, and the files are those that the verb itself writes."""
    hooked.repo.write("AGENTS.md", "# Ours\nno end")
    hooked.repo.write(FILE["gemini"], '{"a": "é"}')
    before = files(hooked.repo.path)
    patch = hooked.ok("agent-setup", "gemini", "--dry-run").out
    hooked.ok("agent-setup", "gemini")
    after = files(hooked.repo.path)
    hooked.ok("agent-setup", "gemini", "--remove")
    assert files(hooked.repo.path) == before
    hooked.repo.git("apply", input=patch)
    assert files(hooked.repo.path) == after


def test_hooks_of_an_older_version(hooked: Hooked) -> None:
    """They are told from none, and put right in their place, with what others put beside them."""
    hooked.ok("agent-setup", "claude")
    path = hooked.repo.path / FILE["claude"]
    after = path.read_text()
    path.write_text(after.replace(DIALECTS["claude"].matcher, "Edit|Write"))
    said = hooked.ends(1, "agent-setup", "claude", "--check")
    assert said.out.startswith("Claude Code: hooks of another version\n")
    assert said.err == "hint: git taskctx agent-setup claude\n"
    hooked.ok("agent-setup", "claude")
    assert path.read_text() == after
    hooked.repo.write(".codex/config.toml", '[[hooks.Stop]]\nhooks = [{type = "command", command = "x"}]\n')
    hooked.ok("agent-setup", "codex", "--role", "reviewer")
    toml = hooked.repo.path / ".codex/config.toml"
    hooked.ok("agent-setup", "codex", "--check")
    toml.write_text(toml.read_text().replace(DIALECTS["codex"].matcher, "apply_patch"))
    assert "hooks of another version" in hooked.ends(1, "agent-setup", "codex", "--check").out


def test_two_at_once(hooked: Hooked) -> None:
    """Several at the same time, for all agents, in and out: nobody's part of the shared block is lost."""
    hooked.repo.write("AGENTS.md", "# Ours\n")
    before = files(hooked.repo.path)
    for options in ((), ("--remove",)):
        started = [hooked.begin_process("agent-setup", agent, *options) for agent in (*AGENTS, *AGENTS)]
        for process in started:
            assert process.communicate()[1].count(b"error") == 0
            assert process.returncode == 0
        found = files(hooked.repo.path)
        assert ((set(found) - set(before)) == {*FILE.values(), *SKILL.values()}) is not bool(options)
    assert found == before


def test_an_editor_at_the_same_time(hooked: Hooked) -> None:
    """A file that somebody else changes between reading and writing is not written over."""
    place = setup.place_of(DIALECTS["claude"], hooked.repo.path, user=False)
    hooked.repo.write(FILE["claude"], "{}")
    plan = setup.plan_adding(DIALECTS["claude"], place, None, skill="skill\n", block="block\n")
    hooked.repo.write(FILE["claude"], '{"a": 1}')
    with pytest.raises(TryAgain, match=r"^\.claude/settings\.json has been changed meanwhile$"):
        setup.apply(plan, place)
    assert hooked.repo.read(FILE["claude"]) == b'{"a": 1}'


@pytest.mark.parametrize(
    "text", [b'\xef\xbb\xbfmodel = "m"\r\n[[hooks.Stop]]\r\nhooks = []\r\n', b"[hooks]\nStop = [ { } ]"]
)
def test_a_toml_of_another_kind(hooked: Hooked, text: bytes) -> None:
    """A byte order mark, and line ends of elsewhere, come back; where our block would not read nothing is written."""
    hooked.repo.write(".codex/config.toml", text)
    before = files(hooked.repo.path)
    if text.startswith(b"["):
        assert ".codex/config.toml cannot be read" in hooked.refuses("agent-setup", "codex", code=128)
    else:
        hooked.ok("agent-setup", "codex")
        block = files(hooked.repo.path)[".codex/config.toml"][len(text) :]
        assert block.count(b"\n") == block.count(b"\r\n") > 10
        hooked.ok("agent-setup", "codex", "--check")
        hooked.ok("agent-setup", "codex", "--remove")
    assert files(hooked.repo.path) == before


def test_places_that_cannot_be_written(hooked: Hooked) -> None:
    """A folder that is a file, a link to itself, a FIFO: refused before anything is written."""
    before = files(hooked.repo.path)
    config = hooked.repo.path / FILE["claude"]
    config.parent.mkdir()
    for make in (lambda: config.symlink_to(config.name), lambda: os.mkfifo(config), config.mkdir):
        make()
        hooked.refuses("agent-setup", "claude", code=128)
        assert {name for name in files(hooked.repo.path) if name != FILE["claude"]} == set(before)
        config.rmdir() if config.is_dir() and not config.is_symlink() else config.unlink()
    config.parent.rmdir()
    config.parent.write_text("a file\n")
    hooked.refuses("agent-setup", "claude", code=128)
    assert set(files(hooked.repo.path)) == {*before, ".claude"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_is_read_only(hooked: Hooked) -> None:
    """Where one of the files cannot be written none is."""
    hooked.repo.write(FILE["claude"], "{}")
    before = files(hooked.repo.path)
    (hooked.repo.path / ".claude").chmod(0o500)
    assert "cannot write" in hooked.refuses("agent-setup", "claude", code=128)
    assert files(hooked.repo.path) == before
    (hooked.repo.path / ".claude").chmod(0o700)


def test_for_oneself(hooked: Hooked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --user the files are the user's, outside of any repository, wherever variables and links say they are."""
    home = Path(os.environ["HOME"])
    before = files(home)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    dotfile = home / "dotfiles" / "claude.json"
    dotfile.parent.mkdir()
    dotfile.write_text('{"theme": "dark"}')
    dotfile.chmod(0o600)
    (home / ".claude").mkdir()
    (home / FILE["claude"]).symlink_to(dotfile)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for agent in AGENTS:
        hooked.ok("agent-setup", agent, "--user", cwd=elsewhere)
    assert (tmp_path / "codex" / "hooks.json").exists()
    assert (home / FILE["claude"]).is_symlink()
    assert stat.S_IMODE(dotfile.stat().st_mode) == 0o600
    assert "AGENTS.md" not in files(home)
    for agent in AGENTS:
        hooked.ok("agent-setup", agent, "--check")  # in the project, for whom the user's hooks are enough
        hooked.ok("agent-setup", agent, "--user", "--remove", cwd=elsewhere)
    assert dotfile.read_text() == '{"theme": "dark"}'
    assert set(files(home)) == {*before, "dotfiles/claude.json", FILE["claude"]}
    monkeypatch.delenv("HOME")
    assert "HOME is not set" in hooked.refuses("agent-setup", "gemini", "--user", code=128)


def test_codex_with_hooks_in_its_toml(hooked: Hooked) -> None:
    """Where config.toml has hooks already ours go there, as a marked block, and no second file is made."""
    toml = '# mine\nmodel = "m"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say done"'
    hooked.repo.write(".codex/config.toml", toml)
    before = files(hooked.repo.path)
    hooked.ok("agent-setup", "codex", "--role", "reviewer")
    after = files(hooked.repo.path)
    assert FILE["codex"] not in after
    hooks = tomllib.loads(after[".codex/config.toml"].decode())["hooks"]
    assert [entry["hooks"][0]["command"] for entry in hooks["Stop"]] == [
        "say done",
        "! command -v git-taskctx >/dev/null || git taskctx agent-hook Stop --agent codex --role reviewer",
    ]
    assert set(hooks) == set(DIALECTS["codex"].events.values())
    assert hooked.ok("agent-setup", "codex", "--role", "reviewer").out == "codex is set up already\n"
    hooked.ok("agent-setup", "codex", "--check")
    hooked.ok("agent-setup", "codex", "--remove")
    assert files(hooked.repo.path) == before


def test_what_others_put_beside_ours_stays(hooked: Hooked) -> None:
    """A hook that was added behind ours, in the same list or the same entry, is still there when ours is gone."""
    hooked.ok("agent-setup", "claude")
    path = hooked.repo.path / FILE["claude"]
    document = json.loads(path.read_text())
    mine = {"type": "command", "command": "./mine"}
    document["hooks"]["Stop"].append({"hooks": [mine]})
    document["hooks"]["PreToolUse"][0]["hooks"].insert(0, mine)
    path.write_text(json.dumps(document, indent=4))
    hooked.ok("agent-setup", "claude", "--remove")
    assert json.loads(path.read_text())["hooks"] == {
        "PreToolUse": [{"matcher": DIALECTS["claude"].matcher, "hooks": [mine]}],
        "Stop": [{"hooks": [mine]}],
    }


def test_a_skill_that_was_changed_stays(hooked: Hooked) -> None:
    """Somebody's own words in our skill are neither overwritten nor removed, and that is said."""
    hooked.ok("agent-setup", "claude")
    path = hooked.repo.path / SKILL["claude"]
    path.write_text(path.read_text().replace("Your turn", "My turn"))
    for option in ((), ("--remove",)):
        said = hooked.ok("agent-setup", "claude", *option)
        assert said.err == f"warning: {SKILL['claude']} has been changed by hand and stays as it is\n"
    assert "My turn" in path.read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ".claude/settings.json:1:1: a value is missing: the file ends here"),
        ('{\n  "a": 1\n  "b": 2\n}', ".claude/settings.json:3:3: a comma is missing"),
        ("{} {}", ".claude/settings.json:1:4: the file goes on after its value: remove the rest"),
        ("[]", ".claude/settings.json holds no JSON object"),
        ('{"hooks": []}', ".claude/settings.json: hooks is not an object"),
        ('{"hooks": {"Stop": {}}}', ".claude/settings.json: hooks.Stop is not a list"),
        ("[" * 5000, ".claude/settings.json:1:33: nested more than 32 deep"),
        (b"\xff", ".claude/settings.json is not UTF-8"),
    ],
)
def test_what_cannot_be_changed(hooked: Hooked, text: str | bytes, why: str) -> None:
    """A configuration that does not read is refused where it goes wrong, before anything is written."""
    hooked.repo.write(FILE["claude"], text)
    before = files(hooked.repo.path)
    said = hooked.ends(128, "agent-setup", "claude")
    assert why in said.err
    assert files(hooked.repo.path) == before


def test_half_a_block(hooked: Hooked) -> None:
    """A block with one of its marks gone, or with two of them, is nobody's to guess at."""
    for text in ("<!-- git-taskctx: begin -->\n", "<!-- git-taskctx: end -->\n<!-- git-taskctx: begin -->\n"):
        hooked.repo.write("AGENTS.md", text)
        assert "do not enclose one block" in hooked.refuses("agent-setup", "claude", code=128)


def test_links_out_of_the_worktree(hooked: Hooked, tmp_path: Path) -> None:
    """A repository cannot make us write elsewhere, nor in a git dir; a link to a file of its own is followed."""
    (tmp_path / "victim").mkdir()
    GitRepo.init(hooked.repo.path / "lib")
    for victim in (".git/config", ".git/hooks/pre-push", "lib/.git/config", ".agent-output/active"):
        hooked.repo.symlink("AGENTS.md", victim)
        before = [(path, path.read_bytes()) for path in sorted(hooked.repo.path.rglob("*")) if path.is_file()]
        assert "leads out of the worktree" in hooked.refuses("agent-setup", "cursor", code=128)
        assert before == [(path, path.read_bytes()) for path in sorted(hooked.repo.path.rglob("*")) if path.is_file()]
        hooked.repo.remove("AGENTS.md")
    hooked.repo.symlink(".claude", str(tmp_path / "victim"))
    assert "leads out of the worktree" in hooked.refuses("agent-setup", "claude", code=128)
    assert list((tmp_path / "victim").iterdir()) == []
    hooked.repo.write("CLAUDE.md", "# Ours\n")
    hooked.repo.symlink("AGENTS.md", "CLAUDE.md")
    hooked.ok("agent-setup", "cursor")
    assert "begin -->" in (hooked.repo.path / "CLAUDE.md").read_text()
    hooked.ok("agent-setup", "cursor", "--remove")
    assert (hooked.repo.path / "AGENTS.md").is_symlink()
    assert (hooked.repo.path / "CLAUDE.md").read_text() == "# Ours\n"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_comes_next(hooked: Hooked, agent: str) -> None:
    """The files are to be committed, those that git ignores left out, and how a role is given is said."""
    said = hooked.ok("agent-setup", agent)
    assert f"GIT_TASKCTX_AGENT=reviewer {agent}" in said.out
    (line,) = (line for line in said.err.splitlines() if line.startswith("hint: "))
    hooked.repo.git("config", "user.name", "n")
    subprocess.run(
        ["sh", "-c", line.removeprefix("hint: ")], cwd=hooked.repo.path, env=hooked.environment(), check=True
    )
    assert hooked.repo.git("status", "--porcelain") == ""
    said = hooked.ok("uninstall")
    title = DIALECTS[agent].title
    assert f"hint: git taskctx agent-setup {agent} --remove   # the hooks of {title} are still there\n" in said.err
    hooked.ok("agent-setup", agent, "--remove")
    assert "agent-setup" not in hooked.ok("uninstall").err
    hooked.repo.git("checkout", "-q", "--", ".")
    hooked.repo.git("rm", "-rq", ".")
    hooked.repo.write(".gitignore", "*\n")
    assert "git add" not in hooked.ok("agent-setup", agent).err


@pytest.mark.parametrize("agent", AGENTS)
def test_a_colleague_without_the_program(hooked: Hooked, agent: str) -> None:
    """Hooks that are committed end well and in silence where git-taskctx is not installed."""
    hooked.ok("agent-setup", agent)
    entries = json.loads(files(hooked.repo.path)[FILE[agent]])["hooks"]
    for (entry,) in entries.values():
        command = (entry if agent == "cursor" else entry["hooks"][0])["command"]
        done = subprocess.run(
            ["/bin/sh", "-c", command], env={"PATH": "/nonexistent"}, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_while_a_task_is_active(hooked: Hooked) -> None:
    """Whoever sets an agent up in the middle of a task is told that the files are a change like any other."""
    hooked.begin()
    assert hooked.ok("agent-setup", "claude").err == (
        "warning: a task is active here, and these files are a change of its worktree\n"
    )


def test_what_excludes_each_other(hooked: Hooked) -> None:
    """Two places, or two things to do, are one too many."""
    for options in (("--project", "--user"), ("--print", "--check"), ("--remove", "--check"), ("--dry-run", "--check")):
        said = hooked.refuses("agent-setup", "claude", *options, code=129)
        assert said.startswith(f"error: {options[0]} and {options[1]} cannot be used together\n")
