"""A task as one self-contained page: no script, no network, the same bytes for the same input.

Text from a repository is escaped by jinja2, and `printable` makes control characters visible.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from git_taskctx import __version__
from git_taskctx.model.payloads import Drift, DriftCause
from git_taskctx.model.values import dataclass
from git_taskctx.report import syntax
from git_taskctx.report.difflines import FILE_LINES, FileDiff, Line, Room, files_of
from git_taskctx.report.document import printable
from git_taskctx.report.history import cost_of, event_of, notes_of, stage_of
from git_taskctx.report.proofs import HOW, STYLE
from git_taskctx.report.quality import WORDS
from git_taskctx.report.text import OUTCOME_STYLE, word_of
from git_taskctx.report.turns import last_approval

if TYPE_CHECKING:
    import jinja2

    from git_taskctx.model.context import Context
    from git_taskctx.model.record import Record
    from git_taskctx.report.account import Account
    from git_taskctx.report.turns import Turn, TurnStep

MARK = b"<!doctype html>\n<!-- git taskctx report, version 1 -->\n"
"""How every page begins; no other file is replaced unasked."""
LIMIT = 32 * 1024 * 1024
"""Maximum bytes of a page."""
DIFF_ROOM = 6 * 1024 * 1024
"""Maximum number of characters of diffs that are on a page."""
RECORDS = 500
"""Maximum number of records on a page, first and last ones, and of other things of each kind."""
CAUSES = 50
"""Maximum number of causes of drift that are named, and of characters of a text that are shown."""
TEXT = 8192
_FIRST = 50


@dataclass(frozen=True)
class _Change:
    """A step as the page shows it."""

    agent: str
    turn: int
    round: int
    step: TurnStep
    stat: str
    files: Sequence[FileDiff] | None
    """None where they are unknown, or not shown."""
    is_cut: bool = False
    """True where the diff is longer than what is kept of it."""
    is_gap: bool = False
    """True where they are unknown."""


def render_page(account: Account) -> bytes:
    """Return the whole page."""
    task = account.context.immutable.task_snapshot if account.context is not None else None
    shown, left_out = _shown(account.records)
    room = Room(DIFF_ROOM)
    changes = _changes(account, room)
    text = _template().render(
        room=Room(LIMIT // 4 - (DIFF_ROOM - room.left)),
        account=account,
        task=task,
        title=task.title if task is not None else account.task,
        titled=account.context is not None and _is_titled(account.context),
        acted=lambda agent: _actors_of(account, agent),
        word=_word(account),
        version=__version__,
        turns=_turns(account, shown),
        shown=frozenset(record.seq for record in shown),
        left_out=left_out,
        changes=changes,
        changed={change.turn for change in changes},
        approval=last_approval(account.turns),
        files=_files(changes),
        signed=any(record.signature for record in account.records),
        places=tuple(dict.fromkeys(map(place_of, account.records))),
        place_of=place_of,
        most=RECORDS,
        file_lines=FILE_LINES,
        words=WORDS,
        event_of=event_of,
        notes_of=notes_of,
        stage_of=stage_of,
        cost=cost_of(account.records),
        causes_of=causes_of,
    )
    return MARK + text.encode("utf-8")


def _is_titled(context: Context) -> bool:
    """Return whether a title is all that was captured of the task."""
    block, task = context.immutable, context.immutable.task_snapshot
    lists = (task.acceptance_criteria, task.quality_gates, task.scope_in, task.scope_out, task.plan)
    return not (task.description or task.outcome or any(lists) or block.scope_patterns or block.standards_citations)


def _actors_of(account: Account, agent: str) -> tuple[str, ...]:
    """Return who acted as an agent, in the order in which they first did; of one that did nothing, who has its seat."""
    own = (one for one in account.records if one.agent == agent and not getattr(one.payload, "accepted", False))
    acted = (one.actor for one in own if one.type in ("start", "snapshot"))
    seat = account.chain.seats[agent].actor if account.chain is not None else None
    return tuple(dict.fromkeys(acted)) or ((seat,) if seat else ())


def _word(account: Account) -> tuple[str, str, str]:
    """Return the verdict: its class, its word, and a sentence."""
    if account.proof is not None:
        return STYLE[account.proof.verdict], account.proof.verdict.value, account.proof.summary
    if account.verdict is not None:
        return OUTCOME_STYLE[account.verdict.outcome], word_of(account.verdict), account.verdict.summary
    return ("warn", "could not tell", "nothing was proved here")


def _shown(records: Sequence[Record]) -> tuple[tuple[Record, ...], int]:
    """Return the records that are on the page, and how many are not."""
    if len(records) <= RECORDS:
        return tuple(records), 0
    return (*records[:_FIRST], *records[_FIRST - RECORDS :]), len(records) - RECORDS


def _turns(account: Account, shown: Sequence[Record]) -> list[tuple[int, Turn | None, Sequence[Record]]]:
    """Return each turn with those of its records that are shown; one without a name where they do not add up."""
    if not account.turns:
        return [(1, None, shown)]
    seen = {record.seq for record in shown}
    kept = (
        (number, turn, [record for record in turn.records if record.seq in seen])
        for number, turn in enumerate(account.turns, 1)
    )
    return [(number, turn, records) for number, turn, records in kept if records]


def _changes(account: Account, room: Room) -> list[_Change]:
    coloured, changes = Room(syntax.ROOM), list[_Change]()
    for number, turn in enumerate(account.turns, 1):
        for step in turn.steps:
            found = account.differences.get(step.trees)
            place = (turn.agent, number, turn.round, step)
            if found is None:
                changes.append(_Change(*place, "", None, is_gap=step.trees in account.shown))
                continue
            stat = f"+{found.added} \u2212{found.deleted}"
            files = files_of(found.data, room)
            for file in files:
                syntax.colour(file, coloured)
            changes.append(_Change(*place, stat, files, is_cut=not found.is_whole))
    return changes[-RECORDS:]


def _files(changes: Sequence[_Change]) -> list[tuple[str, tuple[str, ...], int, int, int]]:
    """Return each file that is on the page: its path, its agents, how many lines came and went, and its last change."""
    found: dict[str, tuple[str, tuple[str, ...], int, int, int]] = {}
    for change in changes:
        for file in change.files or ():
            _, agents, added, deleted, _ = found.get(file.path, ("", (), 0, 0, 0))
            agents = tuple(dict.fromkeys((*agents, change.agent)))
            found[file.path] = (file.path, agents, added + file.added, deleted + file.deleted, change.turn)
    return sorted(found.values())


def place_of(record: Record) -> str:
    """Show in which worktree of which clone a record was written."""
    return f"worktree {record.origin.worktree or 'unknown'} of clone {record.origin.clone or 'unknown'}"


def causes_of(record: Record) -> list[DriftCause]:
    """Return the causes of drift that a record names."""
    said = record.payload
    if not isinstance(said, Drift):
        return []
    found = list(said.causes[:CAUSES])
    more = said.count - len(found)
    return [*found, DriftCause(f"and {more} more")] if more > 0 else found


@functools.cache
def _template() -> jinja2.Template:
    """Return the page's template, compiled once in a process: that takes ten times as long as to fill it."""
    import jinja2
    from markupsafe import Markup, escape

    def painted(line: Line) -> Markup:
        """Return a line of a diff, whose room is taken already: its sign, and the pieces that have a colour."""
        pieces = line.pieces or (("", printable(line.text[1:])),)
        spans = (Markup('<span class="{}">{}</span>').format(*one) if one[0] else escape(one[1]) for one in pieces)
        return Markup("<b>{}</b>{}").format(printable(line.text[:1]), Markup().join(spans))

    @jinja2.pass_context
    def visible(context: jinja2.runtime.Context, value: Any) -> Any:
        """Show no character that a screen would obey, and no text that there is no room for."""
        if not isinstance(value, str) or isinstance(value, Markup):
            return value
        text = printable(value if len(value) <= TEXT else f"{value[:TEXT]}… ({len(value)} characters)")
        return text if context["room"].take(text) else "…"

    made = jinja2.Environment(
        loader=jinja2.DictLoader({"page.html": _source("page.html")}),
        autoescape=True,
        finalize=visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals["css"] = Markup(_source("page.css"))  # noqa: S704 - a file of ours
    made.filters["painted"] = painted
    made.filters["how"] = lambda by: HOW.get(by or "", "")
    made.filters["short"] = lambda oid: str(oid)[:12] if oid else "none"
    return made.get_template("page.html")


def _source(name: str) -> str:
    return resources.files("git_taskctx.report").joinpath(name).read_text(encoding="utf-8")
