"""The diff between two trees: the same bytes under every configuration, and it applies."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from compat.engine import Cases, read
from gitrepo import GitRepo

from git_taskctx.errors import CouldNotTell
from git_taskctx.git import patch as patches
from git_taskctx.git.patch import Patch, compress, find_large, make_patches
from git_taskctx.git.repository import open_repository
from git_taskctx.model.oids import TreeOid

changed = Cases()
swapped = Cases()
hostile = Cases()

NOISE = hashlib.shake_256(b"noise").digest(150_000)
"""Bytes that do not compress."""


def patch(repo: GitRepo, old: str, new: str) -> Patch:
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        return make_patches(repository, [(TreeOid(old), TreeOid(new))])[0]
    finally:
        repository.close()


def snapshot(repo: GitRepo) -> str:
    return read(repo, keep=True)


@changed
def text(repo: GitRepo) -> None:
    repo.write("a", "".join(f"{line}\n" for line in range(100)))
    repo.write("same", "x")
    repo.commit()
    repo.write("a", "".join(f"{line}\n" for line in range(100) if line % 30) + "end\n")
    repo.write("d/new", "x\ny\n")


@changed
def binary(repo: GitRepo) -> None:
    repo.write("a", b"\0one")
    repo.write("gone", b"\0gone")
    repo.write("to-text", b"\0")
    repo.write("to-binary", "text\n")
    repo.commit()
    repo.write("a", b"\0two")
    repo.remove("gone")
    repo.write("new", b"\0new")
    repo.write("to-text", "text\n")
    repo.write("to-binary", b"\0")


@changed
def large_binary(repo: GitRepo) -> None:
    repo.write("shrinks", b"\0" + NOISE)
    repo.write("exactly", b"\0" * 65535)
    repo.write("gone", b"\0" * 65536)
    repo.commit()
    repo.write("shrinks", b"\0" + NOISE[:70_000])
    repo.write("exactly", b"\0" * 131_070)
    repo.remove("gone")
    repo.write("new", b"\0" + NOISE[::-1])


@changed
def binary_with_a_mode(repo: GitRepo) -> None:
    repo.write("a", b"\0one")
    repo.write("b", b"\0one")
    repo.commit()
    repo.write("a", b"\0two", mode=0o755)
    repo.chmod("b", 0o755)


@changed
def empty_files(repo: GitRepo) -> None:
    repo.write("gone")
    repo.write("filled")
    repo.write("emptied", "x\n")
    repo.write("emptied-binary", b"\0")
    repo.commit()
    repo.remove("gone")
    repo.write("filled", "x\n")
    repo.write("emptied")
    repo.write("emptied-binary")
    repo.write("new")
    repo.write("filled-binary", b"\0")


@changed
def mode_only(repo: GitRepo) -> None:
    repo.write("a", "x")
    repo.write("b", "x", mode=0o755)
    repo.commit()
    repo.chmod("a", 0o755)
    repo.chmod("b", 0o644)


@changed
def links(repo: GitRepo) -> None:
    repo.symlink("retargeted", "one")
    repo.symlink("gone", "one")
    repo.symlink("to-file", "one")
    repo.write("to-link", "content\n")
    repo.commit()
    repo.remove("retargeted", "gone", "to-file", "to-link")
    repo.symlink("retargeted", "two\nlines")
    repo.symlink("to-link", "content")
    repo.write("to-file", "content\n")
    repo.symlink("new", b"caf\xe9")


@changed
def submodules(repo: GitRepo) -> None:
    one, two = "1" * 40, "2" * 40
    for path in ("moved", "gone"):
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{one},{path}")
    repo.commit_staged()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{two},moved")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{two},new")
    repo.git("rm", "-q", "--cached", "gone")
    for path in ("moved", "new"):
        repo.at(path).mkdir()


@changed
def renames(repo: GitRepo) -> None:
    repo.write("old", "line\n" * 40)
    repo.write("swap-a", "a\n" * 40)
    repo.write("swap-b", "b\n" * 40)
    repo.commit()
    repo.at("old").rename(repo.at("new"))
    repo.write("swap-a", "b\n" * 40)
    repo.write("swap-b", "a\n" * 40)


@changed
def file_and_folder_swapped(repo: GitRepo) -> None:
    repo.write("file", "x\n")
    repo.write("folder/a", "x\n")
    repo.commit()
    repo.remove("file", "folder")
    repo.write("file/a", "x\n")
    repo.write("folder", "x\n")


@changed
def odd_names(repo: GitRepo) -> None:
    names = [
        b"caf\xe9",
        "é".encode(),
        b"new\nline",
        b"tab\t",
        b'quo"te',
        b"back\\slash",
        b" lead",
        b"trail ",
        b"a b/c d",
    ]
    for name in names:
        repo.write(name, name + b"\n")
        repo.write(name + b".bin", b"\0" + name)
    repo.commit()
    for name in names:
        repo.write(name, name + b"\nmore\n")
        repo.write(name + b".bin", b"\0more" + name)
        repo.write(name + b".new", b"x\n")


@changed
def content_that_is_not_utf8(repo: GitRepo) -> None:
    repo.write("a", b"caf\xe9\n\xff\xfe\n")
    repo.commit()
    repo.write("a", b"caf\xe9\n\xff\xfd\n\x1b[31m\n")


@changed
def line_ends(repo: GitRepo) -> None:
    repo.write("crlf", b"one\r\ntwo\r\nthree\r\n")
    repo.write("cr", b"one\rtwo\rthree\r")
    repo.write("mixed", b"one\r\ntwo\nthree\rfour\n")
    repo.write("separators", "one\u2028two\x0bthree\x0cfour\x85five\n")
    repo.commit()
    repo.write("crlf", b"one\r\n2\r\nthree\r\n")
    repo.write("cr", b"one\r2\rthree\r")
    repo.write("mixed", b"one\n2\r\nthree\rfour\r\n")
    repo.write("separators", "one\u2028two\x0bthree\x0c4\x85five\n")


@changed
def no_newline_at_the_end(repo: GitRepo) -> None:
    repo.write("lost", "one\ntwo\n")
    repo.write("gained", "one\ntwo")
    repo.write("never", "one\ntwo")
    repo.commit()
    repo.write("lost", "one\ntwo")
    repo.write("gained", "one\ntwo\n")
    repo.write("never", "one\n2")
    repo.write("new", "x")


@changed
def lines_that_look_like_a_diff(repo: GitRepo) -> None:
    fake = "diff --git a/x b/x\nindex 0000000..1111111 100644\nBinary files a/x and b/x differ\n@@ -1 +1 @@\n"
    fake += "--- a/x\n+++ b/x\n"
    repo.write("a", fake)
    repo.write("b", "-- x\n++ x\n" * 3)
    repo.commit()
    repo.write("a", fake * 2 + "\\ No newline at end of file\n")
    repo.write("b", "++ y\n-- y\n" * 3)
    repo.write("c", fake)


@changed
def from_nothing(repo: GitRepo) -> None:
    repo.commit_staged()
    repo.write("a", "x\n")


@changed
def to_nothing(repo: GitRepo) -> None:
    repo.write("a", "x\n")
    repo.write("b", b"\0")
    repo.commit()
    repo.remove("a", "b")


@swapped
def binary_and_link_swapped(repo: GitRepo) -> None:
    """(`--numstat` does not count a link where the other side is binary; the patch has its line.)"""
    repo.write("to-link", b"\0")
    repo.symlink("to-binary", "target")
    repo.commit()
    repo.remove("to-link", "to-binary")
    repo.symlink("to-link", "target")
    repo.write("to-binary", b"\0")


@Cases([*changed, *swapped]).table
def test_applies_to_the_base_and_gives_the_snapshot(repo: GitRepo, build) -> None:
    """`git apply --binary` on the base tree gives the snapshot's tree; backwards it gives the base."""
    build(repo)
    old, new = repo.tree(), snapshot(repo)
    made = patch(repo, old, new)
    env = {"GIT_INDEX_FILE": os.fspath(repo.path / ".git/apply-index")}
    repo.git("read-tree", old, env=env)
    repo.git("apply", "--binary", "--cached", "--whitespace=nowarn", env=env, input=made.data)
    assert repo.git("write-tree", "--missing-ok", env=env) == new
    repo.git("apply", "--binary", "--cached", "--whitespace=nowarn", "-R", env=env, input=made.data)
    assert repo.git("write-tree", "--missing-ok", env=env) == old


