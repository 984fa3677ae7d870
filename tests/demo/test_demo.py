"""The demo tells the truth, leaves nothing behind, and sees and touches nothing of the user's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from gitrepo import ROOT, GitRepo, run_taskctx

EXPECTED = """\
git taskctx demo: three agents, one dirty worktree, every handoff verified
$ git taskctx init TASK-0824
agents: implementer -> reviewer -> validator; implementer is at work
$ git taskctx snapshot --agent implementer
$ git taskctx start --agent reviewer
reviewer owns the tree
$ git taskctx diff --agent implementer
+def total(items, discount=0):
$ git taskctx block --agent reviewer --finding "a discount of 120 gives a negative total"
F1 by reviewer: a discount of 120 gives a negative total
$ git taskctx start --agent implementer
implementer owns the tree (back, round 2)
$ chmod +x test_prices.py
$ git taskctx verify
  notes.txt: added
  prices.py: edited
  test_prices.py: mode changed (100644 to 100755)
(exit code 1)
$ git taskctx start --agent reviewer
(exit code 1)
$ git taskctx restore --agent implementer
restored implementer's snapshot 2; the worktree is exactly that tree
$ git taskctx resolve-drift --note "tried the rounding by hand; put back"
$ git taskctx start --agent reviewer
$ git taskctx unblock --agent reviewer --finding F1
$ git taskctx snapshot --agent reviewer
$ git taskctx diff --agent reviewer
+    def test_bounds(self):
$ git taskctx start --agent validator
$ python3 -m unittest -q
OK
$ git taskctx snapshot --agent validator --done
validated: every agent approved this tree; commit it
$ git taskctx status
validated: every agent approved this tree
$ git taskctx verify
$ git taskctx --task TASK-0824 log --graph
|                                        tried the rounding by hand; put back
""".splitlines()
"""Whole lines, in the order in which they are told."""
OF_A_PIPELINE = """\
git taskctx demo --pipeline: one command from the task to a proved commit
$ git taskctx run
prices  again, since review said no
hint: git taskctx run --approve validate
(exit code 3)
## Handed back by review
$ git taskctx run --approve validate
hint: git add -A && git commit
commit: matches
""".splitlines()
"""The same of the story of a pipeline."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the demo makes its own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", os.fspath(folder))
    return folder


def missing(lines: list[str], expected: list[str]) -> str | None:
    """Return the first expected line that does not come after the ones before it."""
    rest = iter(lines)
    return next((line for line in expected if line not in rest), None)


@pytest.fixture
def hostile(repo: GitRepo, sealed_home: Path) -> dict[str, str]:
    """A git configuration, a template with hooks, and variables of git and Python that would change the story."""
    template = sealed_home / "template"
    (template / "hooks").mkdir(parents=True)
    hook = template / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with (sealed_home / ".gitconfig").open("a") as config:
        config.write(f"[init]\n\ttemplateDir = {template}\n[commit]\n\tgpgSign = true\n[core]\n\thooksPath = /\n")
        config.write("[taskctx]\n\tagents = dev\n[core]\n\tautocrlf = true\n\texcludesFile = ~/ignored\n")
    (sealed_home / "ignored").write_text("*.txt\n")
    return {
        "GIT_DIR": os.fspath(repo.git_dir()),
        "GIT_WORK_TREE": os.fspath(repo.path),
        "GIT_INDEX_FILE": "nowhere",
        "GIT_AUTHOR_NAME": "Somebody Else",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Nobody",
        "GIT_TASKCTX_TASK": "OTHER-1",
        "GIT_TASKCTX_ACTOR": "somebody",
        "LC_ALL": "POSIX",
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "2",
    }


