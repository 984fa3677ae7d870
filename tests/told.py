"""A context and its chain without a repository, told event by event; every text in it can be found again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from git_taskctx.context.roles import build_export
from git_taskctx.ledger.chain import fold
from git_taskctx.model.context import (
    Audit,
    Command,
    Context,
    Evidence,
    GitState,
    Immutable,
    StandardsCitation,
    TaskSnapshot,
    ValidationBaseline,
)
from git_taskctx.model.export import Export
from git_taskctx.model.oids import TreeOid
from git_taskctx.model.policy import ChainPolicy, Policy, QaPolicy
from git_taskctx.model.qa import QaReport, QaResults, QaRun
from git_taskctx.model.record import Record, record_id
from git_taskctx.model.snapshot import HiddenChange, WorktreeSnapshot

ID = "00112233445566ff"
CLEAN = TreeOid("0" * 40)
RUN = QaRun(
    command="make test", exit_code=2, status="failed", log="E2", agent="implementer", actor="somebody else",
    at="2026-01-01T00:00:00Z", tree=CLEAN, reports=(
        QaReport("pytest", "failed", {"passed": 42, "failed": 1}, {"lines": "81.4"}, ("test_tabs.py::test_names",), 1),
    ),
)  # fmt: skip
TASK = Immutable(
    task_snapshot=TaskSnapshot(
        title="Mend the parser", priority="P1", area="mobile", description="It breaks.\n\nOn every tab.\n",
        outcome="It does not.", scope_in=("the parser",), scope_out=("the printer",),
        acceptance_criteria=("it parses tabs", "it parses\nline ends"), quality_gates=("no slower",),
        plan=("read it", "mend it"),
    ),
    standards_citations=(
        StandardsCitation("standards/code.md", "naming", "Names are words.", "L3-L9", "a" * 64),
        StandardsCitation("standards/code.md", "size", "Files have 400 lines at most.", "L12-L40", "b" * 64),
        StandardsCitation("standards/tests.md", "coverage", "Lines are covered to 70 %.", "L1-L7", "c" * 64),
    ),
    validation_baseline=ValidationBaseline(
        commands=(Command("make test", "all of them"), Command("make lint")),
        manual_checks=("press every key",),
        initial_results=QaResults("failed", (RUN,)),
    ),
    scope_patterns=("src/**", "tests/**"),
    repo_paths=("src/parser.py",),
    sources={"task_snapshot.title": "tasks/TASK-1.task.yaml#L1"},
)  # fmt: skip
EVIDENCE = Evidence("E1", "excerpt", "notes.md", "d" * 64, 9, "e" * 64, description="how tabs came in", lines="L1-L2")


class Told:
    """A context at some moment."""

    def __init__(
        self,
        agents: Sequence[str] = ("implementer", "reviewer", "validator"),
        *,
        immutable: Immutable = TASK,
        may_edit: Sequence[str] | None = None,
        distinct_actors: bool = False,
        qa_require: bool = False,
        evidence: Sequence[Evidence] = (),
    ) -> None:
        self._numbers = itertools.count(1)
        self.chain = fold([self._record("init", agents[0], tree=CLEAN, agents=list(agents))])
        self._taken: dict[str, WorktreeSnapshot | None] = {}
        self._context = Context(
            version=1, task_id="TASK-1", context_id=ID, created_at="2026-01-01T00:00:00Z", created_by="somebody",
            git=GitState(None, "main", None, CLEAN, None, None), agents=tuple(agents),
            policy=Policy(
                chain=ChainPolicy(tuple(may_edit) if may_edit is not None else None, distinct_actors),
                qa=QaPolicy(require=qa_require),
            ),
            immutable=immutable, coordination={}, evidence=tuple(evidence),
            audit=Audit("somebody", "2026-01-01T00:00:00Z", "somebody", 1, None),
        )  # fmt: skip

    @property
    def context(self) -> Context:
        """The context as it is now."""
        return self._context.replace(coordination=self.chain.coordination(self._taken))

    def export(self, agent: str | None) -> Export:
        """Return what an agent needs now."""
        return build_export(self.context, self.chain, agent)

    def exports(self) -> dict[str, bytes]:
        """Return every agent's export, in bytes."""
        return {agent: self.export(agent).to_bytes() for agent in self.chain.agents}

    def tell(self, kind: Any, agent: str, **fields: Any) -> Told:
        """Add one record."""
        self.chain = self.chain.apply(self._record(kind, agent, **fields))
        return self

    def start(self, agent: str) -> Told:
        """Hand the tree over as it was left."""
        return self.tell("start", agent, tree=self.chain.settled_tree)

    def block(self, agent: str, text: str) -> Told:
        """Have an agent find something."""
        number = sum(len(seat.findings) for seat in self.chain.seats.values()) + 1
        return self.tell("block", agent, finding=f"F{number}", text=text)

    def snapshot(self, agent: str, tree: str, **fields: Any) -> Told:
        """Have an agent record a tree, named by one letter; `fields` are those of the snapshot."""
        n = len(self.chain.seats[agent].snapshots) + 1
        self.tell("snapshot", agent, tree=tree, commit_tree=tree, n=n, attest=fields.pop("attest", None))
        usual: dict[str, Any] = {
            "n": n, "base_commit": None, "head": None, "branch": "main", "snapshot_time": "2026-01-01T00:00:00Z",
            "actor": "somebody", "wip": False, "tree": tree, "tree_ref": "refs/x", "commit_tree": tree,
            "index_tree": tree, "files": "f", "files_sha": "f" * 64, "files_count": 12, "untracked": (),
            "untracked_count": 0, "hidden": (), "diff_from_base": "d", "diff_sha": "d" * 64, "diff_stat": "+145 -32",
            "previous_agent": "init", "diff_from_previous": None, "incremental_diff_sha": None,
            "incremental_diff_error": None, "scope_hash": "", "out_of_scope": (), "in_progress": None,
            "verified_start": True,
        }  # fmt: skip
        self._taken[agent] = WorktreeSnapshot(**(usual | fields))
        return self

    def _record(self, kind: Any, agent: str, **fields: Any) -> Record:
        seq = next(self._numbers)
        time = f"2026-01-01T00:{seq:02}:00Z"
        fixed: dict[str, Any] = {
            name: fields.pop(name, None) for name in ("base", "tree", "commit_tree", "commit", "diff_sha")
        }
        return Record(
            id=record_id(time, ID, seq), v=1, type=kind, context=ID, task="TASK-1", agent=agent, actor="somebody",
            time=time, seq=seq, context_sha="", prev=None, body=fields, **fixed,
        )  # fmt: skip


def handed_back() -> Told:
    """Come to where the validator blocked, and the implementer has the tree again; everything happened once."""
    told = Told(evidence=(EVIDENCE,))
    lying: dict[str, Any] = {
        "untracked": ("scratch.txt", "src/tabs.py"),
        "untracked_count": 2,
        "hidden": (HiddenChange("vendor", "submodule dirty", "f" * 64),),
    }
    told.snapshot("implementer", "a", out_of_scope=("scratch.txt",), **lying)
    told.tell("update", "implementer", qa_log_path="qa.log")
    told.start("reviewer").snapshot("reviewer", "b", verified_start=False, files_count=13, **lying)
    return told.start("validator").block("validator", "tabs in names\nstill break").start("implementer")
