"""Our own patterns: keys of well-known vendors, private keys, and literals assigned to a password's name.

A hit has place and kind, never the secret: it cannot leak through a message, a log or a repr.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from git_taskctx.errors import Refused
from git_taskctx.lean import digest, regex
from git_taskctx.model.values import NamedTuple

SHOWN_HITS = 10
OVERLAP = 8192
"""Bytes; no secret that is looked for is longer."""
BINARY_PROBE = 8000
"""Data with a NUL in the first bytes is binary, as for git: no assignments are searched."""


class Hit(NamedTuple):
    """A suspected secret, without its text."""

    name: str
    line: int
    """From 1."""
    kind: str


Place = tuple[int, str]
"""Position in the data, and kind."""
Scan = Callable[[bytes], list[Place]]
"""Lines, from 1, and kinds: the interface of both scans."""


def everyday(data: bytes) -> list[Place]:
    """Find our own patterns: at most one hit of a kind per line, in order."""
    return list(on_lines(data, itertools.chain(_find_tokens(data), _find_assignments(data))))


def scan(data: bytes, *, name: str, using: Scan = everyday) -> list[Hit]:
    """Find suspected secrets in one file's content.

    Lines with `taskctx: allow-secret` or `pragma: allowlist secret` are skipped.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode("utf-8")
    return [Hit(name, line, kind) for line, kind in using(data)]


def scan_pieces(pieces: Iterable[bytes], *, name: str, using: Scan = everyday) -> list[Hit]:
    """Find suspected secrets in content too large for memory; the pieces' ends overlap."""
    hits = set[Hit]()
    tail, lines = b"", 0
    for piece in pieces:
        data = tail + piece
        hits |= {hit._replace(line=hit.line + lines) for hit in scan(data, name=name, using=using)}
        tail = data[-OVERLAP:]
        lines += data.count(b"\n", 0, len(data) - len(tail))
    return sorted(hits)


def scan_lines(lines: Iterable[tuple[int, bytes]], *, name: str, using: Scan = everyday) -> list[Hit]:
    """Find suspected secrets in numbered lines, as those that a diff adds."""
    numbered = list(lines)
    data = b"\n".join(line.rstrip(b"\r\n").replace(b"\n", b" ") for _, line in numbered)
    return [Hit(name, numbered[line - 1][0], kind) for line, kind in using(data)]


def scan_json(value: Any, *, name: str) -> list[Hit]:
    """Find suspected secrets in a plain JSON value; lines are those of its canonical form."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)
    return scan(text.encode("utf-8", "surrogatepass"), name=name)


def refuse_hits(hits: Sequence[Hit], *, force: bool) -> None:
    """Refuse hits, unless `force`: then the caller warns and records. Raises: Refused, naming the first ten places."""
    if not hits or force:
        return
    places = [f"{hit.name}:{hit.line}: {hit.kind}" for hit in hits[:SHOWN_HITS]]
    if len(hits) > SHOWN_HITS:
        places.append(f"… and {len(hits) - SHOWN_HITS} more")
    count = "a secret" if len(hits) == 1 else f"{len(hits)} secrets"
    raise Refused(
        "\n  ".join([f"found what looks like {count}:", *places]),
        hint="remove it, mark the line with `taskctx: allow-secret`, or go on with `--force-secrets`",
        paths=tuple(dict.fromkeys(hit.name for hit in hits)),
    )


# Patterns. Each is tried only where its anchor, a plain string, was found; quantifiers are possessive or bounded, so
# that no input makes them walk back and forth. They are compiled when they are first needed (`re` remembers them):
# most changes hold no anchor, and compiling them all takes longer than a scan.

_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Not inside a word; after an escaped line break a letter precedes the word."""


def token(kind: str, anchors: str, rest: bytes) -> list[tuple[bytes, bytes, str]]:
    return [(anchor, _START + re.escape(anchor) + rest, kind) for anchor in map(str.encode, anchors.split())]


