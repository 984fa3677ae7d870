"""Records signed with the user's own git key, and checked against the allowed signers of the base."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from gitrepo import GitRepo, run_taskctx
from proof.scene import Scene
from proof.test_attacks import POLICY, Attacker, make_key, signed_scene, use_key

from git_taskctx.model.record import load_record
from git_taskctx.proof.signers import Allowed, read_signers


def test_every_record_is_signed(tmp_path: Path) -> None:
    """Where policy asks for it, each record carries a signature, the first and the last included."""
    scene, _ = signed_scene(tmp_path)
    lines = scene.repo.git("notes", "--ref=taskctx", "show", scene.done).splitlines()
    assert [load_record(line).type for line in lines][:: len(lines) - 1] == ["init", "seal"]
    assert all(load_record(line).body["signature"]["value"].startswith("-----BEGIN SSH") for line in lines)
    assert "unreachable commit" not in scene.repo.git("fsck", "--unreachable")  # what was signed is not kept


def test_nothing_is_signed_unasked(tmp_path: Path) -> None:
    """Without the policy no key is used, whatever git signs commits with."""
    key = make_key(tmp_path, "key")
    scene = Scene(tmp_path, before=lambda repo: use_key(repo, key))
    assert "signature" not in scene.repo.git("notes", "--ref=taskctx", "show", scene.done)


def test_no_key_is_told(tmp_path: Path) -> None:
    """Where a record must be signed and cannot be, nothing is recorded, and the hint says what to set."""
    scene = Scene(tmp_path, policy=POLICY, before=lambda repo: use_key(repo, tmp_path / "none"))
    code, out, err = run_taskctx("init", "TASK-1", "--title", "T", cwd=scene.repo.path)
    assert (code, out) == (128, "")
    assert err.startswith("error: cannot sign the record: ")
    assert "hint: git config user.signingKey KEY" in err
    assert scene.repo.git("for-each-ref", "refs/notes", "refs/taskctx") == ""


@pytest.mark.needs_git(2, 34)
@pytest.mark.parametrize(
    ("names", "told"),
    [
        ('"A U Thor"', "verified by commit"),
        ("somebody,A*Thor", "verified by commit"),
        ("somebody", "violated actor-forged"),
        ('"*,!A U Thor"', "violated actor-forged"),
    ],
)
def test_a_key_signs_for_its_names(tmp_path: Path, names: str, told: str) -> None:
    """The names on the line of a key are the actors that it may sign as; patterns and exclusions hold."""
    scene, _ = signed_scene(tmp_path, names=names)
    assert scene.done
    assert scene.clone("clone").told("HEAD").startswith(told)


def test_the_allowed_signers_are_the_bases(tmp_path: Path) -> None:
    """Without the file in the base no key counts, though the worktree has one."""
    scene, _ = signed_scene(tmp_path)
    signers = scene.repo.read(".taskctx.signers")
    scene.repo.remove(".taskctx.signers")
    scene.base = scene.repo.commit("no signers")
    assert scene.done
    clone = scene.clone("clone")
    clone.repo.write(".taskctx.signers", signers)
    assert clone.told("HEAD").startswith("violated signer-unknown")


@pytest.fixture
def gpg(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Make a home for gpg with one key; return its fingerprint."""
    home = tmp_path_factory.mktemp("g")
    home.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", os.fspath(home))
    made = [
        "gpg",
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-generate-key",
        "A U Thor <author@example.com>",
        "ed25519",
        "sign",
        "never",
    ]
    subprocess.run(made, check=True, capture_output=True)
    listed = subprocess.run(["gpg", "--list-keys", "--with-colons"], check=True, capture_output=True, text=True)
    found = re.search(r"^fpr:+([0-9A-F]+):", listed.stdout, re.MULTILINE)
    assert found is not None
    yield found[1]
    env = {**os.environ, "GNUPGHOME": os.fspath(home)}
    subprocess.run(["gpgconf", "--kill", "all"], check=True, capture_output=True, env=env)