@changed.table
def test_counts_are_those_of_numstat(repo: GitRepo, build) -> None:
    """The lines that the stat counts are those that git counts."""
    build(repo)
    old, new = repo.tree(), snapshot(repo)
    made = patch(repo, old, new)
    numbers = [line.split("\t")[:2] for line in repo.git("diff", "--numstat", "--no-renames", old, new).splitlines()]
    assert made.added == sum(int(added) for added, _ in numbers if added != "-")
    assert made.deleted == sum(int(deleted) for _, deleted in numbers if deleted != "-")
    assert made.stat == f"+{made.added} -{made.deleted}"


def test_in_a_sha256_repository(tmp_path: Path) -> None:
    """The same in a sha256 repository."""
    repo = GitRepo.init(tmp_path / "work", "--object-format=sha256")
    for build in (text, large_binary, odd_names):
        test_applies_to_the_base_and_gives_the_snapshot(repo, build)
        (repo.path / ".git/apply-index").unlink()


C_CODE = "int one(void)\n{\n\treturn 1;\n}\n\n\nint two(void)\n{\n\n\treturn 2;\n}\n" * 5


@pytest.fixture
def base(repo: GitRepo) -> tuple[GitRepo, str, str]:
    """A repository with a change of every kind that configuration could show differently, in two trees."""
    submodules(repo)
    repo.write("code.c", C_CODE)
    repo.write("café", "x\n")
    repo.write("page.html", "<h1>x</h1>\n" * 20)
    repo.write("picture", b"\0one")
    repo.write("old", "line\n" * 40)
    repo.write("z", "x\n" * 3)
    repo.symlink("link", "one")
    repo.commit()
    old = repo.tree()
    repo.write("code.c", C_CODE.replace("return 2", "return 3", 1).replace("one(void)\n{\n", "one(void)\n{\n\n\n", 2))
    repo.write("café", "y\n")
    repo.write("page.html", "<h1>x</h1>\n" * 5 + "<h2>y</h2>\n" + "<h1>x</h1>\n" * 14)
    repo.write("picture", b"\0two")
    repo.at("old").rename(repo.at("renamed"))
    repo.write("z", "x\n\nx  \nx\r\n")
    repo.remove("link")
    repo.symlink("link", "two")
    repo.git("update-index", "--cacheinfo", f"160000,{'3' * 40},moved")
    return repo, old, snapshot(repo)


