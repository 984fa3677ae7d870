"""What is known of earlier stages when a run goes on: its events, and the ledger for what a kill kept from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from git_taskctx.model.oids import TreeOid
from git_taskctx.model.payloads import Snapshot, StageRun
from git_taskctx.model.record import Record
from git_taskctx.model.values import dataclass
from git_taskctx.pipeline.answers import read_answer
from git_taskctx.pipeline.bench import KEY, Bench
from git_taskctx.pipeline.bodies import checked
from git_taskctx.pipeline.journal import ASK
from git_taskctx.pipeline.plan import Plan
from git_taskctx.runner import BadResponse, CommandFailed, Failure, Outcome, Writes, freeze
from git_taskctx.runner.frozen import hash_json


@dataclass(frozen=True)
class _Recorded:
    """A record of a stage of this run."""

    stage: StageRun
    tree: TreeOid
    done: bool
    """Whether it approves the tree."""


class Known:
    """Outcomes of before, by key."""

    def __init__(self, plan: Plan, bench: Bench, settled: TreeOid, records: Sequence[Record]) -> None:
        self._plan, self._bench, self._settled = plan, bench, settled
        self._snapshots: dict[str, _Recorded] = {}
        self._checks: set[str] = set()
        for record in records if bench.journal.seen else ():
            stage = record.origin.stage
            if stage is None and record.type == "unblock":  # a person overruled an answer
                self._snapshots.clear()
            if stage is None or stage.run != bench.journal.number:
                continue
            if stage.key is not None and record.type == "snapshot" and record.tree is not None:
                said = record.payload
                done = isinstance(said, Snapshot) and said.done
                self._snapshots[stage.key] = _Recorded(stage, record.tree, done)
            elif stage.key is not None and record.type == "qa":
                self._checks.add(stage.key)

    def find(self, key: str) -> Outcome | None:
        """Return the outcome of a key; a check that is not on record yet goes there with the next ones."""
        found = self._bench.journal.outcome(key, self._settled)
        if found is None:
            return self._recorded(key)
        event = self._bench.journal.event(key)
        if event is not None and event.agent is None and not event.gate and key[:KEY] not in self._checks:
            self._put_back(event.stage or "", event.attempt or 1, key, found.writes)
        return found

    def _recorded(self, key: str) -> Outcome | None:
        """Return the outcome of a stage whose snapshot is on record, and whose end is not among the events."""
        found = self._snapshots.get(key[:KEY])
        if found is None or found.stage.stage not in {**self._plan.stages, **self._plan.layout.joins}:
            return None
        name, hash_ = found.stage.stage, hash_json([key, found.tree])
        if name in self._plan.layout.joins:
            return Outcome("done", Writes({f"{name}.tree": found.tree}), hash=hash_)
        if found.done and self._plan.stages[name].ask is not None:  # the person's approval
            return Outcome("done", Writes({f"{name}{ASK}.tree": found.tree}), hash=hash_)
        folder = self._bench.journal.attempt_folder(name, found.stage.attempt)
        values: dict[str, Any] = {f"{name}.tree": found.tree}
        try:
            answer = read_answer(folder / "response.json", name)
            answer.require_yes(name)
        except BadResponse:  # somebody wrote there since
            return None
        except CommandFailed as error:
            if found.tree != self._settled:  # its answer is about a tree that is no longer there
                return None
            return Outcome("failed", Writes(values), error=Failure.of(error), hash=hash_)
        values |= {f"data.{name}": freeze(answer.data)} if answer.given else {}
        values |= {f"flags.{flag}": value for flag, value in answer.flags.items()}
        return Outcome("done", Writes(values), hash=hash_)

    def _put_back(self, name: str, attempt: int, key: str, writes: Writes) -> None:
        tree, code = writes.get(f"{name}.tree"), writes.get(f"{name}.exit_code")
        stage = self._plan.stages.get(name)
        if stage is None or tree is None or code is None:
            return
        stage_run = StageRun(self._bench.journal.number, name, attempt, key[:KEY])
        self._bench.checked.append(checked(self._bench, stage, stage_run, tree, code if code >= 0 else 128 - code))
