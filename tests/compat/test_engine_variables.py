"""What git reads from the environment and the configuration, in every combination."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from engine import Cases, agree, read, witness, write_home
from gitrepo import GitRefused, GitRepo

from git_taskctx.errors import TaskctxError

GIT_DIRS = {
    "no dir": None,
    "absolute dir": "{main}/.git",
    "relative dir": "{up}.git",
    "linked dir": "{main}/.git/worktrees/linked",
}
WORK_TREES = {"no tree": None, "absolute tree": "{main}", "relative tree": "{up}.", "other tree": "{other}"}
INDEXES = {"no index": None, "absolute index": "{main}/.git/second", "relative index": "{up}.git/second"}
PLACES = {"top": "{main}", "below": "{main}/d/e", "linked": "{linked}", "outside": "{other}"}


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    """A repository, a linked worktree of it, and a folder with other files; all that a variable may name."""
    main = GitRepo.init(tmp_path / "main")
    main.write("a", "x")
    main.write("d/e/f", "x")
    main.commit()
    main.git("worktree", "add", "-q", "../linked")
    main.git("read-tree", "HEAD", env={"GIT_INDEX_FILE": ".git/second"})
    for name in ("main", "linked", "other"):
        GitRepo(tmp_path / name).write("a", name)
        GitRepo(tmp_path / name).write(f"d/{name}", "new")
    return {name: os.fspath(tmp_path / name) for name in ("main", "linked", "other")}


@pytest.mark.parametrize(
    "cwd", ["linked", *(pytest.param(cwd, marks=pytest.mark.deep) for cwd in ("top", "below", "outside"))]
)
@pytest.mark.parametrize("git_dir", GIT_DIRS)
def test_every_combination_of_variables(places: dict[str, str], git_dir: str, cwd: str) -> None:
    """Wherever git finds a worktree we find the same, with the same index; where it finds none, neither do we."""
    answered = 0
    for tree, index in itertools.product(WORK_TREES, INDEXES):
        up = {"top": "", "below": "../../", "linked": "../main/", "outside": "../main/"}[cwd]
        named = {"GIT_DIR": GIT_DIRS[git_dir], "GIT_WORK_TREE": WORK_TREES[tree], "GIT_INDEX_FILE": INDEXES[index]}
        env = {name: value.format(up=up, **places) for name, value in named.items() if value is not None}
        view = GitRepo(Path(PLACES[cwd].format(**places)), env=env)
        try:
            expected = view.oracle()
            top = Path(view.git("rev-parse", "--show-toplevel"))
        except GitRefused:
            with pytest.raises(TaskctxError) as caught:
                read(view)
            assert caught.value.exit_code == 128
            continue
        before = witness(view)
        assert {read(view), read(view, exact=True)} == {expected}, (tree, index, top)
        assert witness(view) == before
        answered += 1
    assert answered or (git_dir, cwd) == ("no dir", "outside")


varied = Cases()


@varied.fast
def nothing_said(repo: GitRepo) -> None:
    pass


@varied.fast
def tracing(repo: GitRepo) -> None:
    repo.env |= {"GIT_TRACE": "1", "GIT_TRACE_SETUP": "1", "GIT_TRACE2": "1", "GIT_TRACE_PERFORMANCE": "2"}


@varied
def tracing_by_configuration(repo: GitRepo) -> None:
    repo.git("config", "--global", "trace2.normalTarget", "2")


@varied.fast
def other_words_and_colours(repo: GitRepo) -> None:
    repo.env |= {"LANGUAGE": "de", "LANG": "de_DE.UTF-8", "LC_ALL": "", "GIT_PAGER": "false", "GIT_ADVICE": "1"}
    for key, value in {
        "color.ui": "always", "color.status": "always", "column.ui": "always", "status.short": "true",
        "status.branch": "false", "status.showStash": "true", "status.renames": "copies", "status.aheadBehind": "true",
        "status.submoduleSummary": "true", "status.displayCommentPrefix": "true", "core.quotePath": "false",
        "core.commentChar": "%", "core.abbrev": "7", "core.pager": "false", "pager.status": "true",
        "diff.noprefix": "true", "diff.renames": "copies", "diff.orderFile": "/nonexistent",
        "diff.relative": "true", "alias.status": "!false", "core.logAllRefUpdates": "false",
    }.items():  # fmt: skip
        repo.config(key, value)


@varied.fast
def ways_of_storing(repo: GitRepo) -> None:
    for key, value in {
        "core.compression": "0", "core.looseCompression": "9", "core.preloadIndex": "false", "core.fsync": "all",
        "core.sharedRepository": "group", "core.createObject": "link", "fetch.fsckObjects": "true",
        "transfer.fsckObjects": "true", "receive.unpackLimit": "1", "transfer.unpackLimit": "1", "pack.threads": "1",
        "add.interactive.useBuiltin": "false", "core.fsyncMethod": "batch",
    }.items():  # fmt: skip
        repo.config(key, value)


@varied.fast
def optional_locks_and_lazy_fetch(repo: GitRepo) -> None:
    repo.env |= {"GIT_OPTIONAL_LOCKS": "1", "GIT_NO_LAZY_FETCH": "0", "GIT_TERMINAL_PROMPT": "1"}


@varied.fast
def diffs_and_pathspecs(repo: GitRepo) -> None:
    repo.env |= {
        "GIT_EXTERNAL_DIFF": "false", "GIT_DIFF_OPTS": "-u0", "GIT_PREFIX": "d/", "GIT_REFLOG_ACTION": "x",
        "GIT_LITERAL_PATHSPECS": "0", "GIT_ICASE_PATHSPECS": "1",
    }  # fmt: skip


@varied.fast
def namespaces_and_ceilings(repo: GitRepo) -> None:
    repo.env |= {
        "GIT_NAMESPACE": "x", "GIT_CEILING_DIRECTORIES": os.fspath(repo.path.parent), "GIT_DEFAULT_HASH": "sha256",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM": "0", "GIT_NO_REPLACE_OBJECTS": "0",
    }  # fmt: skip


@varied.declined("line ends")
def configuration_of_the_system(repo: GitRepo) -> None:
    place = write_home("system", "[core]\n\tautocrlf = true\n")
    repo.env |= {"GIT_CONFIG_NOSYSTEM": "0", "GIT_CONFIG_SYSTEM": os.fspath(place)}


@varied.declined("line ends")
def configuration_of_another_home(repo: GitRepo) -> None:
    place = write_home("elsewhere/.gitconfig", "[core]\n\tautocrlf = true\n")
    repo.env |= {"HOME": os.fspath(place.parent), "XDG_CONFIG_HOME": os.fspath(place.parent)}


@varied.fast
def configuration_that_includes_itself_by_condition(repo: GitRepo) -> None:
    repo.git("config", "--global", "includeIf.gitdir/i:/NOWHERE/.path", "~/none")
    repo.git("config", "--global", "include.path", "~/none-either")


@varied
def grafts_of_another_file(repo: GitRepo) -> None:
    place = write_home("grafts", f"{repo.head()} {repo.commit('second')}\n")
    repo.env["GIT_GRAFT_FILE"] = os.fspath(place)


@varied.fast
def shallow_by_another_file(repo: GitRepo) -> None:
    place = write_home("shallow", f"{repo.commit('second')}\n")
    repo.env["GIT_SHALLOW_FILE"] = os.fspath(place)


@varied.table
def test_the_tree_is_the_same_whatever_is_set(repo: GitRepo, build) -> None:
    """Variables and settings change the tree where they change git's own, and nowhere else."""
    repo.write("a", "x\r\n")
    repo.write("d/e/f", "x\n")
    repo.commit()
    build(repo)
    repo.write("a", "changed\r\n")
    repo.write("d/new", "x\n")
    repo.remove("d/e")
    agree(repo, declines=build.declines)
    agree(repo, declines=build.declines, cwd=repo.at("d"))


@pytest.mark.parametrize(
    "setting", ["core.repositoryFormatVersion=99", "extensions.unknown=true", "core.compression=x"]
)
def test_settings_that_git_refuses(repo: GitRepo, setting: str) -> None:
    """A repository that git does not take is refused, in one line."""
    repo.write("a", "x")
    repo.config("core.repositoryFormatVersion", "1")
    repo.config(*setting.split("="))
    with pytest.raises(GitRefused):
        repo.oracle()
    with pytest.raises(TaskctxError) as caught:
        read(repo)
    assert caught.value.exit_code == 128
    assert caught.value.message.isprintable()
