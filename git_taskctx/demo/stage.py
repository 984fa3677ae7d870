"""Where the story is played: a temporary folder with its own home, and processes whose output is shown."""

from __future__ import annotations

import os
import shlex
import site
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TextIO

import git_taskctx
from git_taskctx.errors import Fatal
from git_taskctx.report.document import Document, Span
from git_taskctx.shell import shell_words

GIT_CONFIG = """\
[user]
\tname = You
\temail = you@example.com
[init]
\tdefaultBranch = main
[advice]
\tdetachedHead = false
"""
_PREFIXES = ("GIT_", "LC_", "PYTHON", "XDG_")
_NAMES = frozenset({"BASH_ENV", "CDPATH", "EMAIL", "ENV", "FORCE_COLOR", "HOME", "LANG", "LANGUAGE", "NO_COLOR"})
"""Variables that would let the user's settings in."""


class Mismatch(Exception):
    """An unexpected exit code."""


class Player:
    """Runs and shows the story."""

    def __init__(self, folder: Path, stream: TextIO, *, environ: Mapping[str, str], colour: bool) -> None:
        self.project = folder / "project"
        """The agents' shared worktree."""
        self.actor = "you"
        """Who acts."""
        self._stream, self._colour = stream, colour
        self._last: Literal["blank", "words", "command", "output"] = "blank"
        home = self._home = folder / "home"
        for place in (self.project, home):
            place.mkdir()
        (home / ".gitconfig").write_text(GIT_CONFIG)
        self._environ = _sealed(environ, home, colour=colour)

    # Output

    def title(self, text: str) -> None:
        """Begin a part of the story."""
        self._part()
        self._show(Document().line((f"== {text} ", "bold"), ("=" * max(0, 75 - len(text)), "dim")).line())
        self._last = "blank"

    def say(self, *lines: str) -> None:
        """Explain what happens."""
        self._part()
        document = Document()
        for line in textwrap.wrap(" ".join(lines), _WIDTH - 2, break_long_words=False, break_on_hyphens=False):
            document.line((f"# {line}", "path"))
        self._show(document)
        self._last = "words"

    def line(self, *spans: Span) -> None:
        self._show(Document().line(*spans))
        self._last = "words"

    def wrong(self, text: str) -> None:
        """Report that the story went wrong."""
        self._part()
        document = Document().line(("error: ", "bad"), text)
        self._show(document.line(("hint: ", "warn"), "git taskctx demo --keep   # leaves the repository to look at"))

    def kept(self) -> None:
        """Report where the repository is kept."""
        self._part()
        self._show(Document().line("the repository is left in ", (os.fspath(self.project), "path")))

    # What is done

    def write(self, path: str, text: str) -> None:
        """Write a file of the project, as an agent does."""
        place = self.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def program(self, name: str, text: str) -> None:
        """Put a small Python program on PATH that stands in for a coding agent."""
        place = self._home / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!{sys.executable}\n{text}")
        place.chmod(0o700)
        self._environ["PATH"] = os.pathsep.join((os.fspath(place.parent), self._environ.get("PATH", os.defpath)))

    def quiet(self, *argv: str) -> None:
        """Run a command without showing it. Raises: Mismatch when it fails."""
        self._finish(shlex.join(argv), self._run(argv), 0, show=False)

    def taskctx(self, *args: str, code: int = 0) -> None:
        """Run and show one of our verbs. Raises: Mismatch for another exit code than `code`."""
        self._perform("git taskctx " + shell_words(args), (*_OURS, *args), code, **_SCREEN)

    def shell(self, command: str, *, code: int = 0) -> None:
        """Run and show a line of shell. Raises: Mismatch for another exit code than `code`."""
        self._perform(command, ("sh", "-c", command), code)

    def python(self, *args: str, code: int = 0) -> None:
        """Run and show Python. Raises: Mismatch for another exit code than `code`."""
        self._perform("python3 " + shell_words(args), (sys.executable, *args), code)

    def _perform(self, command: str, argv: Sequence[str], code: int, **variables: str) -> None:
        if self._last == "output":
            self._part()
        self._show(Document().line(("$ ", "dim"), (command, "command")))
        self._last = "command"
        self._finish(command, self._run(argv, **variables), code, show=True)

    def _run(self, argv: Sequence[str], **variables: str) -> subprocess.CompletedProcess[bytes]:
        self._stream.flush()
        try:
            return subprocess.run(
                argv,
                cwd=self.project,
                env={**self._environ, "GIT_TASKCTX_ACTOR": self.actor, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise Fatal(f"cannot run '{argv[0]}': {(error.strerror or '').lower()}") from error

    def _finish(self, command: str, done: subprocess.CompletedProcess[bytes], code: int, *, show: bool) -> None:
        if done.stdout and (show or done.returncode != code):
            self._stream.write(done.stdout.decode("utf-8", "replace"))
            self._last = "output"
        if show and done.returncode:
            self._show(Document().line((f"(exit code {done.returncode})", "dim")))
        if done.returncode != code:
            raise Mismatch(f"`{command}` ended with {done.returncode}, and {code} was expected")

    def _part(self) -> None:
        """Print an empty line, unless the last one is."""
        if self._last != "blank":
            self._show(Document().line())
            self._last = "blank"

    def _show(self, document: Document) -> None:
        document.write(self._stream, colour=self._colour)


_OURS = (sys.executable, "-P", "-m", "git_taskctx")
"""Runs `git taskctx` when it is not on PATH; -P ignores the project's own modules."""


_WIDTH = 80
_SCREEN = {"GIT_PAGER_IN_USE": "true", "COLUMNS": str(_WIDTH)}
"""Makes our verbs print as on a terminal of that width."""


def _sealed(environ: Mapping[str, str], home: Path, *, colour: bool) -> dict[str, str]:
    """Return the environment of every process: the user's, without what steers git, Python or the locale.

    Packages of this Python's user site stay importable though HOME changes.
    """
    sealed = {name: value for name, value in environ.items() if not name.startswith(_PREFIXES) and name not in _NAMES}
    ours = os.fspath(Path(git_taskctx.__file__).resolve().parent.parent)
    python_path = (ours, environ.get("PYTHONPATH", ""))
    sealed |= {name: environ[name] for name in ("PYTHONHOME",) if name in environ}
    return sealed | {
        "HOME": os.fspath(home),
        "XDG_CONFIG_HOME": os.fspath(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.fspath(home / ".gitconfig"),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "LC_ALL": "C",
        "PYTHONUTF8": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, python_path)),
        "PYTHONUSERBASE": site.getuserbase(),
        "FORCE_COLOR" if colour else "NO_COLOR": "1",
    }
