"""Runs of tests and linters on record: whose they are, of which tree, against which baseline, and what they allow."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from desk import TASK, Desk, plain
from gitrepo import GitRepo

LOGS = Path(__file__).resolve().parent.parent / "capture" / "logs"
PASSED = os.fspath(LOGS / "pytest-8-pass.log")
FAILED = os.fspath(LOGS / "pytest-8-fail.log")
UNKNOWN = os.fspath(Path(__file__))

TASK_FILE = """\
id: TASK-1
status: in_progress
title: Mend the parser
description: It breaks.
acceptance_criteria: [it parses]
validation:
  commands: [pytest]
"""


@pytest.fixture
def filed(desk: Desk) -> Desk:
    """A task with a file that names `pytest`, and the implementer at work."""
    desk.repo.write("tasks/TASK-1.task.yaml", TASK_FILE)
    desk.repo.commit("task")
    desk.ok("init", TASK)
    return desk


@pytest.fixture
def required(desk: Desk) -> Desk:
    """A task under `qa.require`, whose command is `pytest`."""
    desk.repo.write(".taskctx.toml", '[qa]\ndefault = ["pytest"]\nrequire = true\n')
    desk.repo.commit("policy")
    desk.init()
    return desk


def record(desk: Desk, log: str, *args: str, agent: str = "implementer", command: str = "pytest") -> dict[str, object]:
    """Record a run, and return what the verb said of it."""
    data = desk.data("record-qa", "--agent", agent, "--from", log, "--command", command, *args)
    assert isinstance(data, dict)
    return data


def baseline(desk: Desk) -> dict[str, object]:
    """Return the baseline in the context."""
    return desk.context()["immutable"]["validation_baseline"]["initial_results"]


def write_log(folder: Path, name: str, failures: list[str]) -> str:
    """Write a quiet pytest log of so many failures, and one pass."""
    rows = "".join(f"FAILED {failure} - assert 1 == 2\n" for failure in failures)
    counts = f"{len(failures)} failed, 1 passed" if failures else "1 passed"
    head = "=== short test summary info ===\n" if failures else ""
    path = folder / f"{name}.log"
    path.write_text(f"{head}{rows}{counts} in 0.10s\n")
    return os.fspath(path)


# Recording.


def test_a_run_goes_into_the_agents_coordination(begun: Desk) -> None:
    """Counts and names in the context, the log in the evidence folder, all of it on record in the ledger."""
    begun.repo.write("parser.py", "half\n")
    said = begun.ok("record-qa", "--agent", "implementer", "--from", FAILED, "--command", "pytest", "--exit-code", "1")
    assert plain(said.out) == (
        "failed: pytest (exit code 1), by implementer\n"
        "  pytest: failed: 3 failed, 7 passed, 1 skipped, 1 xfailed, 1 warning, 1 error\n"
        "    test_shop.py::test_discount\n"
        "    test_shop.py::test_many[-1]\n"
        "    test_shop.py::test_nested\n"
        "    test_shop.py::test_error\n"
        "log E1: evidence/<sha>.gz\n"
    )
    assert said.err == "hint: git taskctx compare-qa   # against the baseline\n"
    context = begun.context()
    seat, (evidence,) = context["coordination"]["implementer"], context["evidence"]
    assert seat["qa_log_path"] == f"evidence/{evidence['sha256']}.gz"
    assert gzip.decompress((begun.folder() / seat["qa_log_path"]).read_bytes()) == Path(FAILED).read_bytes()
    assert seat["qa_results"]["status"] == "failed"
    (run,) = seat["qa_results"]["runs"]
    assert (run["command"], run["exit_code"], run["log"], run["agent"]) == ("pytest", 1, "E1", "implementer")
    assert run["tree"] == begun.repo.oracle()
    assert baseline(begun) == {"status": "pending"}
    (written,) = begun.records("qa")
    assert written["tree"] == run["tree"]
    assert (written["evidence"]["id"], written["run"]["status"], written["agent"]) == ("E1", "failed", "implementer")
    assert "qa        implementer (A U Thor) pytest: failed, exit code 1, E1\n" in begun.ok("log").out


def test_the_last_run_of_a_command_counts(begun: Desk) -> None:
    """It replaces the one before, its log stays; runs of other commands and agents stand beside it."""
    record(begun, FAILED, "--exit-code", "1")
    record(begun, PASSED, command="make lint")
    record(begun, PASSED, "--exit-code", "0")
    record(begun, FAILED, agent="reviewer")
    results = begun.context()["coordination"]["implementer"]["qa_results"]
    assert [(run["command"], run["status"]) for run in results["runs"]] == [
        ("make lint", "passed"),
        ("pytest", "passed"),
    ]
    assert results["status"] == "passed"
    assert begun.context()["coordination"]["reviewer"]["qa_results"]["status"] == "failed"
    assert [one["id"] for one in begun.context()["evidence"]] == ["E1", "E2"]
    assert len(begun.records("qa")) == 4


def test_a_contradiction_is_told_and_an_unknown_log_is_kept(begun: Desk) -> None:
    """Both sides are on record, and neither is a pass."""
    said = begun.ok("record-qa", "--agent", "implementer", "--from", PASSED, "--exit-code", "1")
    assert said.out.startswith("contradiction: pytest (exit code 1), by implementer\n  pytest: passed: 3 passed\n")
    assert "warning: the log and the exit code 1 contradict each other: this is not a pass\n" in said.err
    said = begun.ok("record-qa", "--agent", "implementer", "--from", UNKNOWN)
    assert said.out.startswith(
        "unknown: (an unknown log) (no exit code given), by implementer\n"
        "  unknown log: no tool is recognized in it; it is stored as it is\n"
    )
    assert begun.ok("evidence", "show", "E2").out == Path(UNKNOWN).read_text()


def test_a_command_that_is_not_the_tasks_is_told(filed: Desk) -> None:
    """A typo in it would never be found by `qa.require`."""
    said = filed.ok("record-qa", "--agent", "implementer", "--from", PASSED, "--command", "pytset")
    assert "warning: `pytset` is not one of the task's commands: pytest\n" in said.err


def test_the_log_itself_is_not_of_the_tree(begun: Desk) -> None:
    """A new log that lies in the worktree changes neither the tree of the result, nor that this is the baseline."""
    tree = begun.repo.oracle()
    begun.repo.write("out/qa.log", Path(PASSED).read_bytes())
    data = begun.data("record-qa", "--agent", "implementer", "--from", "qa.log", cwd=begun.repo.path / "out")
    assert (data["run"]["tree"], data["baseline"], data["evidence"]["path"]) == (tree, True, "out/qa.log")
    begun.repo.write("parser.py", Path(PASSED).read_bytes())
    data = begun.data("record-qa", "--agent", "implementer", "--from", "parser.py")
    begun.repo.remove("out")
    assert (data["run"]["tree"] == begun.repo.oracle(), data["baseline"]) == (False, False)


def test_standard_input(begun: Desk) -> None:
    """`--from -` reads bytes; there is no original to compare with."""
    said = begun.process("record-qa", "--agent", "implementer", "--from", "-", stdin=Path(PASSED).read_bytes())
    assert said.out.startswith("passed: pytest (no exit code given), by implementer\n")
    assert [one["original"] for one in begun.data("evidence")] == ["none"]
    assert begun.process("evidence", "show", "E1").out == Path(PASSED).read_text()


def test_a_run_by_an_agent_that_does_not_own_the_tree_is_told(implemented: Desk) -> None:
    """It counts for the tree that lies there, whoever ran it; whose word it is stands on record."""
    told = "implementer owns the tree: this is validator's word on the tree as it lies there now"
    said = implemented.ok("record-qa", "--agent", "validator", "--from", PASSED, "--command", "pytest")
    assert f"warning: {told}\n" in said.err
    assert "owns the tree" not in implemented.ok("record-qa", "--agent", "implementer", "--from", PASSED).err
    assert [(one["agent"], one["tree"]) for one in implemented.records("qa")] == [
        (agent, implemented.records("snapshot")[0]["tree"]) for agent in ("validator", "implementer")
    ]


def test_a_log_that_update_names_is_kept(begun: Desk, tmp_path: Path) -> None:
    """It is copied in as evidence; what is not there, leads out, or holds a secret is refused, and leaves nothing."""
    update = ("update", "--agent", "implementer", "--qa-log")
    begun.repo.symlink("out.log", "/etc/hostname")
    (tmp_path / "key.log").write_text("aws_key = " + "AKIA" + "IOSFODNN7EXAMPL0\n")
    assert "there is no file 'nowhere'" in begun.refuses(*update, "nowhere", code=128)
    assert "'out.log' is a link out of the worktree" in begun.refuses(*update, "out.log", code=128)
    assert "AKIA" not in begun.refuses(*update, os.fspath(tmp_path / "key.log"))
    assert (begun.seat("implementer")["qa_log_path"], begun.data("evidence")) == (None, [])
    begun.ok(*update, PASSED)
    (evidence,) = begun.context()["evidence"]
    assert begun.seat("implementer")["qa_log_path"] == f"evidence/{evidence['sha256']}.gz"
    assert begun.ok("evidence", "show", "E1").out == Path(PASSED).read_text()
    begun.ok(*update, PASSED)
    assert len(begun.context()["evidence"]) == 1


def test_who_may_not_record(begun: Desk) -> None:
    """Nobody outside the chain, nobody while drift stands, and nothing is left behind."""
    assert "'stranger' is not an agent of TASK-1" in begun.refuses(
        "record-qa", "--agent", "stranger", "--from", PASSED, code=128
    )
    assert "there is no file 'nowhere'" in begun.refuses(
        "record-qa", "--agent", "implementer", "--from", "nowhere", code=128
    )
    begun.implement()
    begun.repo.write("parser.py", "drift\n")
    begun.ends(1, "verify")
    assert "1 unresolved drift (0 allowed) since implementer's snapshot" in begun.refuses(
        "record-qa", "--agent", "implementer", "--from", PASSED
    )
    assert not (begun.folder() / "evidence").exists()


# The baseline.


def test_the_first_run_before_any_change_is_the_baseline(begun: Desk) -> None:
    """It is the agent's result too; a later one of the same command takes its place while nothing has changed."""
    said = begun.ok("record-qa", "--agent", "implementer", "--from", FAILED, "--command", "pytest")
    assert said.out.endswith("this is the baseline\n")
    record(begun, PASSED)
    assert (baseline(begun)["status"], len(baseline(begun)["runs"])) == ("passed", 1)
    begun.repo.write("parser.py", "changed\n")
    assert record(begun, FAILED)["baseline"] is False
    assert baseline(begun)["status"] == "passed"
    assert begun.context()["coordination"]["implementer"]["qa_results"]["status"] == "failed"


