"""A pipeline from its first stage to a proved commit: order, handing back, gates, going on, and what is on record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from desk import TASK, hints_of
from scripted import Line, answer, script, toml

Stages = Callable[..., dict[str, dict[str, Any]]]


def test_from_brief_to_proved_commit(line: Line, three: Stages) -> None:
    """All stages end with done, the tree is validated, and the commit of it is proved."""
    line.begin_task(three())
    events = line.carry(0)
    assert line.states(events) == ["implement done", "test done", "review done", "validate done"]
    assert events[-1]["state"] == "done"
    line.repo.commit("work")
    line.ok("verify")


def test_events_keep_their_schema(line: Line, three: Stages) -> None:
    """Each line of the stream meets the published schema, and so does each line of the file."""
    line.begin_task(three())
    said = line.ok("run", "--format", "json")
    schema = line.ok("schema", "run").out
    kept = line.repo.read(f".agent-output/tasks/{TASK}/runs/1/events.jsonl").decode()
    for text in (*said.out.splitlines(), *kept.splitlines()):
        jsonschema.validate(json.loads(text), json.loads(schema))


def test_what_goes_on_record(line: Line, three: Stages) -> None:
    """Records name run, stage, attempt and what was used; a check is a result of the tree that it ran on."""
    told = {"session": "s-1", "usage": {"usd": 0.25, "input_tokens": 10}}
    line.begin_task(
        three(implement=script(f"open('a.txt', 'a').write('x'); {answer(told)}"), test=["sh", "-c", "true"])
    )
    line.carry(0)
    records = line.records()
    by = {(one["type"], one["agent"]): one for one in records if "stage" in one}
    snapshot = by["snapshot", "implementer"]
    assert {**snapshot["stage"], "key": ""} == {
        "run": 1, "stage": "implement", "attempt": 1, "key": "", "usage": {"usd": "0.25", "input_tokens": 10},
    }  # fmt: skip
    assert by["start", "reviewer"]["stage"]["stage"] == "review"
    assert by["update", "implementer"]["session_id"] == "s-1"
    assert "(run 1, implement, $0.25)" in line.ok("log").out
    assert "(run 1, implement, $0.25)" in " ".join(line.ok("log", "--graph").out.replace("|", " ").split())
    page = line.ok("report", "-o", "-").out
    assert ("run 1, implement, $0.25" in page, "The stages of its runs cost $0.25." in page) == (True, True)
    (qa,) = (one for one in records if one["type"] == "qa")
    assert (qa["stage"]["stage"], qa["tree"], qa["run"]["command"]) == ("test", snapshot["tree"], "sh -c true")


def test_checks_feed_the_proof(line: Line, three: Stages) -> None:
    """With `qa.require` the last approval is given, since the check is on record for that tree."""
    line.begin_task(three(test=["sh", "-c", "true"]), '[qa]\nrequire = true\ndefault = ["sh -c true"]\n')
    line.carry(0)
    assert line.ok("status", "--format", "json").document()["data"]["validated"] is True


def test_a_failed_check_hands_the_work_back_with_its_log(line: Line, three: Stages) -> None:
    """The second attempt finds the log in its brief; what comes after runs once, on the corrected tree."""
    stages = three(
        implement=script("open('a.txt', 'a').write(open(os.environ['TASK_CONTEXT_PATH']).read()[-400:] + 'x\\n')"),
        test=script("text = open('a.txt').read(); print('too short:', len(text)); sys.exit(len(text) < 500)"),
    )
    stages["test"]["again"] = {"from": "implement", "times": 2}
    line.begin_task(stages)
    states = line.states(line.carry(0))
    assert states[:5] == ["implement done", "test failed", "implement done", "test done", "review done"]
    assert "too short:" in (line.folder("implement", 2) / "brief.md").read_text()
    assert "too short:" not in (line.folder("implement", 1) / "brief.md").read_text()


def test_the_same_failure_twice_waits(line: Line, three: Stages) -> None:
    """Handing back did not help: a person is asked, and nothing after it runs."""
    stages = three(test=["false"])
    stages["test"]["again"] = {"from": "implement", "times": 5}
    line.begin_task(stages)
    events = line.carry(3)
    assert line.states(events).count("implement done") == 2
    assert events[-1]["next"] == "git taskctx run --resume"
    assert "the same failure twice" in events[-1]["why"]


def test_findings_block_until_a_later_answer_leaves_them_out(line: Line, three: Stages) -> None:
    """The reviewer's finding hands back; the next answer without it unblocks."""
    found = answer({"data": {"findings": ["no test"]}})
    review = f"n = open('a.txt').read().count('work'); {found} if n < 2 else {answer({'data': {'findings': []}})}"
    stages = three(review=script(review))
    stages["review"]["again"] = {"from": "implement", "times": 1}
    line.begin_task(stages)
    line.carry(0)
    types = [one["type"] for one in line.records() if one["agent"] == "reviewer"]
    assert types == ["start", "block", "snapshot", "start", "unblock", "snapshot"]


