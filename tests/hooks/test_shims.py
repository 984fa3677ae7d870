"""The scripts that git runs: short, for any sh, idle without a task, and never in the way of what was there."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from bench import Bench
from gitrepo import ROOT

from git_taskctx.hooks.shims import EVENTS, author, is_shell, shim, with_block, without_block

SHELLS = [shell for shell in ("dash", "bash", "busybox", "ksh", "zsh") if shutil.which(shell)]
ARGUMENTS = {
    "post-checkout": ["old", "new", "1"],
    "post-merge": ["0"],
    "post-rewrite": ["amend"],
    "pre-push": ["origin", "url"],
}
STDIN = {"post-rewrite": "a b\nc d\n", "pre-push": "r1 o1 r2 o2\n"}
RECORD = '#!/bin/sh\necho "$0 $*" >>record\n'


class Trial:
    """A shim in a folder that looks like a worktree, run as git runs it."""

    def __init__(self, event: str, shell: str, folder: Path) -> None:
        self.event, self.shell, self.folder = event, shell, folder
        for name in ("hooks", "hooks.before-taskctx", "bin"):
            (folder / ".git" / name).mkdir(parents=True)
        (folder / ".git" / "hooks" / event).write_bytes(shim(event))
        self.program = folder / ".git" / "bin" / "git-taskctx"
        self.put(
            self.program,
            '#!/bin/sh\n{ echo "$*"; case $2 in post-rewrite | pre-push) cat ;; esac; } >>called\nexit ${CODE-0}\n',
        )

    def put(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def theirs(self, text: str) -> None:
        """Put in a hook that was there before."""
        self.put(self.folder / ".git" / "hooks.before-taskctx" / self.event, text)

    def activate(self) -> None:
        """Make a task active."""
        (self.folder / ".agent-output").mkdir(exist_ok=True)
        (self.folder / ".agent-output" / "active").write_text("TASK-1\n")

    def run(self, *args: str, path: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        words = [self.shell, *(["sh"] if self.shell == "busybox" else [])]
        return subprocess.run(
            [
                shutil.which(words[0]) or words[0],
                *words[1:],
                f".git/hooks/{self.event}",
                *(args or ARGUMENTS.get(self.event, [])),
            ],
            cwd=self.folder,
            env={"PATH": path or f"{self.program.parent}:{os.environ['PATH']}", **env},
            input=STDIN.get(self.event, ""),
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self) -> str | None:
        """Return how we were called, with what we got on stdin."""
        record = self.folder / "called"
        text = record.read_text() if record.exists() else None
        record.unlink(missing_ok=True)
        return text

    @property
    def call(self) -> str:
        """What a call looks like."""
        return " ".join(["hook", self.event, *ARGUMENTS.get(self.event, [])]) + "\n" + STDIN.get(self.event, "")


@pytest.fixture(params=EVENTS)
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Trial:
    """Each shim, in the first sh there is."""
    return Trial(request.param, SHELLS[0], tmp_path)


def test_they_lie_at_the_top_and_are_short() -> None:
    """One file for each hook in `hooks/`, executable, of at most ten lines."""
    files = sorted((ROOT / "hooks").iterdir())
    assert [file.name for file in files] == sorted(EVENTS)
    assert all(os.access(file, os.X_OK) and file.read_bytes().count(b"\n") <= 10 for file in files)
    assert all(author(shim(event), event) == "ours" for event in EVENTS)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("event", EVENTS)
def test_every_sh_reads_them(event: str, shell: str, tmp_path: Path) -> None:
    """In each sh that is here: idle without a task, called with one, with arguments and stdin as git gave them."""
    trial = Trial(event, shell, tmp_path)
    done = trial.run()
    assert (done.returncode, done.stdout, done.stderr, trial.called()) == (0, "", "", None)
    trial.activate()
    done = trial.run()
    assert (done.returncode, done.stdout, done.stderr, trial.called()) == (0, "", "", trial.call)
    trial.theirs('#!/bin/sh\n{ echo "$*"; cat; } >>theirs\n')
    done = trial.run()
    assert (done.returncode, done.stdout, done.stderr, trial.called()) == (0, "", "", trial.call)
    got = " ".join(ARGUMENTS.get(event, [])) + "\n" + STDIN.get(event, "")
    assert (tmp_path / "theirs").read_text() == got


def test_idle_starts_no_process(trial: Trial) -> None:
    """Without a task nothing is looked up on PATH at all: an empty PATH is enough."""
    done = trial.run(path="/nonexistent")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_switched_off(trial: Trial) -> None:
    """With GIT_TASKCTX=0 a task does not matter, and what was there before still runs."""
    trial.activate()
    trial.theirs(RECORD)
    done = trial.run(GIT_TASKCTX="0")
    assert (done.returncode, done.stdout, done.stderr, trial.called()) == (0, "", "", None)
    assert (trial.folder / "record").exists()


def test_every_sign_of_a_task_counts(trial: Trial) -> None:
    """The note in the worktree, and that in the git dir, also by GIT_DIR and by a linked worktree's file."""
    marker = trial.folder / ".git" / "taskctx" / "context"
    marker.parent.mkdir()
    marker.touch()
    trial.run()
    assert trial.called() == trial.call
    elsewhere = trial.folder / "else where" / "taskctx"
    elsewhere.mkdir(parents=True)
    marker.rename(elsewhere / "context")
    trial.run()
    assert trial.called() is None
    trial.run(GIT_DIR="else where")
    assert trial.called() == trial.call
    hooks = trial.folder / ".git"
    hooks.rename(trial.folder / "common")
    (trial.folder / ".git").write_text("gitdir: else where\n")
    (trial.folder / "common" / "worktree").mkdir()
    (trial.folder / "link").symlink_to("common")
    done = subprocess.run(
        ["sh", f"common/hooks/{trial.event}", *ARGUMENTS.get(trial.event, [])],
        cwd=trial.folder,
        env={"PATH": f"{trial.folder}/common/bin:{os.environ['PATH']}"},
        input=STDIN.get(trial.event, ""),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, trial.called()) == (0, "", trial.call)


