"""The GitHub Action, run step by step as the runner would, against a local bare repository."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from ci.platforms import ZERO, Done, GitHub, Server
from gitrepo import GitRepo, run_taskctx
from tiers import some

Serve = Callable[..., Server]
REPOSITORY = {"id": 1, "default_branch": "main"}


def pull(server: Server, *, fork: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the event of a pull request from `topic` into `main`."""
    there = {"id": 2, "clone_url": fork} if fork else {"id": 1, "clone_url": server.address}
    return {
        "number": 1,
        "repository": REPOSITORY,
        "pull_request": {
            "number": 1,
            "title": more.get("title", "Mend the parser"),
            "head": {"sha": server.head, "ref": more.get("branch", "topic"), "repo": there},
            "base": {"sha": server.base, "ref": "main", "repo": {"id": 1}},
        },
    }


def pushed(server: Server, ref: str, before: str, after: str) -> dict[str, Any]:
    """Return the event of a push."""
    return {
        "ref": ref, "before": before, "after": after, "created": before == ZERO, "deleted": after == ZERO,
        "forced": False, "repository": REPOSITORY,
    }  # fmt: skip


def at(server: Server, name: str, event: Any, sha: str, ref: str, depth: int | None = 1, **inputs: Any) -> Done:
    """Let an event run the action in a fresh clone, on a server that takes nothing from it."""
    refs = server.lock()
    runner = GitHub(server)
    repo = runner.checkout(sha, ref, depth=depth)
    done = runner.run(name, event, sha, ref, **inputs)
    assert server.refs() == refs
    assert depth is not None or repo.git("rev-parse", "--is-shallow-repository") == "false"
    return done


def at_pull_request(server: Server, depth: int | None = 1, **inputs: Any) -> Done:
    """Let a pull request run the action, on the platform's own merge of it."""
    event = inputs.pop("event", None) or pull(server)
    server.put("refs/pull/1/head", server.head)
    merged = server.merge("refs/pull/1/merge")
    return at(server, "pull_request", event, merged, "refs/pull/1/merge", depth, **inputs)


def at_push(server: Server, ref: str, before: str, after: str, depth: int | None = 1, **inputs: Any) -> Done:
    """Let a push run the action."""
    server.put(ref, after)
    return at(server, "push", pushed(server, ref, before, after), after, ref, depth, **inputs)


@pytest.mark.parametrize("depth", [1, pytest.param(None, marks=pytest.mark.deep)], ids=["depth-1", "full"])
@pytest.mark.parametrize("name", ["pull", "target", "push", "branch", "tag", "dispatch", "schedule"])
def test_a_validated_change(server: Serve, name: str, depth: int | None) -> None:
    """Whatever the event and however little was checked out, what was validated is verified, and nothing is pushed.

    Of one commit, which is what the platform checks out by itself; in deep runs also of all.
    """
    platform = server()
    base, head = platform.base, platform.head
    ref = "refs/heads/topic"
    if name == "pull":
        done = at_pull_request(platform, depth)
    elif name == "target":
        platform.put("refs/pull/1/head", head)
        done = at(platform, "pull_request_target", pull(platform), base, "refs/heads/main", depth)
    elif name == "push":
        done = at_push(platform, "refs/heads/main", base, head, depth)
    elif name == "branch":
        done = at_push(platform, ref, ZERO, head, depth)
    elif name == "tag":
        done = at_push(platform, "refs/tags/v1", ZERO, head, depth)
    elif name == "dispatch":
        done = at(platform, "workflow_dispatch", {"repository": REPOSITORY}, head, ref, depth)
    else:
        platform.put("refs/heads/main", head)
        done = at(platform, "schedule", {"repository": REPOSITORY}, head, "refs/heads/main", depth)
    assert done.told() == "verified by commit", done.said
    assert done.outputs["verdict"] == "verified"
    assert "### git taskctx: verified" in done.summary
    assert "::error" not in done.said
    assert "::warning" not in done.said


@pytest.mark.parametrize("depth", [1, None], ids=["depth-1", "full"])
def test_a_merge_queue(server: Serve, depth: int | None) -> None:
    """In a merge queue the merge itself is proved, as the automatic one; history is fetched as far as that needs."""
    platform = server("after_others")
    ref = "refs/heads/gh-readonly-queue/main/pr-1"
    merged = platform.merge(ref)
    group = {"head_sha": merged, "head_ref": ref, "base_sha": platform.base, "base_ref": "refs/heads/main"}
    done = at(platform, "merge_group", {"merge_group": group, "repository": REPOSITORY}, merged, ref, depth)
    assert done.told() == "verified by merge", done.said
    assert len(done.proof()["commits"]) == 4


