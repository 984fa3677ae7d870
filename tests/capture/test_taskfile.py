"""The task file: finding it, reading both shapes, telling all its problems, and the gates."""

from __future__ import annotations

import json
from functools import partial

import pytest
from counted import calls

from git_taskctx import limits
from git_taskctx.capture.lookup import find_task_file
from git_taskctx.capture.scope import is_pattern
from git_taskctx.capture.standards import wanted_by_task
from git_taskctx.capture.taskfile import (
    TaskText,
    Words,
    check_gates,
    clean_text,
    holds_task,
    is_same_id,
    read_task_file,
    without_volatile,
)
from git_taskctx.errors import BadData, Fatal, Refused
from git_taskctx.model.context import Command, TaskSnapshot
from git_taskctx.model.policy import Policy, TaskPolicy
from git_taskctx.report.advice import advise

NAME = "tasks/T.task.yaml"

FLAT = b"""\
id: TASK-0824
title: Settings screen
priority: 1
area: mobile
status: in_progress
description: |
  Add a screen.   \n
  It has two switches.
outcome: people find it
scope_in: [the screen]
scope_out: [the backend]
acceptance_criteria:
  - both switches work
  - yes
quality_gates: [coverage 80%]
plan:
  - draw
  - build
repo_paths: [mobile/src/**, "my folder/x"]
agent_notes: x
"""

GROUPED = b"""\
title: Settings screen
scope:
  in:
    - mobile/src/**
    - the screen and its tests
    - README.md
    - ":mobile-ui"
  out: [backend]
acceptance_criteria:
  must: [one, two]
  quality_gates: [coverage 80%]
  should: [three]
validation:
  pipeline:
    - make test
    - {run: make lint, name: lint, timeout: 3}
  commands:
    - command: make test
      description: once is enough
  manual_checks: [look at it]
qa: {commands: [make e2e]}
context: {repo_paths: [docs/, README.md]}
"""


def read(data: bytes) -> TaskText:
    return read_task_file(data, name=NAME)


def problems(data: bytes) -> list[str]:
    with pytest.raises(BadData) as caught:
        read(data)
    return caught.value.message.splitlines()


def test_flat_shape() -> None:
    """Flat keys are read; numbers and booleans are the text that was written; unknown keys are listed."""
    task_file = read(FLAT)
    assert task_file.task_snapshot == TaskSnapshot(
        title="Settings screen",
        priority="1",
        area="mobile",
        description="Add a screen.\n\nIt has two switches.\n",
        outcome="people find it",
        scope_in=("the screen",),
        scope_out=("the backend",),
        acceptance_criteria=("both switches work", "yes"),
        quality_gates=("coverage 80%",),
        plan=("draw", "build"),
    )
    assert (task_file.id, task_file.status) == ("TASK-0824", "in_progress")
    assert task_file.patterns == ("mobile/src/**", "my folder/x")
    assert (task_file.unknown_keys, task_file.warnings) == (
        ("agent_notes",),
        (f"{NAME}:11: scope_in: 'the screen' is prose: it names no path",),
    )
    assert task_file.sources == {
        "task_snapshot.title": f"{NAME}:L2",
        "task_snapshot.priority": f"{NAME}:L3",
        "task_snapshot.area": f"{NAME}:L4",
        "task_snapshot.description": f"{NAME}:L6",
        "task_snapshot.outcome": f"{NAME}:L10",
        "task_snapshot.scope_in": f"{NAME}:L11",
        "task_snapshot.scope_out": f"{NAME}:L12",
        "task_snapshot.acceptance_criteria": f"{NAME}:L14",
        "task_snapshot.quality_gates": f"{NAME}:L16",
        "task_snapshot.plan": f"{NAME}:L18",
        "scope_patterns": f"{NAME}:L20",
    }