def test_after_a_snapshot_nothing_becomes_the_baseline_by_itself(begun: Desk) -> None:
    """Also where the tree is as the task began: this is the result of somebody's work."""
    begun.ok("snapshot", "--agent", "implementer", "--allow-clean")
    assert record(begun, PASSED)["baseline"] is False
    assert baseline(begun) == {"status": "pending"}


def test_a_baseline_on_ones_word(implemented: Desk) -> None:
    """`--baseline` takes a log of the state before the task; that the tree has changed is recorded with it."""
    said = implemented.ok("record-qa", "--agent", "implementer", "--from", PASSED, "--command", "pytest", "--baseline")
    assert said.out.endswith("this is the baseline, on your word: the tree is not as the task began\n")
    assert [run["claimed"] for run in baseline(implemented)["runs"]] == [True]
    assert implemented.context()["coordination"]["implementer"]["qa_results"] is None


def test_no_baseline_under_another_text(filed: Desk) -> None:
    """But for volatile keys, a changed task file refuses `--baseline` and warns without; `rebuild` keeps it."""
    path = "tasks/TASK-1.task.yaml"
    filed.repo.write(path, TASK_FILE.replace("in_progress", "review"))
    assert record(filed, PASSED)["baseline"] is True
    filed.repo.write(path, TASK_FILE.replace("It breaks.", "It breaks often."))
    said = filed.ok("record-qa", "--agent", "implementer", "--from", FAILED)
    assert f"warning: the task file {path} has changed since the context began: this is not taken" in said.err
    assert filed.refuses("record-qa", "--agent", "implementer", "--from", FAILED, "--baseline") == (
        f"error: the task file {path} has changed since the context began: no baseline is taken for another text\n"
        "hint: git taskctx rebuild\n"
    )
    before = baseline(filed)
    rebuilt = filed.data("rebuild")
    assert [change["field"] for change in rebuilt["changes"]] == ["task_snapshot.description"]
    assert (baseline(filed), before["status"]) == (before, "passed")
    assert record(filed, FAILED)["baseline"] is True


