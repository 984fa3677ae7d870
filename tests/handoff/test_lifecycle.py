"""`init`, `purge` and `recover`: a context begins once, is put away and comes back, and its block stays as it was."""

from __future__ import annotations

import pytest
from desk import TASK, Desk

from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.context import load_context
from git_taskctx.model.values import FrozenInstanceError


def test_no_verb_changes_the_immutable_block(begun: Desk) -> None:
    """From the first record to the last, what every agent reads is the same bytes."""

    def fixed() -> bytes:
        context = begun.context()
        return dump_canonical({key: context[key] for key in ("immutable", "policy", "agents", "created_at")})

    before = fixed()
    begun.implement()
    begun.ok("start", "--agent", "reviewer")
    begun.ok("block", "--agent", "reviewer", "--finding", "no test")
    log = begun.repo.path.parent / "qa.log"
    log.write_text("1 passed in 0.1s\n")
    begun.ok("update", "--agent", "reviewer", "--session-id", "s", "--qa-log", str(log))
    begun.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    begun.ok("snapshot", "--agent", "reviewer")
    begun.repo.write("parser.py", "drift\n")
    begun.ends(1, "verify")
    begun.ok("resolve-drift", "--accept", "--note", "mine")
    begun.ok("restore", "--agent", "implementer")
    begun.ok("purge")
    begun.ok("recover", TASK)
    assert fixed() == before


def test_the_immutable_block_is_frozen(begun: Desk) -> None:
    """In memory too: no attribute of it, however deep, can be set."""
    context = load_context((begun.folder() / "context.json").read_bytes(), what="context.json")
    for place, name in (
        (context, "immutable"),
        (context.immutable, "task_snapshot"),
        (context.immutable.task_snapshot, "title"),
        (context.git, "head"),
        (context.policy.drift, "allowance"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(place, name, None)


def test_init_twice_is_refused_and_changes_nothing(begun: Desk) -> None:
    """128; the context is byte for byte what it was."""
    before = (begun.folder() / "context.json").read_bytes()
    said = begun.refuses("init", TASK, "--title", "again", code=128)
    assert said.startswith("error: TASK-1 is active in this worktree\n")
    assert (begun.folder() / "context.json").read_bytes() == before


def test_the_same_task_begun_again_is_another_context(begun: Desk) -> None:
    """Each has its own id, ledger and refs; `recover --context` chooses."""
    first = begun.context()["context_id"]
    begun.implement()
    begun.ok("purge")
    begun.init()
    second = begun.context()["context_id"]
    assert first != second
    assert begun.seat("implementer")["worktree_snapshot"] is None
    begun.ok("purge")
    begun.ok("recover", TASK, "--context", first)
    assert begun.context()["context_id"] == first
    assert begun.seat("implementer")["worktree_snapshot"]["n"] == 1


def test_purging_twice_is_no_error(implemented: Desk) -> None:
    """And what was put away comes back, budget and statuses included."""
    implemented.repo.write("parser.py", "drift\n")
    implemented.ends(1, "verify")
    implemented.ok("purge")
    assert implemented.ok("purge").err == "nothing to put away\n"
    implemented.ok("recover", TASK)
    assert implemented.seat("implementer")["drift_budget"] == 1