def test_grouped_shape() -> None:
    """Grouped keys are read; of equal commands the first stays; prose in `scope.in` is no pattern."""
    task_file = read(GROUPED)
    assert task_file.task_snapshot == TaskSnapshot(
        title="Settings screen",
        scope_in=("mobile/src/**", "the screen and its tests", "README.md", ":mobile-ui"),
        scope_out=("backend",),
        acceptance_criteria=("one", "two"),
        quality_gates=("coverage 80%",),
    )
    assert task_file.commands == (Command("make test"), Command("make lint", "lint"), Command("make e2e"))
    assert task_file.manual_checks == ("look at it",)
    assert task_file.patterns == ("docs/", "README.md", "mobile/src/**", ":mobile-ui")
    assert task_file.unknown_keys == ("acceptance_criteria.should", "validation.pipeline[].timeout")


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + FLAT, FLAT.replace(b"\n", b"\r\n"), FLAT.replace(b"\n", b"\r")])
def test_line_ends_and_bom(data: bytes) -> None:
    """A byte order mark and the line ends of other systems change nothing."""
    assert read(data) == read(FLAT)


def test_empty_values_are_absent() -> None:
    """Null, an empty text and empty items are as good as nothing; a missing title is replaced, with a warning."""
    task_file = read(b"title:\nscope: ~\nplan: [~, '', x]\ndescription: ''\nvalidation: null\nqa: {commands: }\n")
    assert task_file.task_snapshot == TaskSnapshot(title="T", plan=("x",))
    assert task_file.warnings == (f"{NAME} has no title: 'T' is used",)


def test_every_problem_at_once() -> None:
    """All problems of structure and of types are told in one error, with their places and the mend."""
    data = b"""\
title: [a]
title: b
acceptance_criteria: yes
plan: &x
- {a: b, c: d}
- - c
scope: x
qa: {commands: [{x: 1}, make, {command: [a]}, {run: a, name: {b: c}}]}
k: *x
t: !!str 1
? [a]
: b
description: "\\e[31m"
"""
    assert problems(data) == [
        f"{NAME}:1:8: title: expected text, found a list: write `title: |` and indented lines",
        f"{NAME}:2:1: 'title' is given twice, first on line 1: keep one",
        f"{NAME}:3:22: acceptance_criteria: expected a list, found text: begin each item with '- '",
        f"{NAME}:4:7: anchors are not read: remove &x",
        f"{NAME}:5:3: plan: expected text in each item, or `title:` and `details:`: quote text with ': '",
        f"{NAME}:6:3: plan: expected text in each item, found a list: one '- ' is enough",
        f"{NAME}:7:8: scope: expected keys, found text: write `in:` and `out:` under it",
        f"{NAME}:8:17: qa.commands: expected a command, or `command:` and `description:`, each with text",
        f"{NAME}:8:31: qa.commands: expected a command, or `command:` and `description:`, each with text",
        f"{NAME}:8:47: qa.commands: expected a command, or `command:` and `description:`, each with text",
        f"{NAME}:9:4: aliases are not read: write out what *x stands for",
        f"{NAME}:10:4: tags are not read: remove !!str",
        f"{NAME}:11:3: a key must be text: put text that begins with {{ or [ in quotes",
        f"{NAME}:13:14: a control character, or no character at all",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "1:1: expected keys and values, as in `title: …`"),
        (b"# nothing\n", "1:1: expected keys and values, as in `title: …`"),
        (b"- a\n", "1:1: expected keys and values, as in `title: …`"),
        (b"a: b: c\n", "1:4: text that holds ': ' must be in quotes: write 'b: c'"),
        (b"a:\n\t- b\n", "2:1: a tab: indent with spaces"),
        (b"a: @x\n", "1:4: text that begins with @ must be in quotes: write '@x'"),
        (b"a: 1\nb: 'x\n\n", "2:4: the quote that opens here is never closed: close it with '"),
        (b"a: 1\nb: \x01\n", "2:4: a control character, or no character at all"),
        (b'a: "\\ud800"\n', "1:4: a control character, or no character at all"),
        ("a: x\uffff\n".encode(), "1:5: a control character, or no character at all"),
        (b'a: "\\U00110000"\n', "1:5: \\U00110000 is not a character: the last one is \\U0010FFFF"),
        (b'a: b\nc: ["\\UFFFFFFFF"]\n', "2:6: \\UFFFFFFFF is not a character: the last one is \\U0010FFFF"),
        (b"%YAML 1." + b"1" * 5000 + b"\n---\na: b\n", "1:1: no YAML that can be read"),
        (b"a: 1\n---\nb: 2\n", "2:1: a second document begins here: a task file is one"),
        (b"a: " + b"[" * 100, "1:34: nested more than 32 deep"),
        (b"a: 1\nb: caf\xe9\n", "2:7: not UTF-8"),
    ],
)
def test_broken_files(data: bytes, message: str) -> None:
    """What is no task file, or no YAML, is told with line and column."""
    assert problems(data) == [f"{NAME}:{message}"]