def test_a_gate_is_bound_to_its_tree_and_asks_again(line: Line, three: Stages) -> None:
    """A rejection blocks and hands back; after rework it asks again; an approval is for one tree."""
    stages = three()
    stages["validate"] |= {"ask": "Approve this tree?", "again": {"from": "implement", "times": 2}}
    line.begin_task(stages)
    waiting = line.carry(3)
    assert waiting[-1]["next"] == "git taskctx run --approve validate"
    assert "run --approve validate" in line.ok("status").out
    assert "active, run 1 waits" in line.ok("list").out
    assert line.ok("list", "--format", "json").document()["data"][0]["run"] == 1
    again = line.carry(3, "--reject", "validate", "--finding", "too loud")
    assert line.states(again)[-1] == "validate? waiting"
    assert "too loud" in (line.folder("implement", 2) / "brief.md").read_text()
    line.repo.write("a.txt", "by hand\n")
    refused = line.run("run", "--approve", "validate")
    assert (refused.code, "drift since validator's snapshot" in refused.err) == (1, True)
    line.ok("restore", "--agent", "validator")
    line.ok("resolve-drift", "--note", "mine")
    line.carry(0, "--approve", "validate")
    assert "does not wait for an answer" in line.ends(1, "run", "--reject", "validate", "--finding", "no").err
    line.repo.commit("work")
    line.ok("verify")


@pytest.mark.parametrize("way", ["--resume", "--approve review", "done"])
def test_what_a_person_corrects_after_a_review_is_checked_and_reviewed_anew(
    line: Line, three: Stages, way: str
) -> None:
    """Whatever had passed before: no approval counts for a tree that its checks have not seen."""
    stages = three(test=script("sys.exit('broken' in open('a.txt').read())"))
    del stages["validate"]
    if way != "done":
        stages["review"]["ask"] = "Approve this tree?"
    line.begin_task(stages)
    line.carry(0 if way == "done" else 3)
    if way == "--resume":
        line.carry(1, "--reject", "review", "--finding", "no test")
    line.ok("start", "--agent", "implementer")
    line.repo.write("a.txt", "broken\n")
    line.ok("snapshot", "--agent", "implementer")
    states = line.states(line.carry(1, *("--resume" if way == "done" else way).split()))
    assert states[:2] == ["implement known", "test failed"]
    assert "review done" not in states
    line.ok("start", "--agent", "implementer")
    line.repo.write("a.txt", "better\n")
    line.ok("snapshot", "--agent", "implementer")
    states = line.states(line.carry(0 if way == "done" else 3, "--resume"))
    assert states[:3] == ["implement known", "test done", "review done"]
    if way != "done":
        assert line.states(line.carry(0, "--approve", "review"))[:3] == [
            "implement known",
            "test known",
            "review known",
        ]


