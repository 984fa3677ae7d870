"""Task files of every kind into one tree of keys: those of our task file.

The name decides how a file is parsed (YAML, JSON, Markdown); the keys decide which `Importer` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from git_taskctx.capture.importers import checklist, issue, markdown, tasklist
from git_taskctx.capture.strict_json import parse_json
from git_taskctx.capture.strict_yaml import Node, Problems, parse_yaml
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Importer:
    claims: Callable[[Node], bool]
    """Whether a file with these keys is of this kind."""
    translate: Callable[[Node, str, Problems], Node | None]
    """Returns the task with this id under our own keys; unknown keys keep their names."""
    unknown_counts: bool = False
    """Whether a change of an unknown key changes the task; not where a tool keeps its own state in the file."""
    every: Callable[[Node], Iterator[tuple[str, Node]]] | None = None
    """Every task in a file of many, by name, under our own keys."""


IMPORTERS = (
    Importer(tasklist.claims, tasklist.translate, every=tasklist.every),
    Importer(issue.claims, issue.translate),
    Importer(markdown.claims, markdown.translate),
    Importer(lambda root: True, lambda root, task, problems: root, unknown_counts=True),
)
"""In order; the last one reads our own keys."""

_SYNTAX: dict[str, Callable[[str, Problems], Node | None]] = {
    "json": parse_json,
    "jsonl": tasklist.parse_lines,
    "md": markdown.parse,
    "markdown": markdown.parse,
}


def import_task(text: str, *, task: str, problems: Problems) -> tuple[Importer, Node | None, Node | None]:
    """Read a file; return its importer, the keys of the task, and all keys.

    `problems` names the file. Without a task id, a file with several tasks is a problem.
    """
    parse = _SYNTAX.get(suffix_of(problems.name), parse_yaml)
    root = (checklist.parse(text, problems.name) if checklist.is_named(problems.name) else None) or parse(
        text, problems
    )
    if root is None or not isinstance(root.value, dict | tuple):
        return IMPORTERS[-1], root, root
    importer = next(one for one in IMPORTERS if one.claims(root))
    return importer, importer.translate(root, task, problems), root


def is_read(name: str) -> bool:
    """Return whether files that are named so are of a kind that is read."""
    return suffix_of(name) in (*_SYNTAX, "yaml", "yml")


def suffix_of(name: str) -> str:
    """Return the suffix of a name in lower case, also of a name quoted as git does."""
    return name.rstrip('"').rpartition(".")[2].lower()