# Comparing.


def test_new_failures_are_named(begun: Desk, tmp_path: Path) -> None:
    """Against the baseline: new ones, those that are gone, how many still fail, and what moved."""
    record(begun, write_log(tmp_path, "before", ["t.py::a", "t.py::b"]))
    begun.repo.write("parser.py", "half\n")
    record(begun, write_log(tmp_path, "after", ["t.py::b", "t.py::c", "t.py::d"]))
    said = begun.ends(1, "compare-qa")
    again = "record-qa --agent implementer --from LOG --command pytest --exit-code N   # once it is fixed"
    assert said.err == f"hint: git taskctx {again}\n"
    assert plain(said.out) == (
        "qa: worse\n"
        "2 new failures\n"
        "  pytest: 2 new failures\n"
        "    baseline failed (E1, by implementer at <time>); now failed (E2, by implementer at <time>)\n"
        "    new: pytest: t.py::c\n"
        "    new: pytest: t.py::d\n"
        "    gone: pytest: t.py::a\n"
        "    still failing: 1\n"
        "    pytest failed 2 -> 3\n"
    )
    record(begun, write_log(tmp_path, "better", ["t.py::b"]))
    said = begun.ok("compare-qa").out
    assert said.startswith("qa: not worse\nnothing fails that did not fail before the task\n")
    assert "it fails as before the task, and in nothing else\n" in said
    record(begun, PASSED)
    assert "  pytest: passed\n" in begun.ok("compare-qa").out


