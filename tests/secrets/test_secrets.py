"""What may not be written. Every fake secret here is put together at run time, so that no scanner finds this file."""

from __future__ import annotations

import json
import string

import pytest

from git_taskctx.errors import Refused
from git_taskctx.report.advice import advise
from git_taskctx.secrets import Hit, refuse_hits, scan, scan_json, scan_lines

UPPER = "Q7ZK2M9XWB4T8RDN"
MIXED = "q7ZkU2m9XwB4t8RdNpL3vYc6HsGfJ1aE0iQoT5eWuK"
DIGITS = "482915370621"

VENDORS = [
    ("AWS access key", "AK" + "IA" + UPPER),
    ("AWS access key", "AS" + "IA" + UPPER),
    ("AWS secret key", "aws_secret_" + "access_key = " + MIXED[:38] + "/+"),
    ("Stripe key", "sk_" + "live_" + MIXED[:24]),
    ("Stripe key", "rk_" + "live_" + MIXED[:24]),
    *[("GitHub token", f"gh{kind}" + "_" + MIXED[:36]) for kind in "pousr"],
    ("GitHub token", "github_" + "pat_" + MIXED[:22] + "_" + MIXED),
    ("GitLab token", "glp" + "at-" + MIXED[:20]),
    *[("Slack token", f"xox{kind}" + "-" + DIGITS + "-" + MIXED[:24]) for kind in "abpr"],
    ("Slack webhook", "https://hooks.slack" + ".com/services/T" + DIGITS + "/B" + DIGITS + "/" + MIXED[:24]),
    ("Google API key", "AI" + "za" + MIXED[:35]),
    ("Google client secret", "GOC" + "SPX-" + MIXED[:28]),
    ("OpenAI key", "sk" + "-" + MIXED + MIXED[:6]),
    ("OpenAI key", "sk" + "-proj-" + MIXED + "_" + MIXED[:20]),
    ("Anthropic key", "sk" + "-ant-api03-" + MIXED + "-_" + MIXED),
    ("JSON web token", "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NSJ9." + MIXED),
    *[
        ("private key", "-----BEGIN " + kind + "PRIVATE" + " KEY-----")
        for kind in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
    ],
    ("private key", "-----BEGIN " + "PGP PRIVATE" + " KEY BLOCK-----"),
    ("private key", "---- BEGIN " + "SSH2 ENCRYPTED PRIVATE" + " KEY ----"),
]


def kinds(text: str) -> list[str]:
    return [hit.kind for hit in scan(text.encode(), name="f")]


def test_vendor_keys() -> None:
    """Each vendor's key is found: bare, in quotes, in text, in JSON, after an escaped line break; once a line."""
    for kind, secret in VENDORS:
        for text in (
            secret,
            f'x = "{secret}"',
            f"use {secret}, please",
            json.dumps({"token": secret}),
            f"a\\n{secret}\\n",
        ):
            assert kinds(text) == [kind], text
        assert kinds(f"{secret} {secret}") == [kind]


def test_vendor_keys_need_their_form() -> None:
    """The same text in the middle of a word, or cut short, is no key."""
    for kind, secret in VENDORS:
        if kind not in ("private key", "Slack webhook", "AWS secret key"):
            assert kinds("z" + secret) == []
        assert kinds(secret[:12]) == []


PASSWORD = "hunter2" + "-hunter2-" + "hunter"
KEY32 = "9f86d081884c7d65" + "9a2feaa0c55ad015"

ASSIGNED = [
    'password = "%s"',
    "PASSWORD='%s'",
    'db_password: "%s"',
    "  passwd => '%s',",
    ':password => "%s"',
    '"password": "%s"',
    "'api_key':'%s'",
    'apiKey: "%s",',
    'API-KEY: "%s"',
    "const apiKey = `%s`;",
    'password: str = "%s"',
    'let token: string | null = "%s";',
    'let token: &str = "%s";',
    'token := "%s"',
    'const token string = "%s"',
    'String password = "%s";',
    'self.token = "%s"',
    'config["access_key"] = "%s"',
    'os.environ["DB_PASSWORD"] = "%s"',
    'client_secret="%s"',
    'auth_token = r"%s"',
    'token ||= "%s"',
    'SECRET_KEY = "%s"',
    'secretKeyBase: "%s"',
    'password2 = "%s"',
    'tokens = "%s"',
    'pwd="%s"',
    'passphrase: "%s"',
    'curl --token="%s"',
    '{\\"password\\": \\"%s\\"}',
    '"{\\\\\\"password\\\\\\": \\\\\\"%s\\\\\\"}"',
]


