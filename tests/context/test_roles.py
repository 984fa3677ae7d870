"""Role exports: what each role needs is in its export, and what it does not need is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from told import CLEAN, EVIDENCE, ID, TASK, Told, handed_back

from git_taskctx.context.roles import context_files, duties_of
from git_taskctx.errors import BadData
from git_taskctx.model.context import Immutable, TaskSnapshot
from git_taskctx.report.brief import render_brief

EVERYBODY = (
    "TASK-1", "Mend the parser", "P1", "mobile", "It breaks.", "On every tab.", "It does not.", "the parser",
    "the printer", "it parses tabs", "line ends", "no slower", "standards/code.md", "naming", "L3-L9",
    "Names are words.", "size", "L12-L40", "Files have 400 lines at most.", "standards/tests.md", "coverage", "L1-L7",
    "Lines are covered to 70 %.", "src/**", "tests/**", "E1", "notes.md", "how tabs came in",
    "implementer, reviewer, validator",
)  # fmt: skip
"""Requirements, scope, standards and evidence: nobody can work, review or validate without them."""
BUILT_ON = ("+145 -32", "12 paths", "scratch.txt", "src/tabs.py", "vendor: submodule dirty", "qa.log")
"""What the implementer left: the size of it, what its diff does not show, what is out of scope, its QA."""
CHECKED = ("make test: failed, exit code 2 (log E2)", "pytest: 42 passed, 1 failed", "failed: test_tabs.py::test_names")
"""How the checks stood before the work."""
NEEDS = {
    "implementer": (
        "git taskctx start --agent implementer", "git taskctx snapshot --agent implementer",
        "git taskctx block --agent implementer", "read it", "mend it", "make test", "all of them", "make lint",
        "press every key", *CHECKED, "F1", "tabs in names", "still break",
        "What validator left",
    ),
    "reviewer": (
        "git taskctx start --agent reviewer", "git taskctx diff --type from-base",
        "git taskctx block --agent reviewer", "git taskctx start --agent implementer",
        "git taskctx snapshot --agent reviewer", "git taskctx diff --agent implementer", *BUILT_ON,
    ),
    "validator": (
        "git taskctx start --agent validator", "git taskctx diff --type from-base",
        "git taskctx block --agent validator", "git taskctx start --agent reviewer",
        "git taskctx snapshot --agent validator --done", "may not edit", "make test", "all of them", "make lint",
        "press every key", *CHECKED, "F1", "tabs in names", "still break",
        "git taskctx unblock --agent validator --finding F1", "git taskctx diff --agent reviewer",
        "recorded on somebody's word", *BUILT_ON,
    ),
}  # fmt: skip
NEEDLESS = {
    "implementer": ("git taskctx diff --type", "--done", "unblock", "may not edit"),
    "reviewer": (
        "make test", "make lint", "press every key", "pytest", "test_names", "read it", "mend it", "--done",
        "may not edit", "F1", "tabs in names", "What validator left",
    ),
    "validator": ("read it", "mend it"),
}  # fmt: skip
NOBODY = (ID, *(letter * 64 for letter in "abcdef"), CLEAN, "2026-", "somebody ", "src/parser.py", "TASK-1.task.yaml")
"""Ids, times, actors and hashes are the tool's business, and so are sources and the paths of the day."""


@pytest.mark.parametrize("agent", NEEDS)
def test_a_role_has_what_it_needs(agent: str) -> None:
    """Everything that the role cannot do without is in its brief, and in its JSON export."""
    export = handed_back().export(agent)
    brief = render_brief(export)
    assert [one for one in EVERYBODY + NEEDS[agent] if one not in brief] == []
    leaves = set(_leaves(json.loads(export.to_bytes())))
    task, baseline = TASK.task_snapshot, TASK.validation_baseline
    needed = {
        "TASK-1", task.title, task.priority, task.area, task.description, task.outcome, *task.scope_in, *task.scope_out,
        *task.acceptance_criteria, *task.quality_gates, *TASK.scope_patterns, EVIDENCE.id, EVIDENCE.path,
        EVIDENCE.description,
    }  # fmt: skip
    for one in TASK.standards_citations:
        needed |= {one.file, one.section, one.line_span, one.requirement}
    if agent != "reviewer":
        needed |= {"make test", "all of them", "make lint", *baseline.manual_checks, 42, "tabs in names\nstill break"}
    if agent == "implementer":
        needed |= set(task.plan)
    else:
        needed |= {"scratch.txt", "src/tabs.py", "vendor: submodule dirty", "+145 -32", 12, "qa.log"}
    assert needed - leaves == set()


