"""The files of a context that follow from its ledger: the manifest, and what each agent needs.

Roles follow from the place in the chain and from policy, never from names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from git_taskctx.errors import BadData
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import Context, Coordination, Immutable
from git_taskctx.model.export import (
    LISTED,
    Attached,
    Citation,
    Common,
    Duty,
    Export,
    Handed,
    Listed,
    Role,
    State,
    Task,
    ToDo,
    TurnCommand,
    export_name,
)
from git_taskctx.model.manifest import MANIFEST, build_manifest
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.qa import QaResults, elsewhere, worst
from git_taskctx.model.values import replace
from git_taskctx.store import CONTEXT

EVERY: tuple[Duty, ...] = ("implement", "review", "validate")


def role_exports(context: Context, chain: Chain) -> dict[str, bytes]:
    """Return the export of every agent, by file name."""
    return {export_name(agent): build_export(context, chain, agent).to_bytes() for agent in context.agents}


def context_files(context: Context, chain: Chain) -> dict[str, bytes]:
    """Return `context.json` and the files derived from it and the chain, by name."""
    exports = role_exports(context, chain)
    manifest = build_manifest(context.task_id, context.context_id, chain.capture, exports)
    return {**exports, MANIFEST: dump_canonical(to_plain(manifest)), CONTEXT: context.to_bytes()}


def build_export(context: Context, chain: Chain, agent: str | None) -> Export:
    """Return what `agent` needs; for None what all need, without a turn. Raises: BadData for mismatched agents."""
    if context.agents != chain.agents:
        raise BadData(f"the context of {context.task_id} and its ledger name different agents")
    role = _role(context, agent)
    return Export(_common(context), role, _state(context, chain, role))


def duties_of(agent: str, agents: Sequence[str]) -> tuple[Duty, ...]:
    """Return an agent's duties by place: the first implements, the last validates, those between review."""
    duties: list[Duty] = []
    if agent == agents[0]:
        duties.append("implement")
    if agent == agents[-1]:
        duties.append("validate")
    return tuple(duties) or ("review",)


def _common(context: Context) -> Common:
    immutable = context.immutable
    task = immutable.task_snapshot
    return Common(
        agents=context.agents,
        scope_patterns=immutable.scope_patterns,
        standards_citations=tuple(
            Citation(one.file, one.section, one.line_span, one.requirement, one.text)
            for one in immutable.standards_citations
        ),
        task=Task(
            title=task.title,
            priority=task.priority,
            area=task.area,
            description=task.description,
            outcome=task.outcome,
            scope_in=task.scope_in,
            scope_out=task.scope_out,
            acceptance_criteria=task.acceptance_criteria,
            quality_gates=task.quality_gates,
        ),
        task_id=context.task_id,
        dirty=_listed(context.git.dirty, context.git.dirty_count),
    )


def _role(context: Context, agent: str | None) -> Role:
    if agent is None:
        return _with_work(Role("", EVERY, True, False, ()), context.immutable)
    agents = context.agents
    duties = duties_of(agent, agents)
    may_edit = context.policy.may_edit(agent, agents)
    distinct = context.policy.chain.distinct_actors and agent != agents[0]
    turn = _turn(agent, duties, _back_to(context, agent), may_edit=may_edit)
    role = _with_work(Role(agent, duties, may_edit, distinct, turn), context.immutable)
    return replace(role, checks_required=True) if agent == agents[-1] and context.policy.qa.require else role


def _with_work(role: Role, immutable: Immutable) -> Role:
    """Add what the duties need: the plan to implement, the checks to implement or validate."""
    baseline = immutable.validation_baseline
    if "implement" in role.duties:
        role = replace(role, plan=immutable.task_snapshot.plan)
    if _checks(role):
        role = replace(role, commands=baseline.commands, manual_checks=baseline.manual_checks)
    return role


def _checks(role: Role) -> bool:
    return bool({"implement", "validate"} & set(role.duties))


def _turn(agent: str, duties: tuple[Duty, ...], back: str | None, *, may_edit: bool) -> tuple[TurnCommand, ...]:
    block = f'git taskctx block --agent {agent} --finding "what is wrong"'
    snapshot = f"git taskctx snapshot --agent {agent}"
    steps = [TurnCommand(f"git taskctx start --agent {agent}", "first: verifies the tree, and gives it to you")]
    if "implement" not in duties:
        steps += [
            TurnCommand("git taskctx diff --type from-base", "the whole work; without --type what the last agent did"),
            TurnCommand(block, "for each thing that must be fixed"),
            TurnCommand(f"git taskctx start --agent {back}", "after blocking: hands back; your turn is over"),
        ]
    else:
        steps.append(TurnCommand(block, "when you cannot go on"))
    if "review" in duties and may_edit:
        steps.append(TurnCommand("git taskctx get", "the commands that check the work, should you edit it"))
    if "validate" in duties:
        steps.append(TurnCommand(f"{snapshot} --done", "when all of it holds: approves exactly this tree"))
    else:
        steps.append(TurnCommand(snapshot, "last: records what you leave, and ends your turn"))
    return tuple(steps)


