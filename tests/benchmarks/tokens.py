"""What the prompts of a task cost in tokens, without the context and with it, counted in two ways.

The prompts are those of `seeds/003`, sections 4.1 and 4.2. Without the context each one holds the task file and the
standards whole, and from the reviewer on the diff and the QA logs so far. With it a prompt names the command that gives
the brief. As the seed counts, a prompt is what is pasted into it. An honest reader also counts what the agent then
reads through us: its brief (which holds the cited sections), the diff, the log, and what the commands of its turn
print.

What an agent brings along (its own instructions, the code that it opens) is the same both ways, and is not counted.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Command
from benchmarks.project import QA_LOG, TASK, files_before, files_implemented, files_reviewed, task_text
from benchmarks.shapes import Bench
from benchmarks.standards import Section, sections, standards
from benchmarks.table import render
from git_taskctx.report.brief import BYTES_PER_TOKEN, estimate_tokens

AGENTS = ("implementer", "reviewer", "validator")
ENCODING = "o200k_base"
Count = Callable[[str], int]
_TOLD = {
    "implementer": "Implement the changes as the brief says, and end your turn as it says.",
    "reviewer": "The implementer is done. Review its diff as the brief says, and end your turn as it says.",
    "validator": "The implementer and the reviewer are done. Run the checks as the brief says, and end your turn as it "
    "says.",
}


@dataclass(frozen=True)
class Turn:
    """One agent's turn, both ways."""

    agent: str
    without: str
    """The prompt without the context."""
    prompt: str
    """The prompt with it."""
    brief: str
    read: Mapping[str, str]
    """What it reads besides, by kind."""


@dataclass(frozen=True)
class Row:
    """The tokens of one turn."""

    agent: str
    without: int
    parts: Mapping[str, int]
    """With the context, by kind: the prompt, the brief, and what is read besides."""

    @property
    def pasted(self) -> int:
        """With the context, as the seed counts."""
        return self.parts["prompt"]

    @property
    def honest(self) -> int:
        """With the context, as an honest reader counts."""
        return sum(self.parts.values())


