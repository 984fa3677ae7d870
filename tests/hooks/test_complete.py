"""`complete`: the end of a task, and who is told of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gated import Gated

TELL = "taskctx.lifecycle.onComplete"


@pytest.fixture
def ungated(validated: Gated) -> Gated:
    """A validated chain in a repository without hooks, its commit made."""
    for hook in (validated.repo.common_dir() / "hooks").iterdir():
        hook.unlink()
    validated.repo.commit("the task")
    return validated


def test_it_seals_and_puts_away(ungated: Gated) -> None:
    """What the next verb would have done is done, and said."""
    said = ungated.ok("complete")
    assert said.out == f"complete: TASK-1 is commit {ungated.repo.head()[:12]}\n"
    assert ungated.is_over()


def test_the_notifier_is_told(ungated: Gated) -> None:
    """It runs at the top of the worktree with the facts in its environment and on stdin; its words go to stderr."""
    ungated.repo.at("below").mkdir()
    ungated.repo.config(TELL, 'pwd; echo "$TASKCTX_TASK $TASKCTX_TITLE"; cat')
    said = ungated.process("complete", cwd=ungated.repo.at("below"))
    top, words, document = said.err.split("\n", 2)
    assert said.code == 0
    assert (top, words) == (str(ungated.repo.toplevel()), "TASK-1 Mend the parser")
    told = json.loads(document)
    assert told == {
        "version": 1, "task": "TASK-1", "title": "Mend the parser", "commit": ungated.repo.head(),
        "context": ungated.data("list")[0]["context_id"],
    }  # fmt: skip
    assert said.out == f"complete: TASK-1 is commit {ungated.repo.head()[:12]}\n"


def test_a_task_that_is_over_can_be_completed_again(ungated: Gated, sealed_home: Path) -> None:
    """By its name, or as the one that HEAD ended; the notifier runs each time."""
    ungated.repo.config(TELL, 'echo told >>"$HOME/told"')
    ungated.process("complete")
    ungated.process("complete", "--task", "TASK-1")
    ungated.process("complete")
    assert (sealed_home / "told").read_text() == "told\n" * 3
    assert len(ungated.records("seal")) == 1


def test_a_notifier_that_fails_is_told(ungated: Gated) -> None:
    """The task is over all the same, and the command that runs it again is said."""
    ungated.repo.config(TELL, "exit 3")
    said = ungated.process("complete")
    assert (said.code, said.err) == (
        1, "warning: the notifier ended with 3\nhint: git taskctx complete --task TASK-1   # runs it again\n",
    )  # fmt: skip
    assert ungated.is_over()
    answer = json.loads(ungated.process("complete", "--format", "json").out)
    assert (answer["success"], answer["data"]["notified"]) == (False, 3)
    assert answer["error"]["message"] == "the notifier ended with 3"


def test_no_committed_file_names_what_is_run(ungated: Gated, sealed_home: Path) -> None:
    """A repository that says what to run is told that there is no such key, and nothing runs."""
    ungated.repo.write(".taskctx.toml", "[lifecycle]\non_complete = 'touch ~/ran'\n")
    ungated.repo.commit("policy")
    said = ungated.process("complete", "--task", "TASK-1")
    assert said.code == 128
    assert "unknown key lifecycle.on_complete" in said.err
    assert not (sealed_home / "ran").exists()


def test_what_is_not_committed_is_refused(validated: Gated) -> None:
    """With the next step, whatever it is."""
    assert validated.refuses("complete") == (
        "error: TASK-1 is validated, and not committed yet\nhint: git add -A && git commit\n"
    )
    validated.ok("purge")
    assert validated.refuses("complete", "--task", "TASK-1") == (
        "error: TASK-1 was put away before it was committed\nhint: git taskctx recover TASK-1\n"
    )
    assert "HEAD ended none" in validated.refuses("complete", code=128)


def test_what_is_not_validated_is_refused(begun: Gated) -> None:
    """The chain comes first."""
    assert begun.refuses("complete") == (
        "error: TASK-1 is not validated\nhint: git taskctx snapshot --agent implementer\n"
    )


def test_one_that_was_put_away_is_sealed_too(ungated: Gated) -> None:
    """Put away before anybody looked, with its commit at HEAD: it is brought back, sealed and put away."""
    repo = ungated.repo
    repo.git("reset", "-q", "--soft", "HEAD~1")
    ungated.ok("verify")
    ungated.ok("purge")
    repo.commit("the task")
    ungated.ok("complete", "--task", "TASK-1")
    assert len(ungated.records("seal")) == 1


def test_the_notifier_runs_between_the_seal_and_the_purge(ungated: Gated, sealed_home: Path) -> None:
    """It finds the proof, and the context where the task had it."""
    look = 'git notes --ref=taskctx show HEAD | grep -c \'"type":"seal"\'; ls .agent-output/tasks/TASK-1/context.json'
    ungated.repo.config(TELL, f'({look}) >"$HOME/found"')
    ungated.process("complete")
    assert (sealed_home / "found").read_text() == "1\n.agent-output/tasks/TASK-1/context.json\n"
    assert ungated.is_over()


@pytest.mark.parametrize("by_hook", [True, False])
def test_a_purge_that_fails_warns_and_stops_nothing(validated: Gated, sealed_home: Path, by_hook: bool) -> None:
    """Something lies in the place of the archive: the task is over, the notifier runs, and the next verb purges."""
    archive = validated.repo.write(f".agent-output/archive/{validated.context()['context_id']}", "in the way\n")
    if not by_hook:
        for hook in (validated.repo.common_dir() / "hooks").iterdir():
            hook.unlink()
    validated.repo.add()
    said = validated.passes("commit", "-q", "-m", "the task")
    if by_hook:
        assert "TASK-1 is over: commit" in said.err
        assert "TASK-1 is over, but was not put away: " in said.err
    validated.repo.config(TELL, 'echo told >>"$HOME/told"')
    done = validated.process("complete")
    assert (done.code, (sealed_home / "told").read_text()) == (0, "told\n")
    assert "warning: TASK-1 is over, but was not put away: " in done.err
    archive.unlink()
    validated.ok("status")
    assert validated.is_over()
