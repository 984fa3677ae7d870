"""What each kind of record says, typed: nothing is lost, nothing wrong gets in, and what is newer is kept."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from old_ledgers import LEDGERS, lines_of, unpack_ledger

from git_taskctx.errors import BadData
from git_taskctx.ledger import chain as chains
from git_taskctx.ledger.chain import Chain, fold
from git_taskctx.model import payloads
from git_taskctx.model.canonical import dump_line
from git_taskctx.model.codec import keys_of
from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.payloads import Misfit, Origin
from git_taskctx.model.policy import Policy
from git_taskctx.model.proof import Code
from git_taskctx.model.record import FIXED_FIELDS, KINDS, SIGNATURE, Record, body_of, draft_record, link, load_record
from git_taskctx.model.schema import build_schema
from git_taskctx.model.values import replace
from git_taskctx.proof.claims import read_claims
from git_taskctx.report.history import line_of

ZERO = TreeOid("0" * 40)
WRONG: tuple[Any, ...] = (None, True, 7, "wrong", [], ["x"], [7], {"x": 1})


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every record of the ledgers that earlier versions wrote."""
    place = tmp_path_factory.mktemp("ledgers")
    return [line for name in LEDGERS for line in lines_of(unpack_ledger(name, place))]


@functools.cache
def validator() -> Draft202012Validator:
    """Return what checks a record against the published schema."""
    schema = build_schema("record")
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def samples(lines: list[str]) -> list[Record]:
    """Return records in which every field of every kind occurs."""
    found, seen = list[Record](), set[tuple[str, str]]()
    for record in map(load_record, sorted(lines, key=len, reverse=True)):
        names = {(record.type, name) for name in (*record.body, "")} - seen
        if names:
            found.append(record)
            seen |= names
    return found


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container in a JSON value with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def test_a_payload_says_all_that_a_record_does(lines: list[str]) -> None:
    """Written again from its typed payload, each record is byte for byte what it was."""
    for line in lines:
        record = load_record(line)
        signature = {SIGNATURE: record.signature} if record.signature is not None else {}
        assert record.unknown == ()
        assert replace(record, body={**body_of(record.payload, record.origin), **signature}).to_line() == line


def test_every_record_fits_the_schema(lines: list[str]) -> None:
    """The published schema takes every record that was ever written."""
    for line in lines:
        validator().validate(json.loads(line))


def test_every_field_was_written(lines: list[str]) -> None:
    """No class has a field that the corpus does not have."""
    written: dict[str, set[str]] = {}
    for record in map(load_record, lines):
        written.setdefault(record.type, set()).update(record.body)
    named = {kind: set(keys_of(cls)) for kind, (cls, _) in KINDS.items()}
    missing = {kind: names - written.get(kind, set()) for kind, names in named.items()}
    inherited = {"previous", "round", "back", "implied", "attest", "resume", "note"}
    assert {kind: names - inherited if kind == "takeover" else names for kind, names in missing.items() if names} == {
        "takeover": set()
    }


@pytest.mark.slow
def test_a_wrong_value_is_bad_data(lines: list[str]) -> None:
    """Whatever stands in the place of any value, record and schema say the same of it, and the fold stops there."""
    state = fold([_init()])
    for record in samples(lines):
        text = json.dumps(record.body)
        for number in range(len(list(places(json.loads(text))))):
            for wrong in WRONG:
                body = json.loads(text)
                holder, key = list(places(body))[number]
                holder[key] = wrong
                broken = replace(record, body=body)
                fits = not isinstance(broken.payload, Misfit)
                if SIGNATURE not in body:
                    valid = validator().is_valid(json.loads(broken.to_line()))
                    # The schema asks also for what the reader has a default for.
                    assert valid == fits or (fits and isinstance(wrong, dict)), (record.type, key, wrong)
                _applies(state, broken, fits=fits)


