"""A command line that makes no sense is answered with the one that was meant, to be copied as it stands."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo

MEANT = {
    "snapshot": "snapshot --agent implementer",
    "start": "start --agent reviewer",
    "start --agent": "start --agent reviewer",
    "start reviewer": "start --agent reviewer",
    "restore": "restore --agent implementer",
    "restore notes.txt": "restore --paths notes.txt --agent implementer",
    "block": 'block --agent implementer --finding "what is wrong"',
    "block reviewer 'no test'": 'block --agent reviewer --finding "no test"',
    "unblock --agent reviewer": "unblock --agent reviewer --finding F1",
    "resolve-drift": 'resolve-drift --note "what happened"',
    "resolve-drift --accept": 'resolve-drift --accept --note "what happened"',
    "resolve-drift 'a typo'": 'resolve-drift --note "a typo"',
    "init TASK-9 'my title'": 'init TASK-9 --title "my title"',
    "init TASK-9 my title": 'init TASK-9 --title "my title"',
    "init TASK-9 'cost: $5'": "init TASK-9 --title 'cost: $5'",
    "init": 'init TASK-1 --title "what is to be done"',
    "init TASK-9 --title ''": 'init TASK-9 --title "what is to be done"',
    "init TASK-9 --title x --agents a,a": "init TASK-9 --title x --agents a",
    "--agent dev snapshot": "snapshot --agent dev",
    "--agent=dev snapshot --done": "snapshot --agent dev --done",
    "--task TASK-1 --agent dev snapshot": "--task TASK-1 snapshot --agent dev",
    "snapshot -C sub --agent dev": "-C sub snapshot --agent dev",
    "snapshot --agnet dev": "snapshot --agent dev",
    "strat": "start --agent reviewer",
    "strat --agent validator": "start --agent validator",
    "help strat": "help start",
    "completion": "completion bash",
    "completion zhs": "completion zsh",
    "schema recrod": "schema record",
    "restore --agent init --round 0": "restore --agent init --round 1",
    "get --format jsno": "get --format json",
    "recover": "recover TASK-1",
    "nonsense": "-h",
    "purge TASK-1": "purge -h",
    "verify --no-such-thing": "verify -h",
    "install --notes": "install --notes origin",
    "verify --policy": "verify -h",
    "snap": "snapshot --agent implementer",
    "instal --notes": "install --notes origin",
    "push": "push origin",
}


def test_the_hint_is_the_line_that_was_meant(begun: Desk) -> None:
    """129, and one line to copy, with an agent of the context where one is missing."""
    for typed in MEANT:
        said = begun.refuses(*shlex.split(typed), code=129)
        assert said.splitlines()[-1] == f"hint: git taskctx {MEANT[typed]}"


def test_init_suggests_a_line_that_works_as_typed(desk: Desk) -> None:
    """It has a title, and an id that no task has, also once the first was purged."""
    for task in ("TASK-1", "TASK-2"):
        hint = desk.refuses("init", code=129).splitlines()[-1]
        assert hint == f'hint: git taskctx init {task} --title "what is to be done"'
        desk.ok(*shlex.split(hint.removeprefix("hint: git taskctx ")))
        desk.ok("purge")


def test_where_no_context_is_active_the_default_chain_is_meant(repo: GitRepo, tmp_path: Path) -> None:
    """A hint needs no context, and outside a repository not even that."""
    assert Desk(repo).refuses("start", code=129).endswith("hint: git taskctx start --agent implementer\n")
    assert Desk(repo).refuses("start", code=129, cwd=tmp_path).endswith("start --agent implementer\n")


def test_other_agents_of_the_context_are_known(desk: Desk) -> None:
    """The chain is that of the active context."""
    desk.init("--agents", "dev,checker")
    assert desk.refuses("start", code=129).endswith("hint: git taskctx start --agent checker\n")
    assert desk.refuses("snapshot", code=129).endswith("hint: git taskctx snapshot --agent dev\n")
    assert desk.refuses("block", "checker", "no test", code=129).endswith('--agent checker --finding "no test"\n')


def test_every_step_names_the_next(begun: Desk) -> None:
    """What is to be typed next stands on stderr after each verb that moves the chain, up to the commit."""
    begun.repo.write("parser.py", "mended\n")
    step, typed = "git taskctx snapshot --agent implementer", []
    while step.startswith("git taskctx "):
        typed.append(step.removeprefix("git taskctx "))
        said = begun.ok(*shlex.split(typed[-1])).err
        assert said.startswith("hint: ")
        step = said.splitlines()[-1].removeprefix("hint: ")
        assert len(typed) < 10, typed
    assert typed == [
        "snapshot --agent implementer",
        "start --agent reviewer",
        "snapshot --agent reviewer",
        "start --agent validator",
        "snapshot --agent validator --done",
    ]
    assert step == "git add -A && git commit"


def test_after_a_restore_the_drift_is_to_be_resolved(implemented: Desk) -> None:
    """While the budget stands the note comes next; where something still differs, a look at it does."""
    implemented.repo.write("new.txt", "new\n")
    implemented.repo.write("parser.py", "drift\n")
    implemented.ends(1, "verify")
    said = implemented.ok("restore", "--agent", "implementer", "--paths", "new.txt")
    assert said.err == "hint: git taskctx verify   # what still differs\n"
    said = implemented.ok("restore", "--agent", "implementer")
    assert said.err == 'hint: git taskctx resolve-drift --note "what happened"\n'
    said = implemented.ok("resolve-drift", "--note", "put back")
    assert said.err == "hint: git taskctx start --agent reviewer\n"


def test_status_tells_alternatives_apart(validated: Desk) -> None:
    """The second way out begins with "or"; the validated tree is told only while it stands."""
    assert "validated: every agent approved this tree\n" in validated.ok("status").out
    validated.repo.write("parser.py", "drift\n")
    said = validated.ok("status").out
    assert "validated: " not in said
    assert said.endswith(
        "next: git taskctx restore --agent validator\n"
        '  or: git taskctx resolve-drift --accept --note "what happened"   # keep it as it is now, '
        "which voids what was approved\n"
    )


def test_status_says_where_one_is_and_where_the_task_began(begun: Desk) -> None:
    """Another branch at the same commit is no drift, and both branches are named."""
    begun.repo.git("switch", "-q", "-c", "feature")
    assert begun.ok("status").out.splitlines()[1].startswith("on feature (the task began on main) at ")


def test_a_diff_is_found_from_everywhere(implemented: Desk) -> None:
    """`diff --path` is absolute, in text and in JSON."""
    below = implemented.repo.write("deep/down/file").parent
    path = implemented.ok("diff", "--path", cwd=below).out.removesuffix("\n")
    assert path == str(implemented.folder() / "implementer-1-incremental.diff.gz")
    assert implemented.data("diff", cwd=below)["path"] == path


def test_an_empty_diff_says_how_to_see_the_rest(reviewed: Desk) -> None:
    """An agent that changed nothing: the whole work is one command away."""
    assert reviewed.ok("diff").err == (
        "reviewer changed nothing in its snapshot 1\n"
        "hint: git taskctx diff --agent reviewer --round 1 --type from-base   # the whole work\n"
    )


def test_config_shows_what_is_in_force(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """No null where a default is worked out: who may edit, and who acts, with where that comes from."""
    values = desk.data("config")
    assert (values["chain.may_edit"], values["actor"]) == (["implementer", "reviewer"], "A U Thor")
    monkeypatch.setenv("GIT_TASKCTX_ACTOR", "ann")
    assert desk.data("config", "--show-origin")["actor"] == {"value": "ann", "origin": "GIT_TASKCTX_ACTOR"}


def test_a_personal_setting_that_does_not_read(desk: Desk) -> None:
    """`status` tells it while a task is active too, which itself goes on with what was frozen into its context."""
    where = "file:.git/config"
    key, value = (
        "unknown key taskctx.drift.strct",
        'taskctx.drift.strict: expected true or false, found the string "perhaps"',
    )
    for name, setting, told in (
        ("taskctx.drift.strct", "true", f"{where}: {key}; did you mean taskctx.drift.strict?"),
        ("taskctx.drift.strict", "perhaps", f"{where}: {value}"),
    ):
        begun = desk.data("status")["task"] is not None
        if not begun:
            desk.init()
        desk.repo.config(name, setting)
        assert desk.ok("status").err == f"warning: {told}\n"
        assert desk.ok("status", "--format", "json").document()["data"]["warnings"] == [told]
        desk.repo.git("config", "--unset", name)
        assert desk.ok("status").err == ""


def test_policy_counts_as_it_is_committed(desk: Desk) -> None:
    """A file that was edited and not committed is told where policy is shown and where a task begins with it."""
    apart = "as it is in the worktree does not count"
    for name, wrong, right in (
        (".taskctx.toml", "[qa]\nrequre = true\n", "[qa]\nrequire = true\n"),
        ("pyproject.toml", "[tool.taskctx.qa]\nrequre = true\n", "[tool.taskctx.qa]\nrequire = true\n"),
    ):
        unknown = "qa.requre" if name == ".taskctx.toml" else "tool.taskctx.qa.requre"
        desk.repo.write(name, wrong)
        said = desk.ok("config")
        assert said.err == f"warning: {name} {apart}: policy is read as it is committed\n"
        assert f"warning: {name} {apart}: policy is read from the base commit\n" in desk.init().err
        desk.ok("purge")
        desk.repo.commit("policy")
        said = desk.refuses("config", code=128)
        assert "git commit --" not in said
        desk.repo.write(name, right)
        said = desk.refuses("init", "TASK-1", "--title", "t", code=128)
        mended = f"git commit -- {name}   # policy is read as it is committed, not as it lies in the worktree"
        assert said == f"error: {name} at {desk.repo.head()[:12]}: unknown key {unknown}\nhint: {mended}\n"
        bare = GitRepo(desk.repo.path / "bare.git")
        desk.repo.git("clone", "-q", "--bare", ".", str(bare.path))
        assert "git commit --" not in Desk(bare).refuses("verify", "HEAD", "--policy", "HEAD", code=128)
        shutil.rmtree(bare.path)
        desk.repo.git("commit", "-q", "-m", "mended", "--", name)
        assert desk.ok("config").err == ""
        desk.repo.git("rm", "-q", name)
        desk.repo.commit("none")
    desk.repo.write("pyproject.toml", "[project]\nname = 'a'\n")
    assert desk.ok("config").err == ""


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({".taskctx.toml": "#" * (1024 * 1024 + 1)}, ".taskctx.toml at {head} has more than 1048576 bytes"),
        ({".taskctx.toml": "#" * (256 * 1024 + 1)}, ".taskctx.toml at {head} has 262145 bytes, more than 262144"),
        ({"pyproject.toml": "#" * (16 * 1024 * 1024 + 1)}, "pyproject.toml at {head} has more than 16777216 bytes"),
        (
            {".taskctx.toml": '[scope]\nmacros_file = "m.json"\n', "m.json": " " * (1024 * 1024 + 1)},
            "m.json at {head} has more than 1048576 bytes",
        ),
    ],
)
def test_committed_files_are_not_read_past_their_limit(repo: GitRepo, files: dict[str, str], told: str) -> None:
    """Policy and macros that nobody can have written by hand: one line, and nothing of them is held in memory."""
    for name, text in files.items():
        repo.write(name, text)
    repo.write("tasks/TASK-1.task.yaml", "id: TASK-1\ntitle: t\nstatus: in_progress\ndescription: d\n"
               "acceptance_criteria: [a]\nscope: {in: [':x']}\n")  # fmt: skip
    repo.commit()
    said = Desk(repo).refuses("init", "TASK-1", code=128)
    assert said.startswith(f"error: {told.format(head=repo.head()[:12])}\n")


def test_list_tells_where_each_context_is(begun: Desk, tmp_path: Path) -> None:
    """Active in another worktree, with its folder; put away; over, with the commit."""
    other = tmp_path / "other"
    begun.repo.git("worktree", "add", "-q", "-b", "other", str(other))
    assert f"elsewhere ({begun.repo.path})" in Desk(GitRepo(other)).ok("list").out
    Desk(GitRepo(other)).ok("init", "TASK-2", "--title", "Another")
    assert f"elsewhere ({other})" in begun.ok("list").out
    begun.ok("purge")
    assert "put away" in begun.ok("list").out
    begun.ok("recover", "TASK-1")
    begun.validate()
    begun.repo.commit("mended")
    begun.ok("verify")
    assert f"over ({begun.repo.git('rev-parse', '--short=7', 'HEAD').strip()})" in begun.ok("list").out


def test_long_lists_are_cut(begun: Desk) -> None:
    """Twenty paths at most, then how many more there are."""
    for number in range(30):
        begun.repo.write(f"new/{number:02}.txt", "new\n")
    said = begun.ok("snapshot", "--agent", "implementer").out.splitlines()
    assert [line for line in said if "new, untracked" in line][-1].endswith("new/19.txt")
    assert said[-1] == "  and 10 more"
    for number in range(30):
        begun.repo.write(f"more/{number:02}.txt", "new\n")
    assert "  and 10 more\n" in begun.ends(1, "verify").out
    assert begun.ok("resolve-drift", "--accept", "--note", "all of it").out.endswith("more/19.txt\n  and 10 more\n")


@pytest.mark.parametrize("verb", ["set", "edit", "note", "write"])
def test_there_is_no_generic_verb(begun: Desk, verb: str) -> None:
    """No free-form notes and no `set`."""
    begun.refuses(verb, "title=other", code=129)
