"""The immutable block gathered from the task file, the standards and the policy, and what it was gathered from."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from git_taskctx import __version__
from git_taskctx.config import PYPROJECT_LIMIT, Config
from git_taskctx.context.scope import paths_in
from git_taskctx.errors import BadData
from git_taskctx.git.lookup import find_file, read_blob
from git_taskctx.git.quoting import quote
from git_taskctx.git.worktree import Reading
from git_taskctx.model.context import Command, Immutable, TaskSnapshot, ValidationBaseline
from git_taskctx.model.manifest import Capture, Purpose, Source
from git_taskctx.model.oids import BlobOid, CommitOid
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass

if TYPE_CHECKING:
    from git_taskctx.capture.standards import Cited, Standard, Wanted

POLICY_FILE = ".taskctx.toml"
PYPROJECT = "pyproject.toml"
MAX_PATHS = 1000
"""Paths that are listed of those that the scope patterns match."""
MAX_KEYS = 20
"""Keys of a task file that are named as not captured."""


@dataclass(frozen=True)
class Ground:
    """What a task is captured on: the team's policy, and the worktree that it is about."""

    policy: Policy
    base: CommitOid | None
    """The commit that policy, and the files that it names, are read from."""
    reading: Reading
    committed: str = POLICY_FILE
    """The file that the policy stands in."""


@dataclass(frozen=True)
class Captured:
    """A task as it was captured."""

    immutable: Immutable
    path: str | None
    """Of its file; None where it was given on the command line."""
    data: bytes | None
    """The file as it was read."""
    warnings: tuple[str, ...]
    capture: Capture = Capture()


def committed_in(config: Config) -> str:
    """Return the file that the committed policy stands in."""
    in_pyproject = any(origin.startswith(PYPROJECT) for origin in config.origins.values())
    return PYPROJECT if in_pyproject else POLICY_FILE


def capture_file(path: str, data: bytes, ground: Ground, *, task: str, any_status: bool, again: str) -> Captured:
    """Capture a task from its file; `again` is the command that does it.

    Raises: BadData for what does not read, Refused by the gates.
    """
    from git_taskctx.capture.scope import expand_macros
    from git_taskctx.capture.standards import wanted_by_task
    from git_taskctx.capture.taskfile import check_gates, read_task_file

    policy, reading = ground.policy, ground.reading
    found = read_task_file(data, name=path, task=task)
    wanted, not_understood = wanted_by_task(found)
    cited = _cite(ground, found.task_snapshot, wanted)
    check_gates(found, policy, any_status=any_status, again=again, cited=bool(cited.citations))
    macros, macro_sources = _macros(ground)
    patterns = expand_macros(found.patterns, macros)
    paths = paths_in(reading.git, reading.tree, patterns)
    commands = _commands(found.commands, found.task_snapshot.area, policy)
    immutable = Immutable(
        task_snapshot=found.task_snapshot,
        standards_citations=cited.citations,
        validation_baseline=ValidationBaseline(commands=commands, manual_checks=found.manual_checks),
        scope_patterns=patterns,
        repo_paths=paths[:MAX_PATHS],
        sources={**found.sources, **cited.sources},
    )
    unknown = _unknown_keys(path, found.unknown_keys, policy.task.volatile)
    told = (*found.warnings, *not_understood, *cited.warnings, *unknown, *_paths_warning(len(paths)))
    own = Source(path, BlobOid(reading.objects.hash("blob", data)), "task")
    sources = [own, *_policy_source(ground), *macro_sources, *_sources(cited.blobs, "standards")]
    return Captured(immutable, path, data, told, Capture(tuple(sources), _tools(parsed=True, cited=bool(cited.blobs))))


def capture_words(words: TaskSnapshot, ground: Ground) -> Captured:
    """Capture a task that was given on the command line; the gates are for task files.

    Raises: BadData for a section of a standard that is not there.
    """
    from git_taskctx.capture.standards import wanted_by_text

    cited = _cite(ground, words, wanted_by_text(words.description))
    baseline = ValidationBaseline(commands=_commands((), words.area, ground.policy))
    immutable = Immutable(words, cited.citations, baseline, sources=cited.sources)
    sources = (*_policy_source(ground), *_sources(cited.blobs, "standards"))
    capture = Capture(sources, _tools(parsed=False, cited=bool(cited.blobs)))
    return Captured(immutable, None, None, tuple(cited.warnings), capture)