@pytest.mark.parametrize(
    "depth", [1, pytest.param(2, marks=pytest.mark.deep), None], ids=["depth-1", "depth-2", "full"]
)
def test_every_commit(server: Serve, depth: int | None) -> None:
    """Where every commit must be proved, every one is found, also where `main` went on and history was cut."""
    done = at_pull_request(server("after_others"), depth)
    assert done.told() == "verified by commit", done.said
    assert [one["task"] for one in done.proof()["commits"]] == ["TASK-3", "TASK-2", "TASK-1"]
    gap = at_pull_request(server("with_a_gap", "gap"), depth)
    assert gap.told() == "unproven no-record by commit", gap.said
    assert [one["verdict"] for one in gap.proof()["commits"]] == ["verified", "unproven"]


@pytest.mark.parametrize("filter_", ["blob:none", "tree:0"])
def test_a_partial_clone(server: Serve, filter_: str) -> None:
    """What a partial clone left out, the policy first of all, is fetched like the rest."""
    platform = server("loosened")
    platform.bare.config("uploadpack.allowFilter", "true")
    platform.put("refs/heads/main", platform.head)
    runner = GitHub(platform)
    repo = GitRepo.init(runner.workspace)
    repo.git("remote", "add", "origin", platform.address)
    repo.git(
        "fetch",
        "-q",
        "--no-tags",
        "--depth=1",
        f"--filter={filter_}",
        "origin",
        "+refs/heads/main:refs/remotes/origin/main",
    )
    event = pushed(platform, "refs/heads/main", platform.base, platform.head)
    done = runner.run("push", event, platform.head, "refs/heads/main")
    assert done.told() == "violated agents-differ", done.said


def test_the_head_alone_is_checked_out(server: Serve) -> None:
    """Where a workflow checked the head out, the base is still what the platform merged it into, and no older one."""
    platform = server("after_others")
    platform.put("refs/pull/1/head", platform.head)
    merged, event = platform.merge("refs/pull/1/merge"), pull(platform)
    event["pull_request"]["base"]["sha"] = platform.oid("main~3")  # where it was when the pull request was opened
    runner = GitHub(platform)
    runner.checkout(platform.head, "refs/pull/1/head")
    done = runner.run("pull_request", event, merged, "refs/pull/1/merge")
    assert (done.told(), done.proof()["policy"]) == ("verified by commit", platform.base), done.said


def test_no_notes(server: Serve) -> None:
    """Without records on the server the change is unproven, is shown as that everywhere, and the way out is told."""
    platform = server()
    platform.drop_notes()
    done = at_pull_request(platform)
    assert done.told() == "unproven no-notes", done.said
    assert done.outputs["verdict"] == "unproven"
    assert "::warning title=git taskctx%3A no-notes::" in done.said
    why = "the warnings and the summary of this step say why"
    assert f"::error title=git taskctx::unproven, and not a pass: {why}\n" in done.said
    assert "warning: no records are on origin (refs/notes/taskctx)\n" in done.said
    assert "hint: git taskctx push origin   # in the clone where the task was done\n" in done.said
    assert "### git taskctx: unproven" in done.summary
    assert "git taskctx push origin" in done.summary


def test_text_holds_no_command(server: Serve) -> None:
    """What is printed in another form than `github` stands where the runner takes no commands.

    A path stands alone on a line there, and may be called `::add-mask::e`. What the action itself says comes after,
    and the word that ends it is another one each time.
    """
    words = set[str]()
    for name, verdict in (((), "verified"), (("loosened", "other"), "violated")):
        done = at_pull_request(server(*name), format="text")
        lines = done.said.splitlines()
        (begin,) = (line for line in lines if line.startswith("::stop-commands::"))
        word = begin.removeprefix("::stop-commands::")
        assert re.fullmatch("[0-9a-f]{32}", word)
        inside = lines[lines.index(begin) + 1 : lines.index(f"::{word}::")]
        assert f"commit: {verdict}" in inside
        assert done.outputs["verdict"] == verdict
        words.add(word)
    assert len(words) == 2


