"""Every key of the policy, by dotted name: its values, and which of two is stricter.

The keys come from `model.policy`; a new field needs a line in `RULES`.
"""

from __future__ import annotations

import functools
import operator
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from git_taskctx.config.kinds import Kind, WrongValue, kind_of
from git_taskctx.errors import BadConfig, Usage
from git_taskctx.model.codec import field_hints, to_plain
from git_taskctx.model.oids import check_agent_name
from git_taskctx.model.policy import Policy, StandardsRule
from git_taskctx.model.values import dataclass, is_dataclass
from git_taskctx.situation import Situation

MAX_AGENTS = 16
BYPASSES = ("attest", "force-secrets", "no-verify")
"""Bypasses that a proof may tolerate."""


# Each takes the committed value, then the personal one, and returns whether that is at least as strict. False < True.
unchanged = operator.eq
_at_most = _switched_off = operator.ge
_at_least = _switched_on = operator.le


def _subset(committed: Sequence[str], personal: Sequence[str]) -> bool:
    return set(personal) <= set(committed)


def _narrower(committed: Sequence[str], personal: Sequence[str]) -> bool:
    """Return whether a list, unlimited when empty, restricts at least as much."""
    return not committed or (bool(personal) and _subset(committed, personal))


def _later_of(*ranks: str) -> Callable[[str, str], bool]:
    return lambda committed, personal: ranks.index(personal) >= ranks.index(committed)


def _any(value: Any) -> str | None:
    return None


def _from(least: int) -> Callable[[int], str | None]:
    return lambda value: None if value >= least else f"must be {least} or more, not {value}"


def _agents(value: Sequence[str]) -> str | None:
    twice = [name for index, name in enumerate(value) if name in value[:index]]
    if twice:
        return f"names {twice[0]!r} twice"
    if not 1 <= len(value) <= MAX_AGENTS:
        return f"must name 1 to {MAX_AGENTS} agents, not {len(value)}"
    try:
        for name in value:
            check_agent_name(name)
    except Usage as error:
        return f"{error.message} ({error.hint})"
    return None


def _folders(value: Sequence[str]) -> str | None:
    outside = [path for path in value if path.startswith("/") or ".." in path.split("/")]
    return f"{outside[0]!r} is not inside the worktree" if outside else None


def _file(value: str | None) -> str | None:
    return _folders((value,)) if value is not None else None


def _rule_files(value: Sequence[StandardsRule]) -> str | None:
    return _folders([rule.file for rule in value])


def _bypasses(value: Sequence[str]) -> str | None:
    unknown = [name for name in value if name not in BYPASSES]
    return f"{unknown[0]!r} is not one of {', '.join(BYPASSES)}" if unknown else None


def _macros(value: Mapping[str, Any]) -> str | None:
    wrong = [name for name in value if not re.fullmatch(r":[^\s:]+", name)]
    return f"{wrong[0]!r} is not a macro name: write ':name'" if wrong else None


@dataclass(frozen=True)
class Rule:
    """What a key's type does not say."""

    stricter: Callable[[Any, Any], bool]
    """Whether the personal value (second) is at least as strict as the committed one (first)."""
    check: Callable[[Any], str | None] = _any
    """What is wrong with a value of the right type."""
    family: str | None = None
    """Keys of one family are committed together: one in the file locks all."""
    splits: bool = True
    """Whether a comma splits a personal value."""
    entry_prefix: str = ""
    """Prefix of an entry's name that git's variable names cannot hold."""