def _cite(ground: Ground, words: TaskSnapshot, own: Sequence[Wanted]) -> Cited:
    from git_taskctx.capture.standards import Cited, cite, wanted_by_rules

    rules = wanted_by_rules(ground.policy.standards, area=words.area, priority=words.priority, name=ground.committed)
    wanted = [*rules, *own]
    read = functools.cache(functools.partial(_read, ground.reading))  # many sections of one file
    return cite(wanted, read) if wanted else Cited()


def _read(reading: Reading, path: str) -> Standard | None:
    """Read a file of the worktree as git has it."""
    from git_taskctx.capture.standards import MAX_FILE

    found = find_file(reading.objects, reading.tree, path.encode("utf-8", "surrogateescape"))
    return (quote(found[0]), found[1], read_blob(reading.objects, found[1], limit=MAX_FILE)) if found else None


def _macros(ground: Ground) -> tuple[Mapping[str, Sequence[str]], tuple[Source, ...]]:
    """Return the scope's macros: those of the file that the policy names, and the policy's own, which win."""
    scope = ground.policy.scope
    if scope.macros_file is None:
        return scope.macros, ()
    from git_taskctx.capture.scope import read_macros

    repository = ground.reading.repository
    data = repository.find_blob(ground.base, scope.macros_file)
    if data is None:
        raise BadData(
            f"{ground.committed}: scope.macros_file: there is no file {scope.macros_file} in the base commit",
            hint=f"git add {scope.macros_file} && git commit   # policy is read from the base commit",
        )
    source = Source(scope.macros_file, BlobOid(repository.objects.hash("blob", data)), "scope macros")
    return {**read_macros(data, name=scope.macros_file), **scope.macros}, (source,)


def _policy_source(ground: Ground) -> tuple[Source, ...]:
    repository = ground.reading.repository
    data = repository.find_blob(ground.base, ground.committed, limit=PYPROJECT_LIMIT)
    if data is None:
        return ()
    return (Source(ground.committed, BlobOid(repository.objects.hash("blob", data)), "policy"),)


def _sources(blobs: Mapping[str, BlobOid], purpose: Purpose) -> tuple[Source, ...]:
    return tuple(Source(path, blobs[path], purpose) for path in sorted(blobs))


def _tools(*, parsed: bool, cited: bool) -> dict[str, str]:
    from git_taskctx.capture.normalize import NORMALIZER

    tools = dict((("git-taskctx", __version__), NORMALIZER))
    if parsed:
        import ruamel.yaml

        tools["ruamel.yaml"] = str(ruamel.yaml.__version__)
    if cited:
        import markdown_it

        tools["markdown-it-py"] = markdown_it.__version__
    return dict(sorted(tools.items()))


def _unknown_keys(path: str, keys: tuple[str, ...], volatile: tuple[str, ...]) -> tuple[str, ...]:
    told = [key for key in keys if not any(fnmatch.fnmatchcase(key, pattern) for pattern in volatile)]
    more = f" and {len(told) - MAX_KEYS} more" if len(told) > MAX_KEYS else ""
    return (f"{path}: not captured: {', '.join(key[:100] for key in told[:MAX_KEYS])}{more}",) if told else ()


def _paths_warning(count: int) -> tuple[str, ...]:
    if count <= MAX_PATHS:
        return ()
    return (
        f"the scope patterns match {count} paths, and the first {MAX_PATHS} are listed; the patterns themselves count",
    )


def _commands(own: tuple[Command, ...], area: str | None, policy: Policy) -> tuple[Command, ...]:
    """Choose the task's own commands, else its area's, else the repository's."""
    return own or tuple(Command(text) for text in policy.qa.tier.get(area or "", policy.qa.default))
