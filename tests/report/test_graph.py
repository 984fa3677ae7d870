"""`log --graph`: who had the tree when, drawn lane by lane."""

from __future__ import annotations

import os
import re
import shutil

import pytest
from desk import Desk, plain
from gitrepo import GitRepo

STORY = """\
    ○   <time>  purge     validator (You) put away
    ■   <time>  seal      validator (You) commit <oid> is what was validated
    ●   <time>  snapshot  validator (You) 1: tree <oid> +1 -1 [done]
    ○   <time>  start     validator (You) from reviewer, round 1, tree <oid>
  ╭─╯
  ●     <time>  snapshot  reviewer (You) 1: tree <oid> +1 -1 [allow_clean]
  ○     <time>  unblock   reviewer (You) F1 closed
  ○     <time>  start     reviewer (You) from implementer, round 2, tree <oid>
╭─╯
○       <time>  resolve   implementer (You) as expected again
│                                        by hand,
│                                        and put back
✗       <time>  drift     implementer (You) parser.py edited
●       <time>  snapshot  implementer (You) 2: tree <oid> +1 -1
○       <time>  start     implementer (You) back from reviewer, round 2, tree <oid>
╰─╮
  ▲     <time>  block     reviewer (You) F1: no test
  ○     <time>  start     reviewer (You) from implementer, round 1, tree <oid>
╭─╯
●       <time>  snapshot  implementer (You) 1: tree <oid> +1 -1
●       <time>  init      implementer (You) began at <oid>, tree <oid>
"""
ASCII = str.maketrans("│╭─╯╰╮●○✗▲■", "|.-'`.*ox!#")


def tell(desk: Desk) -> None:
    """Play a task with a finding, a way back, drift and its commit."""
    desk.repo.config("taskctx.actor", "You")
    desk.init()
    desk.implement()
    desk.ok("start", "--agent", "reviewer")
    desk.ok("block", "--agent", "reviewer", "--finding", "no test")
    desk.ok("start", "--agent", "implementer")
    desk.implement("tested\n")
    desk.repo.write("parser.py", "by hand\n")
    desk.ends(1, "verify")
    desk.repo.write("parser.py", "tested\n")
    desk.ok("resolve-drift", "--note", "by hand,\nand put back")
    desk.ok("start", "--agent", "reviewer")
    desk.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    desk.ok("snapshot", "--agent", "reviewer", "--allow-clean")
    desk.ok("start", "--agent", "validator")
    desk.ok("snapshot", "--agent", "validator", "--done")
    desk.repo.commit("Mend the parser")
    desk.ok("verify")


def test_the_whole_story(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handoffs forward and back change the lane; drift, findings and the seal have marks of their own."""
    tell(desk)
    assert plain(desk.ok("log", "--graph", "--task", "TASK-1").out) == STORY
    monkeypatch.setenv("LC_ALL", "C")
    assert plain(desk.ok("log", "--graph", "--task", "TASK-1").out) == STORY.translate(ASCII)


@pytest.mark.parametrize(
    ("variables", "box"),
    [
        ({"LC_ALL": "de_DE.UTF-8"}, True),
        ({"LC_ALL": "", "LC_CTYPE": "en_US.utf8", "LANG": "C"}, True),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": "ca_ES.UTF-8@valencia"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, False),
        ({"LC_ALL": "de_DE.ISO-8859-1"}, False),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": ""}, False),
    ],
)
def test_boxes_where_the_locale_has_them(
    begun: Desk, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], box: bool
) -> None:
    """The locale decides between characters for boxes and ASCII, by the rules of locale(7)."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert begun.ok("log", "--graph").out[0] == ("●" if box else "*")


def test_colour_is_for_terminals(begun: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe gets no colour unless it is forced, and then the same text."""
    piped = begun.ok("log", "--graph").out
    assert "\x1b" not in piped
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = begun.ok("log", "--graph").out
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == piped.split()
    assert coloured.startswith("\x1b[1m●\x1b[0m")


def test_json_stays_the_records(begun: Desk) -> None:
    """--graph changes nothing of what machines read."""
    assert begun.data("log", "--graph") == begun.data("log")


def test_a_bypass_names_its_commit(begun: Desk) -> None:
    """A commit around the gate is told with what it is, how it was made, and why the gate would have refused."""
    begun.ok("install")
    begun.implement()
    begun.repo.add()
    commit = begun.repo.commit_staged("early", "--no-verify")
    begun.run("verify")
    told = f"bypass    implementer (A U Thor) commit {commit[:12]} bypassed the gate (commit): "
    assert told in begun.ok("log").out
    assert f"▲       <time>  {plain(told)}" in plain(begun.ok("log", "--graph").out)


def forked(desk: Desk) -> None:
    """Let a copy of the clone build upon the same record, and bring both sides together."""
    desk.init()
    desk.implement()
    copy = desk.repo.path.with_name("copy")
    shutil.copytree(desk.repo.path, copy)
    other = Desk(GitRepo(copy))
    desk.ok("block", "--agent", "implementer", "--finding", "here")
    other.ok("start", "--agent", "reviewer")
    other.ok("block", "--agent", "reviewer", "--finding", "there")
    desk.repo.git("remote", "add", "copy", os.fspath(copy))
    desk.ok("fetch", "copy", "--with-snapshots")


def test_both_sides_of_a_fork(desk: Desk) -> None:
    """While nothing says which side holds both are drawn, with the commands that decide; then one is set aside."""
    forked(desk)
    said = desk.ok("log", "--graph")
    records = [line.split("--holds ")[1].split()[0] for line in said.err.splitlines() if "--holds" in line]
    assert len(records) == 2
    assert said.err.startswith("warning: the ledger of TASK-1 forks at record 3: 2 were built upon the same one")
    sides = {
        "block     implementer (A U Thor) F1: here (undecided)",
        "block     reviewer (A U Thor) F1: there (undecided)",
        "start     reviewer (A U Thor) from implementer, round 1, tree <oid> (undecided)",
    }
    lines = plain(said.out).splitlines()
    assert lines[-2:] == [
        "●       <time>  snapshot  implementer (A U Thor) 1: tree <oid> +1 -1",
        "●       <time>  init      implementer (A U Thor) began at <oid>, tree <oid>",
    ]
    told = [line.split("<time>  ")[1] for line in lines if "<time>" in line][:-2]
    assert len(told) == 3
    assert set(told) == sides
    assert "├─────╯" in lines
    assert desk.refuses("log", code=128).count("--holds") == 2
    assert desk.ends(128, "log", "--graph", "--format", "json").document()["error"]["code"] == "forked"

    block = next(one for one in records if re.search(rf"{one}.*# block ", said.err))
    desk.ok("resolve-drift", "--note", "this one", "--holds", block)
    assert plain(desk.ok("log", "--graph").out) == (
        "○       <time>  resolve   implementer (A U Thor) the side with <oid> holds\n"
        "│                                        this one\n"
        "▲       <time>  block     implementer (A U Thor) F1: here\n"
        "│     ◌ <time>  block     reviewer (A U Thor) F1: there (set aside)\n"
        "│     ◌ <time>  start     reviewer (A U Thor) from implementer, round 1, tree <oid> (set aside)\n"
        "├─────╯\n"
        "●       <time>  snapshot  implementer (A U Thor) 1: tree <oid> +1 -1\n"
        "●       <time>  init      implementer (A U Thor) began at <oid>, tree <oid>\n"
    )
