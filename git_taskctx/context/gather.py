"""Gather the immutable block from task file, standards and policy, with its sources."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from git_taskctx import __version__
from git_taskctx.config import Config, load_config
from git_taskctx.context.scope import paths_in
from git_taskctx.errors import BadConfig, BadData, Refused, TaskctxError
from git_taskctx.git.quoting import quote
from git_taskctx.git.repository import Repository
from git_taskctx.git.tree import find_file, read_blob
from git_taskctx.git.worktree import Reading
from git_taskctx.limits import PYPROJECT_LIMIT
from git_taskctx.model.context import Command, Immutable, TaskSnapshot, ValidationBaseline
from git_taskctx.model.manifest import Capture, Source
from git_taskctx.model.oids import BlobOid, CommitOid
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

if TYPE_CHECKING:
    from git_taskctx.capture.standards import Cited, Standard, Wanted

POLICY_FILE = ".taskctx.toml"
PYPROJECT = "pyproject.toml"
MAX_PATHS = 1000
"""Listed paths that the scope patterns match."""
TEXTS, CRITERIA, COMMAND_LINE = ("title", "description"), "acceptance_criteria", "command line"
"""The command line's texts, and their name in the block's sources."""
MAX_KEYS = 20
"""Unknown keys that are named."""


@dataclass(frozen=True)
class Ground:
    """The policy and worktree for a capture."""

    policy: Policy
    base: CommitOid | None
    """The commit of the policy and the files that it names."""
    reading: Reading
    committed: str = POLICY_FILE
    """The policy's file."""


@dataclass(frozen=True)
class Captured:
    """A captured task."""

    immutable: Immutable
    path: str | None
    """Of its file; None for the command line."""
    data: bytes | None
    """The file as it was read."""
    warnings: tuple[str, ...]
    capture: Capture = Capture()


@dataclass(frozen=True)
class Given:
    """The command line's words, which replace the file's; criteria are added to them."""

    title: str | None = None
    description: str | None = None
    criteria: tuple[str, ...] = ()

    def over(self, words: TaskSnapshot, sources: Mapping[str, str]) -> tuple[TaskSnapshot, dict[str, str]]:
        """Return a task's words and sources with these applied."""
        said: dict[str, Any] = {name: text for name in TEXTS if (text := getattr(self, name)) is not None}
        count = len(words.acceptance_criteria)
        said[CRITERIA] = tuple(dict.fromkeys((*words.acceptance_criteria, *self.criteria)))
        found = {**sources, **{f"task_snapshot.{name}": COMMAND_LINE for name in TEXTS if name in said}}
        for number in range(count, len(said[CRITERIA])):
            found.setdefault(f"task_snapshot.{CRITERIA}", COMMAND_LINE)
            found[f"task_snapshot.{CRITERIA}[{number}]"] = COMMAND_LINE
        return replace(words, **said), found

    @classmethod
    def of(cls, immutable: Immutable) -> Given:
        """Return the command line's words of a captured block."""
        words, sources = immutable.task_snapshot, immutable.sources
        texts = {name: getattr(words, name) for name in TEXTS if sources.get(f"task_snapshot.{name}") == COMMAND_LINE}
        items = enumerate(words.acceptance_criteria)
        return cls(**texts, criteria=tuple(text for n, text in items if f"task_snapshot.{CRITERIA}[{n}]" in sources))


def committed_in(config: Config) -> str:
    """Return the committed policy's file."""
    in_pyproject = any(origin.startswith(PYPROJECT) for origin in config.origins.values())
    return PYPROJECT if in_pyproject else POLICY_FILE


def other_agents_at(repository: Repository, commit: CommitOid | None, agents: tuple[str, ...]) -> str | None:
    """Return why no proof by the policy of a commit would accept a chain of `agents`; None where one may."""
    try:
        config = load_config(
            taskctx_toml=repository.find_blob(commit, POLICY_FILE),
            pyproject=repository.find_blob(commit, PYPROJECT, limit=PYPROJECT_LIMIT),
            committed_name=f"{POLICY_FILE} at {(commit or '')[:12]}",
            personal=(),
        )
    except BadConfig as error:
        return error.message
    return other_agents(config, agents)


def other_agents(config: Config, agents: tuple[str, ...]) -> str | None:
    """Return why no proof by a policy would accept a chain of `agents`; None where one may."""
    if config.agents in (None, agents):
        return None
    named, ours = ", ".join(config.policy.agents), ", ".join(agents)
    return f"the policy names {named}: no proof by it holds for a chain of {ours}"


