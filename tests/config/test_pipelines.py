"""The tables of pipelines: read whole, or refused with everything that is wrong with them; frozen into the context."""

from __future__ import annotations

import json
import tomllib

import pytest
from desk import Desk, hints_of

from git_taskctx.config import load_config
from git_taskctx.config.committed import parse_file
from git_taskctx.config.pipelines import faults_among, groups_among
from git_taskctx.errors import BadConfig
from git_taskctx.model.codec import from_plain, to_plain
from git_taskctx.model.pipeline import GoBack, Limit, Pipelines, Settings, Stage

FILE = ".taskctx.toml"
EVERYTHING = b"""\
agents = ["maker", "checker"]
[run]
budget = { usd = 5, wall = "2h" }
bring = ["node_modules"]
setup = [["npm", "ci"]]
env = ["PATH", "ANTHROPIC_*"]
remote = "origin"
[stage.make]
agent = "maker"
run = ["claude", "-p", "{prompt}"]
limit = { idle = "10m", wall = "45m", usd = 0.5 }
[stage.test]
after = ["make"]
run = ["awk", "{print}"]
again = { from = "make", times = 2 }
tree = "own"
[stage.check]
agent = "checker"
after = ["test"]
run = ["codex", "{brief}"]
ask = "Approve this tree?"
always = true
[pipeline.quick]
stages = ["make", "test"]
[x-other]
anything = 1
"""
READ = Pipelines(
    {
        "make": Stage(("claude", "-p", "{prompt}"), "maker", limit=Limit(600, 2700, "0.5")),
        "test": Stage(("awk", "{print}"), after=("make",), again=GoBack("make", 2), tree="own"),
        "check": Stage(("codex", "{brief}"), "checker", ("test",), ask="Approve this tree?", always=True),
    },
    Settings(Limit(None, 7200, "5"), ("node_modules",), (("npm", "ci"),), ("PATH", "ANTHROPIC_*"), "origin"),
    {"quick": ("make", "test")},
)
WRONG = {
    '[stage.a]\nrun = ["x"]\nafter = ["b"]\n[stage.b]\nrun = ["x"]\nafter = ["a"]': [
        "stage: a cycle: a -> b -> a; remove one of these `after`: stage.a.after, stage.b.after"
    ],
    '[stage.a]\nrum = ["x"]': ["stage.a.rum: unknown key; did you mean run?", "stage.a.run: is missing"],
    '[stage.a]\nrun = ["x"]\nafter = ["bild"]\n[stage.build]\nrun = ["x"]': [
        "stage.a.after: there is no stage 'bild'; did you mean build?"
    ],
    "[run]\nbudjet = {}": ["run.budjet: unknown key; did you mean budget?", "stage: there is no stage"],
    '[stage.a]\nrun = "make test"': ["stage.a.run: is not a shell line: write a list of words"],
    "[stage.a]\nrun = []": ["stage.a.run: the command is empty"],
    '[stage.a]\nrun = ["x", "{promt}"]': ["nothing is filled in for {promt}; did you mean {prompt}?"],
    '[stage.a]\nrun = ["x"]\nlimit = { idle = "soon", cpu = 3 }': [
        "stage.a.limit: idle: expected a time",
        "unknown key",
    ],
    '[stage."a.b"]\nrun = ["x"]': ['stage."a.b": a name has up to 64'],
    "stage = 3": ["stage: expected a table"],
    '[stage.a]\nrun = ["x"]\nagent = "one"\n[stage.b]\nrun = ["x"]\nagent = "two"': [
        "a and b could overlap, and are of different agents, one and two: put b after a"
    ],
    '[stage.a]\nrun = ["x"]\nagent = "one"\n[stage.b]\nrun = ["x"]': ["b runs in the worktree while a may edit it"],
    '[stage.a]\nrun = ["x"]\nagain = { from = "a", times = 0 }': ["stage.a.again: times: expected a whole number"],
    '[stage.a]\nrun = ["x"]\n[stage.b]\nrun = ["x"]\nagain = { from = "a" }': ["b goes back to a, which it does not"],
    '[stage.a]\nrun = ["x"]\n[pipeline.p]\nstages = []': ["pipeline.p.stages: the pipeline is empty"],
    '[stage.a]\nrun = ["x"]\n[pipeline.p]\nstages = ["b"]': ["pipeline.p.stages: there is no stage 'b'"],
}


def test_every_key_is_read() -> None:
    """What the tables say comes out as one value, also through JSON; other tools' tables are passed over."""
    read = parse_file(EVERYTHING, FILE).pipelines
    assert read == READ
    assert from_plain(Pipelines, json.loads(json.dumps(to_plain(read))), what="it") == read


