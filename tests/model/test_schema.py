"""The published JSON schemas: what a real story writes validates, and the loader refuses what they refuse."""

from __future__ import annotations

import contextlib
import copy
import functools
import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import TASK, Desk
from gitrepo import ROOT, GitRepo
from jsonschema import Draft202012Validator
from prepared import fill

from git_taskctx.errors import BadData
from git_taskctx.model.canonical import dump_canonical, dump_line
from git_taskctx.model.context import load_context
from git_taskctx.model.record import load_record
from git_taskctx.model.schema import SCHEMAS, build_schema

TASK_FILE = """\
id: TASK-1
status: in_progress
priority: P1
area: mobile
title: Mend the parser
description: It breaks.
outcome: It does not.
scope:
  in: ["*.py", README]
  out: [everything else]
acceptance_criteria:
  must: [it parses]
  quality_gates: [fast]
plan: [read, mend]
validation:
  commands:
    - command: make test
      description: all of them
  manual_checks: [look at it]
"""


def everything_once(repo: GitRepo) -> None:
    """Begin a context in which everything happens once."""
    desk = Desk(repo)
    repo.write("parser.py", "broken\n")
    repo.write("README", "read me\n")
    repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    repo.write(
        ".taskctx.toml",
        '[scope.macros]\n":ui" = ["ui/**"]\n[qa.tier]\nmobile = ["pnpm test"]\n',
    )
    repo.commit("base")
    repo.write("scratch", "dirt\n")
    desk.ok("init", TASK)
    log = os.fspath(ROOT / "tests" / "capture" / "logs" / "jest-29-cov.log")
    quality = ("--from", log, "--command", "make test", "--exit-code", "1")
    desk.ok("record-qa", "--agent", "implementer", *quality, "--baseline")
    desk.ok("attach", "parser.py", "--type", "excerpt", "--lines", "L1", "--description", "broken")
    repo.write("parser.py", "half\n")
    desk.ok("record-qa", "--agent", "implementer", *quality)
    desk.ok("snapshot", "--agent", "implementer", "--wip")
    repo.remove("README")
    repo.symlink("README", "parser.py")
    repo.git("mv", "-k", "nothing", "there")
    repo.write(b"n\xffew", b"\0\1")
    desk.ok("start", "--agent", "reviewer", "--take-over", "it died")
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")
    desk.ok("update", "--agent", "reviewer", "--session-id", "s1", "--qa-log", log)
    desk.ok("start", "--agent", "implementer")
    repo.write("test_parser.py", "test\n", mode=0o755)
    desk.ok("snapshot", "--agent", "implementer")
    repo.write("parser.py", "drift\n")
    desk.ends(1, "verify")
    desk.ok("restore", "--agent", "implementer")
    desk.ok("resolve-drift", "--note", "undone")
    desk.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    repo.write("parser.py", "reviewed\n")
    desk.ok("snapshot", "--agent", "reviewer", "--attest", "mine")
    repo.git("commit", "-q", "--allow-empty", "-m", "moved")
    desk.ok("resolve-drift", "--accept", "--note", "an empty commit")
    desk.ok("snapshot", "--agent", "validator", "--done")
    desk.ok("purge")
    desk.ok("recover", TASK)
    desk.ok("block", "--agent", "reviewer", "--finding", "back again")


@pytest.fixture
def told(repo: GitRepo) -> Desk:
    """A context in which everything happened once."""
    fill(repo, everything_once)
    return Desk(repo)


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """Return the validator of a published schema, which must itself be one."""
    schema = build_schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def written(desk: Desk, pattern: str) -> Iterator[tuple[Path, Any]]:
    """Yield the JSON files that the story left."""
    found = sorted(desk.folder().glob(pattern))
    assert found, pattern
    for path in found:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        value = json.loads(data)
        assert data == dump_canonical(value), f"{path.name} is not canonical"
        yield path, value


def test_the_verb_prints_what_the_model_says(repo: GitRepo) -> None:
    """`git taskctx schema NAME` is the schema, and all of them stand in one document without a name."""
    desk, schemas = Desk(repo), {name: build_schema(name) for name in SCHEMAS}
    assert {name: json.loads(desk.ok("schema", name).out) for name in SCHEMAS} == schemas
    assert json.loads(desk.ok("schema").out) == schemas


