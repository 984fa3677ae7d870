"""What README and docs promise is so: their commands run, their tables are the tool's, their example is the demo's."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo
from verbs import OPTIONS

from git_taskctx import __main__
from git_taskctx.capture.taskfile import check_gates, read_task_file
from git_taskctx.cli.verbs import GROUPS
from git_taskctx.config import flatten
from git_taskctx.config.committed import parse_file
from git_taskctx.errors import TaskctxError
from git_taskctx.model.policy import Policy
from git_taskctx.model.proof import Code
from git_taskctx.report.manual import render_manual, topics_of

PAGES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))}


def section(page: str, title: str) -> str:
    """Return one section of a page."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    assert found is not None, (page, title)
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def git_taskctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git taskctx` on PATH, as installed."""
    program = tmp_path / "bin" / "git-taskctx"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m git_taskctx "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT))


def run(line: str, repo: GitRepo) -> None:
    """Type one line of a page; its comment says with which code it ends, if not with 0."""
    expected = re.search(r"\(exit code (\d+)\)", line)
    done = subprocess.run(["sh", "-c", line], cwd=repo.path, capture_output=True, text=True, check=False)
    assert done.returncode == (int(expected[1]) if expected else 0), f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.usefixtures("git_taskctx")
def test_the_readme(repo: GitRepo, tmp_path: Path) -> None:
    """Every line does what its comment says: a sealed commit, then agents that follow a task, and what CI needs."""
    repo.write("greetings.txt", "hello\n")
    repo.commit()
    for line in "".join(blocks(section("README.md", "Sixty seconds in your own repository"), "sh")).splitlines():
        run(line, repo)
    assert "seal" in repo.git("notes", "--ref=taskctx", "show", "HEAD")
    assert repo.git("status", "--porcelain") == ""
    claude = tmp_path / "bin" / "claude"
    claude.write_text(
        "#!/bin/sh\nset -e\nagent=${GIT_TASKCTX_AGENT:-implementer}\ngit taskctx start --agent $agent\n"
        "echo $agent >>greetings.txt\ngit taskctx snapshot --agent $agent\n"
    )
    claude.chmod(0o755)
    for line in blocks(section("README.md", "With Claude Code, Codex, Gemini CLI or Cursor"), "sh")[0].splitlines():
        run(line, repo)
    assert repo.git("status", "--porcelain").split() == ["M", "greetings.txt"]
    hub = GitRepo.init(tmp_path / "hub.git", "--bare")
    repo.git("remote", "add", "origin", os.fspath(hub.path))
    (push,) = re.findall(r"`(git push origin HEAD && .*?)`", section("README.md", "In CI"))
    run(push, repo)
    run("git taskctx verify HEAD~", hub)


@pytest.mark.usefixtures("git_taskctx")
def test_workflows(repo: GitRepo, tmp_path: Path) -> None:
    """The workflows run as they stand, with an edit where an agent would make one."""
    repo.write("prices.py", "1\n")
    repo.commit()
    handed_back, mended = blocks(section("docs/agents.md", "Implementer, reviewer, validator"), "sh")
    checked = blocks(section("docs/qa.md", "Tests and linters on record"), "sh")
    (alone,) = blocks(section("docs/agents.md", "One agent alone"), "sh")
    accepted, resumed = blocks(section("docs/agents.md", "A human edit in between"), "sh")
    (hooks,) = blocks(section("docs/hooks.md", "Let git ask before each commit"), "sh")
    (agents,) = blocks(section("docs/agents.md", "Claude Code, Codex, Gemini CLI, Cursor"), "sh")

    def type_in(block: str) -> None:
        for line in block.splitlines():
            if "snapshot --agent dev" in line:
                repo.write("prices.py", "dev\n")
            run(line, repo)

    run('git taskctx init TASK-1 --title "discount"', repo)
    repo.write("prices.py", "2\n")
    run("git taskctx snapshot --agent implementer", repo)
    run("git taskctx start --agent reviewer", repo)
    type_in(handed_back)
    repo.write("prices.py", "3\n")
    run("git taskctx snapshot --agent implementer", repo)
    type_in(mended)
    run("git taskctx purge", repo)
    run('git taskctx init TASK-1 --title "checked"', repo)
    log = tmp_path / "qa.log"
    checks = "".join(checked).replace("/tmp/qa.log", os.fspath(log)).splitlines()
    run("\n".join(checks[:2]), repo)
    for line in checks[2:]:
        run(line, repo)
    run("git taskctx purge", repo)
    type_in(agents)
    repo.commit("the agents' files")
    type_in(alone)
    run("git taskctx purge", repo)
    for block in (accepted, resumed):
        run('git taskctx init TASK-3 --title "by hand"', repo)
        repo.write("prices.py", f"{block}\n")
        run("git taskctx snapshot --agent implementer", repo)
        repo.write("prices.py", f"{block}by hand\n")
        type_in(block)
        run("git taskctx purge", repo)
    type_in(hooks)


@pytest.mark.usefixtures("git_taskctx")
def test_a_handoff_to_another_machine(repo: GitRepo, tmp_path: Path) -> None:
    """What is typed there, and here, as it stands: the same dirty tree."""
    there, here = blocks(section("docs/sharing.md", "A handoff to another machine"), "sh")
    repo.write("prices.py", "1\n")
    repo.commit()
    hub = GitRepo.init(tmp_path / "hub.git", "--bare")
    repo.git("remote", "add", "origin", str(hub.path))
    repo.git("push", "-q", "origin", "main")
    hub.git("clone", "-q", str(hub.path), str(tmp_path / "here"))
    other = GitRepo(tmp_path / "here")
    run('git taskctx init TASK-1 --title "discount"', repo)
    repo.write("prices.py", "2\n")
    run("git taskctx snapshot --agent implementer", repo)
    for block, place in ((there, repo), (here, other)):
        for line in block.splitlines():
            run(line, place)
    assert other.oracle() == repo.oracle()


@pytest.mark.usefixtures("git_taskctx")
def test_a_server_that_asks(repo: GitRepo, tmp_path: Path) -> None:
    """The hook for a server lets `main` move to what is proved alone, and leaves other branches be, new ones too."""
    server = GitRepo.init(tmp_path / "server.git", "--bare")
    repo.write("prices.py", "1\n")
    repo.commit()
    repo.git("remote", "add", "origin", os.fspath(server.path))
    repo.git("push", "-q", "origin", "main")
    (line,) = re.findall(r"^  `(while read .*)`$", section("docs/proof.md", "What a proof rests on"), re.MULTILINE)
    server.write("hooks/pre-receive", f"#!/bin/sh\n{line}\n", mode=0o755)
    run('git taskctx init TASK-1 --title "discount" --agents dev', repo)
    repo.write("prices.py", "2\n")
    run("git taskctx snapshot --agent dev --done", repo)
    repo.commit()
    run("git taskctx verify", repo)
    run("git push -q origin main   # (exit code 1)", repo)
    run("git taskctx push origin", repo)
    run("git push -q origin main", repo)
    repo.commit("nobody looked", "--allow-empty")
    run("git push -q origin main   # (exit code 1)", repo)
    run("git push -q origin main:new", repo)
    tree = repo.git("commit-tree", "-m", "work", "-p", "main~2", repo.tree("main~1"))
    repo.git("update-ref", "refs/heads/again", tree)  # validated by its tree, and what is there is dropped
    run("git push -q --force origin again:main   # (exit code 1)", repo)
    grown = repo.git("commit-tree", "-m", "work", "-p", "main~1", repo.tree("main~1"))
    repo.git("push", "-q", "origin", f"{grown}:refs/replace/{tree}")  # says that nothing is dropped
    run("git push -q --force origin again:main   # (exit code 1)", repo)
    assert server.git("rev-parse", "main", "new").split() == [repo.git("rev-parse", "main~1"), repo.head()]


@pytest.mark.usefixtures("git_taskctx")
def test_a_pipeline(repo: GitRepo) -> None:
    """The pipeline that needs no model, also in the manual, runs up to the proved commit; other files are read."""
    real, scripted, *others = blocks(PAGES["docs/pipelines.md"], "toml")
    assert (
        textwrap.indent(scripted, " " * 11)
        in topics_of(render_manual((ROOT / "git_taskctx/share/man/man1/git-taskctx.1").read_text()))["pipelines"]
    )
    assert all(parse_file(one.encode(), "docs/pipelines.md").policy for one in (real, *others))
    repo.write("greetings.txt", "hello\n")
    repo.write(".taskctx.toml", scripted)
    for line in "".join(blocks(section("docs/pipelines.md", "A run"), "sh")).splitlines():
        run(line, repo)
    (answer,) = blocks(PAGES["docs/pipelines.md"], "json")
    assert set(json.loads(answer)) == {"data", "flags", "session", "usage"}


@pytest.mark.usefixtures("git_taskctx")
def test_attestations(repo: GitRepo) -> None:
    """What is typed to export a proof gives a document a line."""
    (block,) = blocks(section("docs/proof.md", "Attestations"), "sh")
    repo.write("prices.py", "1\n")
    repo.commit()
    run('git taskctx init TASK-1 --title "discount" --agents dev', repo)
    repo.write("prices.py", "2\n")
    run("git taskctx snapshot --agent dev --done", repo)
    repo.commit()
    run("git taskctx verify", repo)
    for line in block.splitlines():
        run(line, repo)
    assert [set(json.loads(line)) for line in repo.read("proof.intoto.jsonl").splitlines()] == [
        {"_type", "subject", "predicateType", "predicate"}
    ] * 2


@pytest.mark.usefixtures("git_taskctx")
def test_uninstall_takes_everything_away(repo: GitRepo) -> None:
    """After the last commands nothing of ours is left in a repository."""
    repo.write("prices.py", "1\n")
    repo.commit()
    run('git taskctx init TASK-1 --title "discount"', repo)
    for line in blocks(section("docs/troubleshooting.md", "Uninstall"), "")[1].splitlines():
        run(line, repo)
    refs = repo.git("for-each-ref", "--format=%(refname)").splitlines()
    assert [name for name in refs if "taskctx" in name] == []
    run("git taskctx status", repo)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_exists(page: str) -> None:
    """Whatever a page tells one to type is a verb, with options that it has."""
    for verb, rest in re.findall(r"git taskctx ([a-z][a-z-]*)([^`\n#]*)", PAGES[page]):
        assert verb in OPTIONS, verb
        words = shlex.split(rest.split("&&")[0].replace("'", ""))
        assert {word for word in words if word.startswith("--")} <= set(OPTIONS[verb]), (verb, rest)