def setting(key: str, value: str) -> Callable[[GitRepo], None]:
    def configure(repo: GitRepo) -> None:
        repo.config(key, value)
        repo.git("config", "--global", key, value)

    configure.__name__ = f"{key}={value}".replace("/", "_")
    return configure


for _key, _value in (
    ("core.quotePath", "true"), ("core.quotePath", "false"), ("core.abbrev", "4"), ("core.abbrev", "no"),
    ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("diff.srcPrefix", "x/"), ("diff.dstPrefix", "y/"),
    ("diff.indentHeuristic", "true"), ("diff.indentHeuristic", "false"), ("diff.suppressBlankEmpty", "true"),
    ("diff.algorithm", "patience"), ("diff.algorithm", "histogram"), ("diff.algorithm", "minimal"),
    ("diff.external", "echo external"), ("diff.renames", "copies"), ("diff.context", "0"), ("diff.context", "9"),
    ("diff.interHunkContext", "50"), ("diff.submodule", "log"), ("diff.ignoreSubmodules", "all"),
    ("diff.relative", "true"), ("diff.wsErrorHighlight", "all"), ("diff.colorMoved", "zebra"), ("color.ui", "always"),
    ("color.diff", "always"), ("core.compression", "9"), ("core.compression", "0"), ("core.whitespace", "cr-at-eol"),
    ("core.autocrlf", "true"), ("core.fileMode", "false"), ("core.symlinks", "false"), ("core.precomposeUnicode", "1"),
    ("core.bigFileThreshold", "10"), ("diff.wordRegex", "."), ("diff.default.xfuncname", "^int.*"),
    ("diff.noIndex", "true"), ("diff.statGraphWidth", "3"), ("pager.diff-tree", "cat"), ("core.pager", "sed s/^/x/"),
    ("diff.c.xfuncname", "return"), ("diff.autoRefreshIndex", "true"), ("i18n.logOutputEncoding", "latin-1"),
):  # fmt: skip
    hostile(setting(_key, _value))


