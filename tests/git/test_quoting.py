"""Paths as text, and back."""

from __future__ import annotations

import pytest
from gitrepo import GitRepo
from hypothesis import given
from hypothesis import strategies as st

from git_taskctx.errors import BadData
from git_taskctx.git.quoting import quote, unquote

NAMES = [
    b"plain", b"with space", "é/日本".encode(), b"caf\xe9", b"new\nline", b"tab\t", b'quo"te', b"back\\slash",
    b"\x01\x7f", b"\a\b\v\f\r", b"-n", b":(glob)x", b'"', b'""',
    b'"quoted"', b"\\303\\251", "é\n".encode(), b"\xff\xfe/\xc3\xa9",
]  # fmt: skip


@given(st.binary(min_size=1))
def test_nothing_is_lost(path: bytes) -> None:
    """Every path comes back byte for byte."""
    assert unquote(quote(path)) == path


@given(st.text(min_size=1))
def test_nothing_is_lost_in_any_alphabet(text: str) -> None:
    """Also those that are valid UTF-8, which take another way."""
    path = text.encode("utf-8", "surrogatepass")
    assert unquote(quote(path)) == path


@given(st.binary(min_size=1))
def test_nothing_reaches_a_terminal_raw(path: bytes) -> None:
    """What comes out is printable: no control character, no direction override, no line separator."""
    assert quote(path).isprintable()


@pytest.mark.parametrize("path", NAMES)
def test_quoted_as_git_quotes(repo: GitRepo, path: bytes) -> None:
    """The text is what git prints, with core.quotePath=false for what is UTF-8 and with true for what is not."""
    repo.write(path, "x")
    repo.add()
    try:
        path.decode()
        setting = "false"
    except UnicodeDecodeError:
        setting = "true"
    listed = repo.run("-c", f"core.quotePath={setting}", "ls-files").stdout
    assert quote(path).encode() == listed.removesuffix(b"\n")


@pytest.mark.parametrize("path", NAMES)
@pytest.mark.parametrize("setting", ["true", "false"])
def test_what_git_prints_is_read(repo: GitRepo, path: bytes, setting: str) -> None:
    """What git prints is read under both settings, where it is text at all."""
    repo.write(path, "x")
    repo.add()
    listed = repo.run("-c", f"core.quotePath={setting}", "ls-files").stdout.removesuffix(b"\n")
    try:
        assert unquote(listed.decode()) == path
    except UnicodeDecodeError:
        assert setting == "false"


@pytest.mark.parametrize("text", ['"\\x"', '"\\9"', '"\\"', '"\\400"', '"\\0"', '"a\\zb"', "\ud800", '"\ud800"'])
def test_rubbish_is_told(text: str) -> None:
    """A text that no `quote` made, as a file edited by hand may hold, is bad data."""
    with pytest.raises(BadData) as caught:
        unquote(text)
    assert caught.value.message.isprintable()


def test_what_a_shell_passes_is_read() -> None:
    """A raw path from a command line, not valid UTF-8, is the path itself."""
    assert unquote("caf\udce9") == b"caf\xe9"
