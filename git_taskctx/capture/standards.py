"""The sections of standards that a task must keep, by the team's rules and the task's own words, which win."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from git_taskctx.capture.sections import MAX_SENTENCE, MarkdownFile, Section, shorten, slug_of
from git_taskctx.capture.strict_yaml import Node
from git_taskctx.capture.taskfile import TaskText
from git_taskctx.errors import BadData
from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.context import StandardsCitation
from git_taskctx.model.oids import BlobOid
from git_taskctx.model.policy import StandardsPolicy
from git_taskctx.model.values import dataclass, field, replace

MAX_TEXT = 8 * 1024
"""Bytes of a section's text in the context."""
MAX_TEXTS = 24 * 1024
"""Bytes of all of them."""
MAX_CITATIONS = 200
FILES = ("file", "path", "doc", "document", "standard", "ref", "reference", "href")
SECTIONS = ("section", "sections", "heading", "anchor", "slug")
WORDS = ("requirement", "rule", "text", "summary", "description", "note")
THRESHOLDS = ("threshold", "thresholds")
_PATH = r"(?:[^\s()\[\]<>{}\"'`|,;:#*]+/)?[^\s()\[\]<>{}\"'`|,;:#*/]+\.(?:md|markdown)"
_REFERENCE = re.compile(
    rf"(?<![\w:/#.-])(?P<file>(?:/|(?:\.\.?/)+)?{_PATH})(?:#(?P<slug>[^\s()\[\]<>{{}}\"'`|,;:.!?*#]+))?", re.I
)
_LINES = re.compile(r"L\d+(?:-L?\d+)?", re.IGNORECASE)

Standard = tuple[str, BlobOid, bytes | None]
"""A file of the worktree: path, blob, content; None if longer than `TEXT_FILE`."""


@dataclass(frozen=True)
class Wanted:
    """A section asked for."""

    files: tuple[str, ...]
    """Possible paths from the top of the worktree; the first that exists counts."""
    section: str | None
    """Anchor or title; None is the whole file."""
    place: str
    """Who asks, for messages."""
    source: str
    """Who asks, in the block's sources."""
    requirement: str | None = None
    threshold: str | None = None
    mentioned: bool = False
    """True when the text only mentions it: a missing file is a warning."""