def attributes(repo: GitRepo, text: str) -> None:
    """Say it in all the places where git looks."""
    repo.write(".gitattributes", text)
    (repo.path / ".git/info/attributes").write_text(text)
    home = Path(os.environ["HOME"])
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/attributes").write_text(text)
    (home / "attrs").write_text(text)
    repo.git("config", "--global", "core.attributesFile", "~/attrs")


@hostile
def diff_drivers(repo: GitRepo) -> None:
    attributes(repo, "*.c diff=cpp\n*.html diff=html\n* whitespace=trailing-space\n")


@hostile
def everything_binary(repo: GitRepo) -> None:
    attributes(repo, "* binary\n")


@hostile
def nothing_diffed(repo: GitRepo) -> None:
    attributes(repo, "* -diff\n")


@hostile
def binary_as_text(repo: GitRepo) -> None:
    attributes(repo, "* diff\n")


@hostile
def own_driver(repo: GitRepo) -> None:
    attributes(repo, "* diff=mine\n")
    for key, value in (
        ("binary", "true"), ("textconv", "tr a-z A-Z <"), ("command", "echo"), ("xfuncname", "x"),
        ("algorithm", "patience"), ("wordRegex", "."),
    ):  # fmt: skip
        repo.config(f"diff.mine.{key}", value)


@hostile
def textconv(repo: GitRepo) -> None:
    attributes(repo, "* diff=mine\n")
    repo.config("diff.mine.textconv", "wc -c <")
    repo.config("diff.mine.cachetextconv", "true")


@hostile
def order_file(repo: GitRepo) -> None:
    repo.config("diff.orderFile", "order")
    repo.write("order", "z\npicture\n*.c\n")


@hostile
def external_in_the_environment(repo: GitRepo) -> None:
    repo.env |= {
        "GIT_EXTERNAL_DIFF": "echo",
        "GIT_DIFF_OPTS": "-u7",
        "GIT_PAGER": "sed s/^/x/",
        "GIT_PAGER_IN_USE": "1",
    }


@hostile
def parameters_in_the_environment(repo: GitRepo) -> None:
    repo.env |= {
        "GIT_CONFIG_PARAMETERS": "'diff.noprefix'='true' 'core.quotepath'='false'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.context",
        "GIT_CONFIG_VALUE_0": "1",
    }


@hostile
def global_configuration_elsewhere(repo: GitRepo) -> None:
    place = Path(os.environ["HOME"], "other")
    place.write_text("[diff]\n\tnoprefix = true\n\tcontext = 1\n[core]\n\tquotePath = false\n")
    repo.env |= {
        "GIT_CONFIG_GLOBAL": os.fspath(place),
        "GIT_CONFIG_SYSTEM": os.fspath(place),
        "GIT_CONFIG_NOSYSTEM": "0",
    }


@hostile
def attribute_source(repo: GitRepo) -> None:
    repo.write(".gitattributes", "* binary\n")
    repo.add(".gitattributes")
    repo.env["GIT_ATTR_SOURCE"] = repo.git("write-tree", "--missing-ok")
    repo.config("attr.tree", repo.env["GIT_ATTR_SOURCE"])


@hostile
def pathspecs_in_the_environment(repo: GitRepo) -> None:
    repo.env |= {"GIT_LITERAL_PATHSPECS": "1", "GIT_PREFIX": "d/", "GIT_TRACE": "1", "GIT_TRACE2_EVENT": "1"}


@hostile
def another_locale(repo: GitRepo) -> None:
    repo.env |= {"LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo"}