def test_more_failures_than_the_context_names(begun: Desk, tmp_path: Path) -> None:
    """The stored logs name all of them; where they are gone, that is told and no yes is made of it."""
    many = [f"t.py::test_{number:03}" for number in range(60)]
    record(begun, write_log(tmp_path, "before", many))
    begun.repo.write("parser.py", "half\n")
    record(begun, write_log(tmp_path, "after", [*many[1:], "t.py::zero"]))
    data = begun.data("compare-qa", code=1)
    (row,) = data["rows"]
    assert (row["new"], row["gone"], row["still"]) == (["pytest: t.py::zero"], ["pytest: t.py::test_000"], 59)
    assert len(begun.context()["coordination"]["implementer"]["qa_results"]["runs"][0]["reports"][0]["failures"]) == 20
    for path in (begun.folder() / "evidence").iterdir():
        path.write_bytes(b"damaged")
    assert begun.data("compare-qa", code=1) == data  # the context's ref has them too
    record(begun, write_log(tmp_path, "same", many))
    begun.repo.git("update-ref", "-d", f"refs/taskctx/contexts/{begun.context()['context_id']}")
    (begun.folder() / "evidence" / "x").touch()
    for path in (begun.folder() / "evidence").iterdir():
        path.unlink()
    said = begun.ends(3, "compare-qa")
    assert "its log does not name what fails" in said.out
    assert "warning: E1 is not kept as it was recorded" in said.err


