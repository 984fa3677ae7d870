"""Markdown with front matter: the keys are the task file's own, and sections of the body are as good as keys.

A heading that names a part of the task (`## Acceptance criteria`) gives that part, accounts of the work (`## Work
log`) are left out, and all the rest is the description. A tick in a checklist tells how far the work is, not what it
is: only a plan keeps it, and whether it is there makes no other task.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from git_taskctx.capture.strict_yaml import Node, Problems, parse_yaml
from git_taskctx.limits import LINES_LIMIT

if TYPE_CHECKING:
    from markdown_it.token import Token


Line = tuple[str, int]
"""A line and its number."""

_SECTIONS = {
    "acceptance_criteria": ("acceptance criteria", "acceptance", "acceptance tests", "success criteria", "done when"),
    "quality_gates": ("quality gates", "definition of done"),
    "plan": (
        "plan",
        "implementation plan",
        "implementation steps",
        "steps",
        "tasks",
        "subtasks",
        "tasks subtasks",
        "todo",
        "to do",
    ),
    "scope_in": ("scope", "in scope"),
    "scope_out": ("out of scope", "not in scope", "non goals"),
    "outcome": ("outcome", "expected outcome", "goal", "goals", "objective"),
    "repo_paths": ("repo paths", "paths", "paths in scope", "files in scope"),
    "qa.commands": ("validation", "validation commands", "verification", "commands", "qa", "qa commands", "checks"),
}
_FIELD_OF = {heading: field for field, headings in _SECTIONS.items() for heading in headings}
_ACCOUNTS = (
    "implementation notes", "implementation log", "work log", "worklog", "progress", "progress log", "progress notes",
    "activity log", "final summary", "completion notes", "comments", "change log", "changelog",
    "dev agent record", "qa results",
)  # fmt: skip
"""Headings of sections written during the work."""
_STORY = re.compile(r"#\s+Story\s+(?P<id>[0-9]+[.-][0-9]+)\b", re.IGNORECASE)
"""The heading of a story of BMAD's."""
_STATUS = re.compile(r"(?:#{1,6}\s+)?\**Status:?\**:?\s*(?P<status>.*)", re.IGNORECASE)
_READY = ("approved", "ready", "ready for dev", "ready for development")
"""What BMAD calls a story that is to be begun."""
_BULLET = re.compile(r"(?P<bullet>\s*(?:[-*+]|[0-9]{1,9}[.)])\s+)")
_TICK = re.compile(r"(\s*(?:[-*+]|[0-9]{1,9}[.)])\s+)\[[xX]\](?=\s)")
_BOX = re.compile(r"\[[ xX]\]\s+(?:#[0-9]+\s+)?")
_CODE = re.compile(r"(`+)\s?(?P<code>.+?)\s?\1")
DONE = ("[x] ", "[X] ")
"""How a finished step of a plan begins."""
_NO_ANSWER = "_No response_"
"""What GitHub writes for an empty form field."""


def parse(text: str, problems: Problems) -> Node | None:
    """Parse front matter and body; the body becomes a list of lines under the key `body`."""
    lines = text.split("\n")
    keys: dict[str, Node] = {}
    begin = 0
    if lines[0].rstrip() == "---":
        end = next((number for number, line in enumerate(lines) if number and line.rstrip() in ("---", "...")), None)
        if end is None:
            problems.add(1, 1, "the front matter that begins here is never closed: end it with a line '---'")
            return None
        front = parse_yaml("\n".join(["", *lines[1:end], ""]), problems)
        if front is not None and isinstance(front.value, dict):
            keys.update(front.value)
        elif front is not None and front.value is not None:
            problems.add(front.line, front.column, "expected keys and values, as in `title: …`")
        begin = end + 1
    elif lines[0].rstrip() == "+++":
        problems.add(1, 1, "front matter in TOML is not read: write YAML between two lines '---'")
    body = tuple(Node(line, number + 1, 1) for number, line in enumerate(lines) if number >= begin)
    return Node({**keys, "body": Node(body, begin + 1, 1)}, 1, 1)


def claims(root: Node) -> bool:
    return isinstance(root.value, dict) and "body" in root.value


