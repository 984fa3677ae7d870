"""Read a task file.

Flat keys and keys grouped under `scope`, `validation`, `qa` and `context` are read alike. Unknown keys are listed;
wrong types are reported with position and fix, all at once.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_taskctx.capture.importers import Importer, import_task, is_read, markdown, suffix_of
from git_taskctx.capture.keys import (
    CITED,
    COMMANDS,
    DETAILS,
    DOCS,
    DONE,
    HEADS,
    LISTS,
    LONG,
    MANUAL_CHECKS,
    NOTHING,
    PATHS,
    RUN,
    SAY,
    STANDARDS,
    TEXTS,
    Flat,
    flatten,
    kind_of,
)
from git_taskctx.capture.normalize import WIDTH, normalize_multiline
from git_taskctx.capture.scope import paths_named
from git_taskctx.capture.sections import shorten
from git_taskctx.capture.strict_yaml import Node, Problems, decode_text
from git_taskctx.errors import BadData, Refused
from git_taskctx.model.canonical import dump_canonical, sha256_hex
from git_taskctx.model.context import Command, TaskSnapshot
from git_taskctx.model.policy import LimitsPolicy, Policy
from git_taskctx.model.values import dataclass, field, replace
from git_taskctx.situation import Situation

MAX_TEXT = 2048
"""Bytes of UTF-8 of a single-line text, a command or a path."""
MAX_TASK_TEXT = LimitsPolicy().context_kib * 1024
"""Bytes of UTF-8 of a description and of a list item."""
MAX_ITEMS = 500
"""Items of one list."""
MAX_WARNINGS = 20
"""Warnings that are shown."""
MAX_NAME = 512
"""Bytes of the path that a cut text points to; a longer one keeps its end."""


@dataclass(frozen=True)
class Words:
    """An uncut text of the task and its position, from 1."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class TaskText:
    name: str
    id: str | None
    status: str | None
    task_snapshot: TaskSnapshot
    commands: tuple[Command, ...] = ()
    manual_checks: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Patterns of the paths that the task may change, macros not yet expanded."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Dotted name of each field of the immutable block to `file:Lnn`."""
    unknown_keys: tuple[str, ...] = ()
    """Dotted names of unknown keys, sorted."""
    warnings: tuple[str, ...] = ()
    standards: tuple[Node, ...] = ()
    """The items of `standards` as written: texts, or keys and values."""
    words: tuple[Words, ...] = ()
    """Every captured text, in order, to search for references."""
    lines: tuple[str, ...] = ()
    garbled: frozenset[str] = frozenset()
    """Fields that the file may give in an unreadable way."""

    def line_of(self, words: Words, part: str) -> int:
        """Return the line of `part` of a text: the first match from the text's own line on."""
        below = range(words.line, len(self.lines) + 1)
        return next((line for line in below if part in self.lines[line - 1]), words.line)


def read_task_file(data: bytes, *, name: str, task: str = "", problems: Problems | None = None) -> TaskText:
    """Read a task file of any kind; `name` is its path, and `task` the id.

    Raises: BadData with one line `file:line:col: message` for every problem; with `problems` these are added to
    instead.
    """
    found = Problems(name) if problems is None else problems
    text = decode_text(data, found)
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith(("#", "---"))), "")
    if not is_read(name) and not re.match(r"""\{|["']?[\w.-]+["']?\s*:(?:\s|$)""", first):
        raise BadData(f"{name} is of a kind that is not read: YAML, JSON, JSON Lines and Markdown are")
    _, root, _ = import_task(text, task=task, problems=found)
    flat = flatten(root, found)
    parsed = not found.found
    reader = _Reader(name, found, flat)
    result = reader.read()
    if problems is None:
        found.raise_any()
    garbled = reader.garbled(parsed=parsed) if found.found else frozenset()
    return replace(result, lines=tuple(text.split("\n")), garbled=garbled)