def test_bounded() -> None:
    """A file over 1 MiB is not parsed, and of very many problems the first fifty are shown."""
    assert problems(b"#" * 1048577) == [f"{NAME} has 1048577 bytes, more than 1048576"]
    lines = problems(b"a: &x 1\n" * 100)
    assert (len(lines), lines[-1]) == (51, "… and 149 more")


@pytest.mark.parametrize(("name", "most"), [("t.task.yaml", 95), ("t.task.json", 97)])
def test_values_are_counted(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of more values than the limit is not read to its end; so many are read, where keys of YAML count."""
    monkeypatch.setattr(limits, "VALUES", 100)
    text = b'{"title": "x", "plan": [%s1]}'
    assert len(read_task_file(text % (b"1, " * (most - 1)), name=name).task_snapshot.plan) == 1
    with pytest.raises(BadData, match="more than 100 values: divide the file"):
        read_task_file(text % (b"1, " * most), name=name)


def test_a_number_of_many_digits() -> None:
    """Python reads none of more than 4,300 digits; that is said of the file."""
    with pytest.raises(BadData, match=":1:15: a number has too many digits"):
        read_task_file(b'{"priority" : ' + b"1" * 5000 + b"}", name="t.json")


def test_a_line_of_markdown_is_not_read_for_links() -> None:
    """Twice as many brackets cost twice the text, and not a call for each: only blocks are asked for."""
    few, many = (
        calls(partial(read_task_file, b"---\ntitle: x\n---\n" + b"[" * count, name="t.md")) for count in (1000, 20_000)
    )
    assert many < few + 1000


def test_long_text_is_cut_at_a_word() -> None:
    """A description over 64 KiB is cut between words, points to its line, and is warned about."""
    task_file = read(b"title: x\ndescription: |\n" + "  caf\u00e9 caf\u00e9\n".encode() * 6000)
    text = task_file.task_snapshot.description
    assert text.endswith(f" caf\u00e9… (see {NAME}#L2)\n")
    assert 65528 - 6 <= len(text.encode()) <= 65536
    assert task_file.warnings == (f"{NAME}:2: description has 72000 bytes, and was cut to 65536",)
    assert read(b"title: " + b"x" * 2048).warnings == ()
    assert len(read(b"title: " + b"x" * 2049).task_snapshot.title.encode()) == 2048


@pytest.mark.parametrize(
    ("before", "whole", "line"),
    [
        ("description: ", "x" * 65535, 2),
        ("description: ", "x" * 32000 + " " + "y" * 33534, 2),
        ("outcome: ", "x" * 65536, 2),
        ("area: ", "\u00e9" * 1024, 2),
        ("plan:\n- ", "x" * 65536, 3),
        ("scope_in:\n- src/a.py ", "\u00e9 " * 21840 + "x" * 7, 3),
    ],
)
def test_cut_at_the_edge(before: str, whole: str, line: int) -> None:
    """64 KiB of the task's own text stay whole, 2 KiB of a line; a byte more is cut, and with its pointer fits."""
    key, limit = before.partition(":")[0], 2048 if before == "area: " else 65536
    said = [one for one in read(f"title: t\n{before}{whole}".encode()).warnings if "cut" in one]
    assert said == []
    cut = read(f"title: t\n{before}{whole}z".encode())
    assert f"{NAME}:{line}: {key} has {limit + 1} bytes, and was cut to {limit}" in cut.warnings
    value = getattr(cut.task_snapshot, key)
    text = value if isinstance(value, str) else value[0]
    assert text.strip().endswith(f"\u2026 (see {NAME}#L{line})")
    assert len(text.encode()) <= limit


def test_the_pointer_of_a_long_path() -> None:
    """A path may be longer than a text may be: the pointer shows its end."""
    name = "folder/" * 600 + "T.task.yaml"
    text = read_task_file(b"title: " + b"x " * 1100, name=name).task_snapshot.title
    assert len(text.encode()) <= 2048
    assert text.endswith(f"\u2026 (see \u2026{name[-512:]}#L1)")


@pytest.mark.parametrize("key", ["acceptance_criteria", "plan", "scope_out", "qa.commands", "repo_paths", "standards"])
def test_items_of_a_list(key: str) -> None:
    """500 items are read; 501 are a problem."""

    def file(count: int) -> bytes:
        items = "".join(f"  - item/{number}\n" for number in range(count))
        group, _, member = key.partition(".")
        return f"title: t\n{group}:\n{'  ' + member + ':' + chr(10) if member else ''}{items}".encode()

    read(file(500))
    line = 4 if "." in key else 3
    assert problems(file(501)) == [f"{NAME}:{line}:3: {key}: 501 items, more than 500: divide the task"]


def test_lines_of_a_body() -> None:
    """Ten thousand lines of Markdown are read; one more is a problem."""
    head = b"---\ntitle: t\n---\n"
    assert read_task_file(head + b"\n" * 9999, name="t.md").task_snapshot.title == "t"
    with pytest.raises(BadData) as caught:
        read_task_file(head + b"\n" * 10000, name="t.md")
    assert caught.value.message == "t.md:4:1: the body has 10001 lines, more than 10000: divide the task"


def test_warnings_are_few() -> None:
    """Twenty warnings are told one by one; of more the rest is counted."""
    for count, last in ((20, "plan: k: … is read as text: put it in quotes"), (21, "… and 1 more warnings")):
        told = read(b"title: t\nplan:\n" + b"- k: v\n" * count).warnings
        assert len(told) == min(count, 20) + (count > 20)
        assert told[-1].endswith(last)


@pytest.mark.parametrize("key", [b"qa: {commands: [%s]}", b"repo_paths: [%s]"])
def test_commands_and_paths_are_never_cut(key: bytes) -> None:
    """Half a command is another command: one that is too long is a problem."""
    (line,) = problems(key % (b"x" * 2049))
    assert line.endswith(": more than 2048 bytes: put it into a file, and name that")


def test_clean_text() -> None:
    """Line ends are LF, blanks at line ends go, one newline ends text of several lines and none a single line."""
    assert clean_text("a \t\r\nb\r\n\r\n\r\n") == "a\nb\n"
    assert clean_text("\n a\n") == " a"
    assert clean_text(" \n") == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/app", True),
        ("**", True),
        ("*.py", True),
        ("README.md", True),
        (":mobile-ui", True),
        ("!src/gen", True),
        ("docs/", True),
        ("the src/app folder", False),
        ("login", False),
        ("https://example.org/x", False),
        ("v2.0", False),
        ("e.g.", False),
        (":", False),
    ],
)
def test_is_pattern(text: str, expected: bool) -> None:
    """An item without spaces is a pattern when it has a slash, a star, an extension or is a macro."""
    assert is_pattern(text) is expected


