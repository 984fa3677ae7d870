"""Real managers of hooks that keep unstaged changes away from what they run, and our gate among it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gated import Gated, Said
from tools import TOOL_PATH

CHECK = """\
[ -z "$SEEN" ] || { cat README parser.py; echo; } >>"$SEEN"
[ ! -e "$SEEN.format" ] || echo formatted >>parser.py
[ ! -e "$SEEN.fail" ]
"""
"""A check of the user's: writes down what it sees, and formats or fails when asked."""
_PRE_COMMIT = """\
repos:
- repo: local
  hooks:
  - {id: check, name: check, language: system, entry: sh check.sh, always_run: true, pass_filenames: false}
  - {id: taskctx, name: taskctx, language: system, entry: git taskctx hook pre-commit, always_run: true,
     pass_filenames: false}
"""
_LEFTHOOK = "pre-commit:\n  commands:\n    check:\n      run: sh check.sh\n      stage_fixed: true\n"
_LINT = '{"*": ["sh check.sh"]}\n'
_LINT_OURS = 'export default {"*": ["sh check.sh", () => "git taskctx hook pre-commit"]}\n'


@dataclass(frozen=True)
class Tool:
    """A tool, its configuration with a check of the user's, and where ours is."""

    name: str
    mark: pytest.MarkDecorator
    files: dict[str, str]
    install: tuple[str, ...]
    ours: tuple[str, ...] | None = None
    """How `git taskctx install` puts ours in; None where the configuration has it."""
    inside: bool = True
    """Whether ours runs while the changes are away, and not after they are back."""
    hides_all: bool = False
    """Whether every unstaged change is put away, and not only what is in staged files too."""
    stages: bool = False
    """Whether what its checks change is staged by it."""
    env: dict[str, str] = field(default_factory=dict)


TOOLS = (
    Tool("pre-commit", pytest.mark.needs_precommit, {".pre-commit-config.yaml": _PRE_COMMIT},
         ("pre-commit", "install"), hides_all=True),
    Tool("prek", pytest.mark.needs_prek, {".pre-commit-config.yaml": _PRE_COMMIT},
         ("prek", "install"), hides_all=True),
    Tool("lefthook", pytest.mark.needs_lefthook, {"lefthook.yml": _LEFTHOOK},
         ("lefthook", "install"), ("--write-tracked",), stages=True),
    Tool("husky", pytest.mark.needs_lint_staged, {".husky/pre-commit": "lint-staged\n", ".lintstagedrc.json": _LINT},
         ("husky",), ("--write-tracked",), inside=False, stages=True),
    Tool("husky-hide", pytest.mark.needs_lint_staged,
         {".husky/pre-commit": "lint-staged --hide-unstaged\n", ".lintstagedrc.json": _LINT},
         ("husky",), ("--write-tracked",), inside=False, hides_all=True, stages=True),
    Tool("lint-staged", pytest.mark.needs_lint_staged,
         {".husky/pre-commit": "lint-staged\n", "lint-staged.config.mjs": _LINT_OURS},
         ("husky",), stages=True),
    Tool("lint-staged-hide", pytest.mark.needs_lint_staged,
         {".husky/pre-commit": "lint-staged --hide-unstaged\n", "lint-staged.config.mjs": _LINT_OURS},
         ("husky",), hides_all=True, stages=True),
)  # fmt: skip


@dataclass
class Around(Gated):
    """A desk whose commits go through one of these tools."""

    tool: Tool
    seen: Path

    def set_up(self) -> None:
        """Commit the tool's configuration, and put it and our gate in."""
        shutil.rmtree(self.repo.common_dir() / "hooks")
        self.repo.env |= {"SEEN": os.fspath(self.seen), "PATH": f"{self.repo.env['PATH']}{os.pathsep}{TOOL_PATH}"}
        self.repo.write("check.sh", CHECK)
        self.repo.write(".gitignore", "lefthook-local.yml\n")
        for name, text in self.tool.files.items():
            self.repo.write(name, text)
        program, *args = self.tool.install
        words = " ".join([f"'{shutil.which(program, path=TOOL_PATH)}'", *args])
        self.passes("-c", f"alias.run-it=!{words}", "run-it")
        if self.tool.ours is not None:
            self.run("install", *self.tool.ours)
        self.repo.add()
        self.repo.git("commit", "-q", "--no-verify", "-m", "checks")
        self.seen.unlink(missing_ok=True)

    def state(self) -> tuple[str, dict[str, bytes | None], str]:
        """Return what is staged and what is not, the files, and the stashes."""
        names = self.repo.git("ls-files", "-z", "-c", "-o", "--exclude-standard").split("\0")[:-1]
        files: dict[str, bytes | None] = {
            name: self.repo.read(name) if self.repo.at(name).is_file() else None for name in names
        }
        staged = self.repo.git("diff", "--cached")
        status = "".join(f"{line}\n" for line in sorted(self.repo.git("status", "--porcelain").splitlines()))
        return (status + staged, files, self.repo.git("stash", "list"))

    def stops(self, *args: str) -> Said:
        """Commit, which must be stopped, and leaves everything as it was."""
        before, head = self.state(), self.repo.head()
        said = self.git("commit", "-q", "-m", "x", *args)
        assert said.code != 0, said.both
        assert self.repo.head() == head
        assert self.state() == before, said.both
        return said

    def stage(self, content: str) -> None:
        """Stage a content of parser.py, and leave the file as it is."""
        blob = self.repo.git("hash-object", "-w", "--stdin", input=content)
        self.repo.git("update-index", "--cacheinfo", f"100644,{blob},parser.py")

    def ask(self, what: str, *, on: bool = True) -> None:
        """Have the check format, or fail, or no longer."""
        flag = Path(f"{self.seen}.{what}")
        flag.touch() if on else flag.unlink()

    def was_asked(self) -> list[str]:
        """Return what the check saw each time, and forget it."""
        found = self.seen.read_text().split("\n\n")[:-1] if self.seen.exists() else []
        self.seen.unlink(missing_ok=True)
        return found