def test_tables() -> None:
    """The verbs are those that there are, and the exit codes too, in their order."""

    def codes(error: type[TaskctxError]) -> set[int]:
        return {error.exit_code}.union(*(codes(below) for below in error.__subclasses__()))

    rows = re.findall(r"^\| ([a-z][A-Za-z ]*) \| (`.*`) \|$", section("docs/internals.md", "Verbs"), re.MULTILINE)
    named = {name: re.findall(r"`([a-z-]+)(?: \[?[A-Z]+\]?)?`", verbs) for name, verbs in rows}
    assert {name: set(verbs) for name, verbs in named.items()} == {
        name: {verb.name for verb in verbs} for name, verbs in GROUPS.items()
    }
    told = [int(code) for code in re.findall(r"^\| (\d+) \|", section("docs/internals.md", "Exit codes"), re.MULTILINE)]
    assert told == sorted(codes(TaskctxError) | {0, __main__.INTERRUPTED})


def test_reasons() -> None:
    """The table of a proof's reasons is the tool's own."""
    rows = re.findall(r"^\| (\w+) \| (`.*`) \|$", section("docs/proof.md", "Reasons"), re.MULTILINE)
    told = [(code, weight) for weight, codes in rows for code in re.findall(r"`([a-z-]+)`", codes)]
    assert told == [(code.value, code.weight.value) for code in Code]


