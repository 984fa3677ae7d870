"""What stands for parts of the standard library does what they do."""

from __future__ import annotations

import hashlib
import re

import pytest

from git_taskctx import lean


@pytest.mark.parametrize("left", [lean._FEW, 0], ids=["few bytes", "many bytes"])
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_a_digest_is_that_of_hashlib(monkeypatch: pytest.MonkeyPatch, algorithm: str, left: int) -> None:
    """Whoever computes it, and whether the data comes at once or in pieces."""
    monkeypatch.setattr(lean, "_left", left)
    data = bytes(range(256)) * 40
    wanted = hashlib.new(algorithm, data)
    pieces = lean.digest(algorithm, data[:1000], more=len(data) - 1000)
    pieces.update(data[1000:])
    for found in (lean.digest(algorithm, data), lean.digest(algorithm, memoryview(data)), pieces):
        assert (found.digest(), found.hexdigest()) == (wanted.digest(), wanted.hexdigest())
    assert lean.WIDTH[algorithm] == wanted.digest_size


def test_an_expression_is_compiled_when_it_is_first_used() -> None:
    """It then answers as the compiled one does; one that is never used is never looked at."""
    lean.regex("(")
    lazy, plain = lean.regex(r"^(\w)\.", re.MULTILINE), re.compile(r"^(\w)\.", re.MULTILINE)
    text = "a. b.\nc."
    assert lazy.findall(text) == plain.findall(text) == lazy.findall(text)
    assert lazy.sub("", text) == plain.sub("", text)
    assert (lazy.pattern, lazy.flags) == (plain.pattern, plain.flags)
    with pytest.raises(re.error):
        lean.regex("(").match("")
