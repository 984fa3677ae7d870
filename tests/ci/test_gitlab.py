"""The GitLab component's job, run as gitlab-runner would, against a local bare repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from ci.platforms import ZERO, Done, GitLab, Server
from junitparser import JUnitXml
from report.formats.test_formats import CODE_QUALITY

Serve = Callable[..., Server]


def at(server: Server, source: str, sha: str, *refspecs: str, depth: int | None = 2, **more: Any) -> Done:
    """Let a pipeline run the job in a fresh clone, on a server that takes nothing from it."""
    refs = server.lock()
    runner = GitLab(server)
    runner.checkout(sha, *refspecs, depth=depth)
    done = runner.run(source, sha, **more)
    assert server.refs() == refs
    return done


def at_push(server: Server, branch: str, before: str, after: str, **more: Any) -> Done:
    """Let a push to a branch run it."""
    server.put(f"refs/heads/{branch}", after)
    refspec = f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
    return at(server, "push", after, refspec, CI_COMMIT_BRANCH=branch, CI_COMMIT_BEFORE_SHA=before, **more)


def at_merge_request(server: Server, kind: str = "detached", fork: str | None = None, **more: Any) -> Done:
    """Let a merge request run it: in a pipeline of its head, of the merged result, or of a merge train."""
    sha, variables = server.head, {"CI_MERGE_REQUEST_EVENT_TYPE": kind, "CI_MERGE_REQUEST_IID": "1"}
    server.put("refs/merge-requests/1/head", sha)
    if kind != "detached":
        name = {"merged_result": "merge", "merge_train": "train"}[kind]
        sha = server.merge(f"refs/merge-requests/1/{name}")
        variables |= {
            "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": server.head,
            "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": server.base,
        }
    variables |= {
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": server.bare.git("merge-base", "main", "topic"),
        "CI_COMMIT_BEFORE_SHA": ZERO,
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_URL": server.address.removesuffix(".git"),
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2" if fork else "1",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_URL": (fork or server.address).removesuffix(".git"),
    }
    return at(server, "merge_request_event", sha, **{**variables, **more})


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        *((name, 1) for name in ("push", "branch", "tag", "schedule", "detached", "merged_result")),
        ("push", 20),
        ("merged_result", None),
        *(
            pytest.param(name, depth, marks=pytest.mark.deep)
            for name, depth in (("push", 2), ("push", None), ("merged_result", 2), ("merged_result", 20))
        ),
    ],
)
def test_a_validated_change(server: Serve, name: str, depth: int | None) -> None:
    """Whatever the pipeline and however little was cloned, what was validated is verified, and nothing is pushed."""
    platform = server()
    if name == "push":
        done = at_push(platform, "main", platform.base, platform.head, depth=depth)
    elif name == "branch":
        done = at_push(platform, "topic", ZERO, platform.head, depth=depth)
    elif name == "tag":
        platform.put("refs/tags/v1", platform.head)
        done = at(platform, "push", platform.head, depth=depth, CI_COMMIT_TAG="v1", CI_COMMIT_BEFORE_SHA=ZERO)
    elif name == "schedule":
        platform.put("refs/heads/main", platform.head)
        done = at(platform, "schedule", platform.head, depth=depth, CI_COMMIT_BRANCH="main")
    else:
        done = at_merge_request(platform, name, depth=depth)
    assert done.told() == "verified by commit", done.said


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_reports(server: Serve, shell: str) -> None:
    """The job leaves the reports that its artifacts name, whatever the verdict, as GitLab reads them."""
    for kind, bad in (("plain", 0), ("loosened", 1)):
        done = at_merge_request(server(kind, kind), shell=shell)
        assert done.code == bad, done.said
        assert done.reports is not None
        issues = json.loads((done.reports / "code-quality.json").read_text())
        jsonschema.validate(issues, CODE_QUALITY)
        assert [one["check_name"] for one in issues] == ["taskctx.agents-differ"] * bad
        assert JUnitXml.fromstring((done.reports / "junit.xml").read_bytes()).failures == bad
        assert json.loads((done.reports / "proof.sarif").read_text())["version"] == "2.1.0"


def test_a_merge_train(server: Serve) -> None:
    """What the target becomes when the train arrives is proved itself, as the automatic merge."""
    done = at_merge_request(server("after_others"), "merge_train")
    assert done.told() == "verified by merge", done.said
    assert len(done.proof()["commits"]) == 4


def test_every_commit(server: Serve) -> None:
    """Where every commit must be proved, history is fetched until every one is there."""
    done = at_merge_request(server("after_others"), depth=1)
    assert [one["task"] for one in done.proof()["commits"]] == ["TASK-3", "TASK-2", "TASK-1"], done.said
    assert done.told() == "verified by commit"
    gap = at_merge_request(server("with_a_gap", "gap"), depth=1)
    assert gap.told() == "unproven no-record by commit", gap.said


@pytest.mark.parametrize("kind", ["detached", "merged_result"])
def test_rules_of_the_base(server: Serve, kind: str) -> None:
    """A change that loosens the policy is judged by that of the target branch as it is now."""
    platform = server("loosened")
    done = at_merge_request(platform, kind)
    assert (done.told(), done.proof()["policy"]) == ("violated agents-differ", platform.base), done.said
    other = server("loosened", "other")
    done = at_push(other, "topic", other.head, other.head)
    assert done.told() == "violated agents-differ", done.said


@pytest.mark.parametrize("name", ["no notes", "stale"])
def test_what_is_missing(server: Serve, name: str) -> None:
    """Missing records make it unproven, with the command for whoever has them; `warn` gives a code of its own."""
    platform = server("stale" if name == "stale" else "plain")
    if name == "no notes":
        platform.drop_notes()
    done = at_merge_request(platform)
    assert done.told() == f"unproven no-{'record' if name == 'stale' else 'notes'}", done.said
    assert "hint: git taskctx push origin   # in the clone where the task was done" in done.said
    again = server("plain", "again")
    again.drop_notes()
    done = at_merge_request(again, inputs={"unproven": "warn"})
    assert (done.code, done.proof()["verdict"]) == (103, "unproven")


def test_the_target_is_gone(server: Serve) -> None:
    """Where the target branch is not to be had, the base that the platform knew serves."""
    platform = server()
    done = at_merge_request(platform, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="gone")
    assert (done.told(), done.proof()["policy"]) == ("verified by commit", platform.base), done.said


@pytest.mark.parametrize("where", ["fork", "parent"])
@pytest.mark.parametrize("kind", ["plain", "signed"])
def test_a_fork(server: Serve, kind: str, where: str) -> None:
    """A merge request from a fork, in the fork's pipeline and in the parent's: rules and records are the parent's.

    Records that only the fork has count where they are signed, and then alone.
    """
    fork, parent = server(kind, "fork"), server(kind, "parent")
    parent.drop_notes()
    told = "verified by commit" if kind == "signed" else "unproven no-notes"
    if where == "parent":
        done = at_merge_request(parent, fork=fork.address)
    else:
        fork.put("refs/heads/main", fork.head)  # a fork's own branches make no rules
        ids = {"CI_PROJECT_ID": "2", "CI_MERGE_REQUEST_PROJECT_URL": parent.address.removesuffix(".git")}
        done = at_merge_request(fork, fork=fork.address, **ids)
    assert (done.told(), done.proof()["policy"]) == (told, parent.base), done.said
    if kind == "plain":
        taken = fork.address if where == "parent" else "origin"
        given = "origin" if where == "parent" else parent.address
        assert f"hint: git taskctx fetch {taken} && git taskctx push {given}   # a maintainer" in done.said


def test_a_link_in_the_way(server: Serve) -> None:
    """A change that puts a link where the reports go has nothing written through it, and is not passed."""
    platform = server()
    elsewhere = platform.folder / "elsewhere"
    elsewhere.mkdir()
    runner = GitLab(platform)
    repo = runner.checkout(platform.head, depth=1)
    repo.symlink("taskctx-reports", str(elsewhere))
    done = runner.run("push", platform.head, CI_COMMIT_BRANCH="main", CI_COMMIT_BEFORE_SHA=platform.base)
    assert done.code == 128
    assert "taskctx-reports is a symbolic link" in done.said
    assert list(elsewhere.iterdir()) == []


def test_neither_tool_nor_program(server: Serve) -> None:
    """Without anything to install or to run the job says so, and fails."""
    platform = server()
    done = at_push(platform, "main", platform.base, platform.head, inputs={"program": ""})
    assert (done.code, done.said) == (129, "error: the component was given neither tool nor program\n")
