"""Text for a terminal is cut and broken at its edge; for a pipe it is whole."""

from __future__ import annotations

import pytest

from git_taskctx.report.document import Document
from git_taskctx.report.shell import shell_words


def test_a_sentence_is_broken_between_words_on_a_terminal() -> None:
    """What follows the first line is indented; a word that is too long is left alone, and a pipe gets one line."""
    document = Document().sentence(("yes: ", "ok"), "one two three", " four-and-more-than-fits five")
    assert document.plain() == "yes: one two three four-and-more-than-fits five\n"
    assert document.plain(14) == "yes: one two\n  three\n  four-and-more-than-fits\n  five\n"


@pytest.mark.parametrize("width", range(1, 60))
def test_no_word_is_lost(width: int) -> None:
    """Whatever the width, the words are the same."""
    words = ["began ", ("TASK-1", "bold"), " on main at 0123456789ab (context 0123456789abcdef)"]
    assert Document().sentence(*words).plain(width).split() == Document().sentence(*words).plain().split()


def test_the_last_column_is_cut_on_a_terminal() -> None:
    """Only where the table says so, and never to nothing."""
    rows = [("TASK-1", "a title that is much too long"), ("TASK-2", "short")]
    cut = Document().table(("task", "title"), rows, cut=True)
    assert cut.plain(24) == "task    title\nTASK-1  a title that is…\nTASK-2  short\n"
    assert max(map(len, cut.plain(5).splitlines())) == 8 + 12
    assert cut.plain() == Document().table(("task", "title"), rows).plain(24)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["init", "TASK-1", "--title", "my title"], 'init TASK-1 --title "my title"'),
        (["--note", "cost: $5"], "--note 'cost: $5'"),
        (["--note", 'say "no"'], "--note 'say \"no\"'"),
        (["--note", "it's"], '--note "it\'s"'),
        (["--title", ""], "--title ''"),
        (["a\tb"], "'a\tb'"),
    ],
)
def test_shell_words(words: list[str], line: str) -> None:
    """Double quotes where they are enough, single ones where a shell would read what is between them."""
    assert shell_words(words) == line