@pytest.mark.parametrize("event", EVENTS)
def test_an_archive_matters_to_some(event: str, tmp_path: Path) -> None:
    """Where only archived tasks are, hooks that look back at them run: to remind, to carry along, to prove."""
    trial = Trial(event, SHELLS[0], tmp_path)
    (tmp_path / ".agent-output" / "archive").mkdir(parents=True)
    trial.run()
    assert (trial.called() is not None) == (event in {"post-checkout", "post-rewrite", "pre-push"})


def test_checkout_of_files_is_none_of_ours(tmp_path: Path) -> None:
    """post-checkout for files (flag 0) leaves at once, also with a task."""
    trial = Trial("post-checkout", SHELLS[0], tmp_path)
    trial.activate()
    done = trial.run("old", "new", "0")
    assert (done.returncode, trial.called()) == (0, None)


def test_no_program_is_told_in_one_line(trial: Trial) -> None:
    """A missing git-taskctx, and one whose Python is gone: one line of ours, and git goes on."""
    out = "install it again, or leave the task: rm -f .agent-output/active '.git/taskctx/context'"
    line = f"git-taskctx cannot be run, so the task was not looked at: {out}\n"
    trial.activate()
    trial.program.unlink()
    done = trial.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", line)
    trial.put(trial.program, "#!/nonexistent/python\n")
    done = trial.run()
    assert (done.returncode, done.stderr.endswith(line)) == (0, True)


def test_the_program_that_began_the_task_is_run_where_path_lacks_it(trial: Trial) -> None:
    """As in a graphical client: the folder is noted in the git dir, and may hold blanks."""
    folder = trial.folder / "a b"
    folder.mkdir()
    trial.program.rename(folder / "git-taskctx")
    trial.activate()
    (trial.folder / ".git" / "taskctx").mkdir()
    (trial.folder / ".git" / "taskctx" / "program").write_text(f"{folder}\n")
    done = trial.run()
    assert (done.returncode, done.stderr, trial.called()) == (0, "", trial.call)


def test_exit_codes(trial: Trial) -> None:
    """Our no stops git; so does theirs, and where git only tells it, ours runs all the same."""
    trial.activate()
    assert trial.run(CODE="1").returncode == 1
    trial.theirs("#!/bin/sh\nexit 7\n")
    trial.called()
    assert trial.run().returncode == 7
    assert trial.called() == (trial.call if trial.event.startswith("post-") else None)