def holds_task(data: bytes, *, name: str, task: str) -> bool:
    """Return whether a file whose name does not say so is the task's: Markdown with front matter, a story of that id, a
    list that holds the task, or keys with a title.
    """
    problems = Problems(name)
    if suffix_of(name) in ("md", "markdown"):
        story = markdown.story_of(data[:MAX_TEXT].decode("utf-8", "replace"))
        is_story = story is not None and is_same_id(story, task)
        return is_story or re.match(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n", data) is not None
    try:
        _, root, _ = import_task(decode_text(data, problems), task=task, problems=problems)
    except BadData:
        return False
    return root is not None and isinstance(root.value, dict) and "title" in root.value


def check_gates(
    task_file: TaskText, policy: Policy, *, any_status: bool, again: Sequence[str], cited: bool = True, task: str = ""
) -> None:
    """Refuse a task file that no work should begin on, or that is another task's. Raises: Refused, with all reasons.

    `cited`: a standard is cited; `again`: the command to repeat once fixed. An empty `task.require_status` requires
    nothing, and a file without a status passes.
    """
    words, allowed, status = task_file.task_snapshot, policy.task.require_status, task_file.status
    reasons = []
    if not words.description.strip() and "description" not in task_file.garbled:
        reasons.append("the description is empty")
    if not words.acceptance_criteria and "acceptance_criteria" not in task_file.garbled:
        reasons.append("there are no acceptance criteria")
    if policy.standards.required and not cited:
        reasons.append("no standard is cited")
    same = map(_plain_status, allowed)
    wrong_status = bool(allowed) and status is not None and _plain_status(status) not in same and not any_status
    filled, other_id = not reasons, ""
    empty = reasons == ["there are no acceptance criteria"] and again[0] == "init"
    if wrong_status:
        reasons.append(f"the status is {str(status)[:60]!r}, not {' or '.join(allowed)}")
    if task and task_file.id is not None and not is_same_id(task_file.id, task):
        other_id = "" if reasons else task
        reasons.append(f"its id is {task_file.id[:60]!r}, not {task}")
    if reasons:
        then = Situation(
            "clone.not_ready", name=task_file.name, again=tuple(again), filled=filled, status=wrong_status,
            criterion=empty, task=other_id,
        )  # fmt: skip
        raise Refused(f"{task_file.name} is not ready: {'; '.join(reasons)}", then)


def is_same_id(one: str, other: str) -> bool:
    """Return whether two ids mean one task: `TASK-005` is `5`, `ISSUE-12` is `12`, `TASK-8` is `TASK-8-discount`."""
    shorter, longer = sorted((_parts_of(one), _parts_of(other)), key=len)
    if not shorter:
        return one == other
    rest = longer[len(shorter) :]
    return longer[-len(shorter) :] == shorter or (longer[: len(shorter)] == shorter and not rest[0].isdigit())


def _parts_of(task_id: str) -> list[str]:
    return [part.lstrip("0") or "0" for part in re.findall(r"[^\W\d_]+|\d+", task_id.casefold())]


def without_volatile(data: bytes, volatile: Sequence[str], *, name: str, task: str, others: bool = False) -> object:
    """Parse a task file without top-level keys that match a `volatile` wildcard. Raises: BadData.

    Versions with equal results differ only in volatile keys, comments and layout, or in uncaptured keys of a tool's own
    file. `others` includes the other tasks of the file: who may change a task's state may not change them.
    """
    problems = Problems(name)
    importer, root, whole = import_task(decode_text(data, problems), task=task, problems=problems)
    problems.raise_any()
    value = _settled(root, volatile, importer, problems)
    if not others or importer.every is None or whole is None:
        return value
    return [value, *([named, _settled(one, volatile, importer, problems)] for named, one in importer.every(whole))]


def _settled(root: Node | None, volatile: Sequence[str], importer: Importer, problems: Problems) -> object:
    """Return the keys of a task that count."""
    value = root.plain() if root else None
    if not isinstance(value, dict):
        return value
    if not importer.unknown_counts:
        value = {key: node.plain() for key, node in flatten(root, problems).known.items()}
    if "plan" in value:
        value = {**value, "plan": markdown.without_ticks(value["plan"])}
    keys = {key: key.partition(".")[0] for key in value}
    return {
        key: value[key] for key, top in keys.items() if not any(fnmatch.fnmatchcase(top, rule) for rule in volatile)
    }


def lasting_sha(data: bytes, volatile: Sequence[str], *, name: str, task: str) -> str:
    """Return the sha256 of `without_volatile`, with other tasks, as canonical JSON.

    Raises: BadData if there is none.
    """
    try:
        text = without_volatile(data, volatile, name=name, task=task, others=True)
        return sha256_hex(dump_canonical({"text": text}))
    except (TypeError, ValueError) as error:
        raise BadData(f"{name} holds what JSON cannot") from error


def _plain_status(status: str) -> str:
    """Return a status in one spelling: `In Progress` and `in-progress` are `in_progress`."""
    return re.sub(r"[\s_-]+", "_", status.strip()).casefold()


def clean_text(text: str, *, wrap: bool = False) -> str:
    """Return a normalized text; a single line stays a line, and is never a comment."""
    line = text.strip()
    if not re.search(r"[\n\r]", line) and (not wrap or len(line) <= WIDTH or line.startswith("#")):
        return text.strip("\n\r").rstrip()
    clean = normalize_multiline(text, wrap=wrap)
    return clean if "\n" in clean.strip("\n") else clean.strip("\n")


class _Reader:
    """Reads the known keys of one file, noting sources, warnings and problems."""

    def __init__(self, name: str, problems: Problems, flat: Flat) -> None:
        self.name, self.problems, self.flat = name, problems, flat
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []
        self.words: list[Words] = []
        self.prose: tuple[str, ...] = ()
        """Items in lists of paths that are prose."""

    def read(self) -> TaskText:
        texts = {key: self._text(key, f"task_snapshot.{key}") for key in TEXTS}
        lists = {name: self._list(keys, f"task_snapshot.{name}") for name, keys in LISTS.items()}
        texts["description"] = texts["description"] or ""
        task_id = self._text("id")
        if not texts["title"]:
            texts["title"] = task_id or self.name.rpartition("/")[2].partition(".")[0]
            self.warnings.append(f"{self.name} has no title: {texts['title']!r} is used")
        patterns = self._patterns()
        self._docs()
        lists["scope_in"] = tuple(dict.fromkeys([*lists["scope_in"], *self.prose]))
        fields: dict[str, Any] = {**texts, **lists}
        return TaskText(
            name=self.name,
            id=task_id,
            status=self._text("status"),
            task_snapshot=TaskSnapshot(**fields),
            commands=tuple(self._commands()),
            manual_checks=self._list(MANUAL_CHECKS, "validation_baseline.manual_checks"),
            patterns=patterns,
            sources=self.sources,
            unknown_keys=tuple(sorted(self.flat.unknown)),
            warnings=tuple(self._few_warnings()),
            standards=tuple(item for _, item in self._items([STANDARDS])),
            words=tuple(sorted(set(self.words), key=lambda words: (words.line, words.column))),
        )

    def garbled(self, *, parsed: bool) -> frozenset[str]:
        """Return the fields that the file may give in an unreadable way; any, if it does not parse."""
        known = {"description": ("description",), "acceptance_criteria": LISTS["acceptance_criteria"]}
        given = {key for key, node in self.flat.known.items() if node.value and str(node.value).strip()}
        return frozenset(name for name, keys in known.items() if not parsed or not given.isdisjoint(keys))

    def _few_warnings(self) -> list[str]:
        shown = [*self.problems.warnings, *self.warnings]
        more = len(shown) - MAX_WARNINGS
        return [*shown[:MAX_WARNINGS], f"{self.name}: … and {more} more warnings"] if more > 0 else shown

    def _text(self, key: str, target: str | None = None) -> str | None:
        node = self.flat.known.get(key)
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, str):
            self._wrong(node, f"{key}: expected text, found {kind_of(node)}: write `{key}: |` and indented lines")
            return None
        self._from(node, target)
        text = clean_text(node.value, wrap=True) if key in LONG else " ".join(node.value.split())
        if key == "description" and text:
            text = text.removesuffix("\n") + "\n"
        return self._cut(text, node, key) if text and target else text or None

    def _items(self, keys: Sequence[str], target: str | None = None) -> Iterator[tuple[str, Node]]:
        for key in keys:
            node = self.flat.known.get(key)
            if node is None or node.value is None:
                continue
            if isinstance(node.value, str) and markdown.is_list(node.value):
                node = Node(markdown.items(node, ticks=key == "plan"), node.line, node.column)
            if not isinstance(node.value, tuple):
                self._wrong(node, f"{key}: expected a list, found {kind_of(node)}: begin each item with '- '")
                continue
            if len(node.value) > MAX_ITEMS:
                self._wrong(node, f"{key}: {len(node.value)} items, more than {MAX_ITEMS}: divide the task")
                continue
            self._from(node, target)
            yield from ((key, item) for item in node.value if item.value not in (None, ""))

    def _list(self, keys: Sequence[str], target: str) -> tuple[str, ...]:
        texts: list[str] = []
        for key, item in self._items(keys, target):
            if isinstance(item.value, str):
                text = clean_text(item.value)
                text = f"Prohibited: {text}" if text and key.endswith(".prohibited") else text
                texts.append(self._cut(text, item, key))
            elif isinstance(item.value, dict):
                texts.append(self._cut(clean_text(self._said_by(key, item, item.value)), item, key))
            else:
                self._wrong_item(key, item)
        return tuple(dict.fromkeys(filter(None, texts)))

    def _said_by(self, key: str, item: Node, members: Mapping[str, Node]) -> str:
        """Join the keys of a structured item into one text; with an unknown key it was a text with a colon."""
        known = [name for name in (*HEADS, *DETAILS, *CITED, DONE) if name in members]
        head = next((name for name in known if name in HEADS), None)
        if head is None:
            ((name, node), *more) = members.items() or [("", NOTHING)]
            if more or not isinstance(node.value, str | None):
                self._wrong(
                    item, f"{key}: expected text in each item, or `title:` and `details:`: quote text with ': '"
                )
                return ""
            place = f"{self.name}:{item.line}:{item.column}"
            self.warnings.append(f"{place}: {key}: {name[:40]}: … is read as text: put it in quotes")
            return f"{name}: {node.value or ''}".rstrip()
        self.flat.unknown.update(f"{key}[].{name}" for name in members if name not in known)
        texts = {name: self._member(f"{key}[].{name}", members[name]) for name in known}
        cited = "".join(f" ({texts[name]})" for name in CITED if "#" in texts.get(name, ""))
        details = [texts[name] for name in DETAILS if name != head and texts.get(name)]
        done = ["Done when:", texts[DONE]] if texts.get(DONE) else []
        return "\n".join([texts[head] + cited, *details, *done])

    def _member(self, key: str, node: Node) -> str:
        if isinstance(node.value, tuple):
            return "\n".join(f"- {text}" for text in (self._member(key, item) for item in node.value) if text)
        if isinstance(node.value, dict):
            return self._said_by(key, node, node.value)
        return clean_text(node.value or "").strip("\n")

    def _commands(self) -> list[Command]:
        commands: dict[str, Command] = {}
        for key, item in self._items(COMMANDS, "validation_baseline.commands"):
            command = self._command(key, item)
            if command:
                commands.setdefault(command.command, command)
        return list(commands.values())

    def _command(self, key: str, item: Node) -> Command | None:
        members = item.value if isinstance(item.value, dict) else {"command": item}
        self.flat.unknown.update(f"{key}[].{name}" for name in members if name not in (*RUN, *SAY))
        run = next((members[name] for name in RUN if name in members), NOTHING)
        say = next((members[name] for name in SAY if name in members), NOTHING)
        if not isinstance(run.value, str) or not run.value.strip() or not isinstance(say.value, str | None):
            self._wrong(item, f"{key}: expected a command, or `command:` and `description:`, each with text")
            return None
        lines = run.value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        command = self._whole("\n".join(map(str.rstrip, lines)).strip("\n"), item, key)
        return Command(command, self._cut(clean_text(say.value), say, key) if say.value else None)

    def _patterns(self) -> tuple[str, ...]:
        """Return the patterns of paths and scope; prose among them limits nothing, and is reported."""
        patterns: list[str] = []
        prose: list[tuple[str, str, Node]] = []
        for keys, paths in ((PATHS, True), (LISTS["scope_in"], False)):
            for key, item in self._items(keys):
                if not isinstance(item.value, str):
                    if paths:
                        self._wrong_item(key, item)
                    continue
                text = self._whole(item.value.strip(), item, key) if paths else " ".join(item.value.split())
                named = paths_named(text, paths=paths)
                if named:
                    self._from(item, "scope_patterns")
                    patterns += named
                elif text:
                    prose.append((key, text, item))
        self.prose = tuple(text for key, text, _ in prose if key in PATHS)
        if prose:
            key, text, item = prose[0]
            more = f" and {len(prose) - 1} more" if len(prose) > 1 else ""
            place = f"{self.name}:{item.line}: {key}: {shorten(text, 60)!r}{more}"
            what = "are prose" if more else "is prose"
            rest = "names no path" if not more else "name no path"
            limits = "" if patterns else ", and nothing limits which paths may change"
            self.warnings.append(f"{place} {what}: {'they' if more else 'it'} {rest}{limits}")
        return tuple(dict.fromkeys(patterns))

    def _docs(self) -> None:
        """Read documents as citations; those without a section are reported."""
        left_out = []
        for key, item in self._items(DOCS):
            text = item.value if isinstance(item.value, str) else ""
            self.words.append(Words(text, item.line, item.column))
            if not re.search(r"\.(?:md|markdown)#\w", text, re.IGNORECASE):
                left_out.append((item.line, key, shorten(text, 60) or kind_of(item)))
        if left_out:
            line, key, text = left_out[0]
            more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
            what = f"{text!r}{more} {'name' if more else 'names'} no section, and {'are' if more else 'is'} left out"
            self.warnings.append(f"{self.name}:{line}: {key}: {what}: write FILE.md#heading")

    def _from(self, node: Node, target: str | None) -> None:
        if target:
            self.sources.setdefault(target, f"{self.name}:L{node.line}")

    def _wrong_item(self, key: str, item: Node) -> None:
        fix = "put text that holds ': ' in quotes" if isinstance(item.value, dict) else "one '- ' is enough"
        self._wrong(item, f"{key}: expected text in each item, found {kind_of(item)}: {fix}")

    def _wrong(self, node: Node, message: str) -> None:
        self.problems.add(node.line, node.column, message)

    def _whole(self, text: str, node: Node, key: str) -> str:
        self.words.append(Words(text, node.line, node.column))
        if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT:
            self._wrong(node, f"{key}: more than {MAX_TEXT} bytes: put it into a file, and name that")
        return text

    def _cut(self, text: str, node: Node, key: str) -> str:
        self.words.append(Words(text, node.line, node.column))
        size = len(text.encode("utf-8", "surrogatepass"))
        limit = MAX_TASK_TEXT if key not in TEXTS or key in LONG else MAX_TEXT
        if size <= limit:
            return text
        self.warnings.append(f"{self.name}:{node.line}: {key} has {size} bytes, and was cut to {limit}")
        name = self.name.encode("utf-8", "surrogatepass")
        shown = self.name if len(name) <= MAX_NAME else "…" + name[-MAX_NAME:].decode("utf-8", "ignore")
        pointer = f"… (see {shown}#L{node.line})" + ("\n" if text.endswith("\n") else "")
        room = limit - len(pointer.encode("utf-8", "surrogatepass"))
        kept = text.encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore")
        at_word = re.match(r".*(?=\s)", kept, re.DOTALL)
        return (at_word[0] if at_word and at_word[0].strip() else kept).rstrip() + pointer
