"""What a run is made of, and everything that is wrong with it, before anything starts."""

from __future__ import annotations

import graphlib
import os
import shutil
from collections.abc import Iterator, Mapping

from git_taskctx.config.pipelines import above_each, faults_among, groups_among
from git_taskctx.context.session import Session
from git_taskctx.errors import BadConfig, Fatal, Usage
from git_taskctx.model.codec import to_plain
from git_taskctx.model.pipeline import Pipelines, Settings, Stage
from git_taskctx.model.values import dataclass, replace
from git_taskctx.runner.frozen import hash_json
from git_taskctx.situation import Situation

_LONGEST = 60
"""Characters of a name that has the names of all stages that are brought together."""


@dataclass(frozen=True)
class Asked:
    """What `run` was asked for."""

    pipeline: str | None = None
    stage: str | None = None
    """Only this one."""
    since: str | None = None
    """This one, and all that comes after it."""


@dataclass(frozen=True)
class Layout:
    """Which stages work in trees of their own, and where those are brought together."""

    joins: Mapping[str, tuple[str, ...]]
    """The stages that are brought together, in order; the name has that of each."""
    own: Mapping[str, tuple[str, ...]]
    """Each stage with a tree of its own, and those whose work is in it though nothing has been brought together."""
    needs: Mapping[str, tuple[str, ...]]
    """What each stage and each of the joins comes after."""

    source: Mapping[str, str]
    """Where the tree of a check comes from, of those with a tree of their own; none for what the run began on."""

    def join_of(self, stage: str) -> str | None:
        """Return where the work of a stage is brought together."""
        return next((join for join, names in self.joins.items() if stage in names), None)


@dataclass(frozen=True)
class Plan:
    """The stages to run, each after those of the same plan alone."""

    name: str | None
    stages: Mapping[str, Stage]
    order: tuple[str, ...]
    settings: Settings
    layout: Layout
    policy: str
    """A digest of what else an outcome depends on: the text of the task, and the policy."""

    def stage_of(self, task: str) -> Stage:
        """Return a stage; of a join the first of those that are brought together."""
        return self.stages[self.layout.joins[task][0] if task in self.layout.joins else task]


def make_plan(session: Session, asked: Asked, committed: Pipelines | None, environ: Mapping[str, str]) -> Plan:
    """Return what to run. Raises: Fatal without a pipeline, Usage, BadConfig with everything that is wrong.

    committed: what HEAD has. environ: what the stages see.
    """
    context = session.context
    frozen = context.pipelines
    if frozen is None and committed is None:
        raise Fatal(f"{session.task} has no pipeline", Situation("run.none"))
    if frozen is None or (committed is not None and committed != frozen):
        what = f"the pipeline was changed after {session.task} began"
        raise BadConfig(what, Situation("run.committed"))
    name, members = _members(frozen, asked.pipeline)
    stages = _part(_inside({one: frozen.stages[one] for one in members}), asked)
    faults = [*faults_among(stages), *_misplaced(session, stages)]
    faults += _not_found(session, stages, environ)
    if faults:
        raise BadConfig("\n".join(dict.fromkeys(faults)), Situation("run.corrected"))
    block = context.immutable
    policy = hash_json(to_plain((block.task_snapshot, block.standards_citations, context.policy)))
    return Plan(name, stages, _order(stages), frozen.run, lay_out(stages), policy)


def find_left_over(session: Session) -> tuple[str, ...]:
    """Warn of the agents that come after those of all stages, whose turns nothing runs."""
    pipelines, chain = session.context.pipelines, session.chain.agents
    staged = {stage.agent for stage in pipelines.stages.values()} if pipelines is not None else set()
    last = max((number for number, agent in enumerate(chain, 1) if agent in staged), default=len(chain))
    if last == len(chain):
        return ()
    alone = ", ".join(f'"{agent}"' for agent in chain[:last])
    what = f"no stage for {', '.join(chain[last:])}: the run ends before that turn"
    return (f"{what}; a task begins without it once agents = [{alone}] is committed in the policy",)