@hostile
def replaced_objects(repo: GitRepo) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", input="replaced")
    repo.git("replace", repo.git("rev-parse", "HEAD:code.c"), blob)


@hostile
def packed(repo: GitRepo) -> None:
    repo.git("update-ref", "refs/keep", repo.git("commit-tree", "-m", "x", snapshot(repo)))
    repo.git("repack", "-adfq")
    repo.git("prune-packed")


@hostile
def an_index_in_the_environment(repo: GitRepo) -> None:
    repo.env |= {"GIT_INDEX_FILE": "/nonexistent/index", "GIT_DIR": os.fspath(repo.path / ".git")}


@hostile.table
def test_the_same_bytes_whatever_is_configured(base: tuple[GitRepo, str, str], build) -> None:
    """Nothing that a user, a repository or an environment says changes a byte of the diff."""
    repo, old, new = base
    expected = patch(repo, old, new)
    assert expected.data.count(b"diff --git ") >= 9
    build(repo)
    assert patch(repo, old, new).data == expected.data


def test_the_whole_text(repo: GitRepo) -> None:
    """The diff is what it says it is: fixed prefixes, full oids, three lines of context, no renames."""
    repo.write("a", "1\n2\n3\n4\n5\n")
    repo.write("é", b"\0")
    repo.commit()
    repo.write("a", "1\n2\n3\n4\nfive\n")
    repo.write("é", b"\0\1")
    assert patch(repo, repo.tree(), snapshot(repo)).data.decode() == (
        "diff --git a/a b/a\n"
        "index 8a1218a1024a212bb3db30becd860315f9f3ac52..0372994eea0a65e8b38a15775442f850af0b9284 100644\n"
        "--- a/a\n"
        "+++ b/a\n"
        "@@ -2,4 +2,4 @@\n"
        " 2\n 3\n 4\n-5\n+five\n"
        'diff --git "a/\\303\\251" "b/\\303\\251"\n'
        "index f76dd238ade08917e6712764a16a22005a50573d..bdc955b7b2e610ad5a72302b139a2e6cb325519a 100644\n"
        "GIT binary patch\n"
        "literal 2\n"
        "McmV+d0R8^}0RRI40ssI2\n"
        "\n"
        "literal 1\n"
        "LcmV+c0RH~~00962\n"
        "\n"
    )


def test_equal_trees_have_an_empty_diff(repo: GitRepo) -> None:
    """No difference, no bytes; and git is not asked."""
    repo.write("a", "x")
    repo.commit()
    made = patch(repo, repo.tree(), repo.tree())
    assert (made.data, made.stat, made.sha) == (b"", "+0 -0", hashlib.sha256(b"").hexdigest())


def test_missing_objects_are_told(repo: GitRepo) -> None:
    """A tree that is not here cannot be compared; that is no difference and no equality."""
    repo.write("a", "x")
    repo.commit()
    with pytest.raises(CouldNotTell):
        patch(repo, repo.tree(), "1" * 40)