def _applies(state: Chain, record: Record, *, fits: bool) -> None:
    """Apply a record; nothing but BadData may come of it, and where it does not fit that must, with its name."""
    agent = state.owner if record.agent is not None else None
    record = replace(record, agent=agent)
    try:
        state.apply(record)
        assert fits
    except BadData as error:
        assert record.id in error.message
        if not fits:
            assert isinstance(record.payload, Misfit)
            assert error.message == record.payload.why


def _init(**fields: Any) -> Record:
    at = {"time": "2026-01-01T00:00:00Z", "context": "0123456789abcdef", "task": "TASK-1", "seq": 1, "base": None}
    return draft_record(payloads.Init(("dev",), **fields), Origin(), agent="dev", actor="A", tree=ZERO, **at)


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (payloads.Block("F1", 7), "record ID (block).text: expected str, found int"),  # type: ignore[arg-type]
        (payloads.Qa("no run"), "record ID (qa).run: expected dict, found str"),  # type: ignore[arg-type]
        (payloads.Snapshot(1), "record ID (snapshot): field 'tree' is null"),
    ],
)
def test_a_mistake_of_ours_is_no_bad_record(payload: payloads.Payload, told: str) -> None:
    """A payload that could not be read back is never written: that is a bug, and says where."""
    first = _init()
    with pytest.raises(TypeError) as caught:
        draft_record(
            payload, Origin(), time=first.time, context=first.context, task="TASK-1", seq=2, agent="dev", actor="A",
            base=None,
        )  # fmt: skip
    assert str(caught.value).replace(first.id[:-1] + "2", "ID") == told


def test_an_error_in_the_fold_is_no_bad_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in our own code stays what it is."""

    def fail(*_: object) -> Chain:
        raise KeyError("ours")

    monkeypatch.setitem(chains._APPLY, payloads.Purge, fail)
    with pytest.raises(KeyError, match="ours"):
        fold([_init(), replace(_init(), type="purge", body={})])


def test_a_field_of_a_later_version_is_kept_and_told(lines: list[str]) -> None:
    """It stays in the line and in the hash, is named where a person reads the record, and is no misfit, nested too."""
    for record in samples(lines):
        newer = {**record.body, "usage": {"tokens": 7}}
        nested = [key for key in ("run", "evidence", "capture", "task_file") if isinstance(newer.get(key), dict)]
        newer |= {key: {**newer[key], "later": 1} for key in nested}
        newer["stage"] = {"run": 1, "stage": "lint", "attempt": 1, "later": 1}
        nested.append("stage")
        line = dump_line({**{name: getattr(record, name) for name in FIXED_FIELDS}, **dict(sorted(newer.items()))})
        read = load_record(line)
        assert (read.to_line(), read.sha) == (line, hashlib.sha256(line.encode()).hexdigest())
        assert sorted(read.unknown) == sorted(["usage", *(f"{key}.later" for key in nested)])
        assert read.payload == record.payload
        assert "usage" in "".join(one if isinstance(one, str) else one[0] for one in line_of(read, several=False))
        validator().validate(json.loads(line))


def test_the_proof_tells_of_them() -> None:
    """A chain with such a field is proved by the rest of it, with a notice that names the record and the field."""
    first, oid = _init(), TreeOid("b" * 40)
    at = {"time": first.time, "context": first.context, "task": first.task, "agent": "dev", "actor": "A", "base": None}
    taken = draft_record(payloads.Snapshot(1, done=True), Origin(), seq=2, tree=oid, commit_tree=oid, **at)
    taken = replace(taken, body={**taken.body, "usage": 7})
    seal = draft_record(payloads.Seal(), Origin(), seq=3, tree=oid, commit_tree=oid, commit=CommitOid("c" * 40), **at)
    written = [record.to_line() for record in link([first, taken, seal], None)]
    (told,) = read_claims(written, Policy(), None).contexts
    (claim,) = told.claims
    assert (told.reasons, claim.reasons) == ((), ())
    (notice,) = claim.notices
    assert (notice.code, notice.record) == (Code.UNKNOWN_FIELDS, taken.id)
    assert notice.message.endswith("(snapshot): usage")
