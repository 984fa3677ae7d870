"""What a handler is given, new and old names side by side.

Old handlers return `{"output": …}`, read `output` and `seed`, or set attributes of the context and return nothing. All
of that works, each with one notice, and what they bring is found under both names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from git_taskctx.runner.frozen import freeze, thaw
from git_taskctx.runner.store import DATA, FLAGS
from git_taskctx.runner.task import TaskContext

_OWN = ("name", "execution", "data", "flags", "handed_back", "seed", "_old", "_output")
_UNSET: Any = object()


class StageContext:
    """The context of one attempt of a stage. Shared resources, and flags, are attributes too."""

    def __init__(self, name: str, execution: TaskContext) -> None:
        own: dict[str, Any] = self.__dict__
        own["name"] = name
        own["execution"] = execution
        own["data"] = execution.inputs.under(DATA)
        own["flags"] = execution.inputs.under(FLAGS)
        own["handed_back"] = execution.handed_back
        own["_old"] = {}
        own["_output"] = _UNSET

    name: str
    execution: TaskContext
    """Of this attempt: `exec`, `on_close`, `inputs`, `outputs`, `check`."""
    data: Mapping[str, Any]
    """What the stages before this one brought, and `seed`."""
    flags: Mapping[str, Any]
    """What they set; the last in the order counts."""
    handed_back: tuple[Any, ...]
    """The failures that sent the work back here."""
    _old: dict[str, Any]
    _output: Any

    @property
    def seed(self) -> Any:
        """Return `data["seed"]`; an old name."""
        self._notice("seed", 'read data["seed"]')
        return self.data["seed"]

    @property
    def output(self) -> Any:
        """Return a copy of what the last stage before this one brought; an old name.

        What is changed in it is what this stage brings, unless it returns something.
        """
        if self._output is _UNSET:
            self._notice("output", "read data[<stage>]")
            self.__dict__["_output"] = thaw(self._before())
        return self._output

    def _before(self) -> Any:
        stages = [name for name in self.data if name != "seed"]
        return self.data[stages[-1]] if stages else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        for found in (self._old, self.flags, self.execution.resources):
            if name in found:
                return found[name]
        raise AttributeError(f"{name}: no flag, and no shared resource")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or name in self.execution.resources:
            raise AttributeError(f"{name} cannot be set: it is shared, or the runner's own")
        if name == "output":
            self._notice("output", "return it as data")
            self.__dict__["_output"] = value
        else:
            self._notice("attributes", "return them as flags")
            self._old[name] = value

    def _notice(self, way: str, instead: str) -> None:
        self.execution.emit("deprecated", way=way, text=f"{self.name}: {way} is the old way; {instead}")

    def brought(self) -> dict[str, Any]:
        """Return what was set or changed in the old ways, as a response."""
        found: dict[str, Any] = {"flags": self._old} if self._old else {}
        if self._output is not _UNSET and freeze(self._output) != self._before():
            found["data"] = self._output
        return found


def read_response(ctx: StageContext, result: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what a handler brings, as the fields of a response, and what is wrong with it."""
    old = ctx.brought()
    if result is None:
        return old, []
    if not isinstance(result, Mapping):
        if not all(hasattr(result, name) for name in ("data", "flags", "logs")):
            return {}, [f"{type(result).__name__} is no response: return data, flags and logs"]
        result = {name: getattr(result, name) for name in ("data", "flags", "logs")}
    fields = {name: result[name] for name in ("data", "flags", "logs") if result.get(name) is not None}
    rest = {name: value for name, value in result.items() if name not in ("data", "flags", "logs")}
    if not isinstance(flags := fields.setdefault("flags", {}), Mapping):
        return {**fields, "flags": {}}, ["flags is no object"]
    wrong = []
    if "output" in rest:
        ctx._notice("output", "return it as data")
        if "data" in fields:
            wrong.append("data and output are both there")
        fields["data"] = rest.pop("output")
    else:
        wrong += [f"{name} is none of data, flags, logs" for name in rest]
        rest = {}
    fields["flags"] = {**old.get("flags", {}), **rest, **flags}
    return {**old, **fields}, wrong
