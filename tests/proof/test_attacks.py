"""Somebody with push rights to branches and notes, and without a key that counts, tries to have a change pass."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gitrepo import GitRepo
from prepared import own_folder
from proof.scene import NOTES, Clone, Scene

from git_taskctx.model.record import Record, load_record

POLICY = "[proof]\nrequire_signed = true\nallowed_signers = '.taskctx.signers'\n"
Attack = Callable[["Attacker"], object]


def make_key(folder: Path, name: str) -> Path:
    """Make an ssh key without a passphrase."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", os.fspath(key)], check=True)
    return key


def use_key(repo: GitRepo, key: Path) -> None:
    """Let git sign with a key in this repository."""
    repo.config("gpg.format", "ssh")
    repo.config("user.signingKey", os.fspath(key))


def signed_scene(folder: Path, *, names: str = '"A U Thor"') -> tuple[Scene, Path]:
    """Return a scene whose policy asks for signatures, and the key that counts."""
    key = make_key(folder, "good")
    public = " ".join(key.with_suffix(".pub").read_text().split()[:2])

    def before(repo: GitRepo) -> None:
        use_key(repo, key)
        repo.write(".taskctx.signers", f"# who may sign\n{names} {public}\n")

    return Scene(folder, policy=POLICY, before=before), key


@functools.cache
def _evil_key() -> Path:
    return make_key(own_folder("evil"), "evil")


@functools.cache
def _victim() -> tuple[Clone, str]:
    """Return a clone of what was signed and sealed, and the commit, which is proved."""
    folder = own_folder("signed")
    scene, _ = signed_scene(folder)
    good, clone = scene.done, scene.clone("victim")
    assert clone.told("HEAD") == "verified by commit"
    return clone, good


class Attacker:
    """A clone with everything in it, and what can be done to its notes and commits."""

    def __init__(self, clone: Clone, good: str) -> None:
        self.clone, self.repo, self.good = clone, clone.repo, good
        self.range = f"{good}~1..HEAD"
        self.context = self.records()[0].context
        use_key(self.repo, _evil_key())

    def records(self, target: str | None = None) -> list[Record]:
        """Return the records on an object, by default the validated commit."""
        return [
            load_record(line)
            for line in self.repo.git("notes", "--ref=taskctx", "show", target or self.good).splitlines()
        ]

    def anchors(self) -> list[str]:
        """Return the anchors of the task's context, where every record lies as well."""
        names = [f"taskctx context {self.context}{page}" for page in ("", " 1", " 2")]
        return [self.repo.git("hash-object", "--stdin", input=name) for name in names]

    def put(self, lines: list[str], *targets: str) -> None:
        """Replace the notes of objects, by default of the validated commit and its tree; nothing is left elsewhere."""
        self.repo.git("notes", "--ref=taskctx", "remove", "--ignore-missing", *self.anchors())
        for target in targets or (self.good, self.repo.tree(self.good)):
            text = "".join(f"{line}\n" for line in sorted(lines))
            blob = self.repo.git("hash-object", "-w", "--stdin", input=text)
            self.repo.git("notes", "--ref=taskctx", "add", "-f", "-C", blob, target)

    def rechain(self, records: list[Record], *, sign: bool = False) -> list[str]:
        """Return the records as one chain again, numbered and hashed anew."""
        from git_taskctx.context.session import link
        from git_taskctx.git.repository import open_repository
        from git_taskctx.git.signing import sign as signature_of
        from git_taskctx.model.record import record_id
        from git_taskctx.model.values import replace

        plain = [
            replace(
                record,
                seq=number,
                id=record_id(record.time, record.context, number),
                body={key: value for key, value in record.body.items() if key != "signature" or not sign},
            )
            for number, record in enumerate(records, 1)
        ]
        repository = open_repository(self.repo.path, dict(os.environ))
        signer = (lambda one: one.with_signature(signature_of(repository, one.signed_text()))) if sign else None
        lines = [record.to_line() for record in link(plain, None, signer)]
        repository.close()
        return lines

    def commit_more(self) -> str:
        """Put something into the tree after it was validated."""
        self.repo.write("parser.py", "evil\n")
        return self.repo.commit("more")


def edit_a_note(attacker: Attacker) -> None:
    """Another reviewer is put into a record."""
    lines = [record.to_line().replace('"agent":"reviewer"', '"agent":"implementer"') for record in attacker.records()]
    attacker.put(lines)


def edit_and_rechain(attacker: Attacker) -> None:
    """The same, with all the hashes made to fit again."""
    from git_taskctx.model.values import replace

    attacker.put(attacker.rechain([replace(one, actor="Somebody") for one in attacker.records()]))


def drop_a_record(attacker: Attacker) -> None:
    """A record in the middle goes."""
    attacker.put([record.to_line() for record in attacker.records() if record.seq != 4])


def drop_and_rechain(attacker: Attacker) -> None:
    """The same, with all the hashes made to fit again."""
    attacker.put(attacker.rechain([record for record in attacker.records() if record.seq != 4]))


def drop_the_tail(attacker: Attacker) -> None:
    """The last record goes, which no hash tells."""
    attacker.put([record.to_line() for record in attacker.records()][:-1])