def test_assigned_literals() -> None:
    """A quoted literal that is assigned to a secret's name is found in every language's way to write it."""
    for form in ASSIGNED:
        for value in (PASSWORD, KEY32, MIXED[:16], "super" + "secretpassword", "pa$$" + "w0rd!#%&/()=?" + "+"):
            assert kinds(form % value) == ["assigned secret"], value
        assert kinds(form % MIXED[:15]) == []


HARMLESS_VALUES = [
    "changeme-changeme",
    "CHANGE_ME_CHANGE_ME",
    "<your-token-here>",
    "your-api-key-goes-here",
    "YOUR_SECRET_TOKEN",
    "insert-token-from-vault",
    "${DATABASE_TOKEN}",
    "prefix-${DATABASE_TOKEN}",
    "$DATABASE_PASSWORD",
    "%DATABASE_PASSWORD%",
    "{{ token }}",
    "{{.Values.auth.token}}",
    "#{ENV['DB_TOKEN']}",
    "<%=ENV.fetch(:token)%>",
    "{settings.auth_token}",
    "%(database_password)s",
    "xxxxxxxxxxxxxxxx",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "****************",
    "0000-0000-0000-0000",
    "abcdef0123456789...",
    "[REDACTED-BY-POLICY]",
    "my-placeholder-value",
    "not-a-real-secret-1",
    "GITHUB_TOKEN_READONLY",
    "Enter your password here please",
    "Contrase\u00f1aDemasiadoCorta",
    "\u8bf7\u8f93\u5165\u60a8\u7684\u5bc6\u7801",
    "/run/secrets/db_password",
    "./secrets/production.json",
    "~/.config/tool/token",
    "config/secrets/token.json",
    "secrets/prod/db-password",
    "https://example.org/oauth/token",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:db",
    "urn:ietf:params:oauth:token-type:jwt",
    "forms.labels.password",
    "punctuation.definition.tag",
    "[A-Za-z_][A-Za-z0-9_]*",
    r"(?P<token>\w+)-suffix",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "123e4567-e89b-12d3-a456-426614174000",
    "sha256:2c26b46b68ffc68ff99b453c1d304134",
    "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36",
]  # fmt: skip


def test_harmless_literals() -> None:
    """A placeholder, a template, a reference, text, a hash or an id that is assigned to such a name is no secret."""
    for value in HARMLESS_VALUES:
        for name in ("password", "secret", "access_token"):
            assert kinds(f'{name} = "{value}"') == []


@pytest.mark.parametrize(
    "text",
    [
        'token = os.environ["SERVICE_ACCESS_TOKEN_1"]',
        'token = os.getenv("SERVICE_ACCESS_TOKEN_1", "")',
        f'password_hash = "{MIXED}"',
        f'token_url: "{MIXED}"',
        f'secretName: "{MIXED}"',
        f'"secret_id": "{MIXED}"',
        f'passwordPlaceholder="{MIXED}"',
        f'tokenizer = "{MIXED}"',
        f'secretary = "{MIXED}"',
        f'if token == "{MIXED}":',
        f'token != "{MIXED}"',
        f"password = {MIXED}",
        f'password = "{MIXED}',
        f'password = "{MIXED[:10]} {MIXED[:10]}"',
        f'commit = "{KEY32}"',
        f'<input name="token" value="{MIXED}">',
        "disk-" + "sk" + "-folding-cube-animation-name",
        "xox" + "b-not-a-real-token-at-all-no-digits",
    ],
)
def test_harmless_lines(text: str) -> None:
    """Look-ups, comparisons, unquoted or unfinished values and names that only sound alike are no assignments."""
    assert kinds(text) == []


@pytest.mark.parametrize(
    "text",
    [
        'access_token = "access_token_expired"',
        'PASSWORD: "user:password:change"',
        "secret = 'ApplicationSecretProvider'",
    ],
)
def test_identifiers_that_repeat_the_name(text: str) -> None:
    """An identifier without digits that holds the name itself is a label; another one is a secret."""
    assert kinds(text) == []
    assert kinds(f"password = '{'correct_horse' + '_battery_staple'}'") == ["assigned secret"]


def test_oids_and_uuids_are_no_secrets() -> None:
    """What git prints all day passes."""
    text = f"commit {'a1b2c3d4e5' * 4}\ntree {'0f' * 32}\nindex 123e4567-e89b-12d3-a456-426614174000\n"
    assert kinds(text) == []


@pytest.mark.parametrize("comment", ["# taskctx: allow-secret", "// pragma: allowlist secret"])
def test_allowed_lines(comment: str) -> None:
    """A comment allows the secrets of its own line, and of no other."""
    line = f'password = "{PASSWORD}"'
    data = f"{line}\n{line}  {comment}\n{line}\n{'AK' + 'IA' + UPPER} {comment}".encode()
    assert scan(data, name="f") == [Hit("f", 1, "assigned secret"), Hit("f", 3, "assigned secret")]