@pytest.mark.parametrize(
    ("before", "after", "code", "told"),
    [
        (None, None, 3, "no QA of TASK-1 is on record"),
        (("pytest-8-pass", 0), None, 3, "not run since"),
        (None, ("pytest-8-pass", 0), 0, "passed; it is not in the baseline"),
        (None, ("pytest-8-fail", 1), 3, "failed, and it is not in the baseline"),
        (("pytest-8-pass", 0), ("pytest-8-fail", 0), 1, "4 new failures"),
        (("pytest-8-pass", 0), ("pytest-8-pass", 1), 1, "the log and the exit code 1 contradict each other"),
        (("pytest-8-pass", 0), ("pytest-8-none", 5), 1, "it passed before the task, and fails now"),
        (("pytest-8-pass", 0), ("pytest-8-none", None), 3, "no test ran"),
        (("pytest-8-none", 5), ("pytest-8-none", 5), 3, "its log does not name what fails"),
        (("pytest-8-none", 5), ("pytest-8-pass", 0), 0, "passed"),
        (("jest-29-cov", 1), ("jest-29-cov", 1), 0, "it fails as before the task, and in nothing else"),
    ],
)
def test_what_a_comparison_comes_to(
    begun: Desk, before: tuple[str, int | None] | None, after: tuple[str, int | None] | None, code: int, told: str
) -> None:
    """0 where nothing new fails, 1 where something does, 3 where that cannot be told; never a yes for an unknown."""
    for run, content in ((before, "broken\n"), (after, "half\n")):
        begun.repo.write("parser.py", content)
        if run is not None:
            name, exit_code = run
            given = () if exit_code is None else ("--exit-code", str(exit_code))
            record(begun, os.fspath(LOGS / f"{name}.log"), *given)
    said = begun.ends(code, "compare-qa")
    assert told in said.out
    begun.ends(code, "compare-qa", "--agent", "implementer")
    begun.ends(3, "compare-qa", "--agent", "reviewer")


def test_many_commands_are_compared_at_the_cost_of_one(begun: Desk) -> None:
    """The stored logs are read from the task's folder: git is started as often for one command as for six."""
    counts = []
    for number in range(6):
        begun.repo.write("parser.py", "broken\n")
        record(begun, FAILED, "--baseline", command=f"pytest {number}")
        begun.repo.write("parser.py", "half\n")
        record(begun, FAILED, command=f"pytest {number}")
        trace = begun.repo.path.parent / f"trace-{number}"
        said = begun.process("compare-qa", env={"GIT_TASKCTX_TRACE": os.fspath(trace)})
        assert (said.code, said.out.count("in nothing else")) == (0, number + 1)
        counts.append(len(trace.read_text().splitlines()))
    assert len(set(counts)) == 1


def test_a_run_counts_for_the_tree_that_it_was_on(begun: Desk, tmp_path: Path) -> None:
    """One edit later every reader says `could not tell`, and which tree it was; with that tree back it counts again."""
    begun.repo.write("parser.py", "half\n")
    ran_on = begun.repo.oracle()
    record(begun, PASSED, "--exit-code", "0")
    begun.ok("compare-qa")
    assert "qa pytest: passed (E1, by implementer)\n" in begun.ok("status").out
    begun.ok("snapshot", "--agent", "implementer")
    assert "pytest: passed, exit code 0 (log E1)" in begun.ok("get", "--role", "reviewer", "--format", "md").out
    begun.ok("start", "--agent", "reviewer")
    begun.repo.write("parser.py", "edited\n")
    now = begun.repo.oracle()
    told = f"it ran on tree {ran_on[:12]}, and this is {now[:12]}"
    said = begun.ends(3, "compare-qa")
    assert f"  pytest: {told}\n" in said.out
    assert said.err == "hint: git taskctx record-qa --agent reviewer --from LOG --command pytest --exit-code N\n"
    assert begun.data("compare-qa", code=3)["rows"][0]["other_tree"] == ran_on
    assert f"qa pytest: could not tell: {told} (E1, by implementer)\n" in begun.ok("status").out
    assert told in page(begun, tmp_path)
    begun.ok("snapshot", "--agent", "reviewer")
    brief = begun.ok("get", "--role", "validator", "--format", "md").out
    assert f"- pytest: could not tell: {told}; passed there, exit code 0 (log E1)\n" in brief
    (results,) = (one["qa_results"] for one in begun.data("get", "--role", "validator")["state"]["left"][:1])
    assert (results["status"], results["runs"][0]["status"]) == ("unknown", "unknown")
    assert told in page(begun, tmp_path)
    begun.ok("start", "--agent", "reviewer")
    begun.repo.write("parser.py", "half\n")
    assert begun.ok("compare-qa").out.startswith("qa: not worse\n")


