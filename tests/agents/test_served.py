"""Tools of MCP servers: judged by what their names and their arguments tell, and by nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from callers import AGENTS, EVENTS, FORMS, Hooked, reason_in
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.agents.dialects import DIALECTS
from git_taskctx.agents.payload import MANY
from git_taskctx.agents.tools import DEEPEST, kind_of, places_in, served_name

NOBODY = "git taskctx: nobody is at work on TASK-1, so a write now would be drift"
OUTSIDE = "git taskctx: README: outside the scope of TASK-1 (src/, docs/*.md, tasks/)"


def called(hooked: Hooked, agent: str, tool: str, arguments: Any, **more: Any) -> tuple[str, str]:
    """Call a tool of the server `notes` as an agent does; return what becomes of it, and the first line of why."""
    event = EVENTS[agent]["write"]
    names = {"gemini": f"mcp_notes_{tool}", "cursor": f"MCP:{tool}"}
    payload = hooked.payload(agent, event, tool_name=names.get(agent, f"mcp__notes__{tool}"), tool_input=arguments)
    if agent == "gemini":
        payload["mcp_context"] = {"server_name": "notes", "tool_name": tool, "command": "notes", "args": []}
    if agent == "cursor":
        payload["tool_input"] = json.dumps(arguments)
    said = hooked.hook(agent, event, {**payload, **more})
    if not said.out:
        return ("noted" if said.err else "passes"), said.err.strip().removeprefix("git-taskctx: ")
    answer = json.loads(said.out)
    jsonschema.validate(answer, FORMS[agent][event])
    inner = answer.get("hookSpecificOutput", answer)
    denied = "deny" in (inner.get("permissionDecision"), inner.get("decision"), inner.get("permission"))
    text = reason_in({key: one for key, one in answer.items() if key != "user_message"})
    return ("denied" if denied else "noted"), text.split("\n")[0 if denied else 1]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("Write", False), ("Read", False), ("Grep", False), ("NotebookRead", False),
        ("mcp__files__write_file", True), ("mcp__plugin_kit_files__anything", True), ("MCP:write_file", True),
        ("mcp_files_write_file", True), ("TodoWrite", False), ("write_todos", False),
    ],
)  # fmt: skip
def test_matchers(agent: str, tool: str, expected: bool) -> None:
    """As its agent reads it, a matcher takes the agent's writers and whatever a server has, and no reader."""
    matcher = DIALECTS[agent].matcher
    forms = {"claude": "mcp__", "codex": "mcp__", "gemini": "mcp_", "cursor": "MCP:"}
    wanted = tool in DIALECTS[agent].writers or (expected and tool.startswith(forms[agent]))
    assert re.fullmatch(r"[A-Za-z0-9_|, -]*", matcher) is None, "a list of names it would be, and no expression"
    assert (re.search(matcher, tool) is not None) is wanted or (agent == "cursor" and tool in ("TodoWrite",))
    assert all(re.search(matcher, writer) for writer in DIALECTS[agent].writers)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_becomes_of_a_call(hooked: Hooked, agent: str) -> None:
    """A reader always passes; a writer is judged like the agent's own; what may be either is never silent where the
    state forbids to write, and never stopped.
    """
    hooked.begin()
    top = str(hooked.repo.path)
    assert called(hooked, agent, "write_note", {"path": "src/a", "text": "x"}) == ("passes", "")
    assert called(hooked, agent, "write_note", {"path": f"{top}/README"}) == ("denied", OUTSIDE)
    assert called(hooked, agent, "write_note", {"path": "/elsewhere/README"}) == ("passes", "")
    assert called(hooked, agent, "read_note", {"path": "README"}) == ("passes", "")
    assert called(hooked, agent, "frobnicate", {"path": "src/a"}) == ("passes", "")
    noted = called(hooked, agent, "frobnicate", {"path": "README"})
    assert noted[0] == "noted"
    assert OUTSIDE in noted[1]
    assert called(hooked, agent, "create_issue", {"title": "T", "body": "B"}) == ("passes", "")
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    assert called(hooked, agent, "write_note", {"path": "src/a"}) == ("denied", NOBODY)
    assert called(hooked, agent, "write_note", {"path": top}) == ("denied", NOBODY)
    assert called(hooked, agent, "write_note", {"path": "build/out"}) == ("passes", ""), "git ignores it"
    assert called(hooked, agent, "replace_file_text", {"text": "x"}) == ("denied", NOBODY)
    for tool, arguments in {
        "frobnicate": {"path": "src/a"}, "execute": {"command": "make"}, "create_issue": {"title": "T"},
        "git_commit": {"repo_path": top, "message": "m"},
    }.items():  # fmt: skip
        what, why = called(hooked, agent, tool, arguments)
        assert what == "noted"
        assert NOBODY in why
    assert called(hooked, agent, "get_note", {"path": "src/a"}) == ("passes", "")