def test_green_where_that_was_asked_for(server: Serve) -> None:
    """`unproven: warn` lets the job go on, and the verdict stays what it is; `violated` stops it all the same."""
    platform = server()
    platform.drop_notes()
    done = at_pull_request(platform, unproven="warn")
    assert (done.code, done.outputs["verdict"]) == (0, "unproven")
    assert "::warning title=git taskctx::unproven, and not a pass" in done.said
    assert "::error" not in done.said
    assert at_pull_request(server("loosened", "other"), unproven="warn").code == 1


def test_stale_notes(server: Serve) -> None:
    """Records that end before the commit was sealed prove nothing, and who must push is told."""
    done = at_pull_request(server("stale"))
    assert done.told() == "unproven no-record", done.said
    assert "hint: git taskctx push origin   # in the clone where the task was done: what is there" in done.said


@pytest.mark.parametrize("name", some(("pull", "target", "push", "branch"), ("target", "branch")))
def test_rules_of_the_base(server: Serve, name: str) -> None:
    """A change that loosens the policy is judged by that of the base, and a branch by that of the default branch."""
    platform = server("loosened")
    if name == "pull":
        done = at_pull_request(platform)
    elif name == "target":
        done = at(platform, "pull_request_target", pull(platform), platform.base, "refs/heads/main")
    elif name == "push":
        done = at_push(platform, "refs/heads/main", platform.base, platform.head)
    else:
        done = at_push(platform, "refs/heads/topic", ZERO, platform.head)
    assert done.told() == "violated agents-differ", done.said
    assert done.proof()["policy"] == platform.base
    assert "::error title=git taskctx%3A agents-differ::" in done.said


def test_a_policy_that_was_pushed_before(server: Serve) -> None:
    """Whoever loosens the policy of a branch in one push is not judged by it in the next."""
    platform = server("loosened")
    again = GitHub(platform).checkout(platform.head, "refs/heads/topic", depth=None)
    again.write("parser.py", "unseen\n")
    unseen = again.commit("unseen")
    again.git("push", "-q", "origin", "HEAD:refs/heads/topic")
    fresh = server("loosened", "fresh")
    fresh.bare.git("fetch", "-q", platform.address, unseen)
    done = at_push(fresh, "refs/heads/topic", platform.head, unseen)
    assert (done.told(), done.proof()["policy"]) == ("unproven no-record", platform.base), done.said


def test_an_edited_note(server: Serve) -> None:
    """A record that somebody edited on the server is a violation, with an annotation."""
    platform = server()
    text = platform.bare.git("notes", "--ref=taskctx", "show", platform.head)
    edited = text.replace('"actor":"A U Thor"', '"actor":"nobody"', 1)
    assert edited != text
    for target in (platform.head, f"{platform.head}^{{tree}}"):
        platform.bare.git("notes", "--ref=taskctx", "add", "-f", "-m", edited, platform.bare.git("rev-parse", target))
    done = at_pull_request(platform)
    assert done.told() == "violated fork", done.said  # the server has the record as it was
    assert done.outputs["verdict"] == "violated"


@pytest.mark.parametrize("kind", ["plain", "signed"])
def test_a_fork(server: Serve, kind: str) -> None:
    """A fork's own records count where they are signed; elsewhere a maintainer is told how to take them over."""
    fork, platform = server(kind, "fork"), server(kind)
    platform.drop_notes()
    done = at_pull_request(platform, event=pull(platform, fork=fork.address), token="")
    if kind == "signed":
        assert done.told() == "verified by commit", done.said
        refs = GitRepo(platform.folder / "workspace").git("for-each-ref", "--format=%(refname)", "refs/taskctx")
        assert not [ref for ref in refs.splitlines() if ref.endswith("/notes")]  # no later proof takes them for ours
    else:
        assert done.told() == "unproven no-notes", done.said
        assert f"hint: git taskctx fetch {fork.address} && git taskctx push origin   # a maintainer" in done.said