@pytest.mark.parametrize(
    ("item", "paths"),
    [
        ("src/errors.ts:153 (note)", ("src/errors.ts",)),
        ("src/errors.ts:153:7", ("src/errors.ts",)),
        ("src/errors.ts:10-20, the parser", ("src/errors.ts",)),
        ("src/errors.ts#L3-L9", ("src/errors.ts",)),
        ("src/errors.ts (new)", ("src/errors.ts",)),
        ("src/errors.ts lines 3-9", ("src/errors.ts",)),
        ("src/errors.ts - add a code", ("src/errors.ts",)),
        ("src/errors.ts \u2014 add a code", ("src/errors.ts",)),
        ("src/errors.ts: add a code", ("src/errors.ts",)),
        ("src/errors.ts  # add a code", ("src/errors.ts",)),
        ("`src/errors.ts` (add a code)", ("src/errors.ts",)),
        ("`src/errors.ts`:153", ("src/errors.ts",)),
        ("src/a.ts, src/b.ts:3", ("src/a.ts", "src/b.ts")),
        ("src/a.ts and src/b.ts", ("src/a.ts", "src/b.ts")),
        ("src/**/*.{ts,tsx}", ("src/**/*.{ts,tsx}",)),
        ("app/(group)/[id]/page.tsx", ("app/(group)/[id]/page.tsx",)),
        ("!src/gen (made by a tool)", ("!src/gen",)),
        (":mobile-ui (shared)", (":mobile-ui",)),
        ("src/errors.ts must stay as it is", ()),
        ("the parser in src/errors.ts", ()),
        ("only the login", ()),
    ],
)
def test_paths_of_a_scope(item: str, paths: tuple[str, ...]) -> None:
    """Positions and remarks are no part of a path; an item that is prose names none, in either list."""
    for key in ("scope: {in: [%s]}", "repo_paths: [%s]"):
        task_file = read(f"title: t\n{key % json.dumps(item)}\n".encode())
        assert task_file.patterns == paths
        assert [one.rpartition(": ")[0].rpartition(" ")[2] for one in task_file.warnings] == ["prose"] * (not paths)
        assert paths or task_file.task_snapshot.scope_in == (item,)


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ("my folder/x", "my folder/x"),
        ("my folder/my file.txt (new)", "my folder/my file.txt"),
        ("'two words'", "two words"),
        ("src", "src"),
        ("Makefile:3 (target)", "Makefile"),
    ],
)
def test_paths_with_blanks(item: str, path: str) -> None:
    """In a list of paths any word is one, and a path may hold blanks."""
    assert read(f"title: t\nrepo_paths: [{json.dumps(item)}]\n".encode()).patterns == (path,)


