"""The hooks in each agent's configuration: what is inserted, and what is ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from git_taskctx.agents import jsontext, marked
from git_taskctx.agents.dialects import Dialect, Moment
from git_taskctx.capture.strict_json import Value
from git_taskctx.errors import BadData
from git_taskctx.limits import load_toml
from git_taskctx.shell import shell_word

SECONDS = 60
"""Timeout of a hook; a stop reads the worktree, which may be large."""
BEGIN, END = "# git-taskctx: begin", "# git-taskctx: end"
_ROLE = r" --role [^\s\"]+"


_IF_THERE = "! command -v git-taskctx >/dev/null || "
"""Keeps a hook silent where the program is not installed."""


def command(dialect: Dialect, moment: Moment, role: str | None) -> str:
    """Return the command that an agent runs."""
    option = f" --role {role}" if role else ""
    return f"{_IF_THERE}git taskctx agent-hook {dialect.events[moment]} --agent {dialect.name}{option}"


def wiring(dialect: Dialect, role: str | None) -> dict[str, list[Any]]:
    """Return the value of `hooks`: for each event a list with our one entry."""
    return {event: [_entry(dialect, moment, role)] for moment, event in dialect.events.items()}


def _entry(dialect: Dialect, moment: Moment, role: str | None) -> dict[str, Any]:
    matched = {"matcher": dialect.matcher} if moment == "write" else {}
    run = {"command": command(dialect, moment, role)}
    if dialect.name == "cursor":
        once = {"loop_limit": 1} if moment in ("stop", "helper-stop") else {}
        return {**run, **matched, "timeout": SECONDS, **once}
    if dialect.name == "gemini":
        return {**matched, "hooks": [{"name": "git-taskctx", "type": "command", **run, "timeout": SECONDS * 1000}]}
    return {**matched, "hooks": [{"type": "command", **run, "timeout": SECONDS}]}


def document(dialect: Dialect, role: str | None) -> dict[str, Any]:
    """Return a whole configuration with only our hooks."""
    version = {"version": 1} if dialect.name == "cursor" else {}
    return {"hooks": wiring(dialect, role), **version}


def add(text: str | None, dialect: Dialect, role: str | None, *, what: str) -> str:
    """Insert our hooks into a configuration, replacing older ones of ours. Raises: BadData."""
    if text is None:
        return jsontext.render(document(dialect, role))
    wanted = wiring(dialect, role)
    if found(text, dialect, what=what) == wanted:
        return text
    left = remove(text, dialect, what=what)
    if left is None:
        return jsontext.render(document(dialect, role))
    text = left
    if _hooks(_root(text, what), what) is not None:
        return _add_events(text, wanted, what)
    for key, value in document(dialect, role).items():
        root = _root(text, what)
        if root.find(key) is None:
            text = jsontext.insert(text, root, value, key=key)
    return text


def _add_events(text: str, wanted: dict[str, list[Any]], what: str) -> str:
    for event, entries in wanted.items():
        hooks = _root(text, what).find("hooks") or Value(0, 0)
        lists = hooks.find(event)
        if lists is None:
            text = jsontext.insert(text, hooks, entries, key=event)
        elif lists.items is None or lists.keys is not None:
            raise BadData(f"{what}: hooks.{event} is not a list")
        else:
            text = jsontext.insert(text, lists, entries[0])
    return text


def remove(text: str, dialect: Dialect, *, what: str) -> str | None:
    """Remove our hooks from a configuration; None where we made all of it. Raises: BadData."""
    while True:
        first = next(_ours(text, dialect, what), None)
        if first is None:
            return text
        path, index = first
        gone = True
        while gone and path:
            node = path.pop()
            text, gone = jsontext.remove(text, node, index)
            if gone:
                if not path:
                    return None
                parent = path[-1]
                index = next(number for number, item in enumerate(parent.items or []) if item is node)
                if len(path) == 1 and (parent.keys or [])[-2:] == ["hooks", "version"]:  # both are ours
                    text, _ = jsontext.remove(text, parent, index + 1)
                    path = [_root(text, what)]


def found(text: str, dialect: Dialect, *, what: str) -> dict[str, list[Any]]:
    """Return our hooks in a configuration, by event. Raises: BadData."""
    ours: dict[str, list[Any]] = {}
    for path, index in _ours(text, dialect, what):
        hooks, lists = path[1], path[2]
        items = hooks.items or []
        event = (hooks.keys or [])[next(number for number, item in enumerate(items) if item is lists)]
        entry = path[3] if len(path) > 3 else (lists.items or [])[index]
        ours.setdefault(event, []).append(
            entry.plain() if len(path) < 5 else {"hooks": [(path[4].items or [])[index].plain()], **_others(path[3])}
        )
    return ours


def without_role(hooks: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return our hooks without their role."""
    return dict(json.loads(re.sub(_ROLE, "", json.dumps(hooks))))


