"""Who signed a record, and whether they may (`proof.require_signed`).

The file of allowed signers is ssh's own (ssh-keygen(1), ALLOWED SIGNERS), read from the commit that the policy is read
from; a line `NAMES openpgp FINGERPRINT` allows an OpenPGP key. The names are the actors that the key may sign as.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import itertools
import shlex
from collections.abc import Iterable, Iterator

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.repository import Repository
from git_taskctx.git.signing import Checked, check_signatures, find_signature
from git_taskctx.ledger.entry import Entry
from git_taskctx.model.proof import Code, Reason
from git_taskctx.proof.claims import Claim, Told, cut

OPENPGP = "openpgp"
_KEY_TYPES = ("ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-")


class Signers:
    """The allowed signers, and what is known of the signatures of records."""

    def __init__(self, repository: Repository, data: bytes | None) -> None:
        self._repository = repository
        self._names, self._for_ssh = read_signers(data or b"")
        self._checked: dict[str, Checked] = {}
        self._failed: str | None = None

    def check(self, chains: Iterable[Told]) -> None:
        """Look at every signature of many chains, all at once."""
        records = {entry.line: entry.record for told in chains for entry in told.entries}
        new = {line: record for line, record in records.items() if line not in self._checked}
        signed = [
            (line, record.signed_text(), one)
            for line, record in new.items()
            if (one := find_signature(record.signature)) is not None
        ]
        try:
            told = check_signatures(self._repository, [(text, one) for _, text, one in signed], self._for_ssh)
        except CouldNotTell as error:
            self._failed = error.message
            return
        self._checked |= {line: checked for (line, _, _), checked in zip(signed, told, strict=True)}

    def against(self, told: Told, claim: Claim | None) -> tuple[Reason, ...]:
        """Return what stands against the signatures of a chain, up to the record that names the commit."""
        last = claim.record.seq if claim is not None else len(told.entries)
        mine = (entry for entry in told.entries if entry.record.seq <= last)
        return tuple(reason for entry in mine if (reason := self.judge(entry)) is not None)[:5]

    def judge(self, entry: Entry) -> Reason | None:
        """Return what stands against the signature of a record that was checked; None where it is good."""
        line, record = entry.line, entry.record
        if find_signature(record.signature) is None:
            return Reason(Code.UNSIGNED, f"record {record.id} ({record.type}) is not signed", record.id)
        checked = self._checked.get(line)
        if checked is None or checked.status == "E":
            why = self._failed or "the key or the program is missing"
            return Reason(Code.SIGNATURE_UNCHECKED, cut(f"record {record.id}: {why}"), record.id)
        if checked.status not in ("G", "U"):
            what = {"X": "expired", "Y": "made with an expired key", "R": "made with a revoked key"}
            told = f"the signature of record {record.id} is {what.get(checked.status, 'bad')}"
            return Reason(Code.SIGNATURE_BAD, told, record.id)
        names = [name for key in checked.fingerprints for name in self._names.get(key, ())]
        if not names or (checked.status != "G" and not self._is_openpgp(checked)):
            key = checked.fingerprints[0] if checked.fingerprints else "an unknown key"
            return Reason(Code.SIGNER_UNKNOWN, cut(f"record {record.id} is signed with {key}"), record.id)
        if not _may_act(record.actor, names):
            told = f"record {record.id} names {record.actor}, and is signed by {', '.join(names)}"
            return Reason(Code.ACTOR_FORGED, cut(told), record.id)
        return None

    def _is_openpgp(self, checked: Checked) -> bool:
        return not any(key.startswith("SHA256:") for key in checked.fingerprints)


def read_signers(data: bytes) -> tuple[dict[str, list[str]], bytes]:
    """Return whose names each key may sign under, by fingerprint, and the lines that are for ssh."""
    names: dict[str, list[str]] = {}
    for_ssh: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        words = list(_words(line))
        if len(words) >= 3 and words[1] == OPENPGP:
            names.setdefault(words[2].upper(), []).extend(_split(words[0]))
            continue
        for_ssh.append(line)
        for kind, key in itertools.pairwise(words[1:]):
            if kind.startswith(_KEY_TYPES) and (fingerprint := _fingerprint(key)) is not None:
                names.setdefault(fingerprint, []).extend(_split(words[0]))
                break
    return names, "".join(f"{line}\n" for line in for_ssh).encode()


def _words(line: str) -> Iterator[str]:
    if line.lstrip().startswith("#"):
        return
    try:
        yield from shlex.split(line)
    except ValueError:  # a quote that does not end: no line of ssh's either
        return


def _split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def _fingerprint(key: str) -> str | None:
    try:
        data = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return None
    return "SHA256:" + base64.b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def _may_act(actor: str, names: Iterable[str]) -> bool:
    """Tell whether an actor is one of the names, which may be patterns; one that begins with `!` excludes."""
    allowed = [name for name in names if not name.startswith("!")]
    denied = [name[1:] for name in names if name.startswith("!")]

    def is_in(patterns: list[str]) -> bool:
        return any(fnmatch.fnmatchcase(actor, pattern.replace("[", "[[]")) for pattern in patterns)

    return is_in(allowed) and not is_in(denied)