@pytest.mark.parametrize("by_agent", [True, False], ids=["a review", "a check alone"])
def test_a_run_without_the_first_agent_begins_anew_on_a_corrected_tree(
    line: Line, three: Stages, by_agent: bool
) -> None:
    """A person is the implementer: what is put on record after a rejection is checked like what was there before."""
    stages = three(test=script("sys.exit('broken' in open('a.txt').read())"))
    del stages["implement"], stages["test"]["after"], stages["validate"]
    if not by_agent:
        del stages["review"]
    gate = "review" if by_agent else "test"
    stages[gate]["ask"] = "Approve this tree?"
    line.begin_task(stages)
    line.repo.write("a.txt", "fine\n")
    line.ok("snapshot", "--agent", "implementer")
    line.carry(3)
    line.carry(1, "--reject", gate, "--finding", "no test")
    line.ok("start", "--agent", "implementer")
    for text, code, end in (("broken\n", 1, "test failed"), ("fixed\n", 3, "test done")):
        line.repo.write("a.txt", text)
        line.ok("snapshot", "--agent", "implementer")
        assert line.states(line.carry(code, "--resume"))[0] == end
    assert line.states(line.carry(0, "--approve", gate))[0] == "test known"


def test_status_leads_past_no_open_stage(line: Line, three: Stages) -> None:
    """While a run failed or waits, no turn of a later agent and no approval is offered."""
    stages = three(test=script("sys.exit('ok' not in open('a.txt').read())"))
    stages["validate"]["ask"] = "Fine?"
    line.begin_task(stages)
    line.carry(1)
    assert "reviewer" not in " ".join(line.data("status")["next"])
    line.ok("start", "--agent", "implementer")
    line.repo.write("a.txt", "ok\n")
    line.ok("snapshot", "--agent", "implementer")
    line.carry(3, "--resume")
    steps = line.data("status")["next"]
    assert [one for one in steps if "--done" in one or " start " in one] == []
    assert "git taskctx run --approve validate" in steps


def test_the_last_line_is_the_command_that_goes_on(line: Line, three: Stages) -> None:
    """A pipe gets a line for each stage; the hint for a gate comes last."""
    stages = three()
    stages["validate"]["ask"] = "Fine?"
    line.begin_task(stages)
    said = line.ends(3, "run")
    assert said.out.splitlines()[0] == "run 1 of TASK-1: implement, test, review, validate"
    assert [row.split()[0] for row in said.out.splitlines()[1:]] == [
        "implement",
        "test",
        "review",
        "validate",
        "validate",
    ]
    assert said.err.splitlines()[-1] == "hint: git taskctx run --approve validate"


def test_resume_goes_by_content(line: Line, three: Stages) -> None:
    """What is done is not done again; a tree that a person put on record is checked anew."""
    stages = three(test=script("sys.exit('ok' not in open('a.txt').read())"))
    line.begin_task(stages)
    assert line.states(line.carry(1))[-1] == "validate skipped"
    line.repo.write("a.txt", "ok\n")
    line.ends(1, "verify")
    line.ok("resolve-drift", "--accept", "--note", "by hand")
    states = line.states(line.carry(0, "--resume"))
    assert states == ["implement known", "test done", "review done", "validate done"]
    assert line.states(line.carry(0, "--resume")) == [f"{name} known" for name in stages]


@pytest.mark.parametrize("times", [None, 1, 3], ids=["no again", "again once", "the same twice"])
def test_findings_count_for_their_tree_alone(line: Line, three: Stages, times: int | None) -> None:
    """A review is not run again on the tree that it answered about, and is on one that a person put on record."""
    found, clean = answer({"data": {"findings": ["no test"]}}), answer({"data": {"findings": []}})
    says = f"{clean} if 'fixed' in open('a.txt').read() else {found}"
    stages = three(review=script(says))
    if times is not None:
        stages["review"]["again"] = {"from": "implement", "times": times}
    line.begin_task(stages)
    end = 3 if times == 3 else 1
    line.carry(end)
    said = line.ends(end, "run", "--resume").out
    assert ("no test" in said, "not run again" in said) == (True, True)
    starts = [one for one in line.records() if (one["type"], one["agent"]) == ("start", "reviewer")]
    assert len(starts) == (1 if times is None else 2)
    line.ok("start", "--agent", "implementer")
    line.repo.write("a.txt", "fixed\n")
    line.ok("snapshot", "--agent", "implementer")
    states = line.states(line.carry(0, "--resume"))
    assert states[-3:] == ["test done", "review done", "validate done"]
    assert "implement done" not in states
    assert line.states(line.carry(0, "--resume"))[-2:] == ["review known", "validate known"]