def test_openpgp(tmp_path: Path, gpg: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An OpenPGP key signs through git as well; without it in the keyring nothing can be told."""

    def before(repo: GitRepo) -> None:
        repo.config("user.signingKey", gpg)
        repo.write(".taskctx.signers", f'"A U Thor" openpgp {gpg}\n')

    scene = Scene(tmp_path, policy=POLICY, before=before)
    assert scene.done
    clone = scene.clone("clone")
    assert clone.told("HEAD") == "verified by commit"
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", os.fspath(empty))
    assert set(clone.told("HEAD").split()) == {"unproven", "signature-unchecked"}


def test_signers_file() -> None:
    """Comments, options, odd lines and OpenPGP keys are told apart; ssh never sees the latter."""
    key = "AAAAC3NzaC1lZDI1NTE5AAAAIGg5oZ"
    text = f'# a ssh-ed25519 {key}\n"b c",d namespaces="git" ssh-ed25519 AAAA\n"open\nx openpgp ab12\n\ny ssh-rsa !!\n'
    names, for_ssh = read_signers(text.encode() + b"\xff\n")
    digest = hashlib.sha256(base64.b64decode("AAAA")).digest()
    fingerprint = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
    assert names == {fingerprint: [Allowed(("b c", "d"))], "AB12": [Allowed(("x",))]}
    assert b"openpgp" not in for_ssh


def test_times_of_a_key() -> None:
    """The times on a line are taken from ssh, which would hold them against the date in the signature."""
    text = (
        'a valid-after="20260101",valid-before="20260201Z" ssh-ed25519 AAAA\n'
        '"b, c" namespaces="git,x",VALID-BEFORE="202602010930" ssh-ed25519 AAAA me\n'
        'd valid-before="soon" ssh-ed25519 AAAA\n'
    )
    names, for_ssh = read_signers(text.encode())
    (lines,) = names.values()
    assert lines == [Allowed(("a",), 1767225600, 1769904000), Allowed(("b", " c"), None, 1769938200)]
    assert for_ssh.decode().split("\n") == ["a  ssh-ed25519 AAAA", '"b, c" namespaces="git,x" ssh-ed25519 AAAA me', ""]
    assert [lines[0].holds_at(times) for times in ([1767225600], [1767225599], [1769904001], [None], [])] == [
        True, False, False, False, True,
    ]  # fmt: skip
    assert Allowed(("a",)).holds_at([None])


@pytest.mark.needs_git(2, 35)
@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ('valid-before="20991231"', "verified by commit"),
        ('valid-before="20200101"', "violated signature-bad"),
        ('valid-after="20200101",valid-before="20200201"', "violated signature-bad"),
        ('valid-after="20991231"', "violated signature-bad"),
    ],
)
def test_a_key_counts_in_its_time(tmp_path: Path, limits: str, told: str) -> None:
    """A key that had expired when a record was written proves nothing, whatever date it wrote into the signature."""
    scene, key = signed_scene(tmp_path)
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    scene.repo.write(".taskctx.signers", f'"A U Thor" {limits} {public}\n')
    scene.base = scene.repo.commit("times")
    scene.validate()
    scene.repo.add()
    now = f"{int(time.time())} +0000"
    scene.repo.git("commit", "-q", "-m", "work", env={"GIT_COMMITTER_DATE": now})
    scene.desk.ok("verify")
    assert scene.clone("clone").told("HEAD").startswith(told)


@pytest.mark.needs_git(2, 35)
def test_a_key_counts_in_the_time_of_the_commit(tmp_path: Path) -> None:
    """Records that are dated back prove no commit that was made, or sits on one that was made, once the key expired."""
    scene, key = signed_scene(tmp_path)
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])
    today = time.strftime("%Y%m%d", time.gmtime(time.time() + 86400))
    scene.repo.write(".taskctx.signers", f'"A U Thor" valid-before="{today}Z" {public}\n')
    late = {"GIT_COMMITTER_DATE": f"{int(time.time()) + 3 * 86400} +0000"}
    scene.repo.add()
    scene.repo.git("commit", "-q", "-m", "times", env=late)
    scene.validate()
    assert scene.seal()  # dated before its parent
    assert scene.clone("clone").told("HEAD").startswith("violated signature-bad")


@pytest.mark.needs_git(2, 34)
def test_who_adds_lines_takes_no_proof_away(tmp_path: Path) -> None:
    """Lines that nobody signed who may are no records: not on the commit, its tree, or the anchors, not as a fork."""
    scene, _ = signed_scene(tmp_path)
    good = scene.done
    clone = scene.clone("clone")
    vandal = Attacker(clone, good)
    lines = [one.to_line() for one in vandal.records()]
    finding = {"type": "block", "agent": "reviewer", "finding": "F1", "text": "no"}
    fork = json.loads(lines[3]) | finding
    unsigned = json.dumps({key: value for key, value in fork.items() if key != "signature"}, separators=(",", ":"))
    (evil,) = vandal.rechain([load_record(unsigned)], sign=True)
    evil = evil.replace('"prev":null', f'"prev":"{fork["prev"]}"').replace('"seq":1,', '"seq":4,')
    for target in (good, vandal.repo.tree(good), vandal.anchors()[0]):
        clone.repo.git("notes", "--ref=taskctx", "append", "-m", f"{unsigned}\n{evil}\nhello", target)
        assert clone.told("HEAD") == "verified by commit"
        assert [one["code"] for one in clone.prove("HEAD")["commits"][0]["notices"]] == ["foreign-lines"]
    scene.desk.repo.git("notes", "--ref=taskctx", "append", "-m", unsigned, good)
    scene.repo.config("taskctx.proof.requireSigned", "true")
    assert scene.desk.data("verify", "HEAD")["verdict"] == "verified"
