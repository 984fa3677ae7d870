"""What becomes of a file's bytes on the way into a tree: line ends and the attributes that say so."""

from __future__ import annotations

import os

import pytest
from engine import Cases, agree, write_home
from gitrepo import GitRepo

converted = Cases()

CRLF = b"one\r\ntwo\r\n"
MIXED = b"one\r\ntwo\nthree\r\n"


def some_line_ends(repo: GitRepo) -> None:
    repo.write("crlf", CRLF)
    repo.write("mixed", MIXED)
    repo.write("lf", b"one\ntwo\n")
    repo.write("lone-cr", b"one\rtwo\r")
    repo.write("binary", b"one\r\n\0two\r\n")
    repo.write("nul-late", b"x\r\n" * 4000 + b"\0")
    repo.write("control", b"\x01\x02\x03\x04\r\nabc\r\n")


@converted.declined("line ends")
def autocrlf_true(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "true")
    some_line_ends(repo)


@converted.declined("line ends")
def autocrlf_input(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "input")
    some_line_ends(repo)


@converted.declined("line ends")
def autocrlf_of_the_user(repo: GitRepo) -> None:
    repo.git("config", "--global", "core.autocrlf", "true")
    some_line_ends(repo)


@converted.declined("line ends")
def autocrlf_on_the_command_line(repo: GitRepo) -> None:
    some_line_ends(repo)
    repo.env["GIT_CONFIG_PARAMETERS"] = "'core.autocrlf'='true'"


@converted.declined("line ends")
def autocrlf_counted_in_the_environment(repo: GitRepo) -> None:
    some_line_ends(repo)
    repo.env |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.autocrlf", "GIT_CONFIG_VALUE_0": "input"}


@converted.declined("line ends")
def autocrlf_in_a_config_of_its_own(repo: GitRepo) -> None:
    some_line_ends(repo)
    write_home("other", "[core]\n\tautocrlf = true\n[include]\n\tpath = .gitconfig\n")
    repo.env["GIT_CONFIG_GLOBAL"] = os.path.expandvars("$HOME/other")


@converted.declined("line ends")
def crlf_already_in_the_index_stays(repo: GitRepo) -> None:
    repo.write("a", CRLF)
    repo.commit()
    repo.config("core.autocrlf", "true")
    repo.write("a", CRLF + b"three\r\n")


@converted.declined(r"\.gitattributes")
def crlf_in_the_index_under_text(repo: GitRepo) -> None:
    repo.write("a", CRLF)
    repo.commit()
    repo.write(".gitattributes", "* text\n")
    repo.write("a", CRLF + b"three\r\n")


@converted.declined("line ends")
def safecrlf_that_would_refuse(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "input")
    repo.write("a", MIXED)


