"""Syntax colours of a diff: a help to the eye, under which not a character is lost, added or moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.report.difflines import FileDiff, Line, LineKind, Room
from git_taskctx.report.document import printable
from git_taskctx.report.syntax import LARGEST, ROOM, colour

KINDS: dict[str, LineKind] = {" ": "same", "+": "added", "-": "deleted", "@": "place", "\\": "same"}
NAMES = ("a.py", "a.js", "a.html", "a.md", "a.rs", "a.yml", "Makefile", '"\\303\\244.c"', "a.txt", "a.unknown", "")
CODE = "def f(x): # \"''' */ <a b='c'> {{ }} `\\"
LINES = st.lists(
    st.tuples(st.sampled_from(" +-@\\"), st.text(max_size=8) | st.text(CODE, max_size=30)).map("".join), max_size=12
).map(lambda texts: [text.replace("\n", "\r") for text in texts])


def coloured(path: str, texts: list[str], *, room: int = ROOM) -> list[Line]:
    """Return the lines of a file's diff with their colours."""
    lines = [Line(KINDS[text[0]], text) for text in texts]
    colour(FileDiff(path, lines=lines), Room(room))
    return lines


@given(st.sampled_from(NAMES), LINES)
def test_nothing_is_lost(path: str, texts: list[str]) -> None:
    """The pieces of a line are its text, without the sign, as a page shows it; a line of places has none."""
    for line in coloured(path, texts):
        assert "".join(text for _, text in line.pieces) in ("", printable(line.text[1:]))
        assert not (line.pieces and line.kind == "place")


def test_both_sides_are_read() -> None:
    """Each side is read as a text of its own: a comment of several lines that only one side has ends there."""
    lines = coloured("a.c", ["@@ -1,2 +1,3 @@", "-/* old", "-   on */", "+int new = 1;\r", " return 0;"])
    assert [line.pieces for line in lines] == [
        (),
        (("com", "/* old"),),
        (("com", "   on */"),),
        (("key", "int"), ("", " new = "), ("num", "1"), ("", ";\\x0d")),
        (("key", "return"), ("", " "), ("num", "0"), ("", ";")),
    ]


def test_what_is_not_coloured() -> None:
    """A name without a language, a hunk that is too large, and what there is no room for stay plain."""
    code = ["@@ -1 +1 @@", "+return 1"]
    assert coloured("a.py", code)[1].pieces[0] == ("key", "return")
    assert coloured("a.unknown", code)[1].pieces == ()
    assert coloured("a.py", code, room=100)[1].pieces == ()
    large = coloured("a.py", ["@@ -1 +1 @@", "+" + "1" * LARGEST, *code])
    assert [bool(line.pieces) for line in large] == [False, False, False, True]
