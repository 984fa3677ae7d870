"""What a CI job is about: which commit, what is new in it, and whose rules apply.

Read only from the platform's variables and event. Branch names and titles there are untrusted: only commits, refs and
addresses of the expected form are used.

Sources: GitHub's "Webhook events and payloads" and "Events that trigger workflows"; GitLab's "Predefined CI/CD
variables reference".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from git_taskctx.errors import CouldNotTell, Usage
from git_taskctx.git.refs import BRANCHES
from git_taskctx.model.oids import is_oid
from git_taskctx.model.values import dataclass, replace
from git_taskctx.situation import Situation

_ADDRESS = re.compile(r"(?:https?|ssh|git|file)://[^\s\x00-\x1f]+")
NAME_A_RANGE = Situation("proof.name_a_range")
LONGEST = 4096
"""Characters of a ref or an address."""
WHOLE = ("heads/", "tags/", "remotes/")
"""How a full ref begins, without `refs/`."""


@dataclass(frozen=True)
class Named:
    """A commit named by oid, by a ref of the remote, or by the user's words."""

    oid: str | None = None
    ref: str | None = None
    """A remote ref that contains it, for a server that does not serve commits by oid."""
    words: str | None = None

    def __str__(self) -> str:
        """Return the most exact name."""
        return self.oid or self.words or self.ref or "nothing"


@dataclass(frozen=True)
class CiJob:
    """What a job is about."""

    what: str
    """Short description, as in `pull request 7`."""
    tip: Named
    bases: tuple[Named, ...] = ()
    """What came before; the first one available counts. Empty: the tip is judged alone."""
    merge: Named | None = None
    """The platform's merge of base and tip; its first parent is the base while it merges the tip."""
    before: str | None = None
    """Oid of the ref before a push, whether or not the tip descends from it."""
    trusted: Named | None = None
    """The default branch, if another ref was pushed: nothing in it is new, and its rules apply."""
    home: str | None = None
    """Address of the target project, if `origin` is a fork of it."""
    fork: str | None = None
    """Address of the fork that the change comes from."""


def read_job(environ: Mapping[str, str], event: Any) -> CiJob:
    """Return what the job of this platform is about; `event` is the JSON in GitHub's `GITHUB_EVENT_PATH`.

    Raises: Usage on an unknown platform; CouldNotTell where variables are missing or malformed.
    """
    if environ.get("GITHUB_ACTIONS") == "true":
        return _github(environ, event)
    if environ.get("GITLAB_CI") == "true":
        return _gitlab(environ)
    raise Usage("this is not a job of GitHub or GitLab, so the commits must be named", NAME_A_RANGE)


def name_job(revision: str) -> CiJob:
    """Return the job for `REV` or `A..B`. Raises: Usage for `A...B`."""
    start, dots, end = revision.partition("..")
    if end.startswith("."):
        then = Situation("proof.not_a_range", start=start, end=end[1:], job=True)
        raise Usage(f"'{revision}' is not a range with a base", then)
    if not dots:
        return CiJob(revision, name_commit(revision))
    return CiJob(revision, name_commit(end or "HEAD"), (name_commit(start or "HEAD"),))


def name_commit(text: str) -> Named:
    """Return the commit that a user names: an oid, a ref, or a local or remote branch. Raises: Usage when empty.

    A tag must be given as `tags/v1`; otherwise whoever may push tags could replace a branch.
    """
    if is_oid(text):
        return Named(text)
    if not text:
        raise Usage("no commit is named", NAME_A_RANGE)
    if text.startswith(("refs/", *WHOLE)):
        whole = f"refs/{text.removeprefix('refs/')}"
        return Named(ref=whole.replace("refs/remotes/origin/", BRANCHES, 1), words=text)
    return Named(ref=BRANCHES + text.removeprefix("origin/"), words=text)


def _github(environ: Mapping[str, str], event: Any) -> CiJob:
    name, sha = environ.get("GITHUB_EVENT_NAME", ""), _oid(environ.get("GITHUB_SHA"))
    if not isinstance(event, Mapping):
        raise CouldNotTell("the job does not say which event it is about (GITHUB_EVENT_PATH)", NAME_A_RANGE)
    if isinstance(event.get("pull_request"), Mapping):
        return _pull_request(event, sha, is_target=name == "pull_request_target")
    default = _branch(_at(event, "repository", "default_branch"))
    if name == "merge_group":
        head, base = (_oid(_at(event, "merge_group", f"{which}_sha")) for which in ("head", "base"))
        if head is None or base is None:
            raise CouldNotTell("the merge group names no commits", NAME_A_RANGE)
        refs = (_ref(_at(event, "merge_group", f"{which}_ref")) for which in ("head", "base"))
        return CiJob("merge group", Named(head, next(refs)), (Named(base, next(refs)),))
    if name == "push":
        ref = _ref(event.get("ref")) or ""
        if event.get("deleted") is True or _is_zero(event.get("after")):
            raise CouldNotTell("the push deleted its ref, and there is nothing to prove")
        return _push(ref, Named(sha or _oid(event.get("after")), ref or None), _oid(event.get("before")), default)
    _require_own(event, name, sha)
    return _alone(name or "job", sha, _ref(environ.get("GITHUB_REF")), default)