def test_a_log_in_the_worktree_makes_no_other_tree(filed: Desk) -> None:
    """Nor do two; the same path with other bytes is work, and does."""
    filed.repo.write("parser.py", "half\n")
    filed.repo.write("qa.log", Path(PASSED).read_bytes())
    record(filed, "qa.log", "--exit-code", "0")
    filed.ok("compare-qa")
    filed.repo.write("other.log", Path(FAILED).read_bytes())
    record(filed, "other.log", "--exit-code", "1", command="make lint")
    assert "  pytest: passed; it is not in the baseline\n" in filed.ends(3, "compare-qa").out
    filed.repo.write("qa.log", "print('no log')\n")
    assert "it ran on tree" in filed.ends(3, "compare-qa").out


@pytest.mark.parametrize("how", ["evidence", "log of a run that nothing reads", "log of an agent", "in scope"])
def test_work_that_is_called_a_log_makes_another_tree(desk: Desk, how: str) -> None:
    """A new file is no log because somebody records it as one: only what a run was read from is, outside the scope."""
    desk.repo.write("t.yaml", f"title: t\ndescription: d\nacceptance_criteria: [a]\nscope: {{in: [{SCOPE[how]}]}}\n")
    desk.repo.commit("task")
    desk.init("--task-file", "t.yaml")
    desk.repo.write("parser.py", "half\n")
    record(desk, PASSED, "--exit-code", "0")
    desk.ok("compare-qa")
    desk.repo.write("src/conftest.py", "# 1 passed in 0.1s\n" if how == "in scope" else "raise SystemExit\n")
    if how == "evidence":
        desk.ok("attach", "src/conftest.py", "--type", "qa_log")
    elif how == "log of an agent":
        desk.ok("update", "--agent", "implementer", "--qa-log", "src/conftest.py")
    else:
        record(desk, "src/conftest.py", "--exit-code", "0", command="make lint")
    assert "  pytest: it ran on tree" in desk.ends(3, "compare-qa").out


SCOPE = dict.fromkeys(("evidence", "log of a run that nothing reads", "log of an agent"), "lib/") | {"in scope": "src/"}


def page(desk: Desk, folder: Path) -> str:
    """Return the page that `report` writes now."""
    place = folder / "page.html"
    desk.ok("report", "--force", "-o", os.fspath(place))
    return place.read_text()


def test_a_run_that_is_missing_is_asked_for_by_its_command(begun: Desk) -> None:
    """The hint is the line to type, with the command that has a baseline and no run since."""
    record(begun, os.fspath(LOGS / "pytest-8-pass.log"), "--exit-code", "0", command="python3 -m pytest -q")
    hint = 'git taskctx record-qa --agent implementer --from LOG --command "python3 -m pytest -q" --exit-code N'
    assert begun.ends(3, "compare-qa").err == f"hint: {hint}\n"


# What the policy asks for.


