"""The manual page says what there is, no more and no less, and reads without `man` as it does with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from verbs import COMMON, OPTIONS, OWN, ROOT_OPTIONS

from git_taskctx import __main__
from git_taskctx.config.keys import kinds
from git_taskctx.errors import Fatal, Refused, TaskctxError
from git_taskctx.model.proof import Code
from git_taskctx.model.schema import SCHEMAS
from git_taskctx.report.manual import render_manual

PAGE = Path(__main__.__file__).parent / "share" / "man" / "man1" / "git-taskctx.1"
SOURCE = PAGE.read_text()


def section(name: str) -> str:
    """Return one section of the page, in roff."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", SOURCE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


def options_in(roff: str) -> set[str]:
    """Return the options that are described, each in the tag of an item of its own."""
    tags = re.findall(r"^\.TP\n(\\fB\\-.*)$", roff, re.MULTILINE)
    return {word for tag in tags for word in re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", plain(tag))}


def plain(roff: str) -> str:
    """Take the fonts and escapes out."""
    return re.sub(r"\\f[BIR]", "", roff).replace("\\-", "-")


def verbs_in(roff: str) -> dict[str, str]:
    """Return the verbs that are described, with what is said of each; options are nested in RS and RE."""
    found: dict[str, str] = {}
    depth, verb, tag = 0, "", False
    for line in roff.splitlines():
        depth += {".RS": 1, ".RE": -1}.get(line.split(" ")[0], 0)
        if tag and depth == 0:
            verb = plain(line).split()[0]
            assert verb not in found
            found[verb] = ""
        elif verb:
            found[verb] += line + "\n"
        tag = line == ".TP"
        if tag and depth == 0:
            verb = ""
    return found


def test_every_verb_and_option_is_described() -> None:
    """The verbs of the page, and the options under each, are those of the command line."""
    described = {verb: options_in(text) for verb, text in verbs_in(section("COMMANDS")).items()}
    assert described == OWN


def test_common_options_are_described_once() -> None:
    """The options of the whole are the common ones and those before the verb."""
    assert options_in(section("OPTIONS")) == {*COMMON, *ROOT_OPTIONS}


def test_no_option_is_made_up() -> None:
    """Whatever looks like an option of ours, also in examples, exists in that verb."""
    for verb, rest in re.findall(r"^git taskctx ([a-z-]+)(.*)", plain(section("EXAMPLES")), re.MULTILINE):
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= set(OPTIONS[verb]), (verb, rest)
    known = {name for options in [*OPTIONS.values(), ROOT_OPTIONS] for name in options}
    foreign = {"--ref", "--json"}
    assert set(re.findall(r"(?<!\S)--[a-z][a-z-]+", render_manual(SOURCE))) <= known | foreign


def test_every_configuration_key_is_described() -> None:
    """The keys of the page are those of the policy, in its order."""
    assert re.findall(r"^\.TP\n\\fB(.*)\\fR$", section("CONFIGURATION"), re.MULTILINE) == list(kinds())


def test_every_reason_is_described() -> None:
    """The reasons of a proof are those that there are, each with what it makes of the verdict, and its meaning."""
    reasons = section("PROOF").split('.SS "Reasons"\n')[1]
    told = re.findall(r"^\.TP\n\\fB(.*)\\fR \(\\fI(.*)\\fR\)\n((?:[^.].*\n)+)", reasons, re.MULTILINE)
    said = [(plain(code), weight, plain(text).replace("\n", " ").rstrip(" .").lower()) for code, weight, text in told]
    assert said == [(code.value, code.weight.value, code.meaning.lower()) for code in Code]


def test_every_exit_code_is_described() -> None:
    """The exit codes of the page are those of the error tree, and those of the door."""

    def codes(error: type[TaskctxError]) -> set[int]:
        return {error.exit_code}.union(*(codes(below) for below in error.__subclasses__()))

    assert Refused.exit_code in codes(TaskctxError)
    assert Fatal.exit_code in codes(TaskctxError)
    told = {int(code) for code in re.findall(r"^\.TP\n\\fB(\d+)\\fR$", section("EXIT STATUS"), re.MULTILINE)}
    assert told == codes(TaskctxError) | {0, __main__.INTERRUPTED}


def test_every_schema_is_named() -> None:
    """`schema NAME` says which names there are."""
    said = plain(section("COMMANDS"))
    assert all(re.search(rf"\b{name}\b", said[said.index("schema [NAME]") :]) for name in SCHEMAS)


def test_variables_are_those_that_are_read() -> None:
    """Every GIT_TASKCTX variable of the page stands in the code, and the other way round; each is told once."""
    code = "".join(path.read_text() for path in PAGE.parents[3].rglob("*.py"))
    read = set(re.findall(r"\bGIT_TASKCTX(?:_[A-Z]+)?\b", code))
    told = re.findall(r"\bGIT_TASKCTX(?:_[A-Z]+)?\b", plain(section("ENVIRONMENT")))
    assert sorted(told) == sorted(read)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("one\ntwo\n", "       one two"),
        (".SH A\none\n.PP\ntwo\n", "A\n       one\n\n       two"),
        (".SH A\n.SS B\none\n", "A\n   B\n       one"),
        (".TP\n\\fB\\-a\\fR\none\n", "       -a     one"),
        (".TP\n\\fB\\-\\-long\\-one\\fR\none\n", "       --long-one\n              one"),
        (".TP\na\none\n.RS\n.TP\nb\ntwo\n.RE\n.TP\nc\n", "       a      one\n\n              b      two\n\n       c"),
        (".IP 1. 4\none\n", "       1.  one"),
        (".PP\n.RS 4\n.nf\na  b\n  c\n.fi\n.RE\n", "           a  b\n             c"),
        (".SH A\na\\eb \\fIc\\fR\n", "A\n       a\\b c"),
        ("word " * 20, "       " + " ".join(["word"] * 14) + "\n       " + " ".join(["word"] * 6)),
    ],
)
def test_requests(source: str, text: str) -> None:
    """Each request is laid out as man(7) lays it out."""
    assert render_manual('.TH A 1 "" "" ""\n' + source).split("\n", 2)[2].strip("\n") == text