@pytest.mark.parametrize("agent", NEEDS)
def test_a_role_has_no_more(agent: str) -> None:
    """What is another role's, or the tool's own, is neither in its brief nor in its JSON export."""
    export = handed_back().export(agent)
    for text in (render_brief(export), export.to_bytes().decode()):
        assert [one for one in NEEDLESS[agent] + NOBODY if one in text] == []


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


@pytest.mark.parametrize(
    ("agents", "may_edit", "kinds"),
    [
        (("dev",), None, {"dev": (("implement", "validate"), True)}),
        (("dev", "qa"), None, {"dev": (("implement",), True), "qa": (("validate",), False)}),
        (
            ("validator", "implementer", "reviewer"),
            None,
            {
                "validator": (("implement",), True),
                "implementer": (("review",), True),
                "reviewer": (("validate",), False),
            },
        ),
        (
            ("a", "b", "c", "d"),
            ("a", "d"),
            {
                "a": (("implement",), True),
                "b": (("review",), False),
                "c": (("review",), False),
                "d": (("validate",), True),
            },
        ),
    ],
)
def test_kinds_follow_from_place_and_policy(
    agents: tuple[str, ...], may_edit: tuple[str, ...] | None, kinds: dict[str, Any]
) -> None:
    """The first implements, the last validates, those between review, whatever their names; policy says who edits."""
    told = Told(agents, may_edit=may_edit)
    exports = {agent: told.export(agent).role for agent in agents}
    assert {agent: (role.duties, role.may_edit) for agent, role in exports.items()} == kinds
    assert {agent: duties_of(agent, agents) for agent in agents} == {agent: kind[0] for agent, kind in kinds.items()}


def test_distinct_actors() -> None:
    """Where policy wants another actor, everybody but the first is told so, and only then."""
    told, usual = Told(distinct_actors=True), Told()
    words = "Whoever edited for an agent before you may not act for you."
    for agent in told.chain.agents:
        assert (words in render_brief(told.export(agent))) == (agent != "implementer")
        assert words not in render_brief(usual.export(agent))


def test_required_checks() -> None:
    """Where policy wants passing runs, the last agent alone is told so; whoever gets checks is told how to record."""
    told, usual = Told(qa_require=True), Told()
    words = "`--done` is refused unless a passing run of each is on record for the current tree."
    for agent in told.chain.agents:
        assert (words in render_brief(told.export(agent))) == (agent == "validator")
        assert words not in render_brief(usual.export(agent))
        assert (f"git taskctx record-qa --agent {agent} " in render_brief(usual.export(agent))) == (agent != "reviewer")
    assert "record-qa" not in render_brief(usual.export(None))


def test_a_turn_hands_back_to_who_may_mend() -> None:
    """After blocking the tree goes to the nearest agent before that may edit; to the one before where none may."""
    for may_edit, back in ((("a",), "a"), (("a", "b"), "b"), ((), "b")):
        turn = Told(("a", "b", "c"), may_edit=may_edit).export("c").role.turn
        assert f"git taskctx start --agent {back}" in [step.command for step in turn]


def test_the_turn_of_one_alone() -> None:
    """Who works alone implements and approves; there is nobody to hand back to, and nobody's diff to read."""
    turn = Told(("dev",)).export("dev").role.turn
    assert [step.command for step in turn] == [
        "git taskctx start --agent dev",
        'git taskctx block --agent dev --finding "what is wrong"',
        "git taskctx snapshot --agent dev --done",
    ]


def acts(told: Told) -> dict[str, str]:
    """Return what each agent must do about which finding."""
    found = {agent: told.export(agent).state.findings for agent in told.chain.agents}
    return {agent: " ".join(f"{one.act} {one.id}" for one in to_do) for agent, to_do in found.items() if to_do}


def test_findings_are_with_whoever_must_act() -> None:
    """Whoever found it closes it; until the tree is handed back the agent it goes to is to mend it, then the owner."""
    told = Told().snapshot("implementer", "a").start("reviewer").snapshot("reviewer", "a").start("validator")
    assert acts(told) == {}
    told.block("validator", "it is slow")
    assert acts(told) == {"reviewer": "mend F1", "validator": "close F1"}
    told.start("implementer")
    assert acts(told) == {"implementer": "mend F1", "validator": "close F1"}
    told.snapshot("implementer", "b").start("reviewer")
    assert acts(told) == {"reviewer": "mend F1", "validator": "close F1"}
    told.block("reviewer", "no test")
    assert acts(told) == {"implementer": "mend F2", "reviewer": "close F2 mend F1", "validator": "close F1"}
    told.tell("unblock", "validator", finding="F1")
    assert acts(told) == {"implementer": "mend F2", "reviewer": "close F2"}
    told.tell("unblock", "reviewer", finding="F2")
    assert acts(told) == {}


