"""The keys of a task file, flat or grouped, as one set of dotted names."""

from __future__ import annotations

import itertools

from git_taskctx.capture.strict_yaml import Node, Problems
from git_taskctx.model.values import dataclass, field

TEXTS = ("title", "priority", "area", "description", "outcome")
LONG = ("description", "outcome")
"""Texts of several lines; all others become one line."""
LISTS = {
    "scope_in": ("scope.in", "scope_in"),
    "scope_out": ("scope.out", "scope_out", "constraints.prohibited"),
    "acceptance_criteria": ("acceptance_criteria", "acceptance_criteria.must"),
    "quality_gates": ("acceptance_criteria.quality_gates", "quality_gates"),
    "plan": ("plan",),
}
COMMANDS = ("validation.pipeline", "validation.commands", "qa.commands")
RUN, SAY = ("command", "run", "cmd"), ("description", "name")
HEADS = ("title", "criteria", "criterion", "step", "name", "text", "statement", "summary", "content", "description")
DETAILS = ("details", "description")
DONE = "definition_of_done"
CITED = ("standards_ref", "standard_ref", "ref", "reference")
"""Keys of a structured item: what it is (the first one present), how, when it is done, and its standard."""
NOTHING = Node(None, 0, 0)
MANUAL_CHECKS = ("validation.manual_checks",)
PATHS = ("context.repo_paths", "repo_paths")
DOCS = ("context.related_docs", "related_docs")
STANDARDS = "standards"
KNOWN = ("id", "status", *TEXTS, *(key for keys in LISTS.values() for key in keys), *COMMANDS)
KNOWN = (*KNOWN, *MANUAL_CHECKS, *PATHS, *DOCS, STANDARDS)
GROUPS = {key.partition(".")[0] for key in KNOWN if "." in key}


@dataclass
class Flat:
    """The known keys of a file by dotted name, and the names of the others."""

    known: dict[str, Node] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)


def flatten(root: Node | None, problems: Problems) -> Flat:
    """Sort a file's keys into known and unknown ones; a scalar where keys belong is a problem."""
    flat = Flat()
    if root is None or not isinstance(root.value, dict):
        if not problems.found:
            line, column = (root.line, root.column) if root else (1, 1)
            problems.add(line, column, "expected keys and values, as in `title: …`")
        return flat
    for key, node in root.value.items():
        if key == "acceptance_criteria" and isinstance(node.value, dict) and "must" not in node.value:
            # Criteria in groups of other names are criteria all the same.
            named = {name: part for name, part in node.value.items() if name != "quality_gates"}
            lists = [part.value for part in named.values() if isinstance(part.value, tuple)]
            flat.unknown.update(f"{key}.{name}" for name, part in named.items() if not isinstance(part.value, tuple))
            flat.known[f"{key}.must"] = Node(tuple(itertools.chain(*lists)), node.line, node.column)
            if "quality_gates" in node.value:
                flat.known[f"{key}.quality_gates"] = node.value["quality_gates"]
        elif key in GROUPS and isinstance(node.value, dict):
            for name, item in node.value.items():
                _sort_in(f"{key}.{name}", item, flat)
        elif key in GROUPS and key not in KNOWN and key not in ("context", "constraints") and node.value is not None:
            members = " and ".join(f"`{name.partition('.')[2]}:`" for name in KNOWN if name.startswith(f"{key}."))
            problems.add(
                node.line, node.column, f"{key}: expected keys, found {kind_of(node)}: write {members} under it"
            )
        elif key not in GROUPS or key in KNOWN or node.value is not None:
            _sort_in(key, node, flat)
    return flat


def _sort_in(key: str, node: Node, flat: Flat) -> None:
    if key in KNOWN:
        flat.known[key] = node
    else:
        flat.unknown.add(key)


def kind_of(node: Node) -> str:
    if isinstance(node.value, dict):
        return "keys and values"
    return "a list" if isinstance(node.value, tuple) else "text"
