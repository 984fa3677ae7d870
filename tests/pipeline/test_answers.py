"""The file that an agent answers in: of the right form, or nothing of it is taken."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from git_taskctx.limits import TEXT_FILE
from git_taskctx.model.payloads import AgentUsage
from git_taskctx.pipeline.answers import read_answer
from git_taskctx.runner import BadResponse, CommandFailed

WRONG = {
    "not json": ("hello", "not valid JSON"),
    "a list": ("[]", "not a JSON object"),
    "a key twice": ('{"flags": {}, "flags": {}}', "is given twice"),
    "too deep": ("{" + '"a":{' * 40 + "}" * 41, "nested more than"),
    "unknown": ('{"findings": []}', "answer.findings is not allowed"),
    "of another type": ('{"flags": {"approve": "yes"}}', "answer.flags.approve is not a boolean"),
    "several": ('{"session": 3, "data": {"findings": [""]}}', "answer.session is not a string"),
    "a dot": ('{"data": {"a.b": 1}}', "the key 'a.b' has a dot"),
    "a constant": ('{"data": {"a": NaN}}', "NaN is not JSON"),
    "an endless number": ('{"data": {"a": 1e999}}', "1e999 is not JSON"),
    "half a character": ('{"session": "\\ud800"}', "not valid JSON"),
    "not utf-8": (b'{"session": "\xff"}', "not valid JSON"),
    "too large": (b" " * (TEXT_FILE + 1), "more than"),
}


def test_all_of_it_is_read(tmp_path: Path) -> None:
    """Findings once each, flags, session and usage; no file is an answer without anything."""
    told = {
        "data": {"findings": ["b", "a", "b"], "score": 3},
        "flags": {"approve": False, "merge": True},
        "logs": ["read it"],
        "session": "s",
        "usage": {"usd": 0.5, "input_tokens": 3},
    }
    (tmp_path / "response.json").write_text(json.dumps(told))
    answer = read_answer(tmp_path / "response.json", "review")
    assert (answer.findings, answer.session, answer.usage) == (("b", "a"), "s", AgentUsage("0.5", 3, None))
    with pytest.raises(CommandFailed, match="review has findings: b; a"):
        answer.require_yes("review")
    nothing = read_answer(tmp_path / "none.json", "review")
    nothing.require_yes("review")
    assert nothing.given is False


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(tmp_path: Path, name: str) -> None:
    """One error that says what is wrong."""
    data, told = WRONG[name]
    (tmp_path / "response.json").write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(BadResponse, match=told):
        read_answer(tmp_path / "response.json", "review")


def test_no_link_and_no_odd_file_is_opened(tmp_path: Path) -> None:
    """A link to a file that reads, a folder, a pipe."""
    (tmp_path / "real.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(BadResponse):
            read_answer(tmp_path / f"{name}.json", "review")
