"""Hooks as they are tried: who was called, what stands where, and whether a commit passes."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

from desk import Desk, Said
from gitrepo import ROOT, GitRepo

_STAND_IN = """\
#!/bin/sh
if [ "$1" = hook ]; then
    shift
    case $1 in
    post-rewrite | pre-push) input=$(cat) ;;
    *) input= ;;
    esac
    echo "$*${{input:+ < $input}}" >>'{calls}'
    [ ! -e '{calls}.refuse' ]
    exit
fi
PYTHONPATH='{root}' exec '{python}' -m git_taskctx "$@"
"""
CHECK = """\
#!/bin/sh
echo checked >>"$CHECKS"
[ ! -e "$CHECKS.fail" ]
"""


class Bench:
    """A repository, and the stand-in that its hooks call."""

    def __init__(self, repo: GitRepo, programs: Path) -> None:
        self.repo = repo
        self.calls = programs.parent / "calls"
        self.checks = programs.parent / "checks"
        self.program = programs / "git-taskctx"
        self.program.write_text(_STAND_IN.format(calls=self.calls, python=sys.executable, root=ROOT))
        self.program.chmod(0o755)
        repo.env["CHECKS"] = os.fspath(self.checks)
        self._number = 0

    # Our verbs

    def run(self, *args: str, cwd: Path | None = None) -> Said:
        """Run one of our verbs."""
        return Desk(self.repo).run(*args, cwd=cwd)

    def ok(self, *args: str, cwd: Path | None = None) -> Said:
        """Run one that must end with 0."""
        return Desk(self.repo).ok(*args, cwd=cwd)

    def states(self) -> dict[str, str]:
        """Return the state of each hook, as `doctor` has it."""
        return {one["hook"]: one["state"] for one in self.document("doctor")["hooks"]}

    def document(self, *args: str) -> Any:
        """Return the data of a verb."""
        return self.run(*args, "--format", "json").document()["data"]

    # What is there

    def hooks(self) -> dict[str, tuple[bytes, int]]:
        """Return whatever has to do with hooks, but git's samples: bytes and mode, or where a link leads."""
        found: dict[str, tuple[bytes, int]] = {}
        common = self.repo.common_dir()
        places = [
            common / "config",
            *common.glob("hooks*/**/*"),
            *common.glob("taskctx-hooks*"),
            *common.glob("taskctx-hooks*/*"),
        ]
        tracked = self.repo.git("ls-files", "-z", "-c", "-o").split("\0")[:-1]
        places += [self.repo.at(name) for name in tracked if not name.startswith(".agent-output")]
        for path in places:
            if path.suffix == ".sample" or not os.path.lexists(path):
                continue
            mode = stat.S_IMODE(path.lstat().st_mode)
            name = os.fspath(path.relative_to(self.repo.path))
            found[name] = (
                os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b"",
                mode,
            )
        return found

    def activate(self, *, worktree: Path | None = None) -> None:
        """Make a task active, as far as the shims look."""
        folder = (worktree or self.repo.path) / ".agent-output"
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_text("*\n")
        (folder / "active").write_text("TASK-1\n")

    # Commits

    def commit(self, *, cwd: Path | None = None) -> int:
        """Change a file, stage it and commit; return git's exit code."""
        self._number += 1
        top = cwd or self.repo.path
        (top / "parser.py").write_text(f"{self._number}\n")
        self.repo.git("add", "parser.py", cwd=top)
        done = self.repo.run("commit", "-q", "-m", f"commit {self._number}", cwd=top)
        self.said = os.fsdecode(done.stdout + done.stderr)
        return done.returncode

    def called(self) -> list[str]:
        """Return how we were called since the last time this was asked."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return lines

    def checked(self) -> int:
        """Return how often the user's own check ran since the last time this was asked."""
        lines = self.checks.read_text().splitlines() if self.checks.exists() else []
        self.checks.unlink(missing_ok=True)
        return len(lines)

    def hold_both(self, *, checks: int = 1, cwd: Path | None = None) -> None:
        """Hold that the user's checks and ours both run, and that each of them can stop a commit."""
        self.called(), self.checked()
        assert self.commit(cwd=cwd) == 0, self.said
        assert [name for name in self.called() if name == "pre-commit"] == ["pre-commit"], self.said
        assert self.checked() == checks, self.said
        refusals = [Path(f"{self.checks}.fail"), Path(f"{self.calls}.refuse")]
        for refusal in refusals if checks else refusals[1:]:
            refusal.touch()
            assert self.commit(cwd=cwd) != 0, self.said
            refusal.unlink()
        assert self.commit(cwd=cwd) == 0, self.said
        self.called(), self.checked()

    def hold_theirs_alone(self, *, checks: int = 1) -> None:
        """Hold that the user's checks run, and can stop a commit, and that nothing asks us before it."""
        self.called(), self.checked()
        assert self.commit() == 0, self.said
        assert ("pre-commit" in self.called(), self.checked()) == (False, checks)
        Path(f"{self.checks}.fail").touch()
        assert self.commit() != 0
        Path(f"{self.checks}.fail").unlink()
        self.checked()

    def write_hook(self, name: str, text: str = CHECK, mode: int = 0o755) -> Path:
        """Write a hook of the user's own."""
        path = self.repo.common_dir() / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def twin(self) -> Bench:
        """Return a copy of it all, in which ours is never installed."""
        place = self.program.parent.with_name("twin") / "repo"
        shutil.copytree(self.repo.path, place, symlinks=True)
        programs = place.with_name("programs")
        programs.mkdir(parents=True)
        return Bench(GitRepo(place), programs)
