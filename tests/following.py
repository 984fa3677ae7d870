"""Every hint that a test sees, typed as it is shown: it must lead on.

The state in which a hint was given is put aside, a copy of it takes its place under the same paths, the line is typed
into a shell there, and the state comes back as it was, inodes and all. What is typed must end with 0, and what showed
it must not show the same again; or it must be refused with another hint.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from desk import Desk, Said, executable, hints_of

_BLANK = re.compile(
    r"(?<![\w./-])(A,B,C|ADDRESS|BASE\.\.HEAD|BRANCH|COMMIT|DIR|FILE|ID|KEYS?|LOG|N|NAME|PATH|PATTERN|RECORD|REF|REMOTE"
    r"|SOMEBODY(?:-ELSE)?|URI|VALUE|WHY|\S*:/PATTERN\S*)(?![\w-])"
)
"""What stands for a word that only the user knows."""
_WAITS = re.compile(r"   # (or )?(once|when) ")
"""A line that is for later: the user has something to do first."""
_LOOKS = re.compile(
    r"git taskctx (config|diff|doctor|evidence|export|fetch|get|help|list|log|push|report|schema|status|verify)\b"
    r"|git taskctx( \S+)? -h\b|cd |git cat-file\b"
    r"|git (fetch|fsck|log|ls-remote|ls-tree|notes|for-each-ref|remote|show-ref|status)\b"
)
"""Lines that change nothing here: they are typed, and what showed them may show them again."""
_ASKS_OTHERS = re.compile(r"git (fetch|fsck|ls-remote|pull|push|stash pop)\b")
"""Lines of git's that may fail for what another machine, or the user, has to do."""


class Follower:
    """Types hints while one test runs."""

    def __init__(self, base: Path, places: Callable[[], list[Path]], marks: Path, *, every: bool) -> None:
        self._base, self._marks, self._every = base, marks, every
        self._places, self._busy = places, False
        """What the test has made; all that a line may change."""

    def follow(self, desk: Desk, argv: Sequence[str], said: Said, cwd: Path | None) -> None:
        """Type what was shown, each line that nobody typed yet in such a place."""
        if self._busy or threading.active_count() > 1 or not any(map(desk.repo.path.is_relative_to, self._places())):
            return
        for line in _lines(said):
            if not line.startswith("git ") or _WAITS.search(line) or _BLANK.search(line.partition("   # ")[0]):
                continue
            if not self._is_new(argv, line):
                continue
            self._busy = True
            try:
                with self._aside(), _on_path(desk):
                    _type(desk, argv, said, line, cwd)
            finally:
                self._busy = False

    def _is_new(self, argv: Sequence[str], line: str) -> bool:
        """Return whether no test of this run has typed such a line after such a verb."""
        if self._every:
            return True
        words = [word for word in line.partition("   # ")[0].split() if re.fullmatch(r"-*[a-z&][a-z&-]*", word)]
        key = hashlib.sha256(f"{argv[:1]}{words}".encode()).hexdigest()
        try:
            os.close(os.open(self._marks / key, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    @contextlib.contextmanager
    def _aside(self) -> Iterator[None]:
        """Let a copy stand in the place of all that this test made."""
        aside = self._base / "aside"
        aside.mkdir()
        made = list(enumerate(self._places()))
        for number, place in made:
            place.rename(aside / str(number))
            subprocess.run(["cp", "-a", "--reflink=auto", aside / str(number), place], check=True)
        try:
            yield
        finally:
            for number, place in made:
                shutil.rmtree(place)
                (aside / str(number)).rename(place)
            aside.rmdir()


@contextlib.contextmanager
def _on_path(desk: Desk) -> Iterator[None]:
    """Let git find git-taskctx, as it does for whoever types."""
    before = os.environ["PATH"]
    os.environ["PATH"] = executable(desk.repo.path.parent / "programs", desk.repo.env.get("PATH"))["PATH"]
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _lines(said: Said) -> list[str]:
    """Return what was shown to be typed, in text or in JSON."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(said.out)["error"]["hint"] or "").splitlines()
    return hints_of(said)


def _type(desk: Desk, argv: Sequence[str], said: Said, line: str, cwd: Path | None) -> None:
    where = f"{' '.join(map(repr, argv))} ended with {said.code} and says:\n  {line}\n"
    desk.repo.run("update-index", "-q", "--refresh")  # a copy has other inodes, and git takes its files for edited
    typed = desk.typed_here(line, cwd=cwd)
    if typed.code != 0:
        further = _lines(typed)
        assert further[:1] != [line], f"{where}which says it again:\n{typed.both}"
        known = (
            _ASKS_OTHERS.match(line) or typed.code in (3, 75) or said.code == 129
        )  # examples stand in what was meant
        assert further or known, f"{where}which ends with {typed.code} and says nothing to type:\n{typed.both}"
    elif said.code in (1, 3, 128) and not _LOOKS.search(line) and not line.startswith(f"git taskctx {argv[0]} "):
        again = desk.run(*argv, cwd=cwd)
        assert again.code == 0 or _lines(again)[:1] != [line], f"{where}which is done, and is said again:\n{again.both}"