def test_the_last_approval_needs_its_runs(required: Desk) -> None:
    """Of each command, passed, recorded for the very tree; `status` says what to type."""
    required.to_reviewer()
    record(required, PASSED, "--exit-code", "0", command="make lint")
    required.ok("start", "--agent", "validator")
    hint = "git taskctx record-qa --agent validator --from LOG --command pytest --exit-code N"
    assert required.data("status")["next"] == [hint]
    for verb in (
        ("snapshot", "--agent", "validator", "--done"),
        ("update", "--agent", "validator", "--status", "done"),
    ):
        if verb[0] == "update":
            required.ok("snapshot", "--agent", "validator")
        assert required.refuses(*verb) == (
            "error: no passing run of `pytest` is on record for this tree, and qa.require asks for one\n"
            f"hint: {hint}   # keep LOG outside the worktree\n"
        )
    record(required, FAILED, "--exit-code", "1", agent="validator")
    required.refuses("snapshot", "--agent", "validator", "--done")
    record(required, PASSED, "--exit-code", "1", agent="validator")
    required.refuses("snapshot", "--agent", "validator", "--done")
    record(required, PASSED, "--exit-code", "0", agent="validator")
    assert required.data("status")["next"] == ["git taskctx snapshot --agent validator --done"]
    required.ok("snapshot", "--agent", "validator", "--done")


def test_a_run_of_another_tree_does_not_count(required: Desk) -> None:
    """One edit after the tests, and they must run again; whoever ran them, the run is of the tree."""
    record(required, PASSED, "--exit-code", "0")
    required.to_reviewer()
    required.refuses("snapshot", "--agent", "validator", "--done")
    required.ok("start", "--agent", "validator")
    required.repo.write("qa.log", Path(PASSED).read_bytes())
    record(required, "qa.log", "--exit-code", "0", agent="reviewer")
    required.refuses("snapshot", "--agent", "validator", "--done")
    required.repo.remove("qa.log")
    required.ok("snapshot", "--agent", "validator", "--done")


def test_an_unknown_log_counts_by_its_exit_code(required: Desk) -> None:
    """Without one it is no run that passed; a run in which no test ran is none either."""
    required.to_reviewer()
    required.ok("start", "--agent", "validator")
    record(required, UNKNOWN, agent="validator")
    required.refuses("snapshot", "--agent", "validator", "--done")
    record(required, os.fspath(LOGS / "unittest-none.log"), "--exit-code", "0", agent="validator")
    required.refuses("snapshot", "--agent", "validator", "--done")
    record(required, UNKNOWN, "--exit-code", "0", agent="validator")
    required.ok("snapshot", "--agent", "validator", "--done")
    required.repo.commit("mended")
    required.ok("verify")
    assert required.ok("verify", "HEAD").out.startswith("commit: verified\n")


def test_a_task_without_commands_needs_one_run(desk: Desk) -> None:
    """Any that passed, and none on that tree that did not."""
    desk.repo.write(".taskctx.toml", "[qa]\nrequire = true\n")
    desk.repo.commit("policy")
    desk.init("--agents", "dev")
    desk.repo.write("parser.py", "done\n")
    assert "no passing run of `make test` is on record" in desk.refuses("snapshot", "--agent", "dev", "--done")
    record(desk, PASSED, agent="dev", command="a")
    record(desk, FAILED, agent="dev", command="b")
    assert "no passing run of `b` is on record" in desk.refuses("snapshot", "--agent", "dev", "--done")
    record(desk, PASSED, agent="dev", command="b")
    desk.ok("snapshot", "--agent", "dev", "--done")


def test_a_linked_worktree(begun: Desk, tmp_path: Path) -> None:
    """Its context takes runs of its own."""
    begun.repo.git("worktree", "add", "-q", tmp_path / "other")
    other = Desk(GitRepo(tmp_path / "other"))
    other.ok("init", "TASK-2", "--title", "Another")
    assert record(other, PASSED)["baseline"] is True
    assert begun.context()["evidence"] == []