def test_binary_data_is_scanned_for_keys_only() -> None:
    """In data with a NUL, a key is found and an assignment is not."""
    data = b"\0\n" + f'password = "{PASSWORD}"\n{"AK" + "IA" + UPPER}\n'.encode()
    assert scan(data, name="f") == [Hit("f", 3, "AWS access key")]


def test_utf16_is_read() -> None:
    """Text in UTF-16 with its mark is text."""
    text = f'x\npassword = "{PASSWORD}"\n'
    for encoding in ("utf-16-le", "utf-16-be"):
        data = ("\ufeff" + text).encode(encoding)
        assert scan(data, name="f") == [Hit("f", 2, "assigned secret")]


def test_a_hit_never_holds_the_secret() -> None:
    """Neither a hit nor the refusal shows any part of what was found."""
    secret = "gh" + "p_" + MIXED[:36]
    hits = scan(f"a\n{secret}\n".encode(), name="src/a.py")
    assert hits == [Hit("src/a.py", 2, "GitHub token")]
    with pytest.raises(Refused) as caught:
        refuse_hits(hits, force=False)
    shown = repr(hits) + repr(caught.value) + caught.value.message + str(advise(caught.value).hint)
    assert not any(secret[n : n + 6] in shown for n in range(len(secret) - 5))


def test_check_names_the_first_ten() -> None:
    """The refusal names ten places and counts the rest; `force` and no hits pass."""
    hits = [Hit("a.py", n, "JSON web token") for n in range(1, 13)]
    with pytest.raises(Refused) as caught:
        refuse_hits(hits, force=False)
    lines = caught.value.message.split("\n")
    assert lines[:2] == ["found what looks like 12 secrets:", "  a.py:1: JSON web token"]
    assert lines[10:] == ["  a.py:10: JSON web token", "  … and 2 more"]
    assert advise(caught.value).hint == (
        "remove it, mark the line with `taskctx: allow-secret`, or go on with `--force-secrets`"
    )
    assert caught.value.paths == ("a.py",)
    with pytest.raises(Refused) as caught:
        refuse_hits(hits[:1], force=False)
    assert caught.value.message == "found what looks like a secret:\n  a.py:1: JSON web token"
    refuse_hits(hits, force=True)
    refuse_hits([], force=False)


def test_lines_of_a_diff_keep_their_numbers() -> None:
    """Hits in numbered lines carry those numbers, and text never runs from one line into the next."""
    secret = b"AK" + b"IA" + UPPER.encode()
    lines = [(7, b"password =\n"), (90, b'"' + PASSWORD.encode() + b'"\r\n'), (91, secret + b"\n"), (300, secret)]
    assert scan_lines(iter(lines), name="f") == [Hit("f", 91, "AWS access key"), Hit("f", 300, "AWS access key")]


def test_json_values() -> None:
    """All strings of a JSON value are scanned, keys that name them count, and lines are those of the canonical form."""
    value = {
        "z": ["fine", "x\n" + "gh" + "p_" + MIXED[:36]],
        "a": {"password": PASSWORD, "note": f'then set token = "{PASSWORD}"', "n": 1, "lone": "\ud800"},
    }
    assert scan_json(value, name="context.json") == [
        Hit("context.json", 5, "assigned secret"),
        Hit("context.json", 6, "assigned secret"),
        Hit("context.json", 10, "GitHub token"),
    ]


MILLION = 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a", '"', "\\", "-", "ey" + "J", "-ey" + "J", ".ey" + "J", ".ey" + "Jaaaaaaaa", "sk" + "-", " sk" + "-aaaaaaaa",
        "xox" + "b-", "token", 'token="', "token='a\"token=\\\"b", "token: a", "-----BEGIN ", "-----BEGIN AAAA BBBB ",
        'token="' + "/a" * 900 + '"', 'token="' + "aA" * 900 + '!"', 'token="' + "a." * 900 + '!"',
        'token="' + "{a" * 900 + '!"', "token\\\\\\\\\\\\", "token" + " " * 38, f'password = "{PASSWORD}" ',
        f'password = "{PASSWORD}" taskctx: allow-secret ',
    ],
)  # fmt: skip
def test_no_input_takes_long(unit: str) -> None:
    """A megabyte on one line that is made to be read over and over ends at once, and gives one hit at most."""
    assert len(scan((unit * (MILLION // len(unit))).encode(), name="f")) <= 1


def test_ordinary_text_passes() -> None:
    """Every printable character, and the names themselves without a value, give no hit."""
    assert kinds(string.printable + " password secret token api_key AKIA ghp_ sk- eyJ BEGIN") == []
