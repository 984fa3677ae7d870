"""Personal settings from `git config`, on top of the team's policy."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_taskctx.config.committed import CommittedPolicy
from git_taskctx.config.keys import (
    RULES,
    build_policy,
    check_may_edit,
    check_value,
    kinds,
    misfit_error,
    unchanged,
    unknown_error,
    values_of,
)
from git_taskctx.config.kinds import KINDS, WrongValue
from git_taskctx.errors import BadConfig
from git_taskctx.model.codec import to_plain
from git_taskctx.model.pipeline import Pipelines
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass
from git_taskctx.situation import Situation

OWN = {"actor": "a name", "lifecycle.on_complete": "a command"}
"""Personal keys, which cannot be committed, and their values."""
Setting = tuple[str, str | None, str]
"""Key as git writes it, value (None without `=`), and git's text of its origin."""


@dataclass(frozen=True)
class Config:
    """The configuration in force."""

    policy: Policy
    actor: str | None
    """`taskctx.actor`: the default actor."""
    on_complete: str | None
    """`taskctx.lifecycle.onComplete`: a command to run when a task is over; no committed file can set it."""
    origins: Mapping[str, str]
    """Origin of every dotted key: `default`, the committed file, or git's text."""
    warnings: tuple[str, ...]
    """Personal settings, or a whole file, that were ignored, and why."""
    pipelines: Pipelines | None = None
    """As committed: personal settings cannot change them."""

    @property
    def agents(self) -> tuple[str, ...] | None:
        """The agents that a proof requires; None where nobody names them."""
        return self.policy.agents if self.origins.get("agents", "default") != "default" else None


def personal_policy(settings: Sequence[Setting], committed: CommittedPolicy) -> Config:
    """Apply `git config --get-regexp '^taskctx[.]'`, in git's order, to the committed policy.

    The last value of a key counts. A list takes all values of its last origin, so that a repository's list, or one
    given with `-c`, replaces that of the home folder; commas split values, except in commands. A setting that loosens a
    committed key is ignored with a warning. Raises: BadConfig for an unknown key or a wrong type, naming the origin.
    """
    values = values_of(committed.policy)
    origins = {key: committed.name if key in committed.keys else "default" for key in [*values, *OWN]}
    warnings: list[str] = []
    own: dict[str, str] = {}
    for (key, entry), found in _group(settings).items():
        name, origin = _git_name(key, entry), found[-1][1]
        if key in OWN:
            with _setting(name, origin):
                own[key], origins[key] = _read_text(found[-1][0], OWN[key], where=_at(origin, name)), origin
            continue
        with _setting(name, origin):
            value = _read_personal(key, entry, found, _at(origin, name))
            if entry:
                value = {**values[key], RULES[key].entry_prefix + entry: value}
            check_value(key, value, where=_at(origin, name))
        if key in committed.keys and value == values[key]:
            continue
        reason = _looser(key, values[key], value, committed)
        if reason:
            shown = found[-1][0] if found[-1][0] is not None else "true"
            warnings.append(f"{name} = {shown} ({_place(origin)}) is ignored: {reason}")
            continue
        values[key], origins[key] = value, origin
    check_may_edit(values, where=f"{_place(origins['chain.may_edit'])}: chain.may_edit")
    return Config(
        build_policy(values),
        own.get("actor"),
        own.get("lifecycle.on_complete"),
        origins,
        tuple(warnings),
        committed.pipelines,
    )


def _looser(key: str, committed: Any, personal: Any, source: CommittedPolicy) -> str | None:
    """Return why `personal` may not replace the committed value, if so."""
    rule = RULES[key]
    family = [name for name in source.keys if name == key or (rule.family and RULES[name].family == rule.family)]
    if not family or (key in source.keys and rule.stricter(committed, personal)):
        return None
    if rule.stricter is unchanged:
        return f"{source.name} sets {min(family)}, and personal settings cannot change it"
    shown = json.dumps(to_plain(committed), ensure_ascii=False)
    return f"{source.name} sets {shown}, and a personal setting may only be stricter"


def _group(settings: Sequence[Setting]) -> dict[tuple[str, str], list[tuple[str | None, str]]]:
    """Collect the values of each key and table entry, in git's order."""
    groups: dict[tuple[str, str], list[tuple[str | None, str]]] = {}
    for name, value, origin in settings:
        groups.setdefault(_resolve(name, origin), []).append((value, origin))
    return groups


def _resolve(name: str, origin: str) -> tuple[str, str]:
    """Return the dotted key of git's `name`, and the entry where it is a table."""
    rest = name.removeprefix("taskctx.")
    for key, kind in {**kinds(), **dict.fromkeys(OWN)}.items():
        plain = key.replace("_", "")
        if kind is KINDS[Mapping]:
            if rest.lower().startswith(plain + "."):
                return key, rest[len(plain) + 1 :]
        elif rest.lower() == plain:
            return key, ""
    error = unknown_error(f"{_place(origin)}: unknown key {name}", rest, [*kinds(), *OWN], _git_name)
    error.situation = Situation("setting.wrong", name=name, origin=origin)
    raise error


@contextlib.contextmanager
def _setting(name: str, origin: str) -> Iterator[None]:
    """Name the unreadable setting in errors."""
    try:
        yield
    except BadConfig as error:
        error.situation = Situation("setting.wrong", name=name, origin=origin)
        raise


def _git_name(key: str, entry: str = "") -> str:
    """Spell a key for git, whose variable names have no underscore."""
    name = "taskctx." + re.sub(r"_(.)", lambda match: match[1].upper(), key)
    return f"{name}.{entry}" if entry else name


def _place(origin: str) -> str:
    return origin.rstrip(":")


def _at(origin: str, name: str) -> str:
    return f"{_place(origin)}: {name}"


def _read_text(value: str | None, expected: str, *, where: str) -> str:
    if not value or not value.strip():
        raise BadConfig(f"{where}: expected {expected}, found no value")
    return value.strip()


def _read_personal(key: str, entry: str, found: Sequence[tuple[str | None, str]], where: str) -> Any:
    kind, (last, origin) = kinds()[key], found[-1]
    try:
        if not entry and kind is not KINDS[tuple]:
            return kind.from_git(last)
        texts = [kind.from_git(value) for value, where_from in found if where_from == origin]
    except WrongValue as misfit:
        raise misfit_error(where, key, misfit) from misfit
    items = [item for text in texts for item in (_split(text) if RULES[key].splits else [text])]
    return tuple(item.strip() for item in items if item.strip())


def _split(text: str) -> list[str]:
    """Split at commas outside braces: a pattern may have alternatives."""
    items, depth = [""], 0
    for char in text:
        depth = max(0, depth + (char == "{") - (char == "}"))
        if char == "," and not depth:
            items.append("")
        else:
            items[-1] += char
    return items