@pytest.mark.parametrize("gone", ["fork", "server"])
def test_what_cannot_be_read(server: Serve, gone: str) -> None:
    """A fork that is gone, or a server that lets nobody read, is told; nothing is taken for a pass."""
    platform = server("signed")
    if gone == "fork":
        platform.drop_notes()
        done = at_pull_request(platform, event=pull(platform, fork="file:///nowhere/fork.git"))
        assert done.told() == "unproven no-notes", done.said
        assert "warning: the records on file:///nowhere/fork.git cannot be fetched: " in done.said
        return
    server_ = GitHub(platform)
    repo = server_.checkout(platform.head, "refs/heads/main", depth=1)
    repo.git("remote", "set-url", "origin", "file:///nowhere/server.git")
    done = server_.run(
        "push", pushed(platform, "refs/heads/main", platform.base, platform.head), platform.head, "refs/heads/main"
    )
    assert done.told() == "unproven objects-missing", done.said
    assert f"hint: git fetch origin {platform.base}   # what git says about it" in done.said


def test_nothing_new(server: Serve) -> None:
    """A branch that was set back is asked about alone; one that was deleted has nothing to prove, which is no pass."""
    platform = server("after_others")
    older = platform.oid("refs/heads/topic~1")
    assert at_push(platform, "refs/heads/topic", platform.head, older).told() == "verified by commit"
    other = server("plain", "other")
    event = pushed(other, "refs/heads/topic", other.head, ZERO)
    done = at(other, "push", event, other.base, "refs/heads/main")
    assert done.told() == "unproven objects-missing", done.said
    assert "the push deleted its ref, and there is nothing to prove" in done.said


def test_a_forced_push(server: Serve) -> None:
    """What was there before and is gone is no base: the default branch is, unless it is the one that was forced."""
    gone = "d" * 40
    platform = server()
    assert at_push(platform, "refs/heads/topic", gone, platform.head).told() == "verified by commit"
    other = server("plain", "other")
    done = at_push(other, "refs/heads/main", gone, other.head)
    assert done.told() == "unproven objects-missing", done.said
    named = at_push(server("plain", "third"), "refs/heads/main", gone, other.head, revision=f"{other.base}..HEAD")
    assert named.told() == "verified by commit", named.said


@pytest.mark.parametrize("revision", ["HEAD", "origin/main..HEAD", "main..topic", "refs/heads/topic", "HEAD~1..HEAD"])
def test_a_revision(server: Serve, revision: str) -> None:
    """Commits can be named as they are on the server; what is not in the clone is fetched by that name."""
    platform = server()
    done = at(
        platform, "repository_dispatch", {}, platform.head, "refs/heads/topic", 2, revision=revision, policy="main"
    )
    assert done.told() == "verified by commit", done.said


def test_no_platform(server: Serve) -> None:
    """Anywhere else the commits are named, and a bare clone of one commit will do."""
    platform = server()
    place = platform.folder / "elsewhere.git"
    platform.bare.git("clone", "-q", "--bare", "--depth=1", "--branch=topic", platform.address, os.fspath(place))
    code, out, err = run_taskctx("verify", "--ci", "main..topic", cwd=place)
    assert (code, out.splitlines()[0], err) == (0, "commit: verified", "")
    assert GitRepo(place).git("for-each-ref", "refs/notes") == ""
    code, out, err = run_taskctx("verify", "--ci", cwd=place)
    assert (code, out) == (129, "")
    assert err == (
        "error: this is not a job of GitHub or GitLab, so the commits must be named\n"
        "hint: git taskctx verify --ci BASE..HEAD   # name the commits\n"
    )


HOSTILE = "$(touch${IFS}pwned)`touch${IFS}pwned`';touch${IFS}pwned;'\"&touch${IFS}pwned&\""


def test_names_are_never_run(server: Serve) -> None:
    """What others name, a branch, a title, is text: no expression stands in the script, and no shell sees it."""
    platform = server()
    assert all("${{" not in step["run"] for step in GitHub(server("plain", "spare")).action["runs"]["steps"])
    platform.put(f"refs/heads/{HOSTILE}", platform.head)
    event = pull(platform, branch=HOSTILE, title=f"{HOSTILE}\n::set-output name=verdict::verified")
    env = {"GITHUB_HEAD_REF": HOSTILE}
    done = at_pull_request(platform, event=event, env=env, revision=f"main..{HOSTILE}", policy="main")
    assert done.told() == "verified by commit", done.said
    assert "set-output" not in done.said
    assert not list(platform.folder.rglob("pwned"))
    other = server("plain", "other")
    done = at_push(other, f"refs/heads/{HOSTILE}", ZERO, other.head)
    assert done.told() == "verified by commit", done.said
    assert not list(other.folder.rglob("pwned"))