def test_a_remark_word_for_word(hooked: Hooked) -> None:
    """Each agent's own form of letting a call go on with a word; Cursor has none, and gets a line on stderr."""
    hooked.begin()
    text = (
        f"git taskctx: whether NAME writes here is unknown; if it does:\n{OUTSIDE}\n"
        'hint: git taskctx block --agent implementer --finding "what has to change, and why"'
        "   # to hand the question on\n"
        "hint: git taskctx rebuild   # once the task file's scope has been widened"
    )
    for agent, name in {"claude": "mcp__n__frob", "codex": "mcp__n__frob", "gemini": "mcp_n_frob"}.items():
        event = EVENTS[agent]["write"]
        said = hooked.hook(agent, event, hooked.payload(agent, event, tool_name=name, tool_input={"file": "README"}))
        whole = text.replace("NAME", name)
        specific = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": whole}}
        assert json.loads(said.out) == (specific if agent != "gemini" else {"systemMessage": whole})
    payload = hooked.payload("cursor", "preToolUse", tool_name="MCP:frob", tool_input='{"file": "README"}')
    said = hooked.hook("cursor", "preToolUse", payload)
    line = f"git-taskctx: git taskctx: whether MCP:frob writes here is unknown; if it does: {OUTSIDE}\n"
    assert (said.out, said.err) == ("", line)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "README"}, {"file_path": "README"}, {"filePath": "README"}, {"relative_path": "./README"},
        {"pathInProject": "README"}, {"source": "src/a", "destination": "README"}, {"paths": ["src/a", "README"]},
        {"edits": [{"path": "src/a"}, {"path": "README"}]}, {"files": {"./README": "text"}}, {"uri": "file://{top}/README"},
        {"uri": "file://localhost{top}/READ%4dE"}, {"anything": "{top}/README"}, {"x": {"y": ["../{name}/README"]}},
        {"patch": "*** Begin Patch\n*** Update File: README\n@@\n*** End Patch"},
        {"diff": "--- a/src/a\n+++ b/README\n@@ -1 +1 @@\n-a\n+b\n"},
        {"diff": "--- README\n+++ /dev/null\n@@ -1 +0,0 @@\n"},
        {"projectPath": "{top}", "file": "README"}, {"path": "{top}/src/../README"}, {"path": "src/to-readme"},
        {"uri": "FILE://{top}/README"}, {"uri": "File://LocalHost{top}/README"}, {"uri": "file:{top}/README"},
        {"path": "{top}/src/../" + "./" * 3000 + "README"}, {"a": "{top}/" + "./" * 3000 + "README"},
        {"a": [[[[[[[[[[{"b": {"path": "README"}}]]]]]]]]]]},
    ],
)  # fmt: skip
def test_every_way_to_name_a_file(hooked: Hooked, arguments: Any) -> None:
    """Whatever the argument is called, and however deep it lies, a path in it is found."""
    hooked.repo.symlink("src/to-readme", "../README")
    hooked.begin()
    top = hooked.repo.path
    text = json.dumps(arguments).replace("{top}", str(top)).replace("{name}", top.name)
    assert called(hooked, "claude", "write", json.loads(text)) == ("denied", OUTSIDE)


def test_what_is_no_path(hooked: Hooked) -> None:
    """Text, addresses, numbers and what only says where the server is at home are no files to be judged."""
    hooked.begin()
    for arguments in (
        {"text": "README"}, {"url": "https://example.com/README"}, {"uri": "http://localhost/README"}, {"path": 7},
        {"path": None}, {"path": ""}, {"source": "main", "target": "topic/x"}, {"command": "./make all"},
        {"image": "/9j/" + "4AAQ" * 2000},
        {"body": "See:\n--- a/README\n+++ b/README\n*** Update File: README\n"},
        {"cwd": str(hooked.repo.path), "path": "src/a"}, [], "", 3,
    ):  # fmt: skip
        assert called(hooked, "claude", "write_note", arguments) == ("passes", "")


def test_ends_that_may_be_files(hooked: Hooked) -> None:
    """A source and a target are files where one is there, or where the tool is about files; else they are anything."""
    hooked.begin()
    assert called(hooked, "claude", "move", {"source": "src/parser.py", "target": "elsewhere"})[0] == "denied"
    assert called(hooked, "claude", "move_file", {"source": "one", "target": "other"})[0] == "denied"
    assert called(hooked, "claude", "merge", {"source": "one", "target": "other"}) == ("passes", "")


def test_from_a_folder_below(hooked: Hooked) -> None:
    """Where the agent is in a folder, a server may be at the top: a name is judged as both would have it."""
    hooked.begin()
    cwd = str(hooked.repo.path / "src")
    assert called(hooked, "claude", "write_note", {"path": "README"}, cwd=cwd) == ("denied", OUTSIDE)
    assert called(hooked, "claude", "write_note", {"path": "src/a"}, cwd=cwd) == ("passes", "")


