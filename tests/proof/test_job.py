"""What a CI job is about, read from what its platform says; what is of another form is not taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_taskctx.errors import CouldNotTell, Usage
from git_taskctx.proof.job import CiJob, Named, name_commit, name_job, read_job
from git_taskctx.report.advice import advise

A, B, C = ("a" * 40, "b" * 40, "c" * 40)
ZERO = "0" * 40
MAIN = Named(ref="refs/heads/main")
REPOSITORY = {"id": 1, "default_branch": "main"}


def github(name: str, event: Any, sha: str = A, ref: str = "refs/heads/topic") -> CiJob:
    """Read a job of GitHub."""
    return read_job({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name, "GITHUB_SHA": sha, "GITHUB_REF": ref}, event)


def gitlab(source: str, **variables: str) -> CiJob:
    """Read a job of GitLab."""
    base = {"GITLAB_CI": "true", "CI_PIPELINE_SOURCE": source, "CI_COMMIT_SHA": A, "CI_DEFAULT_BRANCH": "main"}
    return read_job(base | variables, None)


def pull(head: Any, *, base: Any = None, number: Any = 7) -> dict[str, Any]:
    """Return the event of a pull request."""
    into = {"sha": C, "ref": "main", "repo": {"id": 1}}
    return {"repository": REPOSITORY, "pull_request": {"number": number, "head": head, "base": base or into}}


def test_a_pull_request() -> None:
    """Its head is the tip, its base what was there before; the commit of the job merges the two."""
    tip, base = Named(B, "refs/pull/7/head"), Named(C, "refs/heads/main")
    own = {"sha": B, "repo": {"id": 1, "clone_url": "https://github.example/o/r.git"}}
    assert github("pull_request", pull(own)) == CiJob(
        "pull request 7", tip, (base,), merge=Named(A, "refs/pull/7/merge")
    )
    target = CiJob("pull request 7", tip, (Named(A, "refs/heads/main"),))
    assert github("pull_request_target", pull(own)) == target
    fork = {"sha": B, "repo": {"id": 2, "clone_url": "https://github.example/f/r.git"}}
    assert github("pull_request", pull(fork)).fork == "https://github.example/f/r.git"
    assert github("pull_request", pull({"sha": B, "repo": None})).fork is None


def test_a_push() -> None:
    """The default branch makes its own rules, another one never does; a tag is asked about alone."""

    def push(ref: str, before: str, after: str = A) -> CiJob:
        return github("push", {"ref": ref, "before": before, "after": after, "repository": REPOSITORY}, after)

    main, topic, tag = "refs/heads/main", "refs/heads/topic", "refs/tags/v1"
    assert push(main, B) == CiJob(f"push to {main}", Named(A, main), (Named(B),), before=B)
    assert push(main, ZERO) == CiJob(f"push to {main}", Named(A, main))
    assert push(topic, B) == CiJob(f"push to {topic}", Named(A, topic), (Named(B), MAIN), before=B, trusted=MAIN)
    assert push(topic, ZERO) == CiJob(f"push to {topic}", Named(A, topic), (MAIN,), trusted=MAIN)
    assert push(tag, ZERO) == CiJob(f"push to {tag}", Named(A, tag), trusted=MAIN)
    with pytest.raises(CouldNotTell, match="deleted its ref"):
        push(topic, B, ZERO)


def test_other_events() -> None:
    """A merge group has its own base; whatever else it is, the commit of the job is asked about alone."""
    refs = {"head_ref": "refs/heads/gh-readonly-queue/main/pr-7", "base_ref": "refs/heads/main"}
    group = {"merge_group": {"head_sha": A, "base_sha": B, **refs}, "repository": REPOSITORY}
    assert github("merge_group", group) == CiJob(
        "merge group", Named(A, refs["head_ref"]), (Named(B, "refs/heads/main"),)
    )
    alone = CiJob("workflow_dispatch", Named(A, "refs/heads/topic"), trusted=MAIN)
    assert github("workflow_dispatch", {"repository": REPOSITORY}) == alone
    assert github("schedule", {"schedule": "0 0 * * *"}, ref="refs/heads/main") == CiJob("schedule", Named(A, MAIN.ref))


@pytest.mark.parametrize(
    ("name", "event", "about"),
    [
        ("issue_comment", {"issue": {"number": 7, "pull_request": {"url": "x"}}}, "pull request 7"),
        ("workflow_run", {"workflow_run": {"head_sha": B, "pull_requests": []}}, B),
        ("check_suite", {"check_suite": {"head_sha": B}}, B),
        ("check_run", {"check_run": {"head_sha": B}}, B),
        ("status", {"sha": B}, B),
        ("deployment_status", {"deployment": {"sha": B}}, B),
    ],
)
def test_an_event_about_something_else(name: str, event: dict[str, Any], about: str) -> None:
    """The default branch, which such a job is given, is not proved in the place of what the event is about."""
    with pytest.raises(CouldNotTell) as raised:
        github(name, {**event, "repository": REPOSITORY}, ref="refs/heads/main")
    assert str(raised.value) == f"the event {name} is about {about}, and the job about another commit"
    assert advise(raised.value).hint == "git taskctx verify --ci BASE..HEAD   # name the commits"
    same = json.loads(json.dumps({**event, "issue": {"number": 7}}).replace(B, A))
    assert github(name, same, ref="refs/heads/main") == CiJob(name, Named(A, "refs/heads/main"))


def test_a_merge_request() -> None:
    """Detached, merged and on a train; the fork's pipeline and the parent's."""
    target, source = "https://gitlab.example/g/p", "https://gitlab.example/f/p"
    own = {
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": C,
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_URL": target,
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_URL": target,
    }
    merged = {"CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": B, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "d" * 40}
    bases = (MAIN, Named(C))
    head = "refs/merge-requests/7/head"
    plain = CiJob("merge request 7", Named(A, head), bases)
    assert gitlab("merge_request_event", **own) == plain
    now = (Named("d" * 40, "refs/heads/main"), Named(C))
    result = gitlab("merge_request_event", CI_MERGE_REQUEST_EVENT_TYPE="merged_result", **own, **merged)
    assert result == CiJob("merge request 7", Named(B, head), now, merge=Named(A))
    train = gitlab("merge_request_event", CI_MERGE_REQUEST_EVENT_TYPE="merge_train", **own, **merged)
    assert train == CiJob("merge train of merge request 7", Named(A, "refs/merge-requests/7/train"), now)
    forked = own | {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2", "CI_MERGE_REQUEST_SOURCE_PROJECT_URL": source}
    parent = gitlab("merge_request_event", **forked)
    assert (parent.home, parent.fork) == (None, f"{source}.git")
    fork = gitlab("merge_request_event", **(forked | {"CI_PROJECT_ID": "2"}))
    assert (fork.home, fork.fork) == (f"{target}.git", None)


def test_other_pipelines() -> None:
    """Pushes, tags and the rest."""
    topic = "refs/heads/topic"
    pushed = gitlab("push", CI_COMMIT_BRANCH="topic", CI_COMMIT_BEFORE_SHA=B)
    assert pushed == CiJob(f"push to {topic}", Named(A, topic), (Named(B), MAIN), before=B, trusted=MAIN)
    assert gitlab("push", CI_COMMIT_TAG="v1") == CiJob("push", Named(A, "refs/tags/v1"), trusted=MAIN)
    assert gitlab("schedule", CI_COMMIT_BRANCH="main") == CiJob("schedule", Named(A, "refs/heads/main"))


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("pull_request", pull({"sha": "--upload-pack=touch pwned"})),
        ("pull_request", pull({"sha": ZERO})),
        ("pull_request", pull("x")),
        ("pull_request", pull({"sha": B}, number="7/../8")),
        ("merge_group", {"merge_group": {"head_sha": A, "base_sha": "main"}}),
        *(("push", event) for event in (None, [], "x", 7)),
    ],
)
def test_what_is_no_commit(name: str, event: Any) -> None:
    """What names no commits cannot be told, with a command that names them."""
    with pytest.raises(CouldNotTell) as raised:
        github(name, event)
    assert advise(raised.value).hint == "git taskctx verify --ci BASE..HEAD   # name the commits"


@pytest.mark.parametrize(
    "odd",
    [
        "a b",
        "a..b",
        "-x:refs/heads/y",
        "a*",
        "a\nb",
        "a^b",
        "a~1",
        "a:b",
        "a?",
        "a[b",
        "a\\b",
        "a\x7f",
        "a\ud800",
        "a" * 200_000,
    ],
)
def test_what_is_no_ref(odd: str) -> None:
    """A name that git would read as more than one ref is not taken; a fork's address is one that git fetches from."""
    assert github("workflow_dispatch", {"repository": {"default_branch": odd}}, ref=f"refs/heads/{odd}").tip.ref is None
    assert github("workflow_dispatch", {"repository": {"default_branch": odd}}).trusted is None
    for address in (
        f"ext::sh -c {odd}",
        "--upload-pack=x",
        "/etc",
        "https://a\nb",
        "https://a/\ud800",
        "https://" + "a" * 200_000,
        None,
        7,
    ):
        assert github("pull_request", pull({"sha": B, "repo": {"id": 2, "clone_url": address}})).fork is None


@pytest.mark.parametrize("event", [{}, {"push": []}, {"ref": 1, "before": {}, "repository": []}, {"pull_request": 1}])
def test_an_odd_event(event: Any) -> None:
    """An event of another form than it should have says nothing, and the commit of the job is left."""
    assert github("push", event) == CiJob("push to ", Named(A))


def test_commits_that_are_named() -> None:
    """A revision is looked for as it is, then as a branch of the remote; without a platform it must be given."""
    assert name_commit(A) == Named(A)
    assert name_commit("origin/a/b") == Named(ref="refs/heads/a/b", words="origin/a/b")
    assert name_commit("refs/tags/v1") == Named(ref="refs/tags/v1", words="refs/tags/v1")
    assert name_job("main..").bases == (name_commit("main"),)
    assert name_job("..topic").bases == (name_commit("HEAD"),)
    assert name_job(A) == CiJob(A, Named(A))
    with pytest.raises(Usage, match="is not a range with a base"):
        name_job("main...topic")
    with pytest.raises(Usage, match="not a job of GitHub or GitLab"):
        read_job({"CI": "true"}, None)
