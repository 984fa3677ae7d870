"""The ledger: one line a record, chained by hash, merged line by line."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo

from git_taskctx.errors import BadData, TryAgain
from git_taskctx.git.repository import Repository, open_repository
from git_taskctx.ledger import entry
from git_taskctx.ledger.entries import append_records, read_entries
from git_taskctx.ledger.entry import Entry, anchor_data, anchor_of, on_anchors, page_of
from git_taskctx.ledger.forks import follow
from git_taskctx.ledger.refs import refs_of
from git_taskctx.model.canonical import sha256_hex
from git_taskctx.model.record import FIXED_FIELDS, Record, link, load_record, record_id
from git_taskctx.model.values import replace

CONTEXT = "00112233445566ff"


def make(seq: int, *, actor: str = "me", context: str = CONTEXT, **body: object) -> Record:
    """Build one record, not yet chained."""
    time = f"2026-01-01T00:00:{seq:02}Z"
    return Record(
        id=record_id(time, context, seq), v=1, type="block", context=context, task="TASK-1", agent=None, actor=actor,
        time=time, seq=seq, base=None, tree=None, commit_tree=None, commit=None, diff_sha=None, context_sha="0",
        prev=None, body=body,
    )  # fmt: skip


def entries(records: Sequence[Record]) -> list[Entry]:
    """Return records as they are read."""
    return [Entry(record, record.to_line()) for record in records]


CHAIN = link([make(seq) for seq in range(1, 6)], None)


@contextmanager
def opened(repo: GitRepo) -> Iterator[Repository]:
    """Open a repository as a verb does."""
    repository = open_repository(repo.path, os.environ)
    try:
        yield repository
    finally:
        repository.close()


# Lines


def test_a_record_is_one_compact_line_with_keys_in_a_fixed_order() -> None:
    """`id` first, then the fixed fields, then what the type carries, sorted; whatever the values hold."""
    line = make(1, actor="a\nb\r\u2028\u2029\x85 \x1b[31m", zebra=1, apple=[2, {"b": 1, "a": 2}]).to_line()
    assert len(line.splitlines()) == 1
    assert ": " not in line.replace("\\", "")
    assert list(json.loads(line)) == [*FIXED_FIELDS, "apple", "zebra"]
    assert load_record(line).to_line() == line


def test_sorted_by_id_is_sorted_by_time() -> None:
    """So that `git notes merge -s cat_sort_uniq`, which sorts lines, keeps the order."""
    records = [make(seq) for seq in range(1, 30)]
    assert [record.seq for record in sorted(records, key=lambda record: record.to_line())] == list(range(1, 30))


def test_what_a_type_carries_cannot_pose_as_a_fixed_field() -> None:
    """`extra` with the name of a fixed field is refused, not written over it."""
    with pytest.raises(BadData, match="fixed field"):
        make(1, tree="other").to_line()


# The chain of hashes


def test_prev_is_the_hash_of_the_line_before() -> None:
    """The first has none."""
    assert [record.prev for record in CHAIN] == [None] + [sha256_hex(one.to_line().encode()) for one in CHAIN[:-1]]
    whole = entries(CHAIN)
    assert follow(whole) == (whole, [])


def edit(records: list[Record], place: int) -> list[Record]:
    """Change the actor of one record."""
    return [*records[:place], load_record(records[place].to_line().replace('"me"', '"you"')), *records[place + 1 :]]


def insert(records: list[Record], place: int) -> list[Record]:
    """Put another record between."""
    return [*records[:place], link([make(place + 1, actor="you")], records[place].prev)[0], *records[place:]]


def remove(records: list[Record], place: int) -> list[Record]:
    """Take one out."""
    return records[:place] + records[place + 1 :]


def swap(records: list[Record], place: int) -> list[Record]:
    """Exchange the numbers of two neighbours: where a record stands in the note is what its number says."""
    one, other = records[place : place + 2]
    swapped = [replace(one, seq=other.seq, id=other.id), replace(other, seq=one.seq, id=one.id)]
    return [*records[:place], *swapped, *records[place + 2 :]]


def renumber(records: list[Record], place: int) -> list[Record]:
    """Take one out and chain the rest again, but keep the numbers."""
    return link(remove(records, place), None)


@pytest.mark.parametrize("change", [edit, insert, remove, swap, renumber], ids=lambda change: change.__name__)
@pytest.mark.parametrize("place", range(4))
def test_a_change_in_the_middle_is_found(change: Callable[[list[Record], int], list[Record]], place: int) -> None:
    """Edited, inserted, removed, exchanged or renumbered: the first record that does not fit is named."""
    with pytest.raises(BadData, match=r"is broken at record 2026|forks at record"):
        follow(entries(change(CHAIN, place)))


def test_cutting_the_tail_is_not_found_by_the_chain_alone() -> None:
    """Only a signature, or the context beside it, stops that."""
    cut = entries(CHAIN[:3])
    assert follow(cut) == (cut, [])


def rewrite_note(repo: GitRepo, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of the context's note behind our back, with git's own command."""
    anchor = Desk(repo).records()[0]["anchor"]
    lines = repo.git("notes", "--ref=taskctx", "show", anchor).splitlines()
    repo.git("notes", "--ref=taskctx", "add", "-f", "-F", "-", anchor, input="\n".join(change(lines)) + "\n")


