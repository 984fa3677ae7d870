"""The deep scan: our own patterns, other vendors', and those of detect-secrets. Much slower, so only on request.

The library applies every plugin to each line, which takes minutes for ten megabytes; here its patterns run over the
whole text. Left out are those that match oids, addresses or ordinary words: hex entropy, IP addresses, and its keywords
and web tokens, where our own patterns are stricter.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

from git_taskctx.errors import Fatal
from git_taskctx.secrets.patterns import (
    BINARY_PROBE,
    PLACEHOLDER_BODY,
    Place,
    everyday,
    everyday_key,
    is_harmless,
    on_lines,
    token,
)

_LEFT_OUT = {
    "Public IP (ipv4)",
    "JSON Web Token",
    "Secret Keyword",
    "Hex High Entropy String",
    "Base64 High Entropy String",
}
_BARE = {"Artifactory Credentials", "Discord Bot Token", "Mailchimp Access Key", "Telegram Bot Token", "Twilio API Key"}
"""Kinds recognized by form alone, which an oid or a word can have too."""
_TEXT_ONLY = {"Basic Auth Credentials"}
_LINE = 2000
"""Bytes of a line that are examined at once, and the overlap."""
_OVERLAP = 300

_VENDORS = [
    *token("Hugging Face token", "hf_", rb"[A-Za-z]{34}(?![A-Za-z0-9])"),
    *token("npm token", "npm_", rb"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    *token("Docker token", "dckr_pat_", rb"[A-Za-z0-9_-]{27}"),
    *token("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", rb"[a-f0-9]{64}"),
    *token("Shopify token", "shpat_ shpca_ shppa_ shpss_", rb"[a-fA-F0-9]{32}"),
    *token("Databricks token", "dapi", rb"[a-f0-9]{32}(?![A-Za-z0-9])"),
    *token("Grafana token", "glsa_ glc_", rb"[A-Za-z0-9_+/=]{32}"),
    *token("Linear key", "lin_api_", rb"[A-Za-z0-9]{40}"),
    *token("Vault token", "hvs. hvb.", rb"[A-Za-z0-9_-]{24}"),
    *token("New Relic key", "NRAK-", rb"[A-Z0-9]{27}"),
    *token("Doppler token", "dp.pt. dp.st.", rb"[A-Za-z0-9_.-]{40}"),
    *token("Postman key", "PMAK-", rb"[a-f0-9]{24}-[a-f0-9]{34}"),
    *token("Sentry token", "sntrys_ sntryu_", rb"[A-Za-z0-9_+/=-]{60}"),
    *token("Atlassian token", "ATATT3", rb"[A-Za-z0-9_=-]{100}"),
    *token("age secret key", "AGE-SECRET-KEY-1", rb"[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    *token("Supabase token", "sbp_", rb"[a-f0-9]{40}"),
    *token("PlanetScale token", "pscale_tkn_ pscale_pw_", rb"[A-Za-z0-9_.-]{32}"),
    *token("Pulumi token", "pul-", rb"[a-f0-9]{40}(?![A-Za-z0-9])"),
    *token("RubyGems key", "rubygems_", rb"[a-f0-9]{48}"),
    *token("Mailgun key", "key-", rb"[a-f0-9]{32}(?![A-Za-z0-9])"),
    *token("Square token", "sq0atp- EAAA", rb"[A-Za-z0-9_-]{22}(?:[A-Za-z0-9_-]{38})?(?![A-Za-z0-9_-])"),
    *token("Airtable token", "pat", rb"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
]
_QUOTED = re.compile(rb"""(["'`])([A-Za-z0-9+/_-]{24,120}={0,2})\1""")
_HASHED = re.compile(
    rb"sha-?\d|md5|integrity|checksum|digest|hash|etag|fingerprint|\bh1:|oid|commit|revision|base64|alphabet|uuid|guid"
    rb"|data:", re.IGNORECASE
)  # fmt: skip
"""Words on a line that explain a random-looking literal."""
_BITS = 4.5
"""Entropy per character above which the library reports a base64 string."""


def deep(data: bytes) -> list[Place]:
    """Find what the everyday scan, the library and the other patterns know."""
    found = everyday(data)
    taken = {line for line, _ in found}
    is_text = b"\0" not in data[:BINARY_PROBE]
    places = list(_find(data, is_text=is_text))
    more = [place for place in on_lines(data, places) if place[0] not in taken]
    once: dict[int, Place] = {}
    for place in more:  # one secret that several patterns know
        once.setdefault(place[0], place)
    return sorted([*found, *once.values()])


def deep_key() -> str:
    """Return a hash of everything that decides the deep scan's result. Raises: Fatal without the library."""
    _library()
    what = (everyday_key(), _VENDORS, _QUOTED.pattern, _HASHED.pattern, _BITS, sorted(_LEFT_OUT), sorted(_BARE), _LINE)
    return hashlib.sha256(repr((what, metadata.version("detect-secrets"))).encode()).hexdigest()


def _find(data: bytes, *, is_text: bool) -> Iterator[Place]:
    for anchor, pattern, kind in _VENDORS:
        compiled, start = re.compile(pattern), data.find(anchor)
        while start >= 0:
            match = compiled.match(data, start)
            if match and not re.search(PLACEHOLDER_BODY, match[0]):
                yield start, kind
            start = data.find(anchor, start + 1)
    pieces = list(_short_lines(data))
    for kind, finditer in _library():
        if is_text or kind not in _TEXT_ONLY:
            for offset, text in pieces:
                for found in finditer(text):
                    if _is_meant(kind, found, text):
                        yield offset + found.start() + len(found[0]) - len(found[0].lstrip()), kind
    if is_text:
        yield from _find_random(data)


def _short_lines(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the data with positions; long lines in pieces, as patterns may backtrack. A byte is a character."""
    start = 0
    for long in re.finditer(rb"[^\n]{%d,}" % (_LINE + 1), data):
        yield start, data[start : long.start()].decode("latin-1")
        for at in range(long.start(), long.end(), _LINE - _OVERLAP):
            yield at, data[at : min(at + _LINE, long.end())].decode("latin-1")
        start = long.end()
    yield start, data[start:].decode("latin-1")


@functools.cache
def _library() -> tuple[tuple[str, Callable[[str], Iterator[re.Match[str]]]], ...]:
    """Return the library's kinds, each with its search. Raises: Fatal where it is not installed."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError as error:
        raise Fatal(
            "a deep scan needs detect-secrets, which is not installed",
            hint="pip install detect-secrets   # beside git-taskctx; without --deep our own patterns are used",
        ) from error
    plugins: list[tuple[str, Any]] = sorted(get_mapping_from_secret_type_to_class().items())
    return tuple(
        (kind, pattern.finditer)
        for kind, plugin in plugins
        if kind not in _LEFT_OUT and issubclass(plugin, RegexBasedDetector)
        for pattern in plugin().denylist
    )


def _is_meant(kind: str, found: re.Match[str], text: str) -> bool:
    """Return whether a match of the library is a secret, not an oid, a word, or a placeholder."""
    if kind in _BARE:
        end = re.compile(r"[A-Za-z0-9]*").match(text, found.end())
        word = re.split(r"[^A-Za-z0-9]", found[0].strip())[-1] + (end[0] if end else "")
        before = text[max(found.start() - 1, 0) : found.start()]
        is_oid = len(word) in (32, 40, 56, 64, 96, 128) and re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", word) is not None
        has_digit = re.search(r"\d", found[0]) is not None
        return not is_oid and has_digit and not before.isalnum()
    if kind in _TEXT_ONLY:
        value = found.group(found.lastindex or 0).encode("latin-1")
        return len(value) >= 8 and not is_harmless(value, b"password") and value.lower() != b"password"
    return True


def _find_random(data: bytes) -> Iterator[Place]:
    """Yield quoted literals that look random: mixed cases and digits, not a hash or identifier."""
    for found in _QUOTED.finditer(data):
        value = found[2]
        if not (re.search(rb"[a-z]", value) and re.search(rb"[A-Z]", value) and len(re.findall(rb"\d", value)) >= 3):
            continue
        if _entropy(value) <= _BITS or is_harmless(value, b"secret") or _is_ordered(value):
            continue
        begin = data.rfind(b"\n", max(found.start() - _LINE, 0), found.start()) + 1
        if not _HASHED.search(data, max(begin, found.start() - 200), found.start()):
            yield found.start(2), "random-looking literal"


def _entropy(value: bytes) -> float:
    """Return Shannon's entropy, in bits per character."""
    counts = (value.count(byte) for byte in set(value))
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _is_ordered(value: bytes) -> bool:
    """Return whether most of a literal counts up, like an alphabet."""
    steps = sum(after - before == 1 for before, after in itertools.pairwise(value))
    return steps > len(value) // 3