def test_the_tables_of_a_pyproject_are_the_same() -> None:
    """`[tool.taskctx.stage.NAME]` is `[stage.NAME]`."""
    inside = b"".join(
        line.replace(b"[", b"[tool.taskctx.", 1) if line.startswith(b"[") else line
        for line in EVERYTHING.splitlines(keepends=True)[1:]
    )
    assert "tool" in tomllib.loads(inside.decode())
    config = load_config(taskctx_toml=None, pyproject=inside, committed_name=FILE, personal=())
    assert config.pipelines == READ


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_refused(text: str) -> None:
    """Each fault has its key, and the nearest name where a name is not known."""
    with pytest.raises(BadConfig) as caught:
        parse_file(text.encode(), FILE)
    for part in WRONG[text]:
        assert part in caught.value.message


def test_all_that_is_wrong_is_reported_at_once(desk: Desk) -> None:
    """One error with a line for each fault, and no context begins."""
    faulty = '[stage.a]\nrum = ["x"]\nlimit = 3\n[stage.b]\nrun = ["x"]\nafter = ["c"]\n'
    desk.repo.write(FILE, faulty)
    desk.repo.commit("a faulty pipeline")
    said = desk.ends(128, "init", "TASK-1", "--title", "t")
    assert [line.split(": ", 2)[1] for line in said.err.splitlines()[:1]] != []
    assert sum("stage." in line for line in said.err.splitlines()) == 4
    assert desk.ok("status", "--format", "json").document()["data"]["task"] is None


def test_a_context_keeps_the_pipeline_of_its_base(desk: Desk) -> None:
    """It is that of the base commit, whatever the worktree says, until a rebuild takes another commit's policy."""
    desk.repo.write(FILE, '[stage.one]\nrun = ["true"]\n')
    desk.repo.commit("a pipeline")
    desk.repo.write(FILE, '[stage.two]\nrun = ["true"]\n')
    desk.ok("init", "TASK-1", "--title", "t")

    def stages() -> set[str]:
        return set(json.loads(desk.repo.read(".agent-output/tasks/TASK-1/context.json"))["pipelines"]["stages"])

    assert stages() == {"one"}
    desk.repo.commit("another pipeline")
    desk.ok("rebuild", "--policy", "HEAD")
    assert stages() == {"two"}


@pytest.mark.parametrize("at_once", [True, False])
def test_the_agents_of_a_chain_stay(desk: Desk, at_once: bool) -> None:
    """Other agents come with a task that begins anew, as hints say at `init` and at `rebuild`; its commit is proved."""
    desk.repo.write(FILE, 'agents = ["one"]\n[stage.make]\nagent = "one"\nrun = ["true"]\n')
    anew, *_ = hints_of(desk.init())
    if not at_once:
        desk.repo.git("add", FILE)
        desk.repo.git("commit", "-q", "-m", "one agent", "--", FILE)
        desk.repo.write("a.txt", "its work\n")
        said = desk.ends(1, "rebuild", "--policy", "HEAD")
        assert "implementer, reviewer, validator; this policy names one, and no proof by it would hold" in said.err
        (anew,) = hints_of(said)
    done = desk.typed(anew)
    assert done.code == 0, done.both
    run, _ = [line for line in hints_of(done) if "recover" not in line]
    assert run == "git taskctx run   # runs the pipeline"
    desk.repo.write("a.txt", "its work\n")
    desk.ok("snapshot", "--agent", "one", "--done")
    desk.repo.commit("done")
    assert desk.ok("verify", "HEAD").out.startswith("commit: verified")


def test_a_newer_policy_without_agents_leaves_the_chain(desk: Desk) -> None:
    """Where it names none, or the same, a proof asks for no others; the rest of it is taken.

    A task that begins with others than the policy's is warned of it.
    """
    assert "no proof" not in desk.init("--agents", "one,two").err
    for number, text in enumerate(("", 'agents = ["one", "two"]\n')):
        desk.repo.write(FILE, f"{text}[drift]\nallowance = {number + 1}\n")
        desk.repo.commit("policy")
        changes = desk.data("rebuild", "--policy", "HEAD")["changes"]
        assert [one["field"] for one in changes] == ["policy.drift.allowance"]
    desk.ok("purge")
    assert (
        "warning: the policy names one, two: no proof by it holds for a chain of two\n"
        in desk.init("--agents", "two").err
    )


def test_without_a_pipeline_nothing_of_it_is_written(desk: Desk) -> None:
    """The bytes of a context without one are those of the versions that knew none."""
    desk.ok("init", "TASK-1", "--title", "t")
    assert b"pipeline" not in desk.repo.read(".agent-output/tasks/TASK-1/context.json")


def test_stages_of_one_agent_side_by_side() -> None:
    """They are a group in order, also with what lies between them; a check beside them needs no order."""
    one, two = (Stage(("x",), "one", after) for after in ((), ("look",)))
    stages = {"b": one, "a": one, "look": Stage(("x",), after=("a",)), "c": two, "free": Stage(("x",))}
    assert (groups_among(stages), list(faults_among(stages))) == ([("a", "b", "c")], [])
    assert groups_among({"a": one, "c": Stage(("x",), "one", ("a",))}) == []
    assert groups_among({"a": Stage(("x",), "one", tree="own")}) == [("a",)]