@pytest.fixture
def told(repo: GitRepo) -> Desk:
    """A context with six records."""
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    desk = Desk(repo)
    desk.init()
    desk.to_reviewer()
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")
    desk.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    return desk


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: [lines[0], lines[1].replace("A U Thor", "Somebody"), *lines[2:]],
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [*lines, lines[-1].replace("A U Thor", "Somebody")],
        lambda lines: lines[1:],
        lambda lines: [line.replace('"v":1', '"v":2') for line in lines],
    ],
    ids=["edited", "removed", "a fork", "no init", "later version"],
)
def test_a_ledger_that_was_tampered_with_is_refused_everywhere(
    told: Desk, change: Callable[[list[str]], list[str]]
) -> None:
    """One error, 128, no write; nothing is taken from it."""
    rewrite_note(told.repo, change)
    notes = told.repo.git("rev-parse", "refs/notes/taskctx")
    for args in (("get",), ("verify",), ("start", "--agent", "validator"), ("recover", "TASK-1"), ("status",)):
        told.refuses(*args, code=128)
    assert told.repo.git("rev-parse", "refs/notes/taskctx") == notes


def test_lines_of_others_do_not_count(told: Desk) -> None:
    """Whatever else stands in the note is told and left alone; reading and writing go on."""
    others = ["not a record", "[]", "null", "{}"]
    anchor, context = told.records()[0]["anchor"], told.records()[0]["context"]
    rewrite_note(told.repo, lambda lines: [*others, *lines, *(line.replace(context, "a" * 16) for line in lines)])
    said = told.run("verify")
    assert "other lines, which do not count" in said.err
    assert told.run("block", "--agent", "reviewer", "--finding", "still writing").code == 0
    note = told.repo.git("notes", "--ref=taskctx", "show", anchor).splitlines()
    assert set(others) <= set(note)
    assert sum("still writing" in line for line in note) == 1


@pytest.mark.parametrize("value", ["1e999", "[-1e999]", '"\\ud800"', '{"\\udfff":1}'])
def test_a_value_that_cannot_be_written_again_makes_no_record(told: Desk, value: str) -> None:
    """JSON can name numbers that are none, and half a character; a line with one is not a record, and is no bug."""
    before = told.records()

    def spoil(lines: list[str]) -> list[str]:
        return [*lines, f'{lines[-1][:-1]},"odd":{value}}}']

    rewrite_note(told.repo, spoil)
    assert "holds 1 other line, which does not count" in told.run("verify").err
    assert told.records() == before


def test_a_ledger_whose_tail_was_cut_does_not_fit_its_context(told: Desk) -> None:
    """The context beside it is of no earlier record: told, and not written over."""
    path = told.folder() / "context.json"
    before = path.read_bytes()
    rewrite_note(told.repo, lambda lines: lines[:-1])
    said = told.run("start", "--agent", "validator")
    assert said.code in (1, 3, 128), said.both
    assert path.read_bytes() == before


# Writing and merging


def test_records_lie_on_anchor_and_base_where_git_shows_them(told: Desk) -> None:
    """The whole chain on the anchor, the `init` record on the base commit; git's own `notes show` prints lines."""
    records = told.records()
    shown = told.repo.git("notes", "--ref=taskctx", "show", records[0]["anchor"]).splitlines()
    assert [json.loads(line) for line in shown] == records
    [base] = told.repo.git("notes", "--ref=taskctx", "show", "HEAD").splitlines()
    assert json.loads(base) == records[0]
    anchor = told.repo.git("cat-file", "blob", records[0]["anchor"])
    assert anchor == f"taskctx context {records[0]['context']}"


