"""Text for a terminal is cut and broken at its edge; for a pipe it is whole."""

from __future__ import annotations

import io

import pytest

from git_taskctx.report.document import Document
from git_taskctx.shell import shell_words


def on_terminal(document: Document, width: int) -> list[str]:
    """Return what a terminal without colour shows, but for blanks at the ends of lines."""
    stream = io.StringIO()
    document.write(stream, colour=False, width=width)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_sentence_is_broken_between_words_on_a_terminal() -> None:
    """What follows the first line is indented; a word that is too long is left alone, and a pipe gets one line."""
    document = Document().sentence(("yes: ", "ok"), "one two three", " four-and-more-than-fits five")
    assert document.plain() == "yes: one two three four-and-more-than-fits five\n"
    assert on_terminal(document, 14) == ["yes: one two", "  three", "  four-and-more-than-fits", "  five"]


def test_no_word_is_lost() -> None:
    """Whatever the width, the words are the same."""
    for width in range(1, 60):
        words = ["began ", ("TASK-1", "bold"), " on main at 0123456789ab (context 0123456789abcdef)"]
        document = Document().sentence(*words)
        assert " ".join(on_terminal(document, width)).split() == document.plain().split()


def test_a_line_that_may_be_copied_is_never_broken() -> None:
    """The terminal may break it, which does not come along when it is copied."""
    command = "git taskctx resolve-drift --note " + "word " * 40 + "end"
    assert on_terminal(Document().line((command, "command")), 20) == [command]


def test_a_table_fits_the_terminal() -> None:
    """Wide columns go on in the next line, with nothing lost; what may be cut ends at the edge; a pipe gets it all."""
    rows = [("TASK-1", "elsewhere (/a/long/path/to/a/worktree)", "a title that is much too long", "end")]
    whole = "id      state                                   title                          end\n"
    assert Document().table(("id", "state", "title", "end"), rows).plain().startswith(whole)
    assert on_terminal(Document().table(("id", "state", "title", "end"), rows), 60) == [
        "id      state                    title                   end",
        "TASK-1  elsewhere                a title that is much    end",
        "        (/a/long/path/to/a/work  too long",
        "        tree)",
    ]
    rows = [("TASK-1", "a title that is much too long to be shown on a narrow terminal"), ("TASK-2", "日本 short")]
    assert on_terminal(Document().table(("task", "title"), rows, cut=True), 60) == [
        "task    title",
        "TASK-1  a title that is much too long to be shown on a narr…",
        "TASK-2  日本 short",
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["init", "TASK-1", "--title", "my title"], 'init TASK-1 --title "my title"'),
        (["--note", "cost: $5"], "--note 'cost: $5'"),
        (["--note", 'say "no"'], "--note 'say \"no\"'"),
        (["--note", "it's"], '--note "it\'s"'),
        (["--title", ""], "--title ''"),
        (["a\tb"], "$'a\\011b'"),
    ],
)
def test_shell_words(words: list[str], line: str) -> None:
    """Double quotes where they are enough, single ones where a shell would read what is between them."""
    assert shell_words(words) == line
