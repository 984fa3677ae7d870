"""Parse the team's policy: `.taskctx.toml`, or `[tool.taskctx]` in `pyproject.toml`, both from a commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from git_taskctx.config.keys import (
    build_policy,
    check_may_edit,
    check_value,
    kinds,
    misfit_error,
    unknown_error,
    values_of,
)
from git_taskctx.config.kinds import WrongValue, describe, show_key
from git_taskctx.errors import BadConfig
from git_taskctx.limits import POLICY_LIMIT, load_toml
from git_taskctx.model.pipeline import Pipelines
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass, field

COMMITTED_FILE = ".taskctx.toml"
PYPROJECT_FILE = "pyproject.toml"
POLICY_FILES = (COMMITTED_FILE, PYPROJECT_FILE)
TABLES = ("run", "stage", "pipeline")
"""The tables of pipelines."""


@dataclass(frozen=True)
class CommittedPolicy:
    """The committed policy, and the keys that it sets."""

    policy: Policy = field(default_factory=Policy)
    keys: frozenset[str] = frozenset()
    """Dotted names of the keys in the file."""
    name: str = COMMITTED_FILE
    """Name of the file in messages."""
    pipelines: Pipelines | None = None
    """What `run` executes; None without stages."""


def parse_file(data: bytes, what: str) -> CommittedPolicy:
    """Read a `.taskctx.toml`, with the keys that it sets; `what` names it in errors.

    Raises: BadConfig for bad TOML (with line and column), an unknown key (with the nearest one), a wrong type, or an
    impossible value.
    """
    return _read_policy(_parse_toml(data, what), what)


def find_in_pyproject(data: bytes, what: str, *, lenient: bool = False) -> CommittedPolicy | None:
    """Read `[tool.taskctx]`, if any; `lenient` ignores an unreadable file. Raises: BadConfig."""
    if b"taskctx" not in data:
        return None
    try:
        tool = _parse_toml(data, what).get("tool")
    except BadConfig:
        if lenient:
            return None
        raise
    if not isinstance(tool, dict) or "taskctx" not in tool:
        return None
    if lenient:
        return CommittedPolicy()
    if not isinstance(tool["taskctx"], dict):
        raise BadConfig(f"{what}: tool.taskctx: expected a table, found {describe(tool['taskctx'])}")
    return _read_policy(tool["taskctx"], what, prefix="tool.taskctx.")


def differs(name: str, committed: bytes | None, other: bytes | None) -> bool:
    """Return whether a policy file differs from the committed one in what is ours."""
    if name == PYPROJECT_FILE and b"taskctx" not in (committed or b"") + (other or b""):
        return False
    plain = [one if one is None else one.replace(b"\r\n", b"\n") for one in (committed, other)]
    return plain[0] != plain[1]


def _parse_toml(data: bytes, what: str) -> dict[str, Any]:
    if len(data) > POLICY_LIMIT:
        raise BadConfig(f"{what} has {len(data)} bytes, more than {POLICY_LIMIT}")
    try:
        text = data.decode("utf-8-sig")
        return load_toml(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{what}:{line}: not UTF-8") from error
    except ValueError as error:
        raise BadConfig(_toml_problem(str(error), text, what)) from error


def _toml_problem(problem: str, text: str, what: str) -> str:
    match = re.fullmatch(r"(.*) \((?:at line (\d+), column (\d+)|at end of document)\)", problem, re.DOTALL)
    if not match:
        return f"{what}: {problem}"
    line, column = match[2] or text.count("\n") + 1, match[3] or len(text) - text.rfind("\n")
    return f"{what}:{line}:{column}: {match[1][:1].lower()}{match[1][1:]}"


def _read_policy(table: Mapping[str, Any], what: str, prefix: str = "") -> CommittedPolicy:
    ours = {  # `[x-NAME]` is for other tools or later versions
        name: value
        for name, value in table.items()
        if name not in TABLES and not (name.startswith("x-") and isinstance(value, dict))
    }
    found = dict(_read_table(ours, "", what, prefix))
    values = values_of(Policy()) | found
    check_may_edit(values, where=f"{what}: {prefix}chain.may_edit")
    pipelines, theirs = None, {name: table[name] for name in TABLES if name in table}
    if theirs:
        from git_taskctx.config.pipelines import read_pipelines

        pipelines = read_pipelines(theirs, what, prefix)
    return CommittedPolicy(build_policy(values), frozenset(found), what, pipelines)


def _tables() -> list[str]:
    return sorted({key.rpartition(".")[0] for key in kinds()} - {""})


def _read_table(table: Mapping[str, Any], parent: str, what: str, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = parent + show_key(name)
        where = f"{what}: {prefix}{key}"
        if key in kinds():
            try:
                read = kinds()[key].from_toml(value)
            except WrongValue as misfit:
                raise misfit_error(where, key, misfit) from misfit
            check_value(key, read, where=where)
            yield key, read
        elif key in _tables():
            if not isinstance(value, dict):
                raise BadConfig(f"{where}: expected a table, found {describe(value)}")
            yield from _read_table(value, key + ".", what, prefix)
        else:
            kind = "table" if isinstance(value, dict) else "key"
            raise unknown_error(f"{what}: unknown {kind} {prefix}{key}", key, [*kinds(), *_tables(), *TABLES])