def _require_own(event: Mapping[str, Any], name: str, sha: str | None) -> None:
    """Refuse an event about another commit than the job's. Raises: CouldNotTell."""
    about = [_at(event, kind, "head_sha") for kind in ("workflow_run", "check_suite", "check_run")]
    about += [event.get("sha"), _at(event, "deployment", "sha")]
    other = next((one for one in map(_oid, about) if one not in (None, sha)), None)
    if _at(event, "issue", "pull_request") is not None:
        other = f"pull request {_at(event, 'issue', 'number')}"
    if other is not None:
        raise CouldNotTell(f"the event {name} is about {other}, and the job about another commit", NAME_A_RANGE)


def _pull_request(event: Mapping[str, Any], sha: str | None, *, is_target: bool) -> CiJob:
    number = _at(event, "pull_request", "number")
    head, base = (_oid(_at(event, "pull_request", which, "sha")) for which in ("head", "base"))
    if head is None or base is None or not isinstance(number, int):
        raise CouldNotTell("the pull request names no commits", NAME_A_RANGE)
    projects = [_at(event, "pull_request", which, "repo", "id") for which in ("head", "base")]
    return CiJob(
        what=f"pull request {number}",
        tip=Named(head, f"refs/pull/{number}/head"),
        bases=(Named(sha if is_target and sha else base, _branch(_at(event, "pull_request", "base", "ref"))),),
        merge=Named(sha, f"refs/pull/{number}/merge") if sha is not None and not is_target else None,
        fork=_address(_at(event, "pull_request", "head", "repo", "clone_url")) if projects[0] != projects[1] else None,
    )


def _gitlab(environ: Mapping[str, str]) -> CiJob:
    sha = _oid(environ.get("CI_COMMIT_SHA"))
    if environ.get("CI_MERGE_REQUEST_IID"):
        return _merge_request(environ, sha)
    default = _branch(environ.get("CI_DEFAULT_BRANCH"))
    source, branch = environ.get("CI_PIPELINE_SOURCE", ""), _branch(environ.get("CI_COMMIT_BRANCH"))
    if source == "push" and branch is not None:
        return _push(branch, Named(sha, branch), _oid(environ.get("CI_COMMIT_BEFORE_SHA")), default)
    tag = environ.get("CI_COMMIT_TAG")
    return _alone(source or "job", sha, _ref(f"refs/tags/{tag}") if tag else branch, default)


def _merge_request(environ: Mapping[str, str], sha: str | None) -> CiJob:
    """Read a merge request pipeline.

    `detached`: the commit is the source branch's. `merged_result`: it merges that into the target. `merge_train`: it is
    what the target will become, and is proved itself.
    """
    kind, number = environ.get("CI_MERGE_REQUEST_EVENT_TYPE", "detached"), environ["CI_MERGE_REQUEST_IID"]
    here, source, target = (
        environ.get(name)
        for name in ("CI_PROJECT_ID", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID")
    )
    is_fork = source != target
    home, fork = (
        _address(f"{environ.get(name)}.git")
        for name in ("CI_MERGE_REQUEST_PROJECT_URL", "CI_MERGE_REQUEST_SOURCE_PROJECT_URL")
    )
    into = _branch(environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"))
    bases = [
        Named(_oid(environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA")), into),
        Named(_oid(environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA"))),
    ]
    job = CiJob(
        what=f"merge request {number}",
        tip=Named(sha, f"refs/merge-requests/{number}/head"),
        bases=tuple(base for base in bases if base.oid or base.ref),
        home=home if is_fork and here == source else None,
        fork=fork if is_fork and here != source else None,
    )
    if kind == "merge_train":
        return replace(job, what=f"merge train of {job.what}", tip=Named(sha, f"refs/merge-requests/{number}/train"))
    head = _oid(environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"))
    if kind == "merged_result" and head is not None:
        return replace(job, tip=Named(head, job.tip.ref), merge=Named(sha))
    return job


def _push(ref: str, tip: Named, before: str | None, default: str | None) -> CiJob:
    """Return the job of a push: what is new since `before`, or since the default branch for a new ref.

    Only the default branch sets its own rules: on another one, an earlier push could loosen them.
    """
    what = f"push to {ref}"
    bases = (Named(before),) if before is not None else ()
    if ref == default or default is None:
        return CiJob(what, tip, bases, before=before)
    trusted = Named(ref=default)
    return CiJob(what, tip, (*bases, trusted) if ref.startswith(BRANCHES) else (), before=before, trusted=trusted)


def _alone(what: str, sha: str | None, ref: str | None, default: str | None) -> CiJob:
    return CiJob(what, Named(sha, ref), trusted=Named(ref=default) if default not in (None, ref) else None)


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _is_zero(value: Any) -> bool:
    return isinstance(value, str) and set(value) == {"0"}


def _oid(value: Any) -> str | None:
    return value if isinstance(value, str) and is_oid(value) and not _is_zero(value) else None


def _ref(value: Any) -> str | None:
    """Return a full ref that git accepts as the source of a fetch and cannot misread."""
    is_ref = _is_text(value) and value.startswith("refs/") and not re.search(r"[\s\x00-\x1f\x7f:*?\[\\^~]|\.\.", value)
    return value if is_ref else None


def _branch(name: Any) -> str | None:
    return _ref(BRANCHES + name) if isinstance(name, str) and name else None


def _address(value: Any) -> str | None:
    return value if _is_text(value) and _ADDRESS.fullmatch(value) else None


def _is_text(value: Any) -> bool:
    """Return whether a value can be a word of a command: JSON also allows lone surrogates and texts of any length."""
    if not isinstance(value, str) or len(value) > LONGEST:
        return False
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