def counter(encoding: str = ENCODING) -> Count:
    """Return how tokens are counted, offline: the vocabulary comes with the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of importlib.resources.open_binary, until Python 3.13
        import bpe_openai

    encode = bpe_openai.get_encoding(encoding).encode_ordinary
    return lambda text: len(encode(text))


def rows_of(turns: Sequence[Turn], count: Count) -> list[Row]:
    """Count every turn, and last all of them together."""
    rows = []
    for turn in turns:
        parts = {"prompt": count(turn.prompt), "brief": count(turn.brief)}
        rows.append(
            Row(turn.agent, count(turn.without), parts | {kind: count(text) for kind, text in turn.read.items()})
        )
    parts = {kind: sum(row.parts[kind] for row in rows) for kind in rows[0].parts}
    return [*rows, Row("together", sum(row.without for row in rows), parts)]


def print_tokens(folder: Path, encoding: str = ENCODING) -> None:
    """Play the task, and print the table and what there is to know about it."""
    story, count = Story(Bench(folder)), counter(encoding)
    turns = story.play()
    rows = rows_of(turns, count)
    texts = standards().values()
    size, cited = sum(len(text.encode()) for text in texts), sum(len(one.text.encode()) for one in story.cited)
    print(
        f"{len(texts)} standards of {size / 1000:.0f} KB, {len(story.cited)} sections cited ({cited / 1000:.0f} KB)\n"
    )
    head = ("tokens", "without", "as the seed counts", "fewer", "as an honest reader counts", "fewer")
    print(render([head, *map(_cells, rows)], _WIDTHS))
    whole = rows[-1]
    told = ", ".join(f"{kind} {tokens:,}" for kind, tokens in whole.parts.items())
    less = count(_joined(texts)) - count(_joined(one.text for one in story.cited))
    print(f"\nwhat an honest reader counts: {told}")
    for name, tokens in (
        ("prompts and briefs alone", whole.parts["prompt"] + whole.parts["brief"]),
        ("the briefs pasted as the prompts, as the seed counts", whole.parts["brief"]),
        ("no context, but only the cited sections pasted", whole.without - len(turns) * less),
    ):
        print(f"{name}: {tokens:,}, {_fewer(tokens, whole)} fewer")
    print(f"\nestimate of one token for {BYTES_PER_TOKEN} bytes, against {encoding}:")
    for name, text in (
        ("briefs", _joined(turn.brief for turn in turns)), ("standards", _joined(texts)), ("task file", task_text()),
        ("diff", turns[-1].read["diff"]),
    ):  # fmt: skip
        real, guess = count(text), estimate_tokens(len(text.encode()))
        print(f"  {name}: {guess:,} for {real:,}, {100 * (guess / real - 1):+.0f} %")


_WIDTHS = (12, 9, 20, 8, 28, 0)


def _cells(row: Row) -> tuple[str, ...]:
    with_context = [f"{row.pasted:,}", _fewer(row.pasted, row), f"{row.honest:,}", _fewer(row.honest, row)]
    return row.agent, f"{row.without:,}", *with_context


def _fewer(tokens: int, row: Row) -> str:
    return f"{100 * (1 - tokens / row.without):.1f} %"


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(texts)


class Story:
    """A task from `init` to the validator's approval, in a real repository, with what each agent gets to read."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._folder = bench.folder / "tokens"
        bench.git(bench.folder, "init", "-q", str(self._folder))
        self._write(files_before())
        bench.git(self._folder, "add", "-A")
        bench.git(self._folder, "commit", "-q", "-m", "base")
        self._taskctx("init", TASK)
        self.cited = self._cited()

    def play(self) -> list[Turn]:
        """Play it, and return the turns."""
        return [
            self._turn("implementer", "", files_implemented()),
            self._turn("reviewer", QA_LOG, files_reviewed()),
            self._turn("validator", QA_LOG * 2, {}, "--done"),
        ]

    def _turn(self, agent: str, logs: str, work: Mapping[str, str], *done: str) -> Turn:
        """Have an agent take its turn: read, write, and record; `logs` are those of the agents before."""
        brief = self._taskctx("get", "--role", agent, "--format", "md")
        printed = self._taskctx("start", "--agent", agent)
        diff = self._taskctx("diff", "--type", "from-base") if logs else ""
        self._write(work)
        if agent == AGENTS[0]:
            (self._folder / "mobile/src/upload/settingsCache.ts").unlink()
        printed += self._taskctx("snapshot", "--agent", agent, *done)
        return Turn(
            agent=agent,
            without=_without(diff, logs),
            prompt=f"Task {TASK}. `git taskctx get --role {agent} --format md` prints your brief.\n\n{_TOLD[agent]}\n",
            brief=brief,
            read={"diff": diff, "logs": logs, "verbs": printed},
        )

    def _cited(self) -> list[Section]:
        """Return the sections that the context cites, by the lines that it names; each must be the one it says."""
        known = {f"{section.file}#{section.slug}": section for section in sections()}
        immutable = json.loads(self._taskctx("get", "--format", "json"))["data"]["immutable"]
        found = []
        for one in immutable["standards_citations"]:
            first, last = (int(line.removeprefix("L")) for line in one["line_span"].split("-"))
            slug = one["section"].removeprefix("#")
            text = "\n".join(standards()[one["file"]].splitlines()[first - 1 : last])
            assert text.strip() == known[f"{one['file']}#{slug}"].text.strip(), one
            found.append(Section(one["file"], slug, first, last, text))
        return found

    def _taskctx(self, *args: str) -> str:
        return self._bench.run(Command(("git", "taskctx", *args), self._folder, self._bench.env)).decode()

    def _write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self._folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def _without(diff: str, logs: str) -> str:
    """Return a prompt without the context; the criteria and the commands are in the task file, and stand there once."""
    parts = [f"Task: {TASK}", f"Description:\n{task_text()}", "Standards:\n" + _joined(standards().values())]
    if logs:
        parts += [f"Changes so far:\n{diff}", f"QA results so far:\n{logs}"]
    return "\n\n".join(parts) + "\n"
