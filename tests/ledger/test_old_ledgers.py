"""Ledgers that earlier versions wrote: they read, hash, add up and prove as they did when they were written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from desk import Desk
from gitrepo import GitRepo
from old_ledgers import CORPUS, LEDGERS, lines_of, unpack_ledger

from git_taskctx.errors import BadData
from git_taskctx.git.notes import NOTES_REF
from git_taskctx.git.refs import find_ref
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.ledger.chain import fold
from git_taskctx.ledger.entries import read_ledger
from git_taskctx.model.context import load_context
from git_taskctx.model.record import RECORD_TYPES, load_record

sys.path.insert(0, os.fspath(CORPUS))
from state import context_state, proof_of

NEVER_WRITTEN = {"verify"}
"""Types of records that no version wrote."""
_HIDDEN = "c04a45492f9d36904702c8bb39891f30df30f066"
ON_PURPOSE: dict[tuple[str, str], dict[str, Any]] = {
    # A file under assume-unchanged, or a dirty submodule, is told since: no tree shows what was approved there.
    ("places", _HIDDEN): {
        "verdict": "verified",
        "commits": {
            _HIDDEN: {
                "by": "commit", "context": "66e83267b5715a78", "required": True, "task": "TASK-9",
                "tree": "4c245bb8cf6b52141b8c8ff076f6371a9012aba5", "verdict": "verified", "reasons": [],
                "notices": [
                    "bypass-allowed 20260101T000035Z-66e83267b5715a78-000002",
                    "not-in-tree 20260101T000117Z-66e83267b5715a78-000007",
                ],
            },
        },
    },
}  # fmt: skip
"""Verdicts that have changed on purpose, by ledger and what was asked, each with the reason beside it."""

Unpack = Callable[[str], GitRepo]


@pytest.fixture(scope="module")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Unpack:
    """Return what unpacks a ledger into a repository of its own, once."""
    place = tmp_path_factory.mktemp("ledgers")
    return lambda name: unpack_ledger(name, place)


def expected(name: str) -> Any:
    """Return what was said of a ledger when it was made."""
    return json.loads((CORPUS / f"{name}.json").read_text())


@pytest.fixture
def opened(unpack: Unpack) -> Iterator[Callable[[str], Repository]]:
    """Return what opens a ledger's repository, and close what was opened."""
    found: list[Repository] = []

    def opening(name: str) -> Repository:
        found.append(open_repository(unpack(name).path, os.environ))
        return found[-1]

    yield opening
    for repository in found:
        repository.close()


@pytest.mark.parametrize("name", LEDGERS)
def test_it_reads_and_adds_up(opened: Callable[[str], Repository], name: str) -> None:
    """Each record has the hash that it had, and the chain comes to the same after each; a fork is still a fork."""
    repository = opened(name)
    for context, told in expected(name)["contexts"].items():
        try:
            ledger = read_ledger(repository, context, find_ref(repository.git, NOTES_REF))
        except BadData as error:
            assert type(error).__name__ == told
            continue
        assert context_state(ledger.entries, ledger.aside, fold) == told


@pytest.mark.parametrize("name", LEDGERS)
def test_the_context_is_what_its_last_record_left(opened: Callable[[str], Repository], name: str) -> None:
    """The chain writes the coordination of `context.json` out as it was written, and its hash is on record."""
    repository = opened(name)
    for context, told in expected(name)["contexts"].items():
        kept = repository.objects.get(f"refs/taskctx/contexts/{context}:context.json", "blob")
        found = load_context(kept, what=context)
        assert found.to_bytes() == kept
        if isinstance(told, dict):
            entries = read_ledger(repository, context, find_ref(repository.git, NOTES_REF)).entries
            records = [entry.record for entry in entries if entry.record.type != "adopt"]
            details = {agent: seat.worktree_snapshot for agent, seat in found.coordination.items()}
            assert records[-1].context_sha == found.sha
            assert fold(records).coordination(details) == found.coordination


@pytest.mark.parametrize("name", LEDGERS)
def test_every_record_is_written_as_it_was_read(unpack: Unpack, name: str) -> None:
    """A record comes out byte for byte as it went in."""
    for line in lines_of(unpack(name)):
        assert load_record(line).to_line() == line


@pytest.mark.parametrize("name", LEDGERS)
def test_it_proves_as_before(unpack: Unpack, name: str) -> None:
    """Every commit that was asked about gets the verdict that it got, for the same reasons, by the same records."""
    desk = Desk(unpack(name))
    for asked, told in expected(name)["proofs"].items():
        assert proof_of(desk, asked) == ON_PURPOSE.get((name, asked), told), asked


def test_the_corpus_has_every_kind_of_record(unpack: Unpack) -> None:
    """No kind of record that was ever written is missing in the corpus."""
    found = {load_record(line).type for name in LEDGERS for line in lines_of(unpack(name))}
    assert found == RECORD_TYPES - NEVER_WRITTEN


def test_the_corpus_names_no_machine(unpack: Unpack) -> None:
    """No record holds a path of the machine that it was written on, and all dates are the ones that were set."""
    for name in LEDGERS:
        for line in lines_of(unpack(name)):
            record = load_record(line)
            assert record.time.startswith("2026-01-01T")
            assert f'"{os.sep}' not in line


def test_the_corpus_is_small() -> None:
    """All of it stays under 300 KiB."""
    assert sum(path.stat().st_size for path in CORPUS.iterdir() if path.suffix in (".bundle", ".json")) < 300 * 1024
