"""The deep scan knows more vendors, takes no oid for a secret, and remembers what it found clean.

Every fake secret here is put together at run time, so that no scanner finds this file.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from git_taskctx.secrets import Memory, everyday_key, scan
from git_taskctx.secrets.deep import deep, deep_key

MIXED = "q7ZkU2m9XwB4t8Rd" + "NpL3vYc6HsGfJ1aE0iQoT5eWuK"
HEX40 = hashlib.sha1(b"a", usedforsecurity=False).hexdigest()
HEX64 = hashlib.sha256(b"a").hexdigest()

FOUND = [
    ("Hugging Face token", "hf" + "_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh"),
    ("npm token", "npm" + "_" + MIXED[:36]),
    ("Docker token", "dckr" + "_pat_" + MIXED[:27]),
    ("DigitalOcean token", "dop" + "_v1_" + HEX64),
    ("Shopify token", "shpat" + "_" + HEX64[:32]),
    ("Databricks token", "dapi" + HEX64[:32]),
    ("Grafana token", "glsa" + "_" + MIXED[:32]),
    ("Linear key", "lin" + "_api_" + MIXED[:40]),
    ("Vault token", "hvs" + "." + MIXED[:24]),
    ("New Relic key", "NRAK" + "-" + "A1B2C3D4E5F6G7H8I9J0K1L2M3N"),
    ("Postman key", "PMAK" + "-" + HEX64[:24] + "-" + HEX64[:34]),
    ("Supabase token", "sbp" + "_" + HEX40),
    ("RubyGems key", "rubygems" + "_" + HEX64[:48]),
    ("Azure Storage Account access key", "Account" + "Key=" + (MIXED * 3)[:86] + "=="),
    ("Basic Auth Credentials", "https://admin:" + "k9f3hq72ms" + "@db.internal/x"),
    ("SendGrid API Key", "SG" + "." + MIXED[:22] + "." + (MIXED * 2)[:43]),
    ("PyPI Token", "pypi-" + "AgEIcHlwaS5vcmc" + (MIXED * 2)[:72]),
    ("Telegram Bot Token", "123456789:" + MIXED[:35]),
    ("Twilio API Key", "AC" + "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"),
    ("Mailchimp Access Key", "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6" + "-us12"),
    ("Private Key", "PuTTY-User" + "-Key-File-2"),
    ("random-looking literal", f'"{MIXED}"'),
]


@pytest.mark.parametrize(("kind", "secret"), FOUND, ids=[kind for kind, _ in FOUND])
def test_what_the_everyday_scan_does_not_know(kind: str, secret: str) -> None:
    """Found by line and kind, once, and the everyday scan does not find it; an allowed line is passed over."""
    data = f"one\nuse {secret} now\nthree\n".encode()
    assert deep(data) == [(2, kind)]
    assert scan(data, name="f") == []
    assert deep(data.replace(b" now", b" now # pragma: allowlist secret")) == []


def test_it_finds_all_that_the_everyday_scan_finds() -> None:
    """A vendor's key that both know is one secret."""
    secret = "gh" + "p_" + MIXED[:36]
    data = f'x\n{secret}\npassword = "hunter2{"-hunter2"}-hunter"\n'.encode()
    assert deep(data) == [(2, "GitHub token"), (3, "assigned secret")]
    assert [(hit.line, hit.kind) for hit in scan(data, name="f", using=deep)] == deep(data)


