"""Task files of every kind into one tree of keys: the task file's own.

How a file is written (YAML, JSON, Markdown) goes by its name; whose keys it has goes by the keys. An `Importer`
answers for one family of keys, and this is all that another one must bring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from git_taskctx.capture.importers import checklist, issue, markdown, tasklist
from git_taskctx.capture.strict_json import parse_json
from git_taskctx.capture.strict_yaml import Node, Problems, parse_yaml
from git_taskctx.model.values import dataclass


@dataclass(frozen=True)
class Importer:
    """One kind of task file."""

    claims: Callable[[Node], bool]
    """Whether a file with these keys is of this kind."""
    translate: Callable[[Node, str, Problems], Node | None]
    """The part of the file that is the task of this id, with the task file's own keys; what has none keeps its name."""
    unknown_counts: bool = False
    """Whether a change of a key that is not captured is a change of the task. Where a tool writes the file it is not:
    the tool keeps its own state there."""
    every: Callable[[Node], Iterator[tuple[str, Node]]] | None = None
    """Every task in a file of many, by its name, each with the task file's own keys."""


IMPORTERS = (
    Importer(tasklist.claims, tasklist.translate, every=tasklist.every),
    Importer(issue.claims, issue.translate),
    Importer(markdown.claims, markdown.translate),
    Importer(lambda root: True, lambda root, task, problems: root, unknown_counts=True),
)
"""In the order in which they are asked; the last one answers for a task file's own keys."""

_SYNTAX: dict[str, Callable[[str, Problems], Node | None]] = {
    "json": parse_json,
    "jsonl": tasklist.parse_lines,
    "md": markdown.parse,
    "markdown": markdown.parse,
}


def import_task(text: str, *, task: str, problems: Problems) -> tuple[Importer, Node | None, Node | None]:
    """Read the text of a file, named as `problems` names it, and return who reads it, the keys of the task, and all.

    Without a task id a file that holds several is a problem.
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
    """Return what the name of a file ends in, in small letters; the name may be quoted as git does."""
    return name.rstrip('"').rpartition(".")[2].lower()
