"""Which untracked files are part of a tree: ignore rules wherever git finds them."""

from __future__ import annotations

import os

from engine import Cases, agree, write_home
from gitrepo import GitRepo

ignoring = Cases()


def some_files(repo: GitRepo, *more: str) -> None:
    for name in ("keep", "drop.o", "d/keep", "d/drop.o", "d/e/f/drop.o", "build/out", "d/build/out", *more):
        repo.write(name, name)


@ignoring.fast
def simple_patterns(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n/build/\n")
    some_files(repo)


@ignoring.fast
def nested_negation(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n")
    repo.write("d/.gitignore", "!drop.o\n")
    repo.write("d/e/.gitignore", "*\n!f/\n!f/drop.o\n")
    some_files(repo)


@ignoring.fast
def negation_under_an_ignored_folder_is_lost(repo: GitRepo) -> None:
    repo.write(".gitignore", "build/\n!build/out\n")
    some_files(repo)


@ignoring.fast
def everything_but(repo: GitRepo) -> None:
    repo.write(".gitignore", "/*\n!/d\n/d/*\n!/d/e\n!.gitignore\n")
    some_files(repo)


@ignoring.fast
def pattern_syntax(repo: GitRepo) -> None:
    repo.write(".gitignore", "**/f/*.o\na/**/z\n[a-c]x\n?y\n\\!bang\n\\#hash\nfoo\\*\n[[:digit:]]q\n[!a]w\n")
    some_files(repo, "a/b/c/z", "a/z", "bx", "dx", "1y", "!bang", "#hash", "foo*", "foobar", "1q", "qq", "bw", "aw")


@ignoring.fast
def trailing_spaces_and_tabs(repo: GitRepo) -> None:
    repo.write(".gitignore", "one   \ntwo\\ \nthree\t\n")
    some_files(repo, "one", "two ", "two", "three", "three\t")


@ignoring.fast
def crlf(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\r\nbuild\r\n")
    some_files(repo, "build\r")


@ignoring.fast
def byte_order_mark(repo: GitRepo) -> None:
    repo.write(".gitignore", b"\xef\xbb\xbf*.o\n")
    some_files(repo)


@ignoring.fast
def no_newline_at_the_end(repo: GitRepo) -> None:
    repo.write(".gitignore", "build\n*.o")
    some_files(repo)


@ignoring
def not_utf8(repo: GitRepo) -> None:
    repo.write(".gitignore", b"caf\xe9\n*.o\n")
    some_files(repo)
    repo.write(b"caf\xe9", "x")
    repo.write("café", "x")


@ignoring
def behind_a_link(repo: GitRepo) -> None:
    repo.write("rules", "*.o\n")
    repo.symlink(".gitignore", "rules")
    some_files(repo)


@ignoring
def behind_a_dangling_link(repo: GitRepo) -> None:
    repo.symlink(".gitignore", "nowhere")
    some_files(repo)


@ignoring.fast
def a_folder(repo: GitRepo) -> None:
    repo.write(".gitignore/inside", "*.o\n")
    some_files(repo)


@ignoring.fast
def deleted_but_staged(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n")
    some_files(repo)
    repo.commit()
    repo.remove(".gitignore")


@ignoring.fast
def changed_in_the_same_step(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n")
    some_files(repo)
    repo.commit()
    repo.write(".gitignore", "build\n")


@ignoring.fast
def ignores_itself(repo: GitRepo) -> None:
    repo.write(".gitignore", "*\n")
    some_files(repo)


@ignoring.fast
def info_exclude(repo: GitRepo) -> None:
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    (repo.git_dir() / "info/exclude").write_text("*.o\n")
    some_files(repo)


@ignoring.fast
def excludes_file_with_a_tilde(repo: GitRepo) -> None:
    write_home("my ignores", "*.o\n")
    repo.config("core.excludesFile", "~/my ignores")
    some_files(repo)


@ignoring.fast
def excludes_file_in_xdg(repo: GitRepo) -> None:
    write_home(".config/git/ignore", "*.o\n")
    some_files(repo)


@ignoring.fast
def excludes_file_of_another_global_config(repo: GitRepo) -> None:
    write_home("ignores", "*.o\n")
    write_home("other", "[core]\n\texcludesFile = ~/ignores\n")
    repo.env["GIT_CONFIG_GLOBAL"] = os.path.expandvars("$HOME/other")
    some_files(repo)


@ignoring.fast
def excludes_file_counted_in_the_environment(repo: GitRepo) -> None:
    write_home("ignores", "*.o\n")
    repo.env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.excludesFile", "GIT_CONFIG_VALUE_0": "~/ignores"}
    some_files(repo)


@ignoring.fast
def excludes_file_by_remote(repo: GitRepo) -> None:
    write_home("ignores", "*.o\n")
    write_home("more", "[core]\n\texcludesFile = ~/ignores\n")
    repo.git("config", "--global", "includeIf.hasconfig:remote.*.url:https://example.com/**.path", "~/more")
    repo.git("remote", "add", "origin", "https://example.com/a.git")
    some_files(repo)


@ignoring.fast
def tracked_but_ignored(repo: GitRepo) -> None:
    some_files(repo)
    repo.commit()
    repo.write(".gitignore", "*.o\n")
    repo.write("drop.o", "changed")
    repo.write("new.o", "new")


@ignoring.fast
def tracked_but_ignored_and_deleted(repo: GitRepo) -> None:
    some_files(repo)
    repo.commit()
    repo.write(".gitignore", "*.o\nbuild\n")
    repo.remove("drop.o", "build")


@ignoring.fast
def added_by_force(repo: GitRepo) -> None:
    repo.write(".gitignore", "*.o\n")
    some_files(repo)
    repo.git("add", "-f", "drop.o")
    repo.write("drop.o", "changed after that")


@ignoring.fast
def removed_from_the_index_and_ignored(repo: GitRepo) -> None:
    some_files(repo)
    repo.commit()
    repo.git("rm", "-q", "--cached", "drop.o")
    repo.write(".gitignore", "*.o\n")


@ignoring.fast
def ignore_case(repo: GitRepo) -> None:
    repo.config("core.ignoreCase", "true")
    repo.write(".gitignore", "*.O\nBUILD\n")
    some_files(repo)


@ignoring.fast
def status_that_hides_untracked_files(repo: GitRepo) -> None:
    repo.config("status.showUntrackedFiles", "no")
    repo.config("status.relativePaths", "false")
    some_files(repo)


@ignoring.fast
def untracked_cache(repo: GitRepo) -> None:
    repo.config("core.untrackedCache", "true")
    some_files(repo)
    repo.commit()
    repo.git("update-index", "--force-untracked-cache")
    repo.git("status")
    repo.write("new", "x")
    repo.write("d/.gitignore", "later\n")
    repo.write("d/later", "x")


@ignoring.fast
def empty_folders(repo: GitRepo) -> None:
    repo.at("empty/deep").mkdir(parents=True)
    some_files(repo)


@ignoring.fast
def our_own_folder(repo: GitRepo) -> None:
    repo.write(".agent-output/.gitignore", "*\n")
    repo.write(".agent-output/active", "T-1\n")
    some_files(repo)


@ignoring.table
def test_ignored_as_git_does(repo: GitRepo, build) -> None:
    """A file is in the tree when git would add it, and only then."""
    build(repo)
    agree(repo, declines=build.declines)