HARMLESS = [
    HEX40,
    HEX64,
    f'"{HEX40}"',
    f"commit {HEX40}\nindex {HEX40[:12]}..{HEX64[:12]} 100644\n",
    f"1735689600:{HEX40}",
    f"SK{HEX64[:32]}0000".lower(),
    f'"integrity": "sha512-{MIXED * 2}=="',
    f'hash = "{MIXED}"',
    f"h1:{MIXED}=",
    f'alphabet = "{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"}"',
    '"123e4567-e89b-12d3-a456-426614174000"',
    "https://user:password@example.com/",
    "https://user:${DATABASE_PASSWORD}@host/",
    "https://user:pw@host/",
    '"getElementsByClassNameAndThenSome12"',
    "key-value-store",
    "10.0.0.1 192.168.1.254",
    "=APPLICATION_NAME_IS_LONG",
    "password = get_password_from(vault)",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_oids_hashes_and_words_are_no_secrets(text: str) -> None:
    """Object names, checksums, ids, addresses, placeholders and identifiers pass."""
    assert deep(text.encode()) == []


def test_every_oid_of_git_passes() -> None:
    """Ten thousand oids, as git prints them in logs, diffs, trees and records: none is a secret."""
    oids = [hashlib.sha1(b"%d" % n, usedforsecurity=False).hexdigest() for n in range(2_500)]
    oids += [hashlib.sha256(b"%d" % n).hexdigest() for n in range(2_500)]
    forms = ("commit {0}", "index {0}..{1} 100644", "100644 blob {0}\tname", '"tree":"{0}","prev":"{1}"', "{2}:{0}")
    lines = [forms[n % len(forms)].format(oid, oids[n - 1], 1735689600 + n) for n, oid in enumerate(oids)]
    assert deep("\n".join(lines).encode()) == []


LONG = 200_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a", "A1", '"', "aws", "eyJ", "eyJ.", "sk-", "xox" + "b-1-", "SG.", "://a:", "1:", "cl_key", "hf_", '"aA1',
        "//", "key-",
    ],
)  # fmt: skip
def test_no_input_takes_long(unit: str) -> None:
    """A long line that is made to be read over and over ends at once."""
    assert len(deep((unit * (LONG // len(unit))).encode())) <= 1


def test_a_long_line_is_searched_to_its_end() -> None:
    """A secret that lies where a long line is divided is found."""
    secret = "SG" + "." + MIXED[:22] + "." + (MIXED * 2)[:43]
    for before in range(1_900, 2_010, 7):
        assert deep(b"x\n" + b" " * before + secret.encode() + b" " * 5_000) == [(2, "SendGrid API Key")], before


# The memory.

OLD, NEW, ZERO = "1" * 40, "2" * 40, "0" * 40


def test_what_was_clean_is_remembered(tmp_path: Path) -> None:
    """By the oids of a change, across processes; a blob that is clean as a whole is clean in every change to it."""
    memory = Memory(tmp_path / "taskctx", scanner="deep", key="k" * 64)
    assert not memory.is_clean(OLD, NEW)
    memory.add([(OLD, NEW)])
    for one in (memory, Memory(tmp_path / "taskctx", scanner="deep", key="k" * 64)):
        assert one.is_clean(OLD, NEW)
        assert not one.is_clean(ZERO, NEW)
        assert not one.is_clean("3" * 40, NEW)
    memory.add([(ZERO, NEW)])
    assert Memory(tmp_path / "taskctx", scanner="deep", key="k" * 64).is_clean("3" * 40, NEW)
    assert (tmp_path / "taskctx").stat().st_mode & 0o777 == 0o700


def test_other_patterns_remember_nothing(tmp_path: Path) -> None:
    """A memory is of one scanner with one set of patterns; the one of older patterns goes."""
    Memory(tmp_path, scanner="deep", key="a" * 64).add([(OLD, NEW)])
    Memory(tmp_path, scanner="everyday", key="a" * 64).add([(OLD, NEW)])
    assert not Memory(tmp_path, scanner="deep", key="b" * 64).is_clean(OLD, NEW)
    Memory(tmp_path, scanner="deep", key="b" * 64).add([(ZERO, NEW)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clean-deep-" + "b" * 16, "clean-everyday-" + "a" * 16]
    assert len({everyday_key(), deep_key()}) == 2


@pytest.mark.parametrize("content", [b"garbage", b"\0" * 4096, b"1" * 40 + b".." + b"2" * 39 + b"\n", b"x" * 600_000])
def test_a_damaged_memory_remembers_nothing(tmp_path: Path, content: bytes) -> None:
    """What does not read as a mark is none; it is written anew."""
    memory = Memory(tmp_path, scanner="deep", key="k" * 64)
    path = tmp_path / ("clean-deep-" + "k" * 16)
    path.write_bytes(content)
    assert not memory.is_clean(OLD, NEW)
    memory.add([(OLD, NEW)])
    assert Memory(tmp_path, scanner="deep", key="k" * 64).is_clean(OLD, NEW)


def test_a_memory_follows_no_link_and_needs_no_disk(tmp_path: Path) -> None:
    """A link in its place is left alone, and a folder that cannot be written is no error."""
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / ("clean-deep-" + "k" * 16)).symlink_to(tmp_path / "target")
    Memory(tmp_path, scanner="deep", key="k" * 64).add([(OLD, NEW)])
    assert (tmp_path / "target").read_bytes() == b"mine"
    Memory(Path(os.devnull) / "no", scanner="deep", key="k" * 64).add([(OLD, NEW)])