def _members(frozen: Pipelines, name: str | None) -> tuple[str | None, tuple[str, ...]]:
    known = frozen.pipelines
    if name is None and len(known) <= 1:
        return next(iter(known.items()), (None, tuple(frozen.stages)))
    if name is None or name not in known:
        names = ", ".join(known) or "none: all stages are one"
        what = f"there is no pipeline {name!r}" if name is not None else "which pipeline?"
        raise Usage(f"{what}   # there is {names}", Situation("run.begins", pipeline=next(iter(known), None)))
    return name, known[name]


def _inside(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    """Return the stages with what leads out of them left out."""
    return {
        name: replace(
            stage,
            after=tuple(one for one in stage.after if one in stages),
            again=stage.again if stage.again is not None and stage.again.stage in stages else None,
        )
        for name, stage in stages.items()
    }


def _part(stages: Mapping[str, Stage], asked: Asked) -> dict[str, Stage]:
    """Return the stages that are asked for."""
    for name in (asked.stage, asked.since):
        if name is not None and name not in stages:
            raise Usage(f"there is no stage {name!r}: there is {', '.join(stages)}", Situation("run.planned"))
    wanted = set(stages)
    if asked.stage is not None:
        wanted = {asked.stage}
    elif asked.since is not None:
        wanted = {asked.since}
        for name in _order(stages):
            wanted |= {name} if wanted & set(stages[name].after) else set()
    return _inside({name: stage for name, stage in stages.items() if name in wanted})


def _order(stages: Mapping[str, Stage]) -> tuple[str, ...]:
    return tuple(graphlib.TopologicalSorter({name: stage.after for name, stage in stages.items()}).static_order())


def lay_out(stages: Mapping[str, Stage]) -> Layout:
    """Return which stages need a tree of their own, also where that follows from what else may run."""
    above = above_each({name: stage.after for name, stage in stages.items()})
    needs = {name: stage.after for name, stage in stages.items()}
    joins: dict[str, tuple[str, ...]] = {}
    own = {name: tuple[str, ...]() for name, stage in stages.items() if stage.tree is not None}
    for group in groups_among(stages):
        join = "+".join(group) if len("+".join(group)) < _LONGEST else f"{group[0]}+{len(group) - 1}"
        join += "+" * (join in stages)  # a group of one
        # What lies between two of them cannot wait until all are brought together.
        inside = {one for one in stages if above[one] & set(group) and any(one in above[other] for other in group)}
        inside |= set(group)
        own |= {name: tuple(one for one in group if one in above[name]) for name in inside}
        for name in stages.keys() - inside:
            needs[name] = tuple(dict.fromkeys(join if one in inside else one for one in needs[name]))
        joins[join], needs[join] = group, tuple(sorted(inside, key=list(above).index))
    for join in joins:
        above = above_each(needs)
        for name, stage in stages.items():
            if stage.agent is None and join not in above[name] and name not in above[join]:
                own.setdefault(name, ())
    order = list(above_each(needs))
    above = above_each(needs)
    settling = [one for one in order if one in joins or (stages[one].agent is not None and one not in own)]
    source = {name: one for name in own for one in settling if one in above[name]}  # the last of them
    return Layout(joins, own, needs, source)


def _misplaced(session: Session, stages: Mapping[str, Stage]) -> Iterator[str]:
    """Yield the stages of agents that the chain does not have, or not yet at that point."""
    chain = session.chain
    at = chain.position(chain.owner)
    for name in _order(stages):
        agent = stages[name].agent
        if agent is None:
            continue
        if agent not in chain.agents:
            yield f"stage.{name}.agent: {agent!r} is not an agent of {session.task}: {', '.join(chain.agents)}"
            continue
        if chain.position(agent) > at + 1:
            yield f"stage.{name}: it is not {agent}'s turn then, {chain.agents[at + 1]} is next"
        at = chain.position(agent)


def _not_found(session: Session, stages: Mapping[str, Stage], environ: Mapping[str, str]) -> Iterator[str]:
    for name, stage in stages.items():
        program = stage.run[0]
        if "{" in program:
            continue
        place = os.path.join(session.repository.toplevel, program) if "/" in program else program  # noqa: PTH118
        if shutil.which(place, path=environ.get("PATH", os.defpath)) is None:
            what = "was not found, or is not executable" if "/" in program else "is not on PATH"
            yield f"stage.{name}.run: {program!r} {what}"
