"""The help: all verbs by groups, and one with everything that it takes."""

from __future__ import annotations

import re

from desk import Desk
from verbs import OPTIONS

from git_taskctx.cli.verbs import GROUPS, PLUMBING

_ROW = re.compile(r"^   ([a-z-]+)   +(\S.*[^.])$", re.MULTILINE)


def test_verbs_are_listed_by_groups(desk: Desk) -> None:
    """Each verb in one line under its group, and plumbing only where all is asked for."""
    said, every = desk.ok("-h"), desk.ok("help", "--all")
    assert (said.err, desk.ok("--help").out, desk.ok("-C", ".", "-h").out) == ("", said.out, said.out)
    for text, groups in ((every.out, [*GROUPS, "topics"]), (said.out, [name for name in GROUPS if name != PLUMBING])):
        assert re.findall(r"(?<=\n\n)([a-z][A-Za-z ]+)\n(?=   )", text) == groups
        assert [name for name, _ in _ROW.findall(text)] == [
            verb.name for name in groups for verb in GROUPS.get(name, ())
        ]
    assert {name for name, _ in _ROW.findall(every.out)} == set(OPTIONS)


def test_without_a_verb_the_help_is_for_the_person_and_not_the_pipe(desk: Desk) -> None:
    """129 with the summary on stderr, as git's commands do when used wrongly; `--format json` gets its document."""
    said = desk.ends(129)
    assert (said.out, said.err) == ("", desk.ok("-h").out)
    assert desk.ends(129, "--format", "json").document()["error"]["message"] == "no verb given"


def test_every_option_is_explained(desk: Desk) -> None:
    """Each option has its line, within 80 columns; `-h` at the end of any line, `--help` and `help` say the same."""
    for verb in OPTIONS:
        said = desk.ok(verb, "-h").out
        assert said.startswith(f"usage: git taskctx {verb} ")
        assert max(map(len, said.splitlines())) <= 80
        told = re.findall(r"^    ((?:-[-\w]+, )?--?[\w-]+)", said, re.MULTILINE)
        assert {name for one in told for name in one.split(", ")} == set(OPTIONS[verb]) - {"-h", "--help"}
        assert said == desk.ok(verb, "--help").out == desk.ok("help", verb).out == desk.ok("-C", ".", verb, "-h").out


def test_the_help_of_a_verb(desk: Desk) -> None:
    """What must be given stands in the usage, the verb's own options come before those of many verbs."""
    assert (
        desk.ok("start", "-h").out
        == """\
usage: git taskctx start --agent A [<options>]

Hand the tree to an agent once it is verified.

The worktree must match its owner's last snapshot; any difference is drift, and
is reported path by path.

    --agent A           The agent, such as implementer.
    --take-over NOTE    The owner died or gave up; say why.

    --task ID           The task; by default GIT_TASKCTX_TASK, then the active
                        one.
    --context CTX       The context, if the task has several.
    --format text|json  Print for people or for programs.
    --actor NAME        Who acts; by default GIT_TASKCTX_ACTOR, taskctx.actor or
                        user.name.
    --force-secrets     Record even what looks like a secret; this is recorded
                        too.
"""
    )


def test_help_lists_all_or_shows_one(desk: Desk) -> None:
    """All fits 80 columns; a verb with `--all` makes no sense, and a wrong name gets the right one."""
    assert max(map(len, desk.ok("help", "--all").out.splitlines())) <= 80
    assert desk.refuses("help", "--all", "start", code=129).endswith("hint: git taskctx help start\n")
    assert desk.refuses("help", "strat", code=129).endswith("hint: git taskctx help start\n")


def test_help_on_a_topic(desk: Desk) -> None:
    """A part of the manual is had by its heading, in any case; `--all` names each of them, and a near miss is named."""
    said = desk.ok("help", "Exit-Status").out
    assert said.startswith("EXIT STATUS\n")
    assert said in desk.ok("help").out
    topics = desk.ok("help", "--all").out.split("\ntopics\n")[1].split("\n\n")[0]
    names = "".join(topics.split()).split(",")
    assert {"drift", "exit-status", "task-files"} <= set(names)
    assert all(desk.ok("help", name).out.startswith(name.upper().replace("-", " ")) for name in names)
    assert desk.refuses("help", "exit-statsu", code=129).endswith("hint: git taskctx help exit-status\n")