def test_prose_is_reported_as_prose() -> None:
    """Prose among paths limits nothing: it is reported once, and where nothing else is there, that too."""
    mixed = read(b"title: t\nscope: {in: [src/**, the parser, its tests]}\n")
    assert mixed.warnings == (f"{NAME}:2: scope.in: 'the parser' and 1 more are prose: they name no path",)
    alone = read(b"title: t\nrepo_paths: [all of the parser]\n")
    assert alone.warnings == (
        f"{NAME}:2: repo_paths: 'all of the parser' is prose: it names no path, and nothing limits which paths may "
        "change",
    )


def never(path: str) -> bool:
    """Say that no file holds the task."""
    return False


PATHS = [
    "README.md",
    "tasks/TASK-0824-settings.task.yaml",
    "tasks/TASK-08.task.yml",
    "docs/deep/er/TASK-7_x.task.yaml",
    "docs/TASK-9.draft.task.yaml",
    "src/TASK-1.task.yaml",
    "tasks/TASK-5.task.yaml",
    "tasks/TASK-5-old.task.yaml",
    "tasks/TASK-6-a.task.yaml",
    "docs/TASK-6-b.task.yaml",
    "mytasks/TASK-3.task.yaml",
    "tasks/notTASK-2.task.yaml",
]


@pytest.mark.parametrize(
    ("task_id", "expected"),
    [
        ("TASK-0824", "tasks/TASK-0824-settings.task.yaml"),
        ("TASK-08", "tasks/TASK-08.task.yml"),
        ("TASK-082", None),
        ("TASK-7", "docs/deep/er/TASK-7_x.task.yaml"),
        ("TASK-9", "docs/TASK-9.draft.task.yaml"),
        ("TASK-1", None),
        ("TASK-5", "tasks/TASK-5.task.yaml"),
        ("TASK-3", None),
        ("TASK-2", None),
        ("TASK.7", None),
    ],
)
def test_find_task_file(task_id: str, expected: str | None) -> None:
    """A file of the very name comes first, then one whose name goes on after the id; never another id's, nor a file
    outside the roots."""
    assert find_task_file(task_id, PATHS, ["tasks", "docs"], holds=never) == expected