@dataclass
class Cited:
    citations: tuple[StandardsCitation, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    """`standards_citations.FILE#SLUG` to who asked for it."""
    blobs: dict[str, BlobOid] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def wanted_by_rules(policy: StandardsPolicy, *, area: str | None, priority: str | None, name: str) -> list[Wanted]:
    """Return what the team's rules ask of a task; `name` is the policy's file."""
    return [
        Wanted((rule.file,), section, f"{name}: standards.rule[{index}]", name)
        for index, rule in enumerate(policy.rule)
        if _applies((rule.area,) if rule.area else (), area) and _applies(rule.priority, priority)
        for section in rule.sections or (None,)
    ]


def _applies(wanted: Sequence[str], given: str | None) -> bool:
    return not wanted or (given is not None and given.casefold() in map(str.casefold, wanted))


def wanted_by_task(task: TaskText) -> tuple[list[Wanted], list[str]]:
    """Return what a task file asks for under `standards` and in its text, and what was not understood."""
    wanted: list[Wanted] = []
    warnings: list[str] = []
    for item in task.standards:
        found = list(_from_item(task, item))
        wanted += found
        if not found:
            warnings.append(f"{task.name}:{item.line}: standards: names no Markdown file, and is left out")
    for words in task.words:
        for match in _REFERENCE.finditer(words.text):
            slug, files = match["slug"], _files(match["file"], task.name)
            if slug and not _LINES.fullmatch(slug) and task.name not in files:
                line = task.line_of(words, match[0])
                wanted.append(_wanted(files, slug, task.name, line, mentioned=True))
    return wanted, warnings


def wanted_by_text(text: str) -> list[Wanted]:
    """Return what a text of the command line refers to."""
    found = ((_files(match["file"], ""), match["slug"]) for match in _REFERENCE.finditer(text) if match["slug"])
    return [
        Wanted(files, slug, "the description", "command line", mentioned=True)
        for files, slug in found
        if not _LINES.fullmatch(slug)
    ]


def _from_item(task: TaskText, item: Node) -> Iterator[Wanted]:
    if isinstance(item.value, str):
        match = _REFERENCE.search(item.value)
        if match:
            words = re.sub(r"^[\W_]+|[^\w.%)]+$", "", item.value[: match.start()] + item.value[match.end() :])
            yield _wanted(_files(match["file"], task.name), match["slug"], task.name, item.line, words)
    elif isinstance(item.value, dict):
        texts = {key: _texts(node) for key, node in item.value.items()}

        def first(keys: Sequence[str]) -> tuple[str, ...]:
            return next((texts[key] for key in keys if texts.get(key)), ())

        match = _REFERENCE.search((first(FILES) or ("",))[0])
        if match:
            said, limit = " ".join(first(WORDS)), "; ".join(first(THRESHOLDS))
            for section in first(SECTIONS) or (match["slug"],):
                section = section.removeprefix("#") if section else None
                yield _wanted(_files(match["file"], task.name), section, task.name, item.line, said, limit)


def _texts(node: Node) -> tuple[str, ...]:
    if isinstance(node.value, tuple):
        return tuple(text for one in node.value for text in _texts(one))
    if isinstance(node.value, dict):
        return tuple(f"{key} {text}" for key, one in node.value.items() for text in _texts(one))
    return (" ".join(node.value.split()),) if node.value and node.value.strip() else ()


def _wanted(
    files: tuple[str, ...],
    section: str | None,
    name: str,
    line: int,
    requirement: str = "",
    threshold: str = "",
    *,
    mentioned: bool = False,
) -> Wanted:
    place, source = f"{name}:{line}", f"{name}:L{line}"
    return Wanted(files, section or None, place, source, requirement or None, threshold or None, mentioned)


def _files(path: str, task_file: str) -> tuple[str, ...]:
    """Return a path's meanings: from the top of the worktree, or from the folder of the file that names it."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(task_file), path))
    if path.startswith("/"):
        return (posixpath.normpath(path).lstrip("/"),)
    return tuple(dict.fromkeys((beside,) if path.startswith(".") else (posixpath.normpath(path), beside)))


def cite(wanted: Sequence[Wanted], read: Callable[[str], Standard | None]) -> Cited:
    """Find what is asked for; for the same section the last request wins.

    Raises: BadData with a line for every missing file or section, naming the nearest.
    """
    result, found = Cited(), dict[tuple[str, int], StandardsCitation]()
    documents: dict[str, MarkdownFile] = {}
    texts: dict[tuple[str, int], Sequence[bytes]] = {}
    problems: dict[str, None] = {}
    hints: dict[str, None] = {}
    for one in wanted:
        file = next((there for path in one.files if (there := read(path)) is not None), None)
        if file is None:
            message = f"{one.place}: there is no file {one.files[0]} in the worktree, or git ignores it"
            (result.warnings.append(message) if one.mentioned else problems.setdefault(message))
            continue
        path, oid, data = file
        if data is None:
            problems.setdefault(f"{one.place}: {path} has more than {TEXT_FILE} bytes")
            continue
        document = documents[path] = documents.get(path) or MarkdownFile(data)
        sections = _find(document, one.section)
        if not sections:
            what = f"no section {one.section!r}" if one.section is not None else "no heading"
            problems.setdefault(f"{one.place}: {path} has {what}")
            hints.setdefault(_nearest(path, one.section, document)) if document.sections else None
        for section in sections:
            key = (path, section.start)
            citation = _citation(path, section, document, one, found.get(key), result)
            found[key] = citation
            texts[key] = document.lines[section.start - 1 : section.end]
            result.sources[f"standards_citations.{path}#{section.slug}"] = one.source
            result.blobs[path] = oid
    if problems:
        raise BadData("\n".join(problems), hint="\n".join(hints) or "fix the path, or the rule that names it")
    if len(found) > MAX_CITATIONS:
        raise BadData(f"{len(found)} sections of standards are cited, more than {MAX_CITATIONS}", hint="cite fewer")
    result.citations = tuple(_with_texts(found, texts))
    result.warnings = list(dict.fromkeys(result.warnings))
    return result


def _with_texts(
    found: Mapping[tuple[str, int], StandardsCitation], texts: Mapping[tuple[str, int], Sequence[bytes]]
) -> Iterator[StandardsCitation]:
    """Yield the citations in order, with their text as far as there is room, without repetitions."""
    room, last, upto = MAX_TEXTS, ("", 0), 0
    for path, start in sorted(found):
        lines, end = texts[path, start], start + len(texts[path, start])
        inside = last[0] == path and end <= last[1] and end <= upto
        text, kept = "", 0
        for line in () if inside else lines:
            clean = line.decode("utf-8", "replace").rstrip("\r\n") + "\n"
            if len((text + clean).encode()) > min(MAX_TEXT, room):
                break
            text, kept = text + clean, kept + 1
        room -= len(text.encode())
        if not inside:
            last, upto = (path, end), start + kept
        yield replace(found[path, start], text=text if text.strip() else None)


def _find(document: MarkdownFile, name: str | None) -> list[Section]:
    if name is None:
        return [one for one in document.sections if one.outermost]
    section = document.find(name) or document.find(unquote(name))
    return [section] if section else []


def _nearest(path: str, name: str | None, document: MarkdownFile) -> str:
    slugs = [one.slug for one in document.sections if one.slug]
    near = difflib.get_close_matches(slug_of(name or "")[:200], slugs, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(f"{path}#{slug}" for slug in near) + "?"
    more = f", … and {len(slugs) - 8} more" if len(slugs) > 8 else ""
    return f"{path} has {', '.join(slugs[:8])}{more}"


def _citation(
    path: str, section: Section, document: MarkdownFile, one: Wanted, before: StandardsCitation | None, result: Cited
) -> StandardsCitation:
    limit = shorten(one.threshold) if one.threshold else ""
    said = one.requirement or (before.requirement if before else document.requirement_of(section))
    whole = f"{said}; {limit}" if limit else said
    if len(whole) > MAX_SENTENCE and one.requirement:
        result.warnings.append(
            f"{one.place}: the requirement has {len(whole)} characters, and was cut to {MAX_SENTENCE}"
        )
    room = MAX_SENTENCE - len(limit) - 2
    whole = shorten(said, room) + f"; {limit}" if limit and room > 20 else limit or shorten(said)
    return StandardsCitation(path, section.slug, whole, section.span, document.hash_of(section))


def find_again(document: MarkdownFile, citations: Sequence[StandardsCitation]) -> Mapping[str, Section]:
    """Return the current sections of citations, by content hash, first the same anchor; missing ones are left out."""
    wanted = {one.content_sha for one in citations}
    hashes: dict[str, list[Section]] = {}
    for section in document.sections:
        sha = document.hash_of(section)
        if sha in wanted:
            hashes.setdefault(sha, []).append(section)
    return {
        one.content_sha: next(
            (sec for sec in hashes[one.content_sha] if sec.slug == one.section), hashes[one.content_sha][0]
        )
        for one in citations
        if one.content_sha in hashes
    }