def _others(entry: Value) -> dict[str, Any]:
    return {key: value for key, value in entry.plain().items() if key != "hooks"}


def _ours(text: str, dialect: Dialect, what: str) -> Iterator[tuple[list[Value], int]]:
    """Yield each entry of ours: its containers, and its index in the last one."""
    root = _root(text, what)
    hooks = _hooks(root, what)
    mine = re.compile(rf"\s*(?:{re.escape(_IF_THERE)})?git[ -]taskctx agent-hook \S+ --agent {dialect.name}(?:\s|$)")

    def is_mine(node: Value) -> bool:
        run = node.find("command")
        return run is not None and isinstance(run.value, str) and mine.match(run.value) is not None

    for lists in (hooks.items or []) if hooks is not None else []:
        for index, entry in enumerate((lists.items or []) if lists.keys is None else []):
            if is_mine(entry):
                yield [root, hooks, lists], index  # type: ignore[list-item]
                continue
            handlers = entry.find("hooks")
            inner = (handlers.items or []) if handlers is not None and handlers.keys is None else []
            for number, handler in enumerate(inner):
                if is_mine(handler):
                    if len(inner) == 1:
                        yield [root, hooks, lists], index  # type: ignore[list-item]
                    else:
                        yield [root, hooks, lists, entry, handlers], number  # type: ignore[list-item]


def _root(text: str, what: str) -> Value:
    root = jsontext.parse(text, what=what)
    if root.keys is None:
        raise BadData(
            f"{what} holds no JSON object", hint=f"echo '{{}}' > {shell_word(what)}   # where nothing is in it"
        )
    return root


def _hooks(root: Value, what: str) -> Value | None:
    hooks = root.find("hooks")
    if hooks is not None and hooks.keys is None:
        raise BadData(f"{what}: hooks is not an object")
    return hooks


# Codex has its hooks in config.toml where they are there already: it warns of two places.


def has_toml_hooks(text: str, *, what: str) -> bool:
    """Return whether a config.toml has others' hooks. Raises: BadData."""
    return bool(_toml(remove_toml(text, what=what) or "", what).get("hooks"))


def add_toml(text: str, dialect: Dialect, role: str | None, *, what: str) -> str:
    """Append our hooks to a config.toml, as a marked block. Raises: BadData where they do not fit."""
    lines = []
    for moment, event in dialect.events.items():
        lines += [f"[[hooks.{event}]]"]
        lines += [f'matcher = "{dialect.matcher}"'] if moment == "write" else []
        lines += [f"[[hooks.{event}.hooks]]", 'type = "command"']
        lines += [f'command = "{command(dialect, moment, role)}"', f"timeout = {SECONDS}", ""]
    new = marked.add(text, "\n".join(lines), BEGIN, END, what=what)
    _toml(new, what)
    return new


def is_current_toml(text: str, dialect: Dialect, *, what: str) -> bool:
    """Return whether that block is as this version writes it, for whatever role. Raises: BadData."""
    plain = re.sub(_ROLE, "", text)
    return add_toml(plain, dialect, None, what=what) == plain


def remove_toml(text: str, *, what: str) -> str | None:
    """Remove that block."""
    return marked.remove(text, BEGIN, END, what=what)


def _toml(text: str, what: str) -> dict[str, Any]:
    try:
        return load_toml(text.removeprefix("\ufeff"))
    except ValueError as error:
        raise BadData(f"{what} cannot be read: {error}") from error