@pytest.fixture
def long(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A task with seven records, of which an anchor takes three."""
    monkeypatch.setattr(entry, "PAGE", 3)
    repo.commit("base")
    desk = Desk(repo)
    desk.ok("init", "TASK-1", "--title", "Long")
    for number in range(1, 7):
        desk.ok("block", "--agent", "implementer", "--finding", f"finding {number}")
    return desk


def test_an_anchor_takes_thirty_two_records() -> None:
    """That is written down in every ledger there is."""
    assert [page_of(seq) for seq in (1, 32, 33, 64, 65)] == [0, 0, 1, 1, 2]


def _anchor(desk: Desk, page: int) -> str:
    text = f"taskctx context {desk.records()[0]['context']}"
    return desk.repo.git("hash-object", "--stdin", input=f"{text} {page}" if page else text)


def test_a_long_ledger_goes_on_at_another_anchor(long: Desk) -> None:
    """So that no record costs what all earlier ones do; every anchor outlives gc, and the task goes on after it."""
    long.repo.git("gc", "-q", "--prune=now")
    long.repo.git("notes", "--ref=taskctx", "prune")
    long.ok("unblock", "--agent", "implementer", "--finding", "F1")
    pages = [
        [
            json.loads(line)["seq"]
            for line in long.repo.git("notes", "--ref=taskctx", "show", _anchor(long, page)).split("\n")
        ]
        for page in range(3)
    ]
    assert pages == [[1, 2, 3], [4, 5, 6], [7, 8]]
    assert long.ok("log").err == ""


@pytest.mark.parametrize("page", [0, 1, 2])
def test_a_missing_anchor_is_told(long: Desk, page: int) -> None:
    """The ledger is not believed without one of its notes, whichever it is, and the file stays as it is."""
    before = (long.folder() / "context.json").read_bytes()
    long.repo.git("notes", "--ref=taskctx", "remove", _anchor(long, page))
    assert long.run("block", "--agent", "implementer", "--finding", "more").code in (1, 3, 128)
    assert (long.folder() / "context.json").read_bytes() == before


def test_a_note_that_was_there_is_kept(repo: GitRepo) -> None:
    """Only ever added to: a person's own line on the base commit stays."""
    repo.write("parser.py", "broken\n")
    repo.commit("base")
    repo.git("notes", "--ref=taskctx", "add", "-m", "mine")
    Desk(repo).init()
    shown = repo.git("notes", "--ref=taskctx", "show", "HEAD").splitlines()
    assert "mine" in shown
    assert len([line for line in shown if line]) == 2


def test_writers_of_two_contexts_lose_nothing(repo: GitRepo) -> None:
    """The ref is moved by compare-and-swap: what another context wrote meanwhile is kept."""
    repo.commit("base")
    other = "ffeeddccbbaa0011"
    with opened(repo) as one, opened(repo) as two:
        for (repository, context), seq in itertools.product(((one, CONTEXT), (two, other)), range(1, 4)):
            repository.objects.add_blob(anchor_data(context))
            known = read_entries(repository, context)
            [record] = link([make(seq, context=context)], known[-1].sha if known else None)
            append_records(
                repository,
                refs_of(repository, context),
                on_anchors(repository, context, [record]),
                [],
                context_id=context,
                tip=record.prev,
                reason="test",
            )
        for context in (CONTEXT, other):
            assert [entry.record.seq for entry in read_entries(one, context)] == [1, 2, 3]


def test_a_writer_that_built_on_an_old_tip_is_refused(repo: GitRepo) -> None:
    """75: two writers never both chain to the same record."""
    repo.commit("base")
    with opened(repo) as repository:
        anchor = anchor_of(repository, CONTEXT)
        lines = [record.to_line() for record in CHAIN]
        refs = refs_of(repository, CONTEXT)
        append_records(repository, refs, {anchor: lines[:2]}, [], context_id=CONTEXT, tip=None, reason="test")
        with pytest.raises(TryAgain):
            append_records(
                repository, refs, {anchor: lines[1:2]}, [], context_id=CONTEXT, tip=CHAIN[0].sha, reason="test"
            )
        assert len(read_entries(repository, CONTEXT)) == 2


def test_two_clones_ledgers_merge_with_gits_own_command(told: Desk, tmp_path: Path) -> None:
    """`git notes merge -s cat_sort_uniq` keeps both tasks' records whole, also on the base that they share."""
    told.repo.git("clone", "-q", os.fspath(told.repo.path), os.fspath(tmp_path / "clone"))
    clone = Desk(GitRepo(tmp_path / "clone"))
    clone.ok("init", "TASK-2", "--title", "Another")
    clone.implement()
    told.repo.git("fetch", "-q", os.fspath(clone.repo.path), "refs/notes/taskctx:refs/notes/theirs")
    told.repo.git("notes", "--ref=taskctx", "merge", "-q", "-s", "cat_sort_uniq", "refs/notes/theirs")
    shown = told.repo.git("notes", "--ref=taskctx", "show", "HEAD").splitlines()
    assert sorted(json.loads(line)["task"] for line in shown) == ["TASK-1", "TASK-2"]
    assert told.ok("get").err == ""
    theirs, mine = clone.records(), told.records()
    with opened(told.repo) as repository:
        for records in (theirs, mine):
            found = read_entries(repository, records[0]["context"])
            assert [json.loads(entry.line) for entry in found] == records
    told.ok("block", "--agent", "reviewer", "--finding", "after the merge")