KINDS = [
    "tasks/T-1.md",
    "tasks/T-1-x.json",
    "tasks/t-2 - words.md",
    "tasks/T-3.task.md",
    "tasks/T-3.md",
    "tasks/tasks.json",
    "docs/T-4.yaml",
    "docs/tasks.yaml",
]


@pytest.mark.parametrize(
    ("task_id", "holding", "expected"),
    [
        ("T-1", ["tasks/T-1.md", "tasks/T-1-x.json"], "tasks/T-1.md"),
        ("T-1", ["tasks/T-1-x.json", "tasks/tasks.json"], "tasks/T-1-x.json"),
        ("T-1", ["tasks/tasks.json"], "tasks/tasks.json"),
        ("T-1", [], None),
        ("T-2", ["tasks/t-2 - words.md"], "tasks/t-2 - words.md"),
        ("T-3", ["tasks/T-3.md", "tasks/tasks.json"], "tasks/T-3.task.md"),
        ("T-4", ["docs/T-4.yaml", "docs/tasks.yaml"], "docs/T-4.yaml"),
        ("5", ["docs/tasks.yaml"], "docs/tasks.yaml"),
    ],
)
def test_other_kinds(task_id: str, holding: list[str], expected: str | None) -> None:
    """Names that say so come first, then the id's own, then lists; the latter two only where they hold the task."""
    assert find_task_file(task_id, KINDS, ["tasks", "docs"], holds=holding.__contains__) == expected


def test_a_task_in_two_lists() -> None:
    """A task that stands in two lists is not guessed."""
    with pytest.raises(Fatal, match="2 task files fit 5:"):
        find_task_file("5", KINDS, ["tasks", "docs"], holds=lambda path: "tasks." in path)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("T-1.md", b"---\ntitle: T\n---\n", True),
        ("T-1.md", b"\xef\xbb\xbf---\r\ntitle: T", True),
        ("T-1.md", b"# Notes on T-1\n", False),
        ("T-1.yaml", b"title: T\n", True),
        ("T-1.yaml", b"services: {a: b}\n", False),
        ("T-1.json", b"[1]", False),
        ("T-1.json", b"\xff", False),
        ("tasks.json", b'{"tasks": [{"id": 1, "title": "T"}]}', True),
        ("tasks.json", b'{"tasks": [{"id": 2, "title": "T"}]}', False),
        ("tasks.json", b'{"version": "2.0.0", "tasks": [{"label": "build"}]}', False),
    ],
)
def test_holds_task(name: str, data: bytes, expected: bool) -> None:
    """A file that is only named after a task must look like one; a list must hold it."""
    assert holds_task(data, name=name, task="T-1") is expected


def test_roots_can_be_everywhere_or_deep() -> None:
    """`.` is the whole worktree, and a root may be written as `./a/b/`."""
    assert find_task_file("TASK-1", PATHS, ["."], holds=never) == "src/TASK-1.task.yaml"
    assert find_task_file("TASK-7", PATHS, ["./docs/deep/"], holds=never) == "docs/deep/er/TASK-7_x.task.yaml"


def test_several_task_files() -> None:
    """Files that fit equally well are listed, with the option that chooses."""
    with pytest.raises(Fatal) as caught:
        find_task_file("TASK-6", PATHS, ["tasks", "docs"], holds=never)
    assert caught.value.message == ("2 task files fit TASK-6:\n  docs/TASK-6-b.task.yaml\n  tasks/TASK-6-a.task.yaml")
    assert advise(caught.value).hint == "choose one, as in `--task-file docs/TASK-6-b.task.yaml`"