_PATTERNS = [
    *token("AWS access key", "AKIA ASIA", rb"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    *token("AWS secret key", "aws_secret_access_key", rb"""["']?[ \t]{0,9}[=:][ \t]{0,9}["']?[A-Za-z0-9/+]{40}"""),
    *token("Stripe key", "sk_live_ rk_live_", rb"[A-Za-z0-9]{16}"),
    *token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rb"[A-Za-z0-9]{36}"),
    *token("GitHub token", "github_pat_", rb"[A-Za-z0-9_]{22}"),
    *token("GitLab token", "glpat-", rb"[A-Za-z0-9_-]{20}"),
    *token("Slack token", "xoxa- xoxb- xoxp- xoxr- xoxs-", rb"(?=[A-Za-z-]{0,99}[0-9])[A-Za-z0-9-]{10}"),
    *token("Slack webhook", "hooks.slack.com/services/", rb"[A-Z0-9]{1,20}/[A-Z0-9]{1,20}/[A-Za-z0-9]{16}"),
    *token("Google API key", "AIza", rb"[A-Za-z0-9_-]{35}"),
    *token("Google client secret", "GOCSPX-", rb"[A-Za-z0-9_-]{20}"),
    *token("Anthropic key", "sk-ant-", rb"[A-Za-z0-9_-]{20}"),
    *token("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", rb"[A-Za-z0-9_-]{20}"),
    *token("OpenAI key", "sk-", rb"(?=[A-Za-z]{0,19}[0-9]|[A-Za-z0-9]{32})[A-Za-z0-9]{20}"),
    # From its very start, or a long run of `-eyJ` would be read again from each of them.
    *token("JSON web token", "eyJ", rb"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}"),
    *[
        (anchor, anchor + rb"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?----", "private key")
        for anchor in (b"---BEGIN ", b"--- BEGIN ")
    ],
]
_ANCHORS = regex(b"|".join(re.escape(anchor) for anchor, _, _ in sorted(_PATTERNS, key=lambda p: -len(p[0]))))
_BY_ANCHOR = {anchor: (pattern, kind) for anchor, pattern, kind in _PATTERNS}
PLACEHOLDER_BODY = rb"[xX]{12}"
"""Placeholders for a key in documentation."""

ASSIGNED = "assigned secret"
_NAME = rb"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key"
_NAMES = regex(_NAME)
"""Searched in a lower-case copy: far faster than ignoring case."""
# No possessive quantifiers in this module: Python 3.11.2 (Debian 12) takes them for greedy ones that match too little.
_ASSIGNMENT = (
    rb"(?P<name>(?i:" + _NAME + rb"))(?P<tail>[A-Za-z0-9_.-]{0,40}(?![A-Za-z0-9_.-]))"
    rb"(?:\\{0,7}[\"'`])?\]?[ \t]{0,40}"
    rb"(?::[ \t]{0,9}[&A-Za-z_][\w.<>|\[\] ]{0,40}?(?==)|(?:string|String|str)[ \t]{1,9})?"  # a type
    rb"(?::=|=>|(?:\|\||\?\?|[?+])?=(?![=~>])|:(?![:=]))[ \t]{0,40}"
    rb"(?:[rbfuRBFU@$]{1,2}(?=[\"'`]))?"
    rb"(?P<quote>\\{0,7}[\"'`])(?P<value>(?:(?!(?P=quote))\S){16,2000})(?P=quote)"
)
_OTHER_WORD = rb"[a-rt-z]|s[a-z]"
"""A name that continues in lower case is another word: tokenizer, secretary; except a plural."""
_LABELS = frozenset(
    b"attr attribute class column count description endpoint env error event expiry field file filename format hash"
    b" header help hint id input key_id keyid kind label length location message mode msg name param parameter path"
    b" pattern placeholder policy prefix prompt ref regex rule scope selector suffix text title type uri url"
    b" validator var variable version".split()
)
"""Last words of names that are about a secret without holding one."""
_WORDS = rb"[A-Z]*[a-z0-9]+|[A-Z]+"
_TEMPLATE = rb"""(?x)\$\{|\{\{|\$\(|%\(|\#\{|<%|%[sdr]\b|\{[A-Za-z_]?[\w.]{0,99}\}   # filled in later
    |\[[\^]?[a-zA-Z0-9]-[a-zA-Z0-9]|\\[dwsDWSB]|\(\?                    # a regular expression
    |\.\.\.|\*\*\*\*|[xX]{6}|[\x80-\xff]                                 # cut short, blotted out, or in words
"""
_PLACEHOLDER = (
    rb"change[-_.]?(?:me|it|this)|place-?_?holder|redacted|example|dummy|not[-_]?a[-_]?(?:real|secret)"
    rb"|(?:^|[^a-z])(?:your|insert|replace|todo|sample|enter)(?:[^a-z]|$)|^your|_here$|-here$"
)
_REFERENCE = rb"""(?xs)<.*>|\[.*\]|%\w+%|\$\w+                                # filled in later
    |[A-Z]+[0-9]*(?:_[A-Z]+[0-9]*)+                             # the name of a variable
    |[a-z][a-z0-9+.-]*:(?://(?![^/]*:[^/]*@).*|[\w.-]+(?::[\w./-]*)+)  # a URL without a password, a URN
    |(?:~|\.{1,2})/.*|[A-Za-z]:\\.*|/?[\w.@-]+(?:/[\w.@-]+)+\.[a-z]{1,5}|/[\w.@-]+(?:/[\w.@-]+)+
    |[a-z0-9_.@-]+(?:/[a-z0-9_.@-]+)+/?                         # a path
    |[a-zA-Z_-]+(?:\.[a-zA-Z_-]+)+                              # a key of messages, an attribute
    |(?:sha\d+[:-]|\$2[aby]\$|\$argon2|\$pbkdf2|pbkdf2_|scrypt:).*  # a hash that says so
    |(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128})
    |[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
"""
_IDENTIFIER = rb"[A-Za-z]+(?:[_:][A-Za-z]+)+|[A-Z]?[a-z]+(?:[A-Z][a-z]+)+"
_ALLOWED = rb"taskctx: ?allow-secret|pragma: ?(?:allowlist|whitelist) secret"


def everyday_key() -> str:
    """Return a hash of everything that decides the everyday scan's result."""
    what = (
        _PATTERNS, PLACEHOLDER_BODY, _NAME, _ASSIGNMENT, _OTHER_WORD, sorted(_LABELS), _WORDS, _TEMPLATE, _PLACEHOLDER,
        _REFERENCE, _IDENTIFIER, _ALLOWED,
    )  # fmt: skip
    return digest("sha256", repr(what).encode()).hexdigest()


def on_lines(data: bytes, places: Iterable[Place]) -> Iterator[Place]:
    """Convert positions to lines, in order; one of a kind per line, and none on an allowed line."""
    found = sorted(places, key=lambda place: place[0])
    if not found:
        return
    allowed = _allowed_lines(data)
    position, line = 0, 1
    seen: set[str] = set()
    for start, kind in found:
        step = data.count(b"\n", position, start)
        seen = set() if step else seen
        position, line = start, line + step
        # A vendor's key that is assigned to a name is one secret, not two.
        if kind in seen or (kind == ASSIGNED and seen) or allowed(start):
            continue
        seen.add(kind)
        yield line, kind


def _find_tokens(data: bytes) -> Iterator[tuple[int, str]]:
    for anchor in _ANCHORS.finditer(data):
        pattern, kind = _BY_ANCHOR[anchor[0]]
        match = re.compile(pattern).match(data, anchor.start())
        if match and not re.search(PLACEHOLDER_BODY, match[0]):
            yield match.start(), kind


def _find_assignments(data: bytes) -> Iterator[tuple[int, str]]:
    if b"\0" in data[:BINARY_PROBE]:
        return
    for name in _NAMES.finditer(data.lower()):
        match = re.compile(_ASSIGNMENT).match(data, name.start())
        if match and _names_a_secret(match["tail"]) and not is_harmless(match["value"], match["name"].lower()):
            yield match.start("value"), ASSIGNED


def _names_a_secret(tail: bytes) -> bool:
    """Return whether a name that continues like this is still a secret's."""
    if re.match(_OTHER_WORD, tail):
        return False
    words = re.findall(_WORDS, tail)
    return not words or words[-1].lower() not in _LABELS


def is_harmless(value: bytes, name: bytes) -> bool:
    """Return whether a literal only stands for a secret, names one or is text."""
    lower = value.lower()
    return (
        len(set(value)) <= 3
        or bool(re.search(_TEMPLATE, value) or re.search(_PLACEHOLDER, lower) or re.fullmatch(_REFERENCE, value))
        or bool(re.fullmatch(_IDENTIFIER, value) and name.translate(None, b"_-") in lower.translate(None, b"_-"))
    )


def _allowed_lines(data: bytes) -> Callable[[int], bool]:
    """Return a test whether a position is on a line whose secret is allowed."""
    starts: list[int] = []
    ends: list[int] = []
    for mark in re.finditer(_ALLOWED, data):
        if ends and mark.start() < ends[-1]:
            continue
        starts.append(data.rfind(b"\n", 0, mark.start()) + 1)
        end = data.find(b"\n", mark.start())
        ends.append(len(data) if end < 0 else end)

    def allowed(position: int) -> bool:
        index = bisect.bisect_right(starts, position) - 1
        return index >= 0 and position <= ends[index]

    return allowed
