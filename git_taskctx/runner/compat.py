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

_FIELDS = ("data", "flags", "logs")
_UNSET: Any = object()


class StageContext:
    """The context of one attempt of a stage. Shared resources, and flags, are attributes too."""

    def __init__(self, name: str, execution: TaskContext) -> None:
        self.name = name
        self.execution = execution
        """Of this attempt: `exec`, `on_close`, `inputs`, `outputs`, `check`, `handed_back`."""
        self.data = execution.inputs.under(DATA)
        """What the stages before this one brought, and `seed`."""
        self.flags = execution.inputs.under(FLAGS)
        """What they set; the last in the order counts."""
        self._output: Any = _UNSET
        self._old: dict[str, Any] = {}

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
        if "_old" not in self.__dict__:  # a copy that is being made
            raise AttributeError(name)
        for found in (self._old, self.flags, self.execution.resources):
            if name in found:
                return found[name]
        raise AttributeError(f"{name}: no flag, and no shared resource")

    def __setattr__(self, name: str, value: Any) -> None:
        if "_old" not in self.__dict__:
            self.__dict__[name] = value
        elif name in self.__dict__ or name == "seed" or name in self.execution.resources:
            raise AttributeError(f"{name} cannot be set: it is shared, or the runner's own")
        elif name == "output":
            self._notice("output", "return it as data")
            self.__dict__["_output"] = value
        else:
            self._notice("attributes", "return them as flags")
            self._old[name] = value

    def _notice(self, way: str, instead: str) -> None:
        self.execution.emit("deprecated", way=way, text=f"{self.name}: {way} is the old way; {instead}")


def read_response(ctx: StageContext, result: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what a handler brings in any way, as the fields of a response, and what is wrong with it."""
    if result is not None and not isinstance(result, Mapping):
        if not all(hasattr(result, name) for name in _FIELDS):
            return {}, [f"{type(result).__name__} is not a response: return data, flags and logs"]
        result = {name: getattr(result, name) for name in _FIELDS}
    fields = {name: value for name, value in (result or {}).items() if name in _FIELDS and value is not None}
    rest = {name: value for name, value in (result or {}).items() if name not in _FIELDS}
    if not isinstance(flags := fields.pop("flags", {}), Mapping):
        return fields, ["flags is not an object"]
    wrong = []
    if "output" in rest:
        ctx._notice("output", "return it as data")
        wrong += ["data and output are both there"] if "data" in fields else []
        fields["data"] = rest.pop("output")
    elif rest:
        wrong += [f"{name} is none of data, flags, logs" for name in rest]
        rest = {}
    if "data" not in fields and ctx._output is not _UNSET and freeze(ctx._output) != ctx._before():
        fields["data"] = ctx._output
    return {**fields, "flags": {**ctx._old, **rest, **flags}}, wrong