def test_everything_that_is_written_validates(told: Desk) -> None:
    """context.json, role exports, the lists of files, the metrics and every record; and the loaders take them."""
    for path, value in written(told, "context.json"):
        validator("context").validate(value)
        assert load_context(path.read_bytes(), what="context.json").to_bytes() == path.read_bytes()
    for _, value in written(told, "context-*.json"):
        validator("export").validate(value)
    for _, value in written(told, "*-files.json.gz"):
        validator("files").validate(value)
    for _, value in written(told, "metrics-*.json"):
        validator("metrics").validate(value)
    for _, value in written(told, "context.manifest"):
        validator("manifest").validate(value)
    lines = told.repo.git("notes", "--ref=taskctx", "list").splitlines()
    records = 0
    for line in lines:
        for text in told.repo.git("cat-file", "blob", line.split()[0]).splitlines():
            validator("record").validate(json.loads(text))
            assert load_record(text).to_line() == text
            records += 1
    assert records > 15
    assert told.data("get") == json.loads((told.folder() / "context.json").read_bytes())
    for record in told.data("log"):
        validator("record").validate(record)
    assert {record["type"] for record in told.records()} == {
        "init", "snapshot", "start", "takeover", "block", "unblock", "update", "drift", "restore", "resolve", "rebase",
        "purge", "recover", "qa", "attach",
    }  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to an object of each kind in a JSON value: under the same key, with the same fields and types."""
    seen, rest = set[object](), [((), value)]
    while rest:
        path, item = rest.pop(0)
        if isinstance(item, dict):
            name = next((key for key in reversed(path) if isinstance(key, str)), None)
            kind = name, frozenset((key, type(inner)) for key, inner in item.items())
            if kind not in seen:
                seen.add(kind)
                yield path
        inner = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        rest += [((*path, key), one) for key, one in inner]


def inside(value: Any, path: tuple[Any, ...]) -> Any:
    """Return what lies at the end of a way."""
    for key in path:
        value = value[key]
    return value


OPTIONAL = {
    "text",
    "description",
    "lines",
    "note",
    "claimed",
    "runs",
    "own_out_of_scope",
    "conflicts",
    "dirty",
    "dirty_count",
}
"""Fields that are left out where there is nothing to say."""
FREE = {"sources", "counts", "percentages", "tier", "macros"}
"""Mappings whose keys anybody may choose."""


def test_unknown_fields_are_refused_by_schema_and_loader(told: Desk) -> None:
    """In every object of context.json, however deep."""
    [(_, value)] = written(told, "context.json")
    check = validator("context")
    tried = 0
    for path in places(value):
        if path and path[-1] in FREE:
            continue
        broken = copy.deepcopy(value)
        inside(broken, path)["surprise"] = {"status": "pending"} if path == ("coordination",) else 1
        assert not check.is_valid(broken), path
        with pytest.raises(BadData):
            load_context(dump_canonical(broken), what="context.json")
        tried += 1
    assert tried > 20


def test_missing_fields_never_pass(told: Desk) -> None:
    """The schema refuses them; the loader too, or it fills in the default, and the hash is another one."""
    [(_, value)] = written(told, "context.json")
    check = validator("context")
    for path in places(value):
        if path and path[-1] in FREE:
            continue
        for key in inside(value, path):
            broken = copy.deepcopy(value)
            del inside(broken, path)[key]
            if check.is_valid(broken):
                assert key in OPTIONAL or path == ("coordination",), (path, key)
                continue
            data = dump_canonical(broken)
            with contextlib.suppress(BadData):
                assert load_context(data, what="context.json").to_bytes() != data


WRONG: tuple[Callable[[Any], Any], ...] = (
    lambda item: None if item is not None else [],
    lambda item: {"a": item},
    lambda item: [item],
    lambda item: 1.5,
    lambda item: not item if isinstance(item, bool) else True,
)


def test_what_the_loader_takes_the_schema_takes(told: Desk) -> None:
    """For every field, wrong types: both say no, or both say yes."""
    [(_, value)] = written(told, "context.json")
    check = validator("context")
    for path in places(value):
        for key, item in inside(value, path).items():
            for wrong in WRONG:
                broken = copy.deepcopy(value)
                inside(broken, path)[key] = wrong(item)
                try:
                    load_context(dump_canonical(broken), what="context.json")
                    loads = True
                except BadData:
                    loads = False
                if loads != check.is_valid(broken):
                    assert (path, key) in [((), "agents"), ((), "coordination")], (path, key, wrong(item), loads)


RECORD: dict[str, Any] = {
    "id": "20260101T000000Z-00112233445566ff-000001", "v": 1, "type": "block", "context": "00112233445566ff",
    "task": "TASK-1", "agent": "dev", "actor": "me", "time": "2026-01-01T00:00:00Z", "seq": 1, "base": None,
    "tree": None, "commit_tree": None, "commit": None, "diff_sha": None, "context_sha": "0", "prev": None,
    "finding": "F1", "text": "it breaks",
}  # fmt: skip


def test_records_miss_no_field() -> None:
    """A record without one of the fixed fields is no record, for schema and loader."""
    validator("record").validate(RECORD)
    for field in RECORD.keys() - {"finding", "text"}:
        broken = {key: value for key, value in RECORD.items() if key != field}
        assert not validator("record").is_valid(broken), field
        with pytest.raises(BadData):
            load_record(dump_line(broken))


@pytest.mark.parametrize(("field", "value"), [("type", "invented"), ("v", 2), ("seq", "one"), ("tree", 1)])
def test_records_of_another_kind_are_refused(field: str, value: Any) -> None:
    """An unknown type or version, or a wrong one."""
    broken = {**RECORD, field: value}
    assert not validator("record").is_valid(broken)
    with pytest.raises(BadData):
        load_record(dump_line(broken))