def test_configuration() -> None:
    """The example is a policy that is read, and sets each key that it names to something else than the default."""
    example, starship = blocks(PAGES["docs/configuration.md"], "toml")
    assert tomllib.loads(starship)["custom"]["taskctx"]["command"] == "git-taskctx status --short"
    shown, default = flatten(parse_file(example.encode(), "docs/configuration.md").policy), flatten(Policy())
    differing = {key for key in shown if shown[key] != default[key]}
    named = {
        f"{key}.{name}" if isinstance(value, dict) else key
        for key, value in tomllib.loads(example).items()
        for name in (value if isinstance(value, dict) else [""])
    }
    assert named == differing | {"agents"}


@pytest.mark.usefixtures("git_taskctx")
def test_the_prompt(repo: GitRepo) -> None:
    """The recipe for bash shows the task, its owner and what is open, and nothing before a task begins."""
    (recipe,) = blocks(PAGES["docs/configuration.md"], "bash")
    shown = ["bash", "-c", f'PS1=\'$ \'\n{recipe}\neval "$PROMPT_COMMAND"; printf %s "${{PS1@P}}"']

    def prompt() -> str:
        return subprocess.run(shown, cwd=repo.path, capture_output=True, text=True, check=True).stdout

    repo.write("prices.py", "1\n")
    repo.commit()
    assert prompt() == "$ "
    run('git taskctx init TASK-1 --title "discount"', repo)
    assert prompt() == "[TASK-1 implementer] $ "
    repo.write("prices.py", "2\n")
    run("git taskctx snapshot --agent implementer", repo)
    run("git taskctx start --agent reviewer", repo)
    for text in ("wrong", "worse"):
        run(f"git taskctx block --agent reviewer --finding {text}", repo)
    run("git taskctx snapshot --agent reviewer --allow-clean", repo)
    repo.write("notes.txt", "")
    run("git taskctx verify   # (exit code 1)", repo)
    assert prompt() == "[TASK-1 reviewer, 2 findings, 1 drift] $ "
    repo.write(".agent-output/tasks/TASK-1/context.json", "{")
    assert prompt() == "[task context cannot be read] $ "