def drop_everything(attacker: Attacker) -> None:
    """No notes are left."""
    attacker.repo.git("update-ref", "-d", NOTES)


def move_a_note(attacker: Attacker) -> None:
    """The notes of the validated commit are put on another one."""
    more = attacker.commit_more()
    attacker.put([record.to_line() for record in attacker.records()], more, attacker.repo.tree(more))


def commit_more(attacker: Attacker) -> None:
    """A commit on top of the validated one."""
    attacker.commit_more()


def replace_the_tree(attacker: Attacker) -> None:
    """The commit is made again with another tree, and the notes go with it."""
    attacker.repo.config("notes.rewriteRef", NOTES)
    attacker.repo.write("parser.py", "evil\n")
    attacker.repo.add()
    attacker.repo.git("commit", "-q", "--amend", "--no-edit")


def replace_the_commit(attacker: Attacker) -> None:
    """git is told to show another commit in the place of the one on top."""
    more = attacker.commit_more()
    attacker.repo.git("replace", more, attacker.good)


def seal_another_tree(attacker: Attacker) -> None:
    """A seal of one's own for another commit, signed with a key that does not count."""
    from git_taskctx.model.values import replace

    more = attacker.commit_more()
    *others, seal = attacker.records()
    forged = replace(seal, commit=more, commit_tree=attacker.repo.tree(more), tree=attacker.repo.tree(more))
    attacker.put(attacker.rechain([*others, forged], sign=True), more, attacker.repo.tree(more))


def forge_the_whole_chain(attacker: Attacker, **files: str) -> None:
    """A chain of one's own, whole and in order, under the name of somebody who may sign."""
    desk = attacker.clone
    desk.ok("init", "TASK-9", "--title", "evil", "--actor", "A U Thor", "--agents", "implementer,reviewer,validator")
    for path, text in {"evil.py": "evil\n", **files}.items():
        attacker.repo.write(path, text)
    for agent, done in (("implementer", ()), ("reviewer", ()), ("validator", ("--done",))):
        desk.ok("snapshot", "--agent", agent, "--actor", "A U Thor", *done)
    attacker.repo.commit("evil")
    desk.ok("verify", "--task", "TASK-9")


def change_the_policy(attacker: Attacker) -> None:
    """The change itself asks for no signatures, and makes the attacker's key one that counts."""
    public = Path(attacker.repo.git("config", "user.signingKey") + ".pub").read_text()
    loose = "[proof]\nrequire_signed = false\n"
    forge_the_whole_chain(attacker, **{".taskctx.toml": loose, ".taskctx.signers": f"* {public}"})


def loosen_at_home(attacker: Attacker) -> None:
    """A setting of whoever verifies cannot switch off what the team committed."""
    attacker.repo.config("taskctx.proof.requireSigned", "false")
    attacker.put(attacker.rechain(attacker.records()))
    forge_the_whole_chain(attacker)


def strip_the_signatures(attacker: Attacker) -> None:
    """The same records without their signatures."""
    from git_taskctx.model.values import replace

    plain = [
        replace(one, body={key: value for key, value in one.body.items() if key != "signature"})
        for one in attacker.records()
    ]
    attacker.put(attacker.rechain(plain))


def sign_with_another_key(attacker: Attacker) -> None:
    """Every record signed anew with a key that does not count."""
    attacker.put(attacker.rechain(attacker.records(), sign=True))


def swap_signatures(attacker: Attacker) -> None:
    """Good signatures, each on another record than it was made for."""
    from git_taskctx.model.values import replace

    records = attacker.records()
    signatures = [one.body["signature"] for one in records]
    turned = [
        replace(one, body={**one.body, "signature": other})
        for one, other in zip(records, signatures[1:] + signatures[:1], strict=True)
    ]
    attacker.put(attacker.rechain(turned))


ATTACKS: list[tuple[Attack, str]] = [
    (edit_a_note, "violated record-edited"),
    (edit_and_rechain, "violated signature-bad"),
    (drop_a_record, "violated record-missing"),
    (drop_and_rechain, "violated"),
    (drop_the_tail, "unproven not-sealed"),
    (drop_everything, "unproven no-notes"),
    (move_a_note, "unproven misplaced"),
    (commit_more, "unproven no-record"),
    (replace_the_tree, "unproven misplaced"),
    (replace_the_commit, "unproven no-record"),
    (seal_another_tree, "unproven misplaced"),
    (forge_the_whole_chain, "violated signer-unknown"),
    (change_the_policy, "violated"),
    (loosen_at_home, "violated"),
    (strip_the_signatures, "violated unsigned"),
    (sign_with_another_key, "violated signer-unknown"),
    (swap_signatures, "violated signature-bad"),
]


@pytest.mark.needs_git(2, 34)
@pytest.mark.parametrize(("attack", "expected"), ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS])
def test_attack(tmp_path: Path, attack: Attack, expected: str) -> None:
    """Nothing that can be done without a key that counts is verified, and each attempt has its verdict."""
    victim, good = _victim()
    clone = victim.copied(tmp_path)
    attacker = Attacker(clone, good)
    attack(attacker)
    told = clone.told(attacker.range)
    assert told.startswith(expected), told
    assert "verified" not in told