def test_a_patch_as_a_command(hooked: Hooked) -> None:
    """Codex applies a patch that a model writes as a shell command itself; any other command is none of ours."""
    hooked.begin()
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\nEOF\n"

    def run(command: str | list[str], **more: str) -> str | None:
        payload = hooked.payload("codex", "PreToolUse", tool_name="Bash", tool_input={"command": command, **more})
        answer = hooked.call("codex", "PreToolUse", payload)
        return reason_in(answer).split("\n")[0] if answer is not None else None

    assert run(patch.format("README")) == OUTSIDE
    assert run("cd src && " + patch.format("../README")) == OUTSIDE
    assert run("cd src && " + patch.format("README")) is None
    assert run(patch.format("src/a")) is None
    assert run("echo x > README") is None
    assert run(["bash", "-lc", "cd src && " + patch.format("../README")]) == OUTSIDE
    assert run(["apply_patch", patch.format("a")], workdir="src") is None
    assert run(["apply_patch", patch.format("README")], workdir="src") is None
    assert run(["apply_patch", patch.format("../README")], workdir="src") == OUTSIDE
    assert run(patch.format("README").replace("File: ", "File:\u00a0").replace("Begin ", "Begin\u00a0")) == OUTSIDE


def test_too_many_arguments(hooked: Hooked) -> None:
    """More files than anybody can mean are not let through unread."""
    hooked.begin()
    what, why = called(hooked, "claude", "write_notes", {"paths": ["src/a"] * (MANY + 1)})
    assert what == "denied"
    assert why == f"git taskctx: the arguments name more than {MANY} files, so what it would write is unknown"


def test_arguments_that_are_not_read_to_their_end(hooked: Hooked) -> None:
    """Too deep or too long: a writer is denied; what may be either is remarked on, and denied where none may write."""
    hooked.begin()
    deep: Any = {"path": "README"}
    for _ in range(DEEPEST):
        deep = [deep]
    told = "git taskctx: {}, so what it would write is unknown"
    cases = {
        f"the arguments are nested more than {DEEPEST} deep": {"x": deep},
        "the path has more than 4096 bytes": {"path": "x" * 5000},
    }
    for why, arguments in cases.items():
        assert called(hooked, "claude", "write_note", arguments) == ("denied", told.format(why))
        assert called(hooked, "claude", "frobnicate", arguments) == ("noted", told.format(why))
        assert called(hooked, "claude", "read_note", arguments) == ("passes", "")
    hooked.repo.write("src/parser.py", "mended\n")
    hooked.ok("snapshot", "--agent", "implementer")
    for why, arguments in cases.items():
        assert called(hooked, "claude", "frobnicate", arguments) == ("denied", told.format(why))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "reads",
            "read_file read_multiple_files list_directory directory_tree search_files get_file_info listFiles "
            "getCommit git_status git_diff_staged git_log query-docs resolve-library-id find_symbol "
            "find_referencing_symbols get_patch list_commits browser_wait_for sequential_think search_code fetch",
        ),
        (
            "writes",
            "write_file edit_file create_directory move_file replace_symbol_body insert_after_symbol delete_lines "
            "git_commit git_add git_reset createTextFile replaceTextInFile search_and_replace search_replace "
            "find_replace get_or_create rename_symbol push_and_update apply_diff XMLWrite download_file "
            "list_then_delete preview_then_apply read_and_commit",
        ),
        (
            "unknown",
            "browser_file_upload upload-asset "
            "frobnicate execute_command run bash eval browser_click take_screenshot export_pdf 1 _ 书 "
            "diff_apply tail_append status_set check_out_file fetch_to_file load_to_disk describe_image_to_file "
            "viewAllSaveSome getIntoFolder",
        ),
    ],
)
def test_kinds(kind: str, names: str) -> None:
    """The first verb of a name decides, in whatever style it is written; who reads first may write after that."""
    assert {name: kind_of(name) for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_names_of_servers_do_not_count() -> None:
    """A server that is called after a verb has no say in what its tools do."""
    assert [
        served_name(tool, context)
        for tool, context in (
            ("mcp__write-server__look_at", None), ("mcp__a__b__c", None), ("mcp__a", None), ("MCP:a:b", None),
            ("mcp_write_server_look", {"tool_name": "look"}), ("mcp_a_b", None), ("mcp_a_b", {"tool_name": 7}),
            ("Write", {"tool_name": "x"}), ("mcpx", None), ("", None),
        )
    ] == ["look_at", "b__c", "a", "a:b", "look", "a_b", "a_b", None, None, None]  # fmt: skip


_ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(_ANY, st.sampled_from(["", "path", "cwd"]))
def test_any_arguments(arguments: Any, key: str) -> None:
    """Whatever a server is given, what is taken for a path is text that stands in it."""
    whole = json.dumps(arguments, ensure_ascii=False)
    for path, _ in places_in(arguments, key):
        assert path
        assert "\n" not in path
        assert json.dumps(path, ensure_ascii=False)[1:-1] in whole or path.startswith("/")
