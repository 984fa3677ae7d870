"""Checklists of tasks in Markdown, as spec-kit, OpenSpec and Kiro write them in `tasks.md`.

A box whose text begins with an id (`- [ ] T004 [P] …`, `- [ ] 1.2 …`) is a task, and what is indented below it its
details. The file as a whole is the task that is named like its folder: its boxes are the plan.
"""

from __future__ import annotations

import re

from git_taskctx.capture.strict_yaml import Node
from git_taskctx.limits import LINES_LIMIT

_NAME = "tasks.md"
_BOX = re.compile(
    r"(?P<indent>\s*)[-*+]\s+\[(?P<tick>[ xX~-])\]\*?\s+(?:\*\*)?(?P<id>[A-Z]{1,4}-?\d{1,6}|\d{1,4}(?:\.\d{1,4}){0,4})"
    r"(?:[.:)])?(?:\*\*)?[.:)]?\s+(?P<title>\S.*)"
)
_MARKS = re.compile(r"(?:\[[A-Z]{1,3}\d*\]\s*)+")
"""Marks of spec-kit's before a title: `[P]` for what can go on beside others, `[US1]` for a user story."""
_FENCE = re.compile(r"\s*(?:```|~~~)")


def is_named(name: str) -> bool:
    """Return whether a file is named as these are."""
    return name.rpartition("/")[2].rstrip('"') == _NAME


def parse(text: str, name: str) -> Node | None:
    """Parse a checklist as a list of tasks; None for any other Markdown, as where front matter makes it one task."""
    if text.startswith("---\n") or text.count("\n") > LINES_LIMIT:
        return None
    tasks: list[dict[str, Node]] = []
    more: dict[int, list[tuple[int, str]]] = {}
    """Lines below a box."""
    rest: list[tuple[int, str]] = []
    below, section, fenced = -1, "", False
    for number, line in enumerate(text.split("\n"), 1):
        box = None if fenced else _BOX.fullmatch(line.rstrip())
        fenced ^= _FENCE.match(line) is not None
        if box is not None:
            title = _MARKS.sub("", box["title"].rstrip("* "), count=1)
            said = {"id": box["id"], "title": title, "description": f"{title}\n\n{section}".strip()}
            if box["tick"] in "xX":
                said["status"] = "done"
            tasks.append({key: Node(value, number, 1) for key, value in said.items()})
            below = len(box["indent"])
        elif below >= 0 and (not line.strip() or len(line) - len(line.lstrip()) > below):
            more.setdefault(len(tasks) - 1, []).append((number, line.strip()))
        else:
            below = -1
            rest.append((number, line))
            section = line.lstrip("# ").strip() if re.match(r"#{1,6}\s", line) else section
    if not tasks:
        return None
    for index, below_it in more.items():
        tasks[index]["details"] = Node("\n".join(line for _, line in below_it), below_it[0][0], 1)
    steps = tuple(
        Node({name: Node(f"{one['id'].value} {one['title'].value}", line, 1) for name in ("id", "title")}, line, 1)
        for one in tasks
        for line in (one["id"].line,)
    )
    lines = [(number, line) for number, line in rest if line.strip()]
    heading = next((line[2:].strip() for _, line in lines if line.startswith("# ")), "")
    folder = name.rpartition("/")[0].rpartition("/")[2]
    whole = {
        "id": Node(folder or _NAME, 1, 1),
        "title": Node(heading or folder or _NAME, 1, 1),
        "description": Node("\n".join(line for _, line in rest).strip() or heading or name, 1, 1),
        "subtasks": Node(steps, tasks[0]["id"].line, 1),
    }
    every = (whole, *tasks)
    return Node({"tasks": Node(tuple(Node(one, one["id"].line, 1) for one in every), 1, 1)}, 1, 1)