def test_an_unknown_request_is_an_error() -> None:
    """A request that would come out wrong does not come out at all."""
    with pytest.raises(ValueError, match=r"\.XY"):
        render_manual(".XY\n")


def test_plain_text() -> None:
    """The page comes out without a trace of roff, in 80 columns but for words that are longer."""
    text = render_manual(SOURCE)
    assert not re.search(r"\\|^\.[A-Z]{2}\b|\x1b", text, re.MULTILINE)
    assert text.isascii()
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("       .agent-output")] == []
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert "\n\n\n" not in text


@pytest.mark.needs_man
def test_man_agrees() -> None:
    """What `man` shows has the same words in the same order."""
    environ = {**os.environ, "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "MANPAGER": "cat", "MANOPT": "--nh --nj"}
    done = subprocess.run(["man", "-l", PAGE], env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"man does not run here: {done.stderr}")
    shown = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
    body = shown[shown.index("NAME") : shown.index("SEE ALSO")]
    ours = render_manual(SOURCE)
    assert body.split() == ours[ours.index("NAME") : ours.index("SEE ALSO")].split()


@pytest.mark.needs_man
def test_it_is_well_formed() -> None:
    """groff finds nothing to complain about, and neither does mandoc, where it is here."""
    groff = ["man", "--warnings=all", "-l", "-Tutf8", "-Z", PAGE]
    assert subprocess.run(groff, capture_output=True, text=True, check=False).stderr == ""
    if shutil.which("mandoc"):
        mandoc = ["mandoc", "-T", "lint", PAGE]
        assert subprocess.run(mandoc, capture_output=True, text=True, check=False).stdout == ""