RULES: Mapping[str, Rule] = {
    "agents": Rule(unchanged, _agents),
    "task.roots": Rule(unchanged, _folders),
    "task.require_status": Rule(_narrower),
    "task.volatile": Rule(_subset),
    "chain.may_edit": Rule(_subset),
    "chain.distinct_actors": Rule(_switched_on),
    "standards.require": Rule(_switched_on),
    "standards.rule": Rule(unchanged, _rule_files),
    "scope.outside": Rule(_later_of("warn", "block")),
    "scope.macros_file": Rule(unchanged, _file),
    "scope.macros": Rule(unchanged, _macros, entry_prefix=":"),
    "qa.default": Rule(unchanged, family="commands", splits=False),
    "qa.require": Rule(_switched_on),
    "qa.tier": Rule(unchanged, family="commands", splits=False),
    "drift.allowance": Rule(_at_most, _from(0)),
    "drift.strict": Rule(_switched_on),
    "commit.require": Rule(_later_of("budget", "snapshot", "validated")),
    "commit.partial": Rule(_switched_off),
    "commit.allow_bypass": Rule(_subset, _bypasses),
    "hooks.fail_closed": Rule(_switched_on),
    "hooks.pre_push": Rule(_switched_on),
    "hooks.remote_seconds": Rule(_at_most, _from(1)),
    "proof.scope": Rule(_later_of("tip", "tasks", "every")),
    "proof.by_patch": Rule(_switched_off),
    "proof.require_signed": Rule(_switched_on),
    "proof.allowed_signers": Rule(unchanged, _file),
    "limits.context_kib": Rule(_at_most, _from(1)),
    "limits.enforce": Rule(_switched_on),
    "secrets.allow_paths": Rule(_subset),
    "lifecycle.archive_days": Rule(_at_least, _from(0)),
}


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Every dotted key of the policy, in the model's order."""
    return {key: kind_of(hint) for key, hint in _leaves(Policy)}


def _leaves(cls: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, hint in field_hints(cls).items():
        if is_dataclass(hint):
            yield from _leaves(hint, f"{prefix}{name}.")
        else:
            yield prefix + name, hint


def values_of(policy: Policy) -> dict[str, Any]:
    """Return every value of `policy` by dotted key."""
    return {key: functools.reduce(getattr, key.split("."), policy) for key in kinds()}


def build_policy(values: Mapping[str, Any]) -> Policy:
    """Undo `values_of`."""
    return typing.cast(Policy, _build(Policy, values, ""))


def _build(cls: Any, values: Mapping[str, Any], prefix: str) -> Any:
    return cls(
        **{
            name: _build(hint, values, f"{prefix}{name}.") if is_dataclass(hint) else values[prefix + name]
            for name, hint in field_hints(cls).items()
        }
    )


def flatten(policy: Policy) -> dict[str, Any]:
    """Return every key of `policy` as plain JSON values, in the order of the model."""
    return {key: to_plain(value) for key, value in values_of(policy).items()}


def check_value(key: str, value: Any, *, where: str) -> None:
    """Refuse an impossible value of the right type. Raises: BadConfig."""
    problem = RULES[key].check(value)
    if problem:
        raise BadConfig(f"{where}: {problem}")


def check_may_edit(values: Mapping[str, Any], *, where: str) -> None:
    """Refuse a `chain.may_edit` without an agent of the chain. Raises: BadConfig."""
    for name in values["chain.may_edit"] or ():
        if name not in values["agents"]:
            agents = ", ".join(values["agents"])
            raise BadConfig(
                f"{where} names {name!r}, which is not one of {agents}", hint=_nearest(name, values["agents"])
            )


def misfit_error(where: str, key: str, misfit: WrongValue) -> BadConfig:
    """Return the error that a value does not fit its key."""
    expected = misfit.expected or ("a string that is not empty" if misfit.at.endswith("]") else kinds()[key].expected)
    return BadConfig(f"{where}{misfit.at}: expected {expected}, found {misfit.found}")


def unknown_error(message: str, key: str, known: Sequence[str], spell: Callable[[str], str] = str) -> BadConfig:
    """Return the error for an unknown key, with the nearest one, spelled by `spell`, as the hint."""
    near = _nearest(key, known, spell)
    return BadConfig(message, None if near else Situation("setting.every_key"), hint=near)


def _nearest(word: str, known: Sequence[str], spell: Callable[[str], str] = str) -> str | None:
    import difflib

    near = difflib.get_close_matches(word[:200], known, n=1)
    return f"did you mean {spell(near[0])}?" if near else None