def test_a_stage_whose_finding_a_person_closed_is_asked_again(line: Line, three: Stages) -> None:
    """On the same tree too: else the run could not go on."""
    found, clean = answer({"data": {"findings": ["no test"]}}), answer({"data": {"findings": []}})
    first = "os.environ['TASK_CONTEXT_PATH'].endswith('/1/brief.md')"
    line.begin_task(three(review=script(f"{found} if {first} else {clean}")))
    line.carry(1)
    assert line.states(line.carry(1, "--resume"))[2] == "review known"
    line.ok("unblock", "--agent", "reviewer", "--finding", "F1")
    assert line.states(line.carry(0, "--resume"))[2:] == ["review done", "validate done"]


def test_findings_of_a_first_stage_count_for_their_tree_alone(line: Line, three: Stages) -> None:
    """The same for a stage that comes after none: it sees what a person put on record since."""
    found, clean = answer({"data": {"findings": ["what is a?"]}}), answer({"data": {"findings": []}})
    says = f"{clean} if os.path.exists('a.txt') else {found}; open('b.txt', 'w')"
    line.begin_task(three(implement=script(says)))
    line.carry(1)
    line.ok("start", "--agent", "implementer")
    line.repo.write("a.txt", "this\n")
    line.ok("snapshot", "--agent", "implementer")
    assert line.states(line.carry(0, "--resume"))[0] == "implement done"


def test_a_run_that_failed_is_shown_before_anything_else(line: Line, three: Stages) -> None:
    """The stage, what it printed and what goes on with it, wherever one looks; until the run is done."""
    line.begin_task(three(test=script("sys.exit(print('broken') or 1)")))
    ways = ["git taskctx run --log test   # what it printed", "git taskctx run --resume"]
    assert line.ends(1, "run").err.splitlines()[-2:] == [f"hint: {one}" for one in ways]
    seen = line.ok("status", "--format", "json").document()["data"]
    assert seen["run"] == "run 1 of TASK-1 failed at test"
    corrects = "git taskctx start --agent implementer   # corrects it by hand, up to a snapshot; then:"
    assert seen["next"] == [ways[0], corrects, ways[1]]
    line.repo.write("a.txt", "drift\n")
    seen = line.ok("status", "--format", "json").document()["data"]["next"]
    assert (seen[0], seen[-1], len(seen) > 2) == (*ways, True)


def test_a_stage_that_ended_badly_is_looked_at_first(line: Line, three: Stages) -> None:
    """What an agent left half done is neither gone on with nor approved unseen; its findings come before a new run."""
    looks, goes_on = "git taskctx run --log review   # what it printed", "git taskctx run --resume"
    line.begin_task(three(review=["false"]))
    line.ends(1, "run")
    assert line.ok("status", "--format", "json").document()["data"]["next"][:2] == [looks, goes_on]
    line.ok("snapshot", "--agent", "reviewer", "--allow-clean")
    line.ok("block", "--agent", "reviewer", "--finding", "no test")
    steps = line.ok("status", "--format", "json").document()["data"]["next"]
    assert (steps[0], "start --agent implementer" in steps[1], steps[-1]) == (looks, True, goes_on)


def test_drift_waits(line: Line, three: Stages) -> None:
    """A tree that somebody touched is handed to no agent."""
    stages = three(test=script("open('b.txt', 'w').write('x')"))
    line.begin_task(stages)
    events = line.carry(3)
    assert "test changed the tree: b.txt" in events[-1]["why"]
    assert line.states(events)[1:3] == ["test waiting", "review pending"]
    assert "qa" not in [one["type"] for one in line.records()]
    assert line.ok("status", "--format", "json").document()["data"]["next"][-1] == "git taskctx run --resume"
    line.repo.at("b.txt").unlink()
    assert line.states(line.carry(3, "--resume"))[1] == "test waiting"