def translate(root: Node, task: str, problems: Problems) -> Node | None:
    """Return the keys, completed by the body's sections."""
    assert isinstance(root.value, dict)  # noqa: S101 - see `claims`
    keys = dict(root.value)
    place = keys["body"]
    body = _lines_of(keys.pop("body"))
    if len(body) > LINES_LIMIT:
        problems.add(
            place.line, place.column, f"the body has {len(body)} lines, more than {LINES_LIMIT}: divide the task"
        )
        return None
    if "title" not in keys and "name" in keys:
        keys["title"] = keys.pop("name")
    for theirs, ours in (("overview", "description"), ("todos", "plan")):  # a plan of Cursor
        if theirs in keys and ours not in keys:
            keys[ours] = keys.pop(theirs)
    body = _take_story(keys, body)
    description: list[Line] = []
    for heading, level, lines in _divide(body):
        words = _plain_words(heading)
        if level == 1 and not any(line.strip() for line, _ in description):
            keys.setdefault("title", Node(heading, lines[0][1], 1))
            is_title = keys["title"].value == heading
            description += lines[1:] if is_title else lines
        elif words in _ACCOUNTS:
            keys[f"## {heading}"] = Node(None, lines[0][1], 1)
        elif words in _FIELD_OF:
            _add_section(keys, _FIELD_OF[words], lines, problems)
        elif [line.strip() for line, _ in lines[1:] if line.strip()] != [_NO_ANSWER]:
            is_description = words == "description" and not any(line.strip() for line, _ in description)
            description += lines[1:] if is_description else lines
    said = [(line, number) for line, number in description if line.strip()]
    if said:
        first, last = description.index(said[0]), len(description) - description[::-1].index(said[-1])
        text = "\n".join(_TICK.sub(r"\1[ ]", line) for line, _ in description[first:last])
        add(keys, "description", Node(text, said[0][1], 1))
    return Node(keys, root.line, root.column)


def story_of(text: str) -> str | None:
    """Return the id of the story that a text of BMAD's tells; None for any other text."""
    found = _STORY.match(text.lstrip("\ufeff\r\n \t"))
    return found["id"] if found else None


def _take_story(keys: dict[str, Node], body: list[Line]) -> list[Line]:
    """Take id and status of a story into the keys; return the lines without the status, which changes meanwhile."""
    number = story_of("\n".join(line for line, _ in body))
    if number is None:
        return body
    keys.setdefault("id", Node(number, body[0][1], 1))
    at = next((index for index, (line, _) in enumerate(body) if _STATUS.fullmatch(line.strip())), None)
    if at is None or "status" in keys:
        return body
    found, end = _STATUS.fullmatch(body[at][0].strip()), at + 1
    status = found["status"].strip() if found else ""
    while not status and end < len(body) and not body[end][0].startswith("#"):
        status, end = body[end][0].strip().strip("*"), end + 1
    if _plain_words(status) not in _READY:
        keys["status"] = Node(status or None, body[at][1], 1)
    return [*body[:at], *body[end:]]


def add(keys: dict[str, Node], name: str, node: Node) -> None:
    """Add a value to a key, or to a grouped one as `qa.commands`: lists grow, texts are joined."""
    group, _, member = name.partition(".")
    if member:
        inside = keys.get(group)
        members = dict(inside.value) if inside is not None and isinstance(inside.value, dict) else {}
        add(members, member, node)
        keys[group] = Node(members, *((inside.line, inside.column) if inside else (node.line, node.column)))
        return
    there = keys.get(name)
    value = node.value
    if there is not None and isinstance(there.value, str) and isinstance(value, tuple):
        there = Node(items(there, ticks=name == "plan"), there.line, there.column)
    if there is not None and isinstance(there.value, tuple) and isinstance(value, tuple):
        keys[name] = Node((*there.value, *value), there.line, there.column)
    elif there is not None and isinstance(there.value, str) and isinstance(value, str) and there.value.strip():
        keys[name] = Node(f"{there.value.rstrip()}\n\n{value}", there.line, there.column)
    elif there is None or there.value in (None, "", ()):
        keys[name] = node


def is_list(text: str) -> bool:
    """Return whether a text is a list: it has several lines, or begins like an item."""
    return "\n" in text.strip() or _BULLET.match(text) is not None


def items(node: Node, *, ticks: bool = False) -> tuple[Node, ...]:
    """Return the items of a list text, else its paragraphs; a huge text is one item. `ticks` keeps done marks."""
    lines = _lines_of(node)
    return tuple(_items(lines, ticks=ticks)) if len(lines) <= LINES_LIMIT else (node,)


def without_ticks(value: Any) -> Any:
    """Return a plan without its done marks."""
    if isinstance(value, list):
        return [without_ticks(one) for one in value]
    return _BOX.sub("", _TICK.sub(r"\1[ ]", value), count=1) if isinstance(value, str) else value


def _lines_of(node: Node) -> list[Line]:
    """Return a text's lines; if it was written on one line, all have its number."""
    parts = node.value if isinstance(node.value, tuple) else (node,)
    texts = [(part.value.replace("\r\n", "\n"), part.line) for part in parts if isinstance(part.value, str)]
    return [(line, number) for text, number in texts for line in text.split("\n")]


def _tokens(lines: Sequence[Line]) -> list[Token]:
    from markdown_it import MarkdownIt

    # Of a line only its text is asked for; what stands in it (brackets above all) would take longer than all else.
    return MarkdownIt("commonmark").disable("inline").parse("\n".join(line for line, _ in lines))