def test_gates_tell_all_reasons() -> None:
    """An empty description, no criteria and a wrong status are one refusal."""
    task_file = read(b"title: x\nstatus: todo\n")
    with pytest.raises(Refused) as caught:
        check_gates(task_file, Policy(), any_status=False, again=("init", "TASK-1"))
    assert caught.value.message == (
        f"{NAME} is not ready: the description is empty; there are no acceptance criteria; "
        "the status is 'todo', not in_progress"
    )
    assert caught.value.exit_code == 1
    assert advise(caught.value).hint == f"{AGAIN} --any-status   # once {NAME} is filled in; or set its status"
    with pytest.raises(Refused, match=r"there are no acceptance criteria$") as caught:
        check_gates(task_file, Policy(), any_status=True, again=("init", "TASK-1"))
    assert advise(caught.value).hint == f"{AGAIN}   # once {NAME} is filled in"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("TASK-0824", "TASK-824", True),
        ("5", "TASK-005", True),
        ("12", "ISSUE-12", True),
        ("2", "master.5.2", True),
        ("TASK-8-discount", "TASK-8", True),
        ("task 8", "TASK-8", True),
        ("TASK-1", "TASK-9999", False),
        ("TASK-1.1", "TASK-1", False),
        ("1", "TASK-11", False),
        ("--", "TASK-1", False),
    ],
)
def test_is_same_id(one: str, other: str, same: bool) -> None:
    """Case, marks, leading zeros and a prefix make no other id; another number does."""
    assert is_same_id(one, other) is is_same_id(other, one) is same


AGAIN = "git taskctx init TASK-1"
READY = b"title: x\ndescription: y\nacceptance_criteria: [z]\n"


@pytest.mark.parametrize(
    ("status", "required", "any_status", "passes"),
    [
        (b"", ("in_progress",), False, True),
        (b"status: in_progress\n", ("in_progress",), False, True),
        (b"status: todo\n", ("in_progress",), False, False),
        (b"status: todo\n", ("in_progress",), True, True),
        (b"status: todo\n", ("ready", "todo"), False, True),
        (b"status: todo\n", (), False, True),
    ],
)
def test_status_gate(status: bytes, required: tuple[str, ...], any_status: bool, passes: bool) -> None:
    """A status must be one of the required ones, unless there is none, none is required, or any will do."""
    policy = Policy(task=TaskPolicy(require_status=required))
    if passes:
        check_gates(read(READY + status), policy, any_status=any_status, again=("init", "TASK-1"))
        return
    with pytest.raises(Refused) as caught:
        check_gates(read(READY + status), policy, any_status=any_status, again=("init", "TASK-1"))
    assert advise(caught.value).hint == f"{AGAIN} --any-status   # or set the status in {NAME}"


def test_without_volatile() -> None:
    """Versions that differ in volatile keys, comments and layout are equal; any other difference shows."""
    volatile = Policy().task.volatile

    def value(data: bytes) -> object:
        return without_volatile(data, volatile, name=NAME, task="T")

    before = value(READY + b"status: todo\nagent_a: 1\n")
    assert value(b"# moved\nagent_b: {c: d}\nstatus: done\n" + READY.replace(b"[z]", b"\n  - z")) == before
    assert value(READY + b"priority: 1\n") != before
    assert value(READY.replace(b"z", b"zz")) != before
    assert value(READY.replace(b"y", b"{status: a}")) != value(READY.replace(b"y", b"{status: b}"))
    assert value(b"") is None
    with pytest.raises(BadData):
        value(b"a: [")


def test_standards_and_words() -> None:
    """The items of `standards` come as they were written, and every captured text with its place, before it is cut."""
    data = b"""\
title: T
standards:
  - standards/a.md#one
  - {file: standards/b.md, sections: [two, three]}
description: >
  See the rules of
  docs/c.md#four, please.
qa: {commands: ["make d.md#five"]}
status: docs/x.md#no
"""
    task_file = read(data)
    assert [(item.plain(), item.line, item.column) for item in task_file.standards] == [
        ("standards/a.md#one", 3, 5),
        ({"file": "standards/b.md", "sections": ["two", "three"]}, 4, 5),
    ]
    description = Words("See the rules of docs/c.md#four, please.\n", 5, 14)
    assert task_file.words == (Words("T", 1, 8), description, Words("make d.md#five", 8, 17))
    assert task_file.line_of(description, "docs/c.md#four") == 7
    assert task_file.line_of(description, "nowhere") == 5
    assert problems(b"standards: a.md\n") == [
        f"{NAME}:1:12: standards: expected a list, found text: begin each item with '- '"
    ]