def _state(context: Context, chain: Chain, role: Role) -> State:
    agent, seats = role.agent, context.coordination
    mine = seats.get(agent, Coordination())
    return State(
        drift_budgets={name: seat.drift_budget for name, seat in seats.items() if seat.drift_budget},
        evidence=tuple(Attached(one.id, one.type, one.path, one.description, one.lines) for one in context.evidence),
        findings=tuple(_findings(context, chain, agent)),
        left=_left(seats, chain, agent),
        owner=chain.owner,
        stale=mine.stale,
        status=mine.status,
        end=_end(chain),
        baseline=_results(context.immutable.validation_baseline.initial_results) if _checks(role) else None,
    )


def _end(chain: Chain) -> Literal["validated", "committed", "put away"] | None:
    if chain.sealed is not None:
        return "committed"
    if chain.purged:
        return "put away"
    return "validated" if chain.validated else None


def _others(chain: Chain, agent: str) -> tuple[str, ...]:
    """Return the agents whose work an agent builds on: earlier ones, and a later one that handed back."""
    if not agent:
        return chain.agents
    before = chain.agents[: chain.position(agent)]
    came_back = agent == chain.owner and chain.previous_owner in chain.agents[chain.position(agent) + 1 :]
    return (*before, chain.previous_owner) if came_back else before


def _left(seats: Mapping[str, Coordination], chain: Chain, agent: str) -> tuple[Handed, ...]:
    """Return what others left; only the newest snapshot lists its files."""
    others = _others(chain, agent)
    times = {name: last.seq for name in others if (last := chain.seats[name].last) is not None}
    newest = max(times, key=times.__getitem__, default=None)
    return tuple(_handed(name, seats[name], chain.settled_tree, newest=name == newest) for name in others)


def _handed(name: str, seat: Coordination, tree: TreeOid, *, newest: bool) -> Handed:
    taken = seat.worktree_snapshot
    results = _results(seat.qa_results, tree)
    handed = Handed(name, seat.status, seat.stale, None, qa_log_path=seat.qa_log_path, qa_results=results)
    if taken is None:
        return handed
    hidden = tuple(f"{one.path}: {one.kind}" for one in taken.hidden if newest)
    own = taken.out_of_scope if taken.own_out_of_scope is None else taken.own_out_of_scope
    return replace(
        handed,
        snapshot=taken.n,
        files_count=taken.files_count,
        diff_stat=taken.diff_stat,
        unverified=True if taken.accepted or not taken.verified_start else None,
        untracked=_listed(taken.untracked, taken.untracked_count if newest else 0),
        out_of_scope=_listed(own, len(own)),
        hidden=_listed(hidden, len(hidden)),
        unfinished=(taken.unfinished or None) if newest else None,
    )


def _results(results: QaResults | None, tree: TreeOid | None = None) -> Mapping[str, Any] | None:
    """Return the checks' results without time and actor; with `tree`, a run on another one is `unknown`."""
    plain_results = cast(dict[str, Any] | None, to_plain(results))
    if plain_results is None or results is None:
        return None
    runs = results.runs or ()
    other = [run for run in runs if tree is not None and run.tree != tree]
    if other and tree is not None:
        plain_results["status"] = worst("unknown" if run in other else run.status for run in runs)
        plain_results["runs"] = [
            {**plain, "status": "unknown", "elsewhere": f"{elsewhere(run.tree, tree)}; {run.status} there"}
            if run in other
            else plain
            for run, plain in zip(runs, plain_results["runs"], strict=True)
        ]
    return cast(Mapping[str, Any], _without_origin(plain_results))


def _without_origin(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_origin(item) for key, item in value.items() if key not in _ORIGIN}
    return [_without_origin(item) for item in value] if isinstance(value, list) else value


_ORIGIN = frozenset({"actor", "agent", "at", "tree"})


def _listed(paths: tuple[str, ...], count: int) -> Listed | None:
    return Listed(count, paths[:LISTED]) if count else None


def _findings(context: Context, chain: Chain, agent: str) -> list[ToDo]:
    """Return the open findings that `agent` must close or fix.

    The owner fixes a later agent's findings; until the tree is handed back, the agent that it will be handed to.
    """
    found = []
    for finding in chain.open_findings:
        if agent in ("", finding.by):
            found.append(ToDo(finding.id, finding.by, finding.text, "close"))
        elif agent == (chain.owner if chain.is_later(finding.by, chain.owner) else _back_to(context, finding.by)):
            found.append(ToDo(finding.id, finding.by, finding.text, "mend"))
    return found


def _back_to(context: Context, agent: str) -> str | None:
    """Return who gets the tree back from an agent: the nearest earlier one that may edit; None for the first."""
    before = context.agents[: context.agents.index(agent)]
    editors = tuple(name for name in before if context.policy.may_edit(name, context.agents))
    return (editors or before)[-1] if before else None