def test_the_task_file_is_one() -> None:
    """The example of a task file passes the gates, and nothing in it goes unread."""
    (example, *_) = blocks(PAGES["docs/task-files.md"], "yaml")
    task = read_task_file(example.encode(), name="TASK-0824.task.yaml")
    check_gates(task, Policy(), any_status=False, again="")
    assert (task.unknown_keys, task.warnings) == ((), ())


@pytest.mark.parametrize("page", PAGES)
def test_links(page: str) -> None:
    """Every link leads to a file that is here, and to a heading in it; every page is reached from the README."""
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", PAGES[page]):
        path = ((ROOT / page).parent / target).resolve() if target else ROOT / page
        assert path.is_file(), target
        titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
        assert not anchor or anchor in anchors, (target, anchor)
    assert page in ("README.md", "docs/index.md") or f"({page})" in PAGES["README.md"]


def test_the_readme_is_short() -> None:
    """The README is read to its end: everything else stands in docs/."""
    assert len(PAGES["README.md"].encode()) <= 14_000


@pytest.mark.slow
def test_the_example_is_the_demo(capfd: pytest.CaptureFixture[str]) -> None:
    """The first example of the README is what the demo prints, but for the time of the snapshot."""
    example = blocks(PAGES["README.md"], "")[0]
    assert __main__.main(["demo"]) == 0
    shown = re.sub(r" \([0-9T:-]*Z\)", "", capfd.readouterr().out)
    assert example in shown


@pytest.mark.slow
def test_the_run_is_that_of_the_demo(capfd: pytest.CaptureFixture[str]) -> None:
    """The run that the README shows is what the demo of a pipeline prints, but for times, and for what ends first."""
    (example,) = (one for one in blocks(PAGES["README.md"], "") if "taskctx run\n" in one)
    assert __main__.main(["demo", "--pipeline"]) == 0
    shown, example = (re.sub(r"[0-9.]+ s ", "0 s ", text).splitlines() for text in (capfd.readouterr().out, example))
    at = shown.index(example[0])
    assert sorted(shown[at : at + len(example)]) == sorted(example)


def test_the_site_builds(tmp_path: Path) -> None:
    """mkdocs makes a site of the pages without a warning."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", os.fspath(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "proof" / "index.html").is_file()
