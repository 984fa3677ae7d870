"""What the briefs save, and that nothing is missing in them: a whole task, in a real repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.project import files_before
from benchmarks.shapes import Bench
from benchmarks.standards import sections, standards
from benchmarks.tokens import AGENTS, Count, Story, Turn, counter, rows_of
from git_taskctx.report.brief import estimate_tokens

FOLDER = Path(__file__).resolve().parent
REQUIRED = (
    "Refactor settings state management", "priority: P1", "area: mobile", "keeps its state in three places",
    "migrates them once", "is refused by the reducer", "One source of truth for settings",
    "nothing else in mobile/ holds a copy of one", "No component reads AsyncStorage",
    "what the upload queue uses for the next file", "each of them, on both platforms", "falls back to its own default",
    "`settings.fallback`", "with its reason, and the reducer refuses", "leaves the state the same object",
    "for a list of 24 rows", "`no-restricted-imports`", "serializability middleware", "30 ms longer",
    "70 % lines and 60 % branches", "Cyclomatic complexity", "No new `any`", "4 KiB gzipped", "Accessibility checks",
    "its strings stay as they are", "Settings of the web application", "remote configuration service", "TASK-0830",
    "mobile/src/store/**", "mobile/src/screens/SettingsScreen.tsx", "mobile/src/upload/**",
    "mobile/src/storage/migrations/**", "mobile/__tests__/settings/**",
)  # fmt: skip
"""What the task demands: its text, every criterion, gate and limit of its scope."""
CHECKS = (
    "lint:fix", "no error and no warning", "typecheck", "qa:static", "-- --coverage", "bundle:size",
    "Install the build of main", "within 100 ms", "Lock a setting", "TalkBack", "ten times on the reference device",
)  # fmt: skip
PLAN = ("zod schema", "one for locking", "memoized", "Register the slice", "Migrate the keys", "settingsCache.ts and")
NEEDS = {
    "implementer": (*CHECKS, *PLAN),
    "reviewer": ("+110 -41", "settingsSlice.ts", "git taskctx diff --type from-base"),
    "validator": (*CHECKS, "+112 -41", "snapshot --agent validator --done"),
}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The task, begun."""
    return Story(Bench(tmp_path_factory.mktemp("tokens")))


@pytest.fixture(scope="module")
def turns(story: Story) -> list[Turn]:
    """The three turns of the task."""
    return story.play()


@pytest.fixture(scope="module")
def count() -> Count:
    """A real tokenizer."""
    return counter()


@pytest.mark.slow
def test_what_the_seed_and_an_honest_reader_count(turns: list[Turn], count: Count) -> None:
    """The three roles together: 90 % fewer tokens as the seed counts; 70 % fewer honestly, cited sections included."""
    *each, together = rows_of(turns, count)
    assert [row.agent for row in each] == list(AGENTS)
    assert together.pasted <= 0.1 * together.without
    assert together.honest <= 0.3 * together.without
    assert set(together.parts) == {"prompt", "brief", "diff", "logs", "verbs"}
    assert 0 not in together.parts.values()


@pytest.mark.slow
def test_nothing_is_missing(story: Story, turns: list[Turn]) -> None:
    """All that the task demands and the role needs is in its brief, with the text of every section that it cites."""
    assert len(story.cited) == 9
    for turn in turns:
        assert [one for one in REQUIRED + NEEDS[turn.agent] if one not in turn.brief] == [], turn.agent
        for section in story.cited:
            assert all(f"      {line}\n" in turn.brief for line in section.text.splitlines() if line.strip())
            assert section.file in turn.brief
            assert f"{section.span} #{section.slug}: " in turn.brief


def test_what_it_is_measured_against() -> None:
    """The standards have the size that the figures are told for, and their sections lie where they are said to lie."""
    texts = standards()
    assert 80_000 <= sum(len(text.encode()) for text in texts.values()) <= 100_000
    assert texts == {path: text for path, text in files_before().items() if path in texts}
    for section in sections():
        lines = texts[section.file].splitlines()[section.first - 1 : section.last]
        assert "\n".join(lines) == section.text
        assert section.text.count("\n## ") == 0


@pytest.mark.slow
def test_the_estimate(turns: list[Turn], count: Count) -> None:
    """Without a tokenizer a token is taken for 4 bytes: that is within a fifth, for briefs, standards and diffs."""
    for text in (*(turn.brief for turn in turns), *standards().values(), turns[-1].read["diff"]):
        real, guess = count(text), estimate_tokens(len(text.encode()))
        assert abs(guess / real - 1) < 0.2


@pytest.mark.slow
def test_the_table() -> None:
    """`--tokens` prints a row for each agent, in two columns, and one for all."""
    done = subprocess.run([sys.executable, os.fspath(FOLDER), "--tokens"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    table = [line.split("  ") for line in done.stdout.splitlines()[2:7]]
    assert [cells[0] for cells in table] == ["tokens", *AGENTS, "together"]
    assert all(line.count(" %") == 2 for line in done.stdout.splitlines()[3:7])
