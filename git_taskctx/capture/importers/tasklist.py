"""Files with many tasks, as task-master's `tasks.json`: the id picks one, and the others do not count.

`{"tasks": […]}`, the same under tags (`{"master": {"tasks": […]}}`), and tasks by id instead of in a list; the user
stories of a `prd.json`; and JSON Lines with a task on each, as beads keeps its issues.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from git_taskctx.capture.importers import markdown
from git_taskctx.capture.strict_json import parse_json
from git_taskctx.capture.strict_yaml import Node, Problems
from git_taskctx.situation import Situation

_LISTS = ("tasks", "userStories")
_NOTES = ("metadata", "meta")
"""Keys with a tool's notes about the list, as when it was changed."""
_NAMES = {"acceptanceCriteria": "acceptance_criteria", "qualityGates": "quality_gates", "key": "id"}


def claims(root: Node) -> bool:
    """Return whether a file holds a list of tasks, or several under tags."""
    return any(True for _ in _lists(root))


def translate(root: Node, task: str, problems: Problems) -> Node | None:
    """Return the task with this id: `5`, subtask `5.2`, tagged `TAG.5`, and `TASK-005` for 5 as well."""
    lists = list(_lists(root))
    found: list[tuple[str, Node]] = []
    for same in (_is, _is_number):
        found = [(tag, one) for tag, tasks in lists for id_, one in _with_subtasks(tasks) if same(id_, task, tag)]
        if found:
            break
    if len(found) == 1:
        return _translate(found[0][1])
    line, column = root.line, root.column
    if found:
        tags = list(dict.fromkeys(tag for tag, _ in found))
        where = f"under {', '.join(tags)}: name one, as in {tags[0]}.{task}" if len(tags) > 1 else ""
        problems.add(line, column, f"task {task} is here {len(found)} times {where}".rstrip())
    else:
        ids = [id_ for _, tasks in lists for id_, _ in _tasks(tasks)]
        shown = ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
        problems.add(line, column, f"no task {task} in this file, which holds {shown or 'none'}")
        problems.situation = Situation("clone.not_in_list", ids=ids, name=problems.name) if ids else None
    return None


def parse_lines(text: str, problems: Problems) -> Node | None:
    """Parse JSON Lines as a list of tasks."""
    items = []
    for number, line in enumerate(text.split("\n"), 1):
        own = Problems(problems.name)
        node = parse_json(line, own) if line.strip() else None
        for _, column, message in own.found:
            problems.add(number, column, message)
        if node is not None:
            items.append(_on_line(node, number))
    return Node({"tasks": Node(tuple(items), 1, 1)}, 1, 1)


def _on_line(node: Node, line: int) -> Node:
    value = node.value
    if isinstance(value, dict):
        value = {key: _on_line(item, line) for key, item in value.items()}
    elif isinstance(value, tuple):
        value = tuple(_on_line(item, line) for item in value)
    return Node(value, line, node.column)


def every(root: Node) -> Iterator[tuple[str, Node]]:
    """Yield every task and subtask by tag and id, and what is beside the lists of tasks.

    A file may hold more than its list (`package.json`); only tools' notes about the list are left out.
    """
    lists = list(_lists(root))
    for key, node in _beside(root, {id(tasks) for _, tasks in lists}):
        yield key, Node({"description": Node(repr(node.plain()), node.line, node.column)}, node.line, node.column)
    for tag, tasks in lists:
        for id_, one in _with_subtasks(tasks):
            if isinstance(one.value, dict):
                yield f"{tag}.{id_}", _translate(one)


def _beside(node: Node, lists: Collection[int]) -> Iterator[tuple[str, Node]]:
    """Yield what is beside the lists of tasks, at the top and under the tags, by key."""
    for key, item in node.value.items() if isinstance(node.value, dict) else ():
        if id(item) in lists or key in _NOTES:
            continue
        below = item.value.values() if isinstance(item.value, dict) else ()
        if any(id(one) in lists for one in below):
            yield from ((f"{key}/{name}", one) for name, one in _beside(item, lists))
        else:
            yield key, item


def _lists(root: Node) -> Iterator[tuple[str, Node]]:
    if not isinstance(root.value, dict) or root.value.keys() >= {"title", "description"}:
        return
    yield from (("", root.value[name]) for name in _LISTS if _is_list(root.value.get(name)))
    for tag, node in root.value.items():
        if isinstance(node.value, dict) and _is_list(node.value.get("tasks")):
            yield tag, node.value["tasks"]


def _is_list(node: Node | None) -> bool:
    """Return whether a value lists tasks: objects with an id, or objects with a title by id."""
    if node is None:
        return False
    if isinstance(node.value, tuple):
        return all(isinstance(item.value, dict) and "id" in item.value for item in node.value)
    return isinstance(node.value, dict) and all(
        isinstance(item.value, dict) and "title" in item.value for item in node.value.values()
    )


def _tasks(node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node.value, dict):
        yield from node.value.items()
    elif isinstance(node.value, tuple):
        for item in node.value:
            value = item.value["id"].value if isinstance(item.value, dict) and "id" in item.value else None
            if isinstance(value, str):
                yield value, item


def _with_subtasks(node: Node) -> Iterator[tuple[str, Node]]:
    for id_, task in _tasks(node):
        yield id_, task
        subtasks = task.value.get("subtasks") if isinstance(task.value, dict) else None
        for below, subtask in _tasks(subtasks) if subtasks else ():
            yield (below if below.startswith(f"{id_}.") else f"{id_}.{below}"), subtask


def _is(id_: str, task: str, tag: str) -> bool:
    return task.casefold() in (id_.casefold(), f"{tag}.{id_}".casefold())


def _is_number(id_: str, task: str, tag: str) -> bool:
    """Return whether the task's number is the id, as with TASK-0824 and 824."""
    number = re.fullmatch(r"[A-Za-z]+[-_]?0*([0-9]+(?:\.[0-9]+)*)", task)
    return number is not None and number[1] == id_


def _translate(node: Node) -> Node:
    assert isinstance(node.value, dict)  # noqa: S101 - `_tasks` yields nothing else
    keys = {_NAMES.get(name, name): item for name, item in node.value.items()}
    details, strategy = keys.pop("details", None), keys.pop("testStrategy", keys.pop("test_strategy", None))
    subtasks = keys.pop("subtasks", None)
    if details is not None:
        markdown.add(keys, "description", details)
    if strategy is not None and isinstance(strategy.value, str):
        markdown.add(keys, "acceptance_criteria", Node(markdown.items(strategy), strategy.line, strategy.column))
    steps = tuple(step for _, subtask in (_tasks(subtasks) if subtasks else ()) for step in _step(subtask))
    if subtasks is not None and steps:
        markdown.add(keys, "plan", Node(steps, subtasks.line, subtasks.column))
    return Node(keys, node.line, node.column)


def _step(subtask: Node) -> Iterator[Node]:
    if isinstance(subtask.value, dict):
        parts = [subtask.value[name].value for name in ("title", "description") if name in subtask.value]
        text = ": ".join(part for part in parts if isinstance(part, str) and part)
        if text:
            yield Node(text, subtask.line, subtask.column)