def test_missing_blob_is_told(repo: GitRepo) -> None:
    """Nor can one whose content is gone."""
    text(repo)
    old, new = repo.tree(), snapshot(repo)
    oid = repo.git("rev-parse", f"{old}:a")
    (repo.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(CouldNotTell):
        patch(repo, old, new)


def test_sha_does_not_depend_on_line_ends() -> None:
    """The diff's hash is over its LF form, with a final newline."""
    shas = {Patch(data, 0, 0).sha for data in (b"a\nb\n", b"a\r\nb\r\n", b"a\nb", b"a\rb")}
    assert shas == {hashlib.sha256(b"a\nb\n").hexdigest()}


def test_gzip_is_deterministic(repo: GitRepo) -> None:
    """The same diff is the same file: no time, no name in its header."""
    text(repo)
    made = patch(repo, repo.tree(), snapshot(repo))
    assert gzip.decompress(made.compressed()) == made.data
    assert made.compressed() == compress(made.data)
    assert made.compressed()[3:8] == b"\0" * 5


def test_several_pairs_at_once(repo: GitRepo) -> None:
    """Each pair has its own diff, in order; nothing else in the repository changes."""
    text(repo)
    old, new = TreeOid(repo.tree()), TreeOid(snapshot(repo))
    before = repo.census()
    repository = open_repository(repo.path, dict(os.environ))
    there, same, back = make_patches(repository, [(old, new), (old, old), (new, old)])
    repository.close()
    assert (there.added, there.deleted) == (back.deleted, back.added) != (0, 0)
    assert same.data == b""
    assert repo.census() == before


NAMES = (b"a", b"a.b", b"a/b", b"b\xff", b"c c", "dé".encode(), b'e"', b"f\\g", b"h\n", b"z/z/z")


@pytest.mark.parametrize("way", ["new", "gone", "all", "none", "middle"])
def test_files_that_git_does_not_look_at_are_written_as_git_would(repo: GitRepo, way: str) -> None:
    """A large file that is new or gone is not read whole to say that it is binary; the diff is the same."""
    for name in NAMES[2:]:
        repo.write(b"old " + name.replace(b"/", b" "), b"\0old")
    repo.write("text", "one\n")
    repo.commit()
    old = repo.tree()
    for number, name in enumerate(NAMES[1:]):
        repo.write(name, b"\0new", mode=0o755 if number % 2 else 0o644)
    for name in NAMES[4:]:
        repo.remove(b"old " + name.replace(b"/", b" "))
    repo.write("text", "two\n")
    repo.write("more text", "x\n")
    new = snapshot(repo)
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        pair = (TreeOid(old), TreeOid(new))
        changes = {change.path: change.status for change in patches.compare_trees(repository, *pair)}
        binary = [path for path in changes if b"text" not in path]
        apart = {
            "new": [path for path in binary if changes[path] == "A"],
            "gone": [path for path in binary if changes[path] == "D"],
            "all": binary,
            "none": [],
            "middle": [b"c c"],
        }[way]
        for binaries in (False, True):
            (expected,) = make_patches(repository, [pair], binaries=binaries)
            (found,) = make_patches(repository, [pair], binaries=binaries, apart=apart)
            assert found.data == expected.data
            assert (found.added, found.deleted, found.binaries) == (expected.added, expected.deleted, expected.binaries)
    finally:
        repository.close()


def test_which_files_are_large(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """New files by their size in the worktree; those that changed git does not read anyway."""
    repo.write("changed", b"\0" * 2000)
    repo.commit()
    old = repo.tree()
    repo.write("changed", b"\1" * 2000)
    repo.write("large", b"\0" * 2000)
    repo.write("small", b"\0" * 20)
    repo.symlink("link", "large")
    new = snapshot(repo)
    monkeypatch.setattr(patches, "THRESHOLD", 1000)
    repository = open_repository(repo.path, {**os.environ, **repo.env})
    try:
        assert find_large(repo.path, patches.compare_trees(repository, TreeOid(old), TreeOid(new))) == {b"large"}
    finally:
        repository.close()


def test_a_large_diff_is_the_same_compressed_as_it_comes(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held compressed beyond a size, it has the same bytes, hashes and lines."""
    for name in ("a", "b\r", "c"):
        repo.write(name, f"{name} one\r\ntwo\rthree\n" * 500)
    repo.write("d", "no end of line\r")
    repo.commit()
    old = repo.tree()
    for name in ("a", "b\r", "e"):
        repo.write(name, f"{name} two\r\ntwo\rthree\n" * 700)
    repo.remove("d")
    new = snapshot(repo)
    whole = patch(repo, old, new)
    monkeypatch.setattr(patches, "LARGE", 1000)
    monkeypatch.setattr(patches, "PIECE", 100)
    packed = patch(repo, old, new)
    assert gzip.decompress(packed.compressed()) == whole.data == packed.data
    assert (packed.sha, packed.identity, packed.size) == (whole.sha, whole.identity, whole.size)
    assert list(packed.lines()) == list(whole.lines())
    assert [one[:11] for one in packed.files()] == [b"diff --git "] * 4
    assert list(packed.files()) == list(whole.files())
    assert b"".join(whole.files()) == whole.data
    text = whole.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert packed.sha == hashlib.sha256(text).hexdigest()
    assert len(packed.compressed()) < len(whole.data)
