"""Whether a write or a stop is allowed, and the first message of a session, from ledger and context.

A tool call is judged without reading the worktree: by the owner, whether it is at work, the drift budgets and the
scope. Only a stop reads the worktree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from git_taskctx.agents.here import inside, is_ours
from git_taskctx.capture.scope import compile_patterns
from git_taskctx.context.session import Session
from git_taskctx.errors import TaskctxError
from git_taskctx.git.process import Git
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

READERS = frozenset({"explore", "plan", "codebase_investigator", "cli_help", "claude-code-guide", "statusline-setup"})
"""Read-only kinds of sub-agents that come with the agents: they have no turn in the chain."""
SHOWN = 5


@dataclass(frozen=True)
class Said:
    """The role that a session states."""

    option: str | None
    """`--role`, in the hook's command."""
    variable: str | None
    """`GIT_TASKCTX_AGENT`."""
    helper: str | None
    """The kind of the sub-agent."""


def role_of(said: Said, agents: tuple[str, ...]) -> str | None:
    """Return the acting agent; None is the owner.

    The first match counts: the option, the sub-agent's kind (`task-implementer`), the variable.
    """
    words = re.split(r"[^a-z0-9]+", (said.helper or "").lower())
    named = [agent for agent in agents if agent == said.helper or agent in words]
    return said.option or (named[0] if len(named) == 1 else None) or said.variable


def is_reader(said: Said) -> bool:
    """Return whether a sub-agent has no turn in any chain."""
    return said.option is None and (said.helper or "").lower() in READERS


def reason_to_deny(session: Session, role: str | None, top: str, places: Iterable[str]) -> str | None:
    """Return why the places may not be written now, if so; without places, the worktree."""
    places = list(places)
    names = [name for place in places if (name := inside(top, place)) is not None]
    private = tuple(
        os.path.realpath(one) + "/taskctx" for one in (session.repository.git_dir, session.repository.common_dir)
    )
    own = [name for name in names if is_ours(name)] + [
        os.fsencode(place) for place in places if any(f"{place}/".startswith(f"{one}/") for one in private)
    ]
    if own:
        return _reason(f"{_list(own)}: only git taskctx itself writes there", Situation("chain.look"))
    turn = reason_of_turn(session, role)
    if turn is not None and (not places or top in places):
        return turn
    covers = compile_patterns(session.context.immutable.scope_patterns).covers
    wrong = [name for name in names if turn is not None or not covers(os.fsdecode(name))]
    wrong = _not_ignored(session.repository.git, wrong)
    if not wrong:
        return None
    if turn is not None:
        return turn
    shown = ", ".join(session.context.immutable.scope_patterns[:SHOWN])
    return _reason(
        f"{_list(wrong)}: outside the scope of {session.task} ({shown})",
        Situation("chain.outside", agent=role or session.chain.owner),
    )


def reason_of_turn(session: Session, role: str | None) -> str | None:
    """Return why `role` may write nothing now: unresolved drift, another's turn, nobody at work."""
    chain = session.chain
    try:
        session.require_open()
    except TaskctxError as error:
        return text_of(error)
    if role is not None and role not in chain.seats:
        return _reason(
            f"{role!r} is not an agent of {session.task} ({', '.join(chain.agents)})",
            Situation("chain.act_as", agent=chain.owner),
        )
    acting = role or chain.owner
    if acting == chain.owner and chain.at_work:
        return None
    if chain.at_work:
        then = Situation("chain.turn", session=session, agent=acting)
        return _reason(f"{chain.owner} is at work on {session.task}, not {acting}", then)
    then = Situation("chain.nobody_at_work", session=session, role=role)
    return _reason(f"nobody is at work on {session.task}, so a write now would be drift", then)


def reason_to_go_on(session: Session, role: str | None) -> str | None:
    """Return what must be done before `role` stops: its work must be recorded. None if it is."""
    chain = session.chain
    if session.archived or session.edited or not chain.at_work or role not in (None, chain.owner):
        return None
    if _is_on_record(session):
        return None
    what = f"{chain.owner} is at work on {session.task}, and its work is not recorded"
    return _reason(what, Situation("chain.before_stopping", session=session))


def prepare(repository: Repository) -> None:
    """Load what `reason_to_go_on` needs to read the worktree, while git is waited for."""
    import git_taskctx.git.worktree

    _ = git_taskctx.git.worktree, repository.core


def text_of(error: TaskctxError) -> str:
    """Return an error as text for an agent."""
    from git_taskctx.report.advice import advise

    advise(error)
    return _lines(error.message, error.hint.split("\n") if error.hint else ())


def _is_on_record(session: Session) -> bool:
    """Return whether a snapshot could record nothing new."""
    from git_taskctx.git.worktree import read_worktree

    chain = session.chain
    try:
        with read_worktree(session.repository, keep=False) as reading:
            tree = reading.tree
    except TaskctxError:
        return False  # the snapshot will say what is wrong
    if chain.expected is not None and chain.expected.tree == tree:
        return True
    untouched = chain.owner == chain.agents[0] and tree == chain.init_tree
    handing_back = bool(chain.owner_seat.open_findings) and tree == chain.start_tree
    return untouched or handing_back


def _not_ignored(git: Git, asked: list[bytes]) -> list[bytes]:
    """Return the names that git does not ignore: other writes change no tree."""
    if not asked:
        return []
    found = git.run("check-ignore", "-z", "--stdin", stdin=b"".join(name + b"\0" for name in asked), ok=(0, 1, 128))
    ignored = set(found.out.split(b"\0")[:-1]) if found.code == 0 else set()
    return [name for name in asked if name not in ignored]


def _reason(message: str, situation: Situation) -> str:
    from git_taskctx.report.advice import lines_for

    return _lines(message, lines_for(situation))


def _lines(message: str, hints: Iterable[str]) -> str:
    told = message.replace("\n", "\n  ")  # what others wrote is no hint of ours
    return "\n".join((f"git taskctx: {told}", *(f"hint: {line}" for line in hints)))


def _list(names: list[bytes]) -> str:
    shown = ", ".join(map(quote, dict.fromkeys(names[:SHOWN])))
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