def test_a_check_that_leaves_a_cache_is_led_to_a_proved_commit(line: Line, three: Stages) -> None:
    """What is hinted at lets the check write, whatever the end of `.gitignore`; a tracked file is put back."""
    line.repo.write(".gitignore", "*.log")
    writes = "os.makedirs('p/__pycache__', exist_ok=True); open('p/__pycache__/a.pyc', 'w'); open('cov', 'w')"
    line.begin_task(three(test=script(writes)))
    said = line.ends(3, "run")
    assert "test changed the tree: cov, p/__pycache__/a.pyc" in said.out
    assert [line.typed(hint).code for hint in hints_of(said)] == [0, 0, 0]
    assert line.repo.read(".gitignore") == b"*.log\n/cov\n__pycache__/\n"
    line.repo.commit("work")
    line.ok("verify")


def test_drift_waits_before_a_check_in_a_tree_of_its_own(line: Line, three: Stages) -> None:
    """What was corrected by hand and is not on record is named, and not silently left out of the check."""
    stages = three(test=script("sys.exit('fixed' not in open('a.txt').read())"))
    stages["test"]["tree"] = "own"
    line.begin_task(stages)
    line.carry(1)
    line.repo.write("a.txt", "fixed\n")
    said = line.ends(3, "run", "--resume")
    assert ("drift since implementer's snapshot" in said.out, "resolve-drift" in said.err) == (True, True)
    line.ok("resolve-drift", "--accept", "--note", "by hand")
    assert line.states(line.carry(0, "--resume"))[:2] == ["implement known", "test done"]


def test_checks_that_ran_beside_a_write_run_again(line: Line, three: Stages, tmp_path: Path) -> None:
    """Nobody can say which of them saw the tree as it was: neither is known when the run goes on."""
    ran, over = tmp_path / "ran", tmp_path / "over"
    spoils = f"first = not os.path.exists('{ran}'); open('{ran}', 'w'); first and open('b.txt', 'w')"
    stages = three(test=script(spoils))
    waits = script(f"[time.sleep(0.01) for _ in iter(lambda: os.path.exists('{over}'), True)]")
    stages["lint"] = {"after": ["implement"], "run": waits}
    stages["watch"] = {"after": ["test"], "run": script(f"open('{over}', 'w')")}
    stages["review"]["after"] = ["lint", "watch"]
    line.begin_task(stages)
    events = line.carry(3)
    assert {"test waiting", "lint waiting"} <= set(line.states(events))
    assert events[-1]["why"].endswith("watch changed the tree: b.txt")
    assert "qa" not in [one["type"] for one in line.records()]
    line.repo.at("b.txt").unlink()
    assert {"test done", "lint done"} <= set(line.states(line.carry(0, "--resume")))


def test_a_budget_stops_what_did_not_start(line: Line, three: Stages) -> None:
    """What is done stays done; who resumes goes on with the budget anew."""
    cost = script(f"open('a.txt', 'a').write('x'); {answer({'usage': {'usd': 3}})}")
    line.begin_task(three(implement=cost), "[run]\nbudget = { usd = 2.5 }\n")
    events = line.carry(3)
    assert line.states(events)[0] == "implement done"
    assert "the budget of 2.5 USD is reached: 3 USD spent" in events[-1]["why"]
    assert line.states(line.carry(0, "--resume"))[0] == "implement known"


def test_a_quota_waits_with_its_time(line: Line, three: Stages) -> None:
    """A vendor that has no more for us is no failure of the work."""
    told = {"type": "result", "is_error": True, "result": "Claude AI usage limit reached|1767225600"}
    line.begin_task(three(implement=script(f"print(json.dumps({told!r})); sys.exit(1)")))
    events = line.carry(3)
    assert "usage limit reached, until 2026-01-01 00:00 UTC" in events[-1]["why"]
    assert line.states(events)[0] == "implement waiting"