def test_a_hook_that_was_switched_off_stays_so(trial: Trial) -> None:
    """What was there and was not executable is not run, as git would not."""
    trial.theirs("#!/bin/sh\nexit 7\n")
    (trial.folder / ".git" / "hooks.before-taskctx" / trial.event).chmod(0o644)
    assert trial.run().returncode == 0


@pytest.mark.parametrize("event", ["pre-push", "post-rewrite"])
def test_an_empty_stdin_stays_empty(event: str, tmp_path: Path) -> None:
    """Nothing on stdin is nothing for theirs and for ours: no blank line is made of it."""
    trial = Trial(event, SHELLS[0], tmp_path)
    trial.activate()
    trial.theirs("#!/bin/sh\ncat >theirs\n")
    done = subprocess.run(
        ["sh", f".git/hooks/{event}", *ARGUMENTS[event]],
        cwd=tmp_path,
        env={"PATH": f"{trial.program.parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, (tmp_path / "theirs").read_text()) == (0, "")
    assert trial.called() == trial.call.splitlines(keepends=True)[0]


SCRIPTS = (b"", b"make check", b"make check\n", b"#!/bin/sh\nmake check\nexit 0\n", b"exec make", b"\n\n")


def test_lines_in_a_script_come_and_go() -> None:
    """Our lines in a user's script are put in once, and taken out to the last byte."""
    for event, text in itertools.product(EVENTS, SCRIPTS):
        whole = with_block(text, event)
        assert with_block(whole, event) == whole != text
        assert without_block(whole) == text
        assert author(whole, event) == "block"


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("text", ["true\n", "(exit 3)\n", "exit 3\n", "exec sh -c 'exit 3'", "(exit 3)\nexit\n"])
def test_lines_in_a_script_change_no_result(text: str, code: int, tmp_path: Path) -> None:
    """A script with our lines ends as it did, with ours idle or content; ours can stop it where it would pass."""
    trial = Trial("pre-commit", SHELLS[0], tmp_path)
    script = tmp_path / ".git" / "hooks" / "pre-commit"
    script.write_text(text)
    before = trial.run().returncode
    script.write_bytes(with_block(text.encode(), "pre-commit"))
    assert trial.run().returncode == before
    trial.activate()
    assert trial.run(CODE=str(code)).returncode == (code or before)


def test_what_is_a_shell_script() -> None:
    """Scripts of a shell take our lines; others do not."""
    assert all(map(is_shell, (b"#!/bin/sh\n", b"#!/usr/bin/env bash\n", b"make\n", b"#!/usr/bin/dash -e\n")))
    assert not any(map(is_shell, (b"#!/usr/bin/env python3\n", b"#!/usr/bin/node\n", b"\x7fELF\0")))


def test_git_fires_each_for_real(bench: Bench, tmp_path: Path) -> None:
    """commit, amend, merge, checkout and push call us once each, in the main worktree and in a linked one."""
    bench.ok("install")
    repo = bench.repo
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "-q", os.fspath(linked), "-b", "linked")
    assert bench.called() == []
    for name, top in (("main", repo.path), ("linked", linked)):
        repo.git("branch", f"topic-{name}", cwd=top)
        bench.activate(worktree=top)
        assert bench.commit(cwd=top) == 0
        assert bench.called() == ["pre-commit", "post-commit"]
        repo.git("commit", "-q", "--amend", "--no-verify", "-m", "again", cwd=top)
        assert [line.split(" < ")[0] for line in bench.called()] == ["post-commit", "post-rewrite amend"]
        repo.git("switch", "-q", f"topic-{name}", cwd=top)
        (top / "other.txt").write_text("other\n")
        repo.git("add", "other.txt", cwd=top)
        repo.git("commit", "-q", "-m", "other", cwd=top)
        bench.called()
        repo.git("merge", "-q", "--no-ff", "--no-edit", name, cwd=top)
        assert bench.called() == ["pre-merge-commit", "post-merge 0"]
        repo.git("switch", "-q", "--detach", "HEAD~1", cwd=top)
        assert [line.split()[0] for line in bench.called()] == ["post-checkout"]
    remote = tmp_path / "remote"
    repo.git("init", "-q", "--bare", os.fspath(remote))
    repo.git("push", "-q", os.fspath(remote), "main")
    assert [line.split()[0] for line in bench.called()] == ["pre-push"]