def capture_file(
    path: str,
    data: bytes,
    ground: Ground,
    *,
    task: str,
    any_status: bool,
    again: Sequence[str],
    given: Given | None = None,
) -> Captured:
    """Capture a task from its file; `again` is the command to repeat.

    Raises: BadData for an unreadable file, Refused by the gates; BadData with all of it for both.
    """
    from git_taskctx.capture.scope import expand_macros
    from git_taskctx.capture.standards import Cited, wanted_by_task, wanted_by_text
    from git_taskctx.capture.strict_yaml import Problems
    from git_taskctx.capture.taskfile import check_gates, read_task_file

    policy, reading = ground.policy, ground.reading
    given, problems, cited = given or Given(), Problems(path), None
    found = read_task_file(data, name=path, task=task, problems=problems)
    words, origins = given.over(found.task_snapshot, found.sources)
    found = replace(found, task_snapshot=words, sources=origins)
    wanted, not_understood = wanted_by_task(found)
    wanted += wanted_by_text("\n".join((given.description or "", *given.criteria)))
    with _together() as check:
        with check():
            problems.raise_any()
        with check():
            cited = _cite(ground, words, wanted)
        with check():
            is_cited = cited is None or bool(cited.citations)
            check_gates(found, policy, any_status=any_status, again=again, cited=is_cited, task=task)
    cited = cited or Cited()
    macros, macro_sources = _macros(ground)
    patterns = expand_macros(found.patterns, macros)
    paths = paths_in(reading.git, reading.tree, patterns)
    commands = _commands(found.commands, found.task_snapshot.area, policy)
    immutable = Immutable(
        task_snapshot=words,
        standards_citations=cited.citations,
        validation_baseline=ValidationBaseline(commands=commands, manual_checks=found.manual_checks),
        scope_patterns=patterns,
        repo_paths=paths[:MAX_PATHS],
        sources={**found.sources, **cited.sources},
    )
    unknown = _unknown_keys(path, found.unknown_keys, policy.task.volatile)
    warnings = (*found.warnings, *not_understood, *cited.warnings, *unknown, *_paths_warning(len(paths)))
    own = Source(path, BlobOid(reading.objects.hash("blob", data)), "task")
    sources = [own, *_policy_source(ground), *macro_sources, *_standards(cited.blobs)]
    return Captured(
        immutable, path, data, warnings, Capture(tuple(sources), _tools(parsed=True, cited=bool(cited.blobs)))
    )


@contextlib.contextmanager
def _together() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Collect errors of the checks within and raise them as one, or the only one itself."""
    errors: list[TaskctxError] = []

    @contextlib.contextmanager
    def check() -> Iterator[None]:
        try:
            yield
        except (BadData, Refused) as error:
            errors.append(error)

    yield check
    if len(errors) == 1:
        raise errors[0]
    if errors:
        hints = dict.fromkeys(error.hint for error in errors if error.hint)
        situations = [error.situation for error in errors if error.situation is not None]
        then = Situation("clone.several", situations=situations) if situations else None
        raise BadData("\n".join(error.message for error in errors), then, hint="\n".join(hints) or None)


def capture_words(words: TaskSnapshot, ground: Ground) -> Captured:
    """Capture a task from the command line, without a task file's gates. Raises: BadData for a missing section."""
    from git_taskctx.capture.standards import wanted_by_text

    cited = _cite(ground, words, wanted_by_text("\n".join((words.description, *words.acceptance_criteria))))
    baseline = ValidationBaseline(commands=_commands((), words.area, ground.policy))
    immutable = Immutable(words, cited.citations, baseline, sources=cited.sources)
    sources = (*_policy_source(ground), *_standards(cited.blobs))
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
    from git_taskctx.limits import TEXT_FILE

    found = find_file(reading.objects, reading.tree, path.encode("utf-8", "surrogateescape"))
    return (quote(found[0]), found[1], read_blob(reading.objects, found[1], limit=TEXT_FILE)) if found else None


def _macros(ground: Ground) -> tuple[Mapping[str, Sequence[str]], tuple[Source, ...]]:
    """Return the scope's macros: those of the policy's file, then the policy's own, which win."""
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


def _standards(blobs: Mapping[str, BlobOid]) -> tuple[Source, ...]:
    return tuple(Source(path, oid, "standards") for path, oid in sorted(blobs.items()))


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
    shown = [key for key in keys if not any(fnmatch.fnmatchcase(key, pattern) for pattern in volatile)]
    more = f" and {len(shown) - MAX_KEYS} more" if len(shown) > MAX_KEYS else ""
    return (f"{path}: not captured: {', '.join(key[:100] for key in shown[:MAX_KEYS])}{more}",) if shown else ()


def _paths_warning(count: int) -> tuple[str, ...]:
    if count <= MAX_PATHS:
        return ()
    return (
        f"the scope patterns match {count} paths, and the first {MAX_PATHS} are listed; the patterns themselves count",
    )


def _commands(own: tuple[Command, ...], area: str | None, policy: Policy) -> tuple[Command, ...]:
    """Choose the task's own commands, else its area's, else the repository's."""
    return own or tuple(Command(text) for text in policy.qa.tier.get(area or "", policy.qa.default))