def test_a_part_of_it(line: Line, three: Stages) -> None:
    """`--stage` runs one, `--from` it and all after it; `--dry-run` runs nothing; `--log` prints the last attempt."""
    line.begin_task(three(test=["echo", "checked"]))
    plan = line.ok("run", "--dry-run", "--format", "json").document()["data"]
    assert list(plan["stages"]) == ["implement", "test", "review", "validate"]
    assert not line.repo.at(f".agent-output/tasks/{TASK}/runs/1").exists()
    assert line.states(line.carry(0, "--stage", "implement")) == ["implement done"]
    assert line.states(line.carry(0, "--from", "test")) == ["test done", "review done", "validate done"]
    assert line.ok("run", "--log", "test").out == "checked\n"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"test": {"run": ["no-such-program"]}}, "stage.test.run: 'no-such-program' is not on PATH"),
        ({"test": {"run": ["./no-file"]}}, "stage.test.run: './no-file' was not found, or is not executable"),
        ({"review": {"agent": "editor"}}, "stage.review.agent: 'editor' is not an agent of TASK-1"),
        ({"review": {"agent": "validator"}, "validate": {"agent": "reviewer"}}, "it is not validator's turn then"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_starts(
    line: Line, three: Stages, change: dict[str, dict[str, Any]], told: str
) -> None:
    """One error, no run, nothing on record; once the file is corrected, what is hinted at leads on."""
    stages, right = three(), three()
    for name, keys in change.items():
        stages[name] |= keys
    line.begin_task(stages)
    before = len(line.records())
    said = line.ends(128, "run")
    assert told in said.err
    assert (len(line.records()), line.repo.at("a.txt").exists()) == (before, False)
    line.repo.write(".taskctx.toml", toml(right))
    assert [line.typed(hint).code for hint in hints_of(said)] == [0, 0, 0]


def test_a_pipeline_that_changed_since_the_base_is_refused(line: Line, three: Stages) -> None:
    """A commit with another pipeline needs a rebuild; an edit that is not committed changes nothing."""
    line.begin_task(three())
    line.repo.write(".taskctx.toml", '[stage.implement]\nrun = ["true"]\n')
    assert "does not count" in line.ok("run", "--dry-run").err
    line.repo.commit("another")
    said = line.ends(128, "run").err
    assert "the pipeline was changed after TASK-1 began" in said
    line.ok("rebuild", "--policy", "HEAD")
    assert "implement" in line.ok("run", "--dry-run").out


@pytest.mark.parametrize("agents", ["implementer,reviewer,validator", "implementer,reviewer"])
def test_an_agent_without_a_stage_is_named_first(line: Line, three: Stages, agents: str) -> None:
    """A warning comes before anything starts; none where each agent of the chain has its stage."""
    stages = three(implement=["sh", "-c", "date >a.txt"])
    del stages["validate"]
    line.begin_task(stages, "", "--agents", agents)
    done = line.typed("git taskctx run --dry-run 2>&1 >/dev/null; git taskctx run 2>&1")
    plan, ran = done.out.split("run 1 of TASK-1")[0], done.out
    warning = (
        "warning: no stage for validator: the run ends before that turn; a task begins without it once "
        'agents = ["implementer", "reviewer"] is committed in the policy\n'
    )
    assert (plan, ran.count("warning")) == ((warning * 2, 2) if "validator" in agents else ("", 0)), ran


def test_an_agent_changes_nothing_of_what_checks_it(line: Line, three: Stages) -> None:
    """Edits of the pipeline's file, and of the run's own files, while it runs."""
    spoil = (
        "open('.taskctx.toml', 'w').write('[stage.implement]\\nrun = [\"true\"]\\n'); "
        "open(os.path.dirname(os.environ['TASKCTX_RESPONSE']) + '/../../../events.jsonl', 'w').write('{}\\n')"
    )
    line.begin_task(three(implement=script(spoil), test=["false"]))
    assert line.states(line.carry(1))[:2] == ["implement done", "test failed"]


def test_without_a_pipeline(line: Line) -> None:
    """One clear error; the verbs around it as well."""
    line.ok("init", TASK, "--title", "t")
    assert "TASK-1 has no pipeline" in line.ends(128, "run").err
    assert "no run of TASK-1 has begun" in line.ends(128, "run", "--resume").err
    assert "cannot be used together" in line.ends(129, "run", "--stage", "a", "--from", "b").err
    assert "go together" in line.ends(129, "run", "--reject", "a").err
    assert "no stage 'a'" in line.ends(128, "run", "--log", "a").err