def _divide(lines: list[Line]) -> Iterator[tuple[str, int, list[Line]]]:
    """Yield the body by heading: title, level (0 before the first) and lines without comments.

    Headings below one that names a part of the task belong to its section.
    """
    tokens = _tokens(lines)
    hidden = {
        number
        for token in tokens
        if token.type == "html_block" and token.map and token.content.lstrip().startswith("<!--")
        for number in range(*token.map)
    }
    starts: list[tuple[int, str, int]] = [(0, "", 0)]
    within = 0
    for opening, inline in itertools.pairwise(tokens):
        if opening.type != "heading_open" or opening.level or not opening.map:
            continue
        level, words = int(opening.tag[1:]), _plain_words(inline.content)
        if within and level > within:
            continue
        within = level if words in _FIELD_OF or words in _ACCOUNTS else 0
        starts.append((opening.map[0], inline.content, level))
    for (begin, heading, level), (end, _, _) in zip(starts, [*starts[1:], (len(lines), "", 0)], strict=True):
        found = [lines[number] for number in range(begin, end) if number not in hidden]
        if found:
            yield heading, level, found


def _plain_words(heading: str) -> str:
    """Return a heading without numbering, marks, case and parentheses, as in `Plan (draft)`."""
    return " ".join(re.findall(r"[a-z]+", re.sub(r"\([^)]*\)", "", heading).casefold().replace("'", "")))


def _add_section(keys: dict[str, Node], field: str, lines: list[Line], problems: Problems) -> None:
    place = (lines[0][1], 1)
    if field == "outcome":
        text = "\n".join(_TICK.sub(r"\1[ ]", line) for line, _ in lines[1:]).strip()
        if text and text != _NO_ANSWER:
            add(keys, field, Node(text, *place))
        return
    found = list(_items(lines[1:], ticks=field == "plan"))
    if field == "plan":
        fences = [item for item in found if str(item.value).startswith(("```", "~~~"))]
        found = [item for item in found if item not in fences]
        problems.warnings += [
            f"{problems.name}:{item.line}: plan: "
            "code is not a step, and is left out: indent it below its step to keep it"
            for item in fences
        ]
    if field == "repo_paths":
        found = [Node(_code_of(item), item.line, item.column) for item in found]
    if field == "qa.commands":
        commands = [command for item in found for command in _commands(item)]
        checks = [item for item in found if not any(True for _ in _commands(item))]
        if checks:
            add(keys, "validation.manual_checks", Node(tuple(checks), *place))
        found = commands
    if found:
        add(keys, field, Node(tuple(found), *place))


def _items(lines: Sequence[Line], *, ticks: bool = False) -> Iterator[Node]:
    tokens = [token for token in _tokens(lines) if token.map]
    for index, token in enumerate(tokens):
        begin, end = token.map or (0, 0)
        text = "\n".join(line if ticks else _TICK.sub(r"\1[ ]", line) for line, _ in lines[begin:end]).strip("\n")
        if token.type == "list_item_open" and token.level == 1:
            bullet = _BULLET.match(text)
            width = bullet.end("bullet") if bullet else 0
            inner = text[width:].split("\n")
            text = "\n".join([inner[0], *(re.sub(rf"^\s{{0,{width}}}", "", line) for line in inner[1:])])
            text = text.rstrip()
            if _BOX.match(text) and not text.startswith(DONE):
                text = _BOX.sub("", text, count=1)
        elif token.type == "paragraph_open" and token.level == 0:
            follows = next((one.type for one in tokens[index + 1 :] if one.level == 0), "")
            if text.rstrip().endswith(":") and follows in ("bullet_list_open", "ordered_list_open", "fence"):
                continue
        elif token.type not in ("fence", "code_block", "blockquote_open") or token.level:
            continue
        if text.strip() and text.strip() != _NO_ANSWER:
            yield Node(text, lines[begin][1], 1)


def _code_of(item: Node) -> str:
    text = str(item.value)
    code = _CODE.match(text)
    return code["code"] if code else text.split()[0]


def _commands(item: Node) -> Iterator[Node]:
    """Yield an item's commands: one code span, or the lines of a fenced block."""
    text = str(item.value)
    code = _CODE.fullmatch(text.strip())
    if text.startswith(("```", "~~~")):
        inner = text.split("\n")[1:]
        joined = re.sub(r"\\\n\s*", "", "\n".join(line for line in inner if not line.startswith(("```", "~~~"))))
        for line in joined.split("\n"):
            command = line.strip().removeprefix("$ ")
            if command and not command.startswith("#"):
                yield Node(command, item.line, item.column)
    elif code:
        yield Node(code["code"], item.line, item.column)
