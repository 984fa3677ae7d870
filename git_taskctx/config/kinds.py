"""How a policy field's type reads a TOML value, or a text of git."""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from git_taskctx.model.codec import field_hints
from git_taskctx.model.policy import StandardsRule
from git_taskctx.model.values import dataclass


class WrongValue(Exception):
    """A value is not what its key takes."""

    def __init__(self, found: str, at: str = "", *, expected: str | None = None) -> None:
        super().__init__(found)
        self.found, self.at, self.expected = found, at, expected


@dataclass(frozen=True)
class Kind:
    """How values of one type are read."""

    expected: str
    """What a value must be, for errors."""
    from_toml: Callable[[Any], Any]
    from_git: Callable[[str | None], Any]
    """Reads one value, or one item of a list."""


def _from_toml_exactly(kind: type[Any]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise WrongValue(describe(value))
        return value

    return read


def _text_from_toml(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongValue(describe(value))
    return value


def _texts_from_toml(value: Any) -> tuple[str, ...]:
    for index, item in enumerate(_from_toml_exactly(list)(value)):
        if not isinstance(item, str) or not item.strip():
            raise WrongValue(describe(item), at=f"[{index}]")
    return tuple(value)


def _table_from_toml(value: Any) -> dict[str, tuple[str, ...]]:
    result = {}
    for name, items in _from_toml_exactly(dict)(value).items():
        try:
            result[name] = _texts_from_toml(items)
        except WrongValue as misfit:
            raise WrongValue(misfit.found, at=f".{show_key(name)}{misfit.at}") from misfit
    return result


def _text_from_git(text: str | None) -> str:
    if text is None:
        raise WrongValue("no value")
    return text


def _whole_text_from_git(text: str | None) -> str:
    return _text_from_toml(_text_from_git(text))


def _bool_from_git(text: str | None) -> bool:
    if text is None:
        return True
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return _int_from_git(text) != 0
    except WrongValue:
        raise WrongValue(describe(text)) from None


def _int_from_git(text: str | None) -> int:
    match = re.fullmatch(r"\s*([+-]?[0-9]{1,12})([kmg]?)", _text_from_git(text), re.IGNORECASE)
    if not match:
        raise WrongValue(describe(text))
    scale: int = 1024 ** " kmg".index(match[2].lower() or " ")
    return int(match[1]) * scale


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise WrongValue("no value" if value is None else describe(value))
        return str(value)

    return read


def _rules_from_toml(value: Any) -> tuple[StandardsRule, ...]:
    return tuple(_rule_from_toml(item, f"[{index}]") for index, item in enumerate(_from_toml_exactly(list)(value)))


def _rule_from_toml(value: Any, at: str) -> StandardsRule:
    if not isinstance(value, dict):
        raise WrongValue(describe(value), at, expected="a table [[standards.rule]]")
    hints = field_hints(StandardsRule)
    read = {}
    for name, item in value.items():
        if name not in hints:
            raise WrongValue(f"the key {name!r}", at, expected=" or ".join(map(repr, hints)))
        kind = kind_of(hints[name])
        try:
            read[name] = kind.from_toml(item)
        except WrongValue as misfit:
            raise WrongValue(misfit.found, f"{at}.{name}{misfit.at}", expected=kind.expected) from misfit
    if "file" not in read:
        raise WrongValue("none", f"{at}.file", expected="the path of a Markdown file")
    return StandardsRule(**read)


def _no_rules_from_git(text: str | None) -> Any:
    raise WrongValue(describe(text) if text is not None else "no value")


KINDS: Mapping[Any, Kind] = {
    bool: Kind("true or false", _from_toml_exactly(bool), _bool_from_git),
    int: Kind("a whole number", _from_toml_exactly(int), _int_from_git),
    str: Kind("a string that is not empty", _text_from_toml, _whole_text_from_git),
    tuple: Kind("a list of strings", _texts_from_toml, _text_from_git),
    Mapping: Kind("a table of lists of strings", _table_from_toml, _text_from_git),
    StandardsRule: Kind("tables [[standards.rule]], in the committed file", _rules_from_toml, _no_rules_from_git),
}


def kind_of(hint: Any) -> Kind:
    """Return how a field with this type hint is read."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (hint,) = (arg for arg in args if arg is not type(None))
        return kind_of(hint)
    if origin is tuple and args[0] is StandardsRule:
        return KINDS[StandardsRule]
    if origin is typing.Literal:
        return Kind(" or ".join(map(repr, args)), _one_of(args), _one_of(args))
    return KINDS[origin or hint]


def describe(value: Any) -> str:
    """Describe a TOML value and its type, for an error."""
    names = {bool: "the boolean", int: "the number", float: "the number", str: "the string", list: "a list"}
    name = names.get(type(value), "a table" if isinstance(value, dict) else "a date or time")
    if name.startswith("a "):
        return name
    shown = json.dumps(value, ensure_ascii=True)
    return f"{name} {shown if len(shown) <= 60 else shown[:60] + '…'}"


def show_key(name: str) -> str:
    """Write a part of a dotted name, quoted where TOML requires it."""
    return name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