@pytest.mark.parametrize(("words", "expected"), [((), EXPECTED), (("--pipeline",), OF_A_PIPELINE)])
def test_it_tells_the_whole_story_and_leaves_nothing(
    repo: GitRepo,
    temporary: Path,
    sealed_home: Path,
    hostile: dict[str, str],
    words: tuple[str, ...],
    expected: list[str],
) -> None:
    """In a pipe the demo is plain text and ends with 0; nothing of the user reaches it, and nothing of his changes."""
    repo.git("config", "core.hooksPath", "/nonexistent")
    repo.write("mine", "mine\n")
    repo.git("-c", "commit.gpgSign=false", "add", "mine")
    repo.git("-c", "commit.gpgSign=false", "commit", "-q", "-m", "mine")
    repo.write("mine", "mine, edited\n")
    before, home = repo.census(), sorted(map(str, sealed_home.rglob("*")))

    code, out, err = run_taskctx("demo", *words, cwd=repo.path, env=hostile)

    assert (code, err) == (0, ""), out
    assert "\x1b" not in out
    assert missing(out.splitlines(), expected) is None
    assert "bug" not in out
    assert "Somebody Else" not in out
    assert "Nobody" not in out.replace("Nobody is at work", "")
    assert str(temporary) not in out
    assert list(temporary.iterdir()) == []
    assert repo.census() == before
    assert not repo.at(".agent-output").exists()
    assert sorted(map(str, sealed_home.rglob("*"))) == home


def test_in_a_terminal_it_is_in_colour_and_its_repository_may_be_kept(temporary: Path) -> None:
    """With FORCE_COLOR the story is the same in colour; --keep names a repository that our verbs understand."""
    code, out, _ = run_taskctx("demo", "--keep", env={"FORCE_COLOR": "1"})

    plain = re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert code == 0
    assert "\x1b" in out
    assert "\x1b" not in plain
    assert missing(plain.splitlines(), EXPECTED) is None
    assert next(line for line in out.splitlines() if "verified:" in line).startswith("\x1b[1;32m")
    project = Path(plain.splitlines()[-1].removeprefix("the repository is left in "))
    assert project.is_relative_to(temporary)
    code, out, _ = run_taskctx("list", cwd=project)
    assert code == 0
    assert "TASK-0824" in out


def test_a_step_that_ends_otherwise_is_told(temporary: Path, tmp_path: Path) -> None:
    """Where a command does not end as the story expects, the demo says so, ends with 1 and cleans up."""
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "chmod").write_text("#!/bin/sh\nexit 3\n")
    (broken / "chmod").chmod(0o755)

    code, out, _ = run_taskctx("demo", env={"PATH": f"{broken}{os.pathsep}{os.environ['PATH']}"})

    assert code == 1
    assert "error: `chmod +x test_prices.py` ended with 3, and 0 was expected" in out.splitlines()
    assert list(temporary.iterdir()) == []


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    """Without git, or a place for temporary files, the demo says so; that is no bug."""
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    code, _, err = run_taskctx("demo", env={"PATH": os.fspath(nothing)})
    assert (code, err) == (128, "error: cannot run 'git': no such file or directory\n")
    places = {name: os.fspath(tmp_path / "absent") for name in ("TMPDIR", "TEMP", "TMP")}
    script = (
        "import sys, tempfile, git_taskctx.__main__ as door; tempfile._candidate_tempdir_list = lambda: [sys.argv[1]]"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; sys.exit(door.main(['demo']))", places["TMPDIR"]],
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT), **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128
    assert done.stderr.startswith("error: cannot make a temporary folder: ")


def test_an_interrupt_takes_the_folder_away(temporary: Path) -> None:
    """Ctrl-C in the middle ends with 130 and leaves no folder."""
    process = subprocess.Popen(
        [sys.executable, "-m", "git_taskctx", "demo"],
        env={**os.environ, "PYTHONPATH": os.fspath(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "2. the implementer" in line:
            break
    assert list(temporary.iterdir())
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    for _ in range(200):  # a child's child may outlive it for a moment
        if not list(temporary.iterdir()):
            break
        time.sleep(0.05)
    assert process.returncode == 130
    assert list(temporary.iterdir()) == []