@converted.declined("line ends")
def safecrlf_warn(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "true")
    repo.config("core.safecrlf", "warn")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def text_auto(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text=auto\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def text_set_unset_and_eol(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\nlf -text\nmixed eol=crlf\ncrlf text eol=lf\nbinary binary\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def macro_attributes(repo: GitRepo) -> None:
    repo.write(".gitattributes", "[attr]mine text eol=lf\n* mine\nmixed -mine binary\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def nested_attributes(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    repo.write("d/.gitattributes", "*.bin -text\n")
    repo.write("d/a.bin", CRLF)
    repo.write("d/a.txt", CRLF)
    repo.write("d/e/.gitattributes", "*.bin text\n")
    repo.write("d/e/a.bin", CRLF)


@converted.declined(r"\.gitattributes")
def info_attributes(repo: GitRepo) -> None:
    (repo.git_dir() / "info").mkdir(exist_ok=True)
    (repo.git_dir() / "info/attributes").write_text("* text\n")
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)


@converted.declined("line ends")
def attributes_file_of_the_user(repo: GitRepo) -> None:
    write_home("attrs", "* text\n")
    repo.git("config", "--global", "core.attributesFile", "~/attrs")
    some_line_ends(repo)


@converted.declined("line ends")
def attributes_of_the_user_in_xdg(repo: GitRepo) -> None:
    write_home(".config/git/attributes", "* text\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def attributes_behind_a_link_are_ignored(repo: GitRepo) -> None:
    repo.write("real", "* text\n")
    repo.symlink(".gitattributes", "real")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def attributes_changed_in_the_same_step(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)
    repo.commit()
    repo.write(".gitattributes", "* text\n")


@converted.declined(r"\.gitattributes")
def attributes_deleted_in_the_same_step(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    some_line_ends(repo)
    repo.commit()
    repo.remove(".gitattributes")
    repo.write("crlf", CRLF + b"three\r\n")


@converted.declined(r"\.gitattributes")
def attributes_changed_and_the_files_touched(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* -text\n")
    some_line_ends(repo)
    repo.commit()
    repo.write(".gitattributes", "* text\n")
    for name in ("crlf", "mixed", "binary"):
        os.utime(repo.at(name), (1_700_000_000, 1_700_000_000))


@converted.declined(r"\.gitattributes")
def attributes_with_crlf_and_comments(repo: GitRepo) -> None:
    repo.write(".gitattributes", b'# all\r\n\r\n"cr\\154f" text\r\nlf text\r\n')
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def attributes_staged_and_deleted(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    repo.add()
    repo.remove(".gitattributes")
    some_line_ends(repo)


@converted.declined("line ends")
def include_if_gitdir(repo: GitRepo) -> None:
    write_home("more", "[core]\n\tautocrlf = true\n")
    repo.git("config", "--global", f"includeIf.gitdir:{repo.path}/.path", "~/more")
    some_line_ends(repo)


@converted.declined("line ends")
def include_if_on_branch(repo: GitRepo) -> None:
    write_home("more", "[core]\n\tautocrlf = true\n")
    repo.git("config", "--global", "includeIf.onbranch:main.path", "~/more")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def large_text_file(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text=auto\n")
    repo.write("a", b"line\r\n" * 200_000)


@converted.fast
def big_file_threshold(repo: GitRepo) -> None:
    repo.config("core.bigFileThreshold", "1k")
    repo.write("a", b"0123456789" * 1000)


@converted.declined("line ends")
def safecrlf_true(repo: GitRepo) -> None:
    repo.config("core.autocrlf", "input")
    repo.config("core.safecrlf", "true")
    repo.write("a", MIXED)


@converted.declined("line ends")
def autocrlf_said_in_other_words(repo: GitRepo) -> None:
    config = repo.git_dir() / "config"
    config.write_text(config.read_text() + "[core]\n\tautocrlf\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def eol_of_the_configuration(repo: GitRepo) -> None:
    repo.config("core.eol", "crlf")
    repo.write(".gitattributes", "* text=auto\nlf text\n")
    some_line_ends(repo)


@converted.declined(r"\.gitattributes")
def attributes_of_old(repo: GitRepo) -> None:
    repo.write(".gitattributes", "crlf crlf\nmixed crlf=input\nlf -crlf\nbinary crlf\n")
    some_line_ends(repo)


@converted.declined("line ends")
def autocrlf_and_text_auto_of_files_with_crlf_in_the_index(repo: GitRepo) -> None:
    some_line_ends(repo)
    repo.write(".gitattributes", "* text=auto\nmixed text eol=lf\n")
    repo.git("-c", "core.attributesFile=/dev/null", "add", "-A")
    repo.git("update-index", "--cacheinfo", f"100644,{repo.git('hash-object', '-w', '--no-filters', 'crlf')},crlf")
    repo.commit_staged()
    repo.write("crlf", CRLF + b"three\r\n")
    repo.write("mixed", MIXED + b"four\r\n")


@converted.declined("sparse")
def attributes_left_out_by_a_sparse_checkout(repo: GitRepo) -> None:
    repo.write(".gitattributes", "d/*.x text\n")
    repo.write("d/.gitattributes", "*.y text\n")
    repo.write("d/a.x", "x\n")
    repo.write("d/a.y", "x\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "/d/*.x", "/d/*.y")
    repo.write("d/a.x", CRLF)
    repo.write("d/a.y", CRLF)


@converted.fast
def attributes_that_convert_nothing(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* diff=python merge=union export-ignore -text\n*.png binary\nb text\n")
    repo.commit()
    repo.write("a.png", CRLF)
    repo.write("b", b"no carriage return\n")
    repo.write("c", CRLF)


@converted.fast
def attributes_on_other_paths(repo: GitRepo) -> None:
    repo.write(".gitattributes", "other filter=x ident text\n")
    repo.write("other", "x\n")
    repo.commit()
    repo.write("a", CRLF)


@converted.fast
def link_whose_target_has_line_ends(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* text\n")
    repo.commit()
    repo.symlink("link", "one\r\ntwo")


@converted.declined(r"\.gitattributes")
def text_over_the_big_file_threshold(repo: GitRepo) -> None:
    repo.config("core.bigFileThreshold", "1k")
    repo.write(".gitattributes", "* text\n")
    repo.write("a", b"0123456789\r\n" * 1000)


@converted.table
def test_converted_as_git_does(repo: GitRepo, build) -> None:
    """Content is converted exactly as git converts it, whatever says so and wherever it says so."""
    build(repo)
    agree(repo, declines=build.declines)


@pytest.mark.deep
@converted.table
def test_converted_as_git_does_in_what_is_committed_and_edited(repo: GitRepo, build) -> None:
    """The same where git knows the files: what the index holds changes what is converted."""
    build(repo)
    repo.git("-c", "core.safecrlf=false", "add", "-A")
    repo.commit_staged()
    for path in repo.path.iterdir():
        if path.is_file() and not path.is_symlink() and path.name != ".gitattributes":
            path.write_bytes(path.read_bytes() * 2)
    agree(repo)


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("filter=x", "filter"), ("filter", "filter"), ("ident", "ident"),
        ("working-tree-encoding=UTF-16LE", "working-tree-encoding"), ("working-tree-encoding=latin-1", "encoding"),
        ("text", "line ends"), ("text=auto", "line ends"), ("eol=lf", "line ends"), ("eol=crlf", "line ends"),
        ("crlf", "line ends"), ("crlf=input", "line ends"),
        ("-text", ""), ("binary", ""), ("-filter", ""), ("-ident", ""), ("!text", ""), ("diff=x", ""), ("merge", ""),
    ],
)  # fmt: skip
def test_which_attributes_are_left_to_git(repo: GitRepo, attribute: str, reason: str) -> None:
    """The fast engine declines for whatever may convert a changed file, and for nothing else."""
    repo.write(".gitattributes", f"a {attribute}\n")
    repo.write("a", "one\n")
    repo.commit()
    repo.write("a", b"one\0\r\0\n\0$Id$".replace(b"\0", b"" if "UTF" not in attribute else b"\0"))
    agree(repo, declines=reason)
