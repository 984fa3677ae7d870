"""GitHub issues, as `gh issue view --json` writes them: one, or a list that the number picks from.

The body is Markdown; labels give priority and area; everything else is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_taskctx.capture.importers import markdown
from git_taskctx.capture.strict_yaml import Node, Problems

_PRIORITY = re.compile(
    r"(?:prio(?:rity)?\s*[:/ _-]\s*(?P<named>[\w -]+)|(?P<short>P[0-9])(?:\s*[:/ -].*)?|(?P<before>\w+)[ -]priority)",
    re.IGNORECASE,
)
_AREA = re.compile(r"(?:area|component|module|package|pkg)\s*[:/]\s*(?P<named>\S.*)", re.IGNORECASE)


def claims(root: Node) -> bool:
    """Return whether a file holds an issue, or only issues."""
    items = root.value if isinstance(root.value, tuple) else (root,)
    return bool(items) and all(
        isinstance(item.value, dict)
        and item.value.keys() >= {"title", "body"}
        and not item.value.keys().isdisjoint({"number", "state", "url"})
        for item in items
    )


def translate(root: Node, task: str, problems: Problems) -> Node | None:
    """Return the only issue, or the one whose number ends the id, as in `12`, `#12` and `ISSUE-12`."""
    items = root.value if isinstance(root.value, tuple) else (root,)
    if isinstance(root.value, tuple):
        items = tuple(item for item in items if re.fullmatch(rf"(?:.*\D)?0*{_number(item)}", task))
        if len(items) != 1:
            problems.add(root.line, root.column, f"{len(items) or 'no'} issues in this list fit {task}")
            return None
    issue = items[0]
    assert isinstance(issue.value, dict)  # noqa: S101 - see `claims`
    keys = {name: node for name, node in issue.value.items() if name not in ("number", "id", "state", "labels")}
    if "number" in issue.value:
        keys["id"] = issue.value["number"]
    state = issue.value.get("state")
    if state is not None and isinstance(state.value, str) and state.value.lower() != "open":
        keys["status"] = Node(state.value.lower(), state.line, state.column)
    for label, place in _labels(issue.value.get("labels")):
        for name, pattern in (("priority", _PRIORITY), ("area", _AREA)):
            found = pattern.fullmatch(label)
            if found:
                words = next(word for word in found.groups() if word)
                keys.setdefault(name, Node(words.strip(), place.line, place.column))
    return markdown.translate(Node(keys, issue.line, issue.column), task, problems)


def _number(item: Node) -> str:
    if not isinstance(item.value, dict):
        return ""
    number, url = item.value.get("number"), item.value.get("url")
    if number is not None and isinstance(number.value, str) and number.value.isdecimal():
        return number.value
    found = re.fullmatch(r"https?://.*/issues/([0-9]+)", url.value) if url and isinstance(url.value, str) else None
    return found[1] if found else ""


def _labels(node: Node | None) -> Iterator[tuple[str, Node]]:
    for item in node.value if node is not None and isinstance(node.value, tuple) else ():
        name = item.value.get("name") if isinstance(item.value, dict) else item
        if name is not None and isinstance(name.value, str):
            yield name.value, name