@pytest.mark.parametrize(
    ("item", "told"),
    [("title: a", ", or begin it in column 5 to make it part of the last one"), ("it parses", ""), ("'title: a'", "")],
)
def test_a_key_among_items(item: str, told: str) -> None:
    """Only an item that has keys can take another one: no advice leads to the next fault."""
    with pytest.raises(BadData) as caught:
        read(f"title: t\nplan:\n  - {item}\n  details: b\n".encode())
    message = "a key among list items: put the items above it under a key of their own"
    assert caught.value.message == f"{NAME}:4:3: {message}{told}"


def test_related_docs() -> None:
    """A document with an anchor is cited; one without is reported as left out."""
    found = read(b"title: t\ncontext:\n  related_docs: [docs/a.md#one, docs/b.md, https://example.org/x]\n")
    told = "context.related_docs: 'docs/b.md' and 1 more name no section, and are left out: write FILE.md#heading"
    assert found.warnings == (f"{NAME}:3: {told}",)
    assert [(one.files, one.section) for one in wanted_by_task(found)[0]] == [(("docs/a.md", "tasks/docs/a.md"), "one")]
    assert read(b"title: t\nrelated_docs: [docs/a.md#one]\n").warnings == ()


def test_user_stories() -> None:
    """A story of a `prd.json` is picked by its id."""
    story = {"id": "US-2", "title": "Filter", "description": "By owner.", "acceptanceCriteria": ["it filters"]}
    data = {"project": "p", "userStories": [{**story, "id": "US-1"}, {**story, "passes": False, "priority": 2}]}
    found = read_task_file(json.dumps(data).encode(), name="prd.json", task="US-2")
    task = found.task_snapshot
    assert (found.id, task.title, task.priority, task.acceptance_criteria) == ("US-2", "Filter", "2", ("it filters",))
    assert found.unknown_keys == ("passes",)


def test_json_lines() -> None:
    """Of JSON Lines, as beads keeps issues, the one of the id counts; what is wrong has its line."""
    text = (
        '{"id": "bd-1", "title": "a"}\n\n{"id": "bd-2", "title": "b", "acceptance_criteria": "- it reads\\n- fast"}\n'
    )
    found = read_task_file(text.encode(), name=".beads/issues.jsonl", task="bd-2")
    assert (found.id, found.task_snapshot.acceptance_criteria) == ("bd-2", ("it reads", "fast"))
    assert found.sources["task_snapshot.title"] == ".beads/issues.jsonl:L3"
    with pytest.raises(BadData, match=r"^issues\.jsonl:2:"):
        read_task_file(b'{"id": "bd-1"}\n{"id": bd}\n', name="issues.jsonl", task="bd-1")
    with pytest.raises(BadData, match="no task bd-3 in this file, which holds bd-1, bd-2"):
        read_task_file(text.encode(), name="issues.jsonl", task="bd-3")


def test_a_plan_of_cursor() -> None:
    """The overview is the description, and what is to do is the plan."""
    text = (
        "---\nname: Add auth\noverview: Add login.\ntodos:\n  - id: a\n    content: Write it\n---\n# Add auth\nMore.\n"
    )
    task = read_task_file(text.encode(), name="auth.plan.md").task_snapshot
    assert (task.title, task.description, task.plan) == ("Add auth", "Add login.\n\nMore.\n", ("Write it",))


def test_a_story() -> None:
    """Sections of a story of BMAD give plan and criteria; the record of whoever works on it is left out."""
    text = (
        "# Story 1.2: Login\n\n## Story\nAs a user.\n\n## Acceptance Criteria\n1. it logs in\n\n"
        "## Tasks / Subtasks\n- [ ] form (AC: 1)\n\n## Dev Agent Record\n### Log\nbegan\n"
    )
    task = read_task_file(text.encode(), name="1.2.story.md").task_snapshot
    assert (task.acceptance_criteria, task.plan) == (("it logs in",), ("form (AC: 1)",))
    assert task.description == "## Story\nAs a user.\n"