def test_a_finding_of_the_first_agent_is_its_own() -> None:
    """There is nobody before it, and later agents cannot mend what it is asking for."""
    assert acts(Told().block("implementer", "what is a tab?")) == {"implementer": "close F1"}


def test_what_was_left() -> None:
    """An agent sees those before it, and a later one that handed the tree back; not itself, not those to come."""
    told = Told().snapshot("implementer", "a")
    assert {agent: [one.agent for one in told.export(agent).state.left] for agent in told.chain.agents} == {
        "implementer": [], "reviewer": ["implementer"], "validator": ["implementer", "reviewer"],
    }  # fmt: skip
    told.start("reviewer").block("reviewer", "no test").start("implementer")
    assert [(one.agent, one.status) for one in told.export("implementer").state.left] == [("reviewer", "blocked")]


def test_long_lists_are_counted() -> None:
    """Twenty paths of a kind are named, and all are counted."""
    paths = tuple(f"src/{number:03}.py" for number in range(50))
    told = Told().snapshot("implementer", "a", untracked=paths, untracked_count=1_000)
    (handed,) = told.export("reviewer").state.left
    assert handed.untracked is not None
    assert (handed.untracked.count, handed.untracked.paths) == (1_000, paths[:20])
    assert "    - src/019.py\n    and 980 more\n" in render_brief(told.export("reviewer"))


def commonprefix(texts: list[str]) -> str:
    """Return what all texts begin with."""
    first, last = min(texts), max(texts)
    return next((first[:end] for end, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), first)


def _story() -> list[Told]:
    """Return the context at many moments, oldest first."""
    moments: list[Any] = [
        lambda told: told,
        lambda told: told.snapshot("implementer", "a"),
        lambda told: told.start("reviewer"),
        lambda told: told.block("reviewer", "no test"),
        lambda told: told.start("implementer").snapshot("implementer", "b"),
        lambda told: told.start("reviewer").tell("unblock", "reviewer", finding="F1").snapshot("reviewer", "b"),
        lambda told: told.tell("drift", "reviewer", digest="x"),
        lambda told: told.tell("resolve", "reviewer").start("validator"),
    ]
    told = []
    for count in range(1, len(moments) + 1):
        one = Told()
        for moment in moments[:count]:
            moment(one)
        told.append(one)
    return told


@pytest.mark.parametrize("form", ["json", "md"])
def test_the_beginning_is_the_same_for_all_and_stands_still(form: str) -> None:
    """From the first to the last moment every agent's export begins with the same bytes, that hold all of `common`."""
    texts = [
        told.export(agent).to_bytes().decode() if form == "json" else render_brief(told.export(agent))
        for told in _story()
        for agent in told.chain.agents
    ]
    shared = commonprefix(texts)
    needed = (TASK.task_snapshot.title, *TASK.task_snapshot.acceptance_criteria[:1], *TASK.scope_patterns)
    assert [one for one in (*needed, "Lines are covered to 70 %.") if one not in shared] == []
    assert shared.endswith('"role": {\n    "agent": "' if form == "json" else "## Your role: ")


@pytest.mark.parametrize("agent", ["implementer", "reviewer", "validator"])
def test_a_role_stands_still(agent: str) -> None:
    """What is the role's own does not move either: only `state` does, and it comes last."""
    told = _story()
    assert len({one.export(agent).role for one in told}) == 1
    assert len({repr(one.export(agent).state) for one in told}) > 3
    assert list(json.loads(told[0].export(agent).to_bytes())) == ["common", "role", "state", "version"]


def test_a_context_of_other_agents() -> None:
    """A context that is not of the ledger's agents, as only a forged one is, has no exports."""
    with pytest.raises(BadData, match="name different agents"):
        context_files(Told(("dev", "qa")).context, Told(("dev", "other")).chain)


def test_files_of_a_context() -> None:
    """`context.json`, the manifest and one export for each agent, by the names of the layout."""
    told = Told(("dev", "qa"))
    files = context_files(told.context, told.chain)
    assert sorted(files) == ["context-dev.json", "context-qa.json", "context.json", "context.manifest"]
    assert files["context-qa.json"] == told.exports()["qa"]
    assert files["context.json"] == told.context.to_bytes()


def test_nothing_but_a_title() -> None:
    """A task of one line has no empty sections."""
    told = Told(immutable=Immutable(TaskSnapshot(title="say hello")))
    headings = [line for line in render_brief(told.export("reviewer")).splitlines() if line.startswith("#")]
    assert headings == ["# TASK-1", "## Task", "## Your role: reviewer", "## Now", "### What implementer left"]
