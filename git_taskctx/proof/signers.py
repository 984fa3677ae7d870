"""Who signed a record, and whether they may (`proof.require_signed`).

The allowed signers are in ssh's format (ssh-keygen(1), ALLOWED SIGNERS), read from the commit of the policy; `NAMES
openpgp FINGERPRINT` allows an OpenPGP key. Names are the actors that the key may sign as.
"""

from __future__ import annotations

import base64
import binascii
import calendar
import fnmatch
import hashlib
import itertools
import re
import shlex
import time
from collections.abc import Iterable, Iterator

from git_taskctx.errors import CouldNotTell
from git_taskctx.git.repository import Repository
from git_taskctx.git.signing import SSH, SignatureStatus, check_signatures, find_signature
from git_taskctx.ledger.entry import Entry
from git_taskctx.model.proof import Code, Reason
from git_taskctx.model.record import SIGNATURE, Record
from git_taskctx.model.values import dataclass
from git_taskctx.proof.claims import Claim, RecordedContext, Trust, cut

OPENPGP = "openpgp"
_KEY_TYPES = ("ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-")
_QUOTED = r'"(?:\\.|[^"\\])*"'
_LINE = re.compile(
    rf"(?P<names>\s*(?:{_QUOTED}|[^\s\"])+\s+)(?P<options>(?:{_QUOTED}|[^\s\"])+\s+)??"
    rf"(?P<key>(?:{'|'.join(_KEY_TYPES)})\S+\s+\S.*)"
)
"""A line of ssh's allowed signers."""
_OPTION = re.compile(rf"(?:{_QUOTED}|[^,\"])+")
_VALID = re.compile(r'valid-(after|before)="?([^"]*)"?', re.IGNORECASE)
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)T?(?:(\d\d):?(\d\d)(?::?(\d\d))?)?(?:Z|UTC)?")


@dataclass(frozen=True)
class Allowed:
    """One line of the allowed signers: the actors its key may sign as, and when."""

    names: tuple[str, ...]
    after: int | None = None
    """Start of the key's validity, in seconds since the epoch; None if unlimited."""
    before: int | None = None
    """End of it."""

    def holds_at(self, times: Iterable[int | None]) -> bool:
        """Return whether the key was valid at all these times; an unknown time never counts."""
        if self.after is None and self.before is None:
            return True
        return all(
            time is not None and (self.after or 0) <= time and (self.before is None or time <= self.before)
            for time in times
        )


class Signers(Trust):
    """The allowed signers, and what is known about the records' signatures.

    A signature must be valid at the time of its record and of the commit it proves. The date in the signature does not
    count: the signer chose it, possibly with an expired key.
    """

    def __init__(self, repository: Repository, data: bytes | None) -> None:
        self._repository = repository
        self._allowed, self._for_ssh = read_signers(data or b"")
        self._kinds = {key.startswith("SHA256:") for key in self._allowed}
        """True for ssh, False for OpenPGP."""
        self._checked: dict[str, SignatureStatus] = {}
        self._failed: str | None = None

    @property
    def has_times(self) -> bool:
        return any((one.after, one.before) != (None, None) for some in self._allowed.values() for one in some)

    def check(self, entries: Iterable[Entry]) -> None:
        """Check the signatures of many records at once."""
        new = {entry.line: entry.record for entry in entries if entry.line not in self._checked}
        signed = [
            (line, record.signed_text(), one)
            for line, record in new.items()
            if (one := find_signature(record.signature)) is not None
        ]
        try:
            results = check_signatures(self._repository, [(text, one) for _, text, one in signed], self._for_ssh)
        except CouldNotTell as error:
            self._failed = error.message
            return
        self._checked |= {line: checked for (line, _, _), checked in zip(signed, results, strict=True)}

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a record is signed by an allowed key; others may be added by whoever may write notes."""
        reason = self.judge(entry)
        return reason is None or reason.code is Code.SIGNATURE_UNCHECKED

    def names_of(self, record: Record, line: str) -> tuple[str, ...]:
        """Return the keys that signed a record and their owner's first name: people may have several names and keys."""
        checked = self._checked.get(line)
        keys = checked.fingerprints if checked is not None else ()
        firsts = (one.names[0] for key in keys for one in self._allowed.get(key, ()) if one.names)
        return (*keys, *(name for name in firsts if not set(name) & set("*?!")))

    def without_copies(self, entries: list[Entry]) -> list[Entry]:
        """Return records without copies that differ only in bytes outside the signed text.

        The copy that a later record was built on stays.
        """
        after = {entry.record.prev for entry in entries}
        kept: dict[str, Entry] = {}
        for entry in entries:
            text = entry.record.signed_text()
            if text not in kept or entry.sha in after:
                kept[text] = entry
        return list(kept.values())

    def against(self, recorded: RecordedContext, claim: Claim | None, time: int | None = None) -> tuple[Reason, ...]:
        """Return what is wrong with the signatures of a chain, up to the claim about a commit of that time."""
        last = claim.record.seq if claim is not None else len(recorded.entries)
        times = (time,) if claim is not None and self.has_times else ()
        mine = (entry for entry in recorded.entries if entry.record.seq <= last)
        found = (reason for entry in mine if (reason := self.judge(entry, times)) is not None)
        return tuple(itertools.islice(found, 5))

    def judge(self, entry: Entry, times: Iterable[int | None] = ()) -> Reason | None:
        """Return what is wrong with a checked record's signature; `times` must be within the key's validity too."""
        line, record = entry.line, entry.record
        if find_signature(record.signature) is None:
            return Reason(Code.UNSIGNED, f"record {record.id} ({record.type}) is not signed", record.id)
        checked = self._checked.get(line)
        if record.body[SIGNATURE]["value"].startswith(SSH) not in self._kinds:
            return Reason(Code.SIGNER_UNKNOWN, f"record {record.id} is signed with another kind of key", record.id)
        if checked is None or checked.status == "E":
            short = checked.key.upper() if checked is not None else ""
            if checked is not None and short and not any(key.endswith(short) for key in self._allowed):
                return Reason(Code.SIGNER_UNKNOWN, cut(f"record {record.id} is signed with {checked.key}"), record.id)
            why = self._failed or "the key or the program is missing"
            return Reason(Code.SIGNATURE_UNCHECKED, cut(f"record {record.id}: {why}"), record.id)
        if checked.status not in ("G", "U"):
            what = {"X": "expired", "Y": "made with an expired key", "R": "made with a revoked key"}
            what_is_wrong = f"the signature of record {record.id} is {what.get(checked.status, 'bad')}"
            return Reason(Code.SIGNATURE_BAD, what_is_wrong, record.id)
        lines = [one for key in checked.fingerprints for one in self._allowed.get(key, ())]
        is_ssh = any(key.startswith("SHA256:") for key in checked.fingerprints)
        if not lines or (checked.status != "G" and is_ssh):
            key = checked.fingerprints[0] if checked.fingerprints else "an unknown key"
            return Reason(Code.SIGNER_UNKNOWN, cut(f"record {record.id} is signed with {key}"), record.id)
        when = (_seconds(record.time), *times)
        names = [name for one in lines if one.holds_at(when) for name in one.names]
        if not names:
            what_is_wrong = (
                f"record {record.id} is signed with a key that did not count at its time, or at that of the commit"
            )
            return Reason(Code.SIGNATURE_BAD, what_is_wrong, record.id)
        if not _may_act(record.actor, names):
            what_is_wrong = f"record {record.id} names {record.actor}, and is signed by {', '.join(names)}"
            return Reason(Code.ACTOR_FORGED, cut(what_is_wrong), record.id)
        return None


def read_signers(data: bytes) -> tuple[dict[str, list[Allowed]], bytes]:
    """Return what each key may do, by fingerprint, and the lines for ssh, without their validity.

    ssh would compare that with the date in the signature.
    """
    allowed: dict[str, list[Allowed]] = {}
    for_ssh: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        words = list(_words(line))
        if len(words) < 3:
            continue
        if words[1] == OPENPGP:
            allowed.setdefault(words[2].upper(), []).append(Allowed(_split(words[0])))
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        options = _OPTION.findall((found["options"] or "").strip())
        timed = [(one, match) for one in options if (match := _VALID.fullmatch(one)) is not None]
        times = {match[1].lower(): _seconds(match[2]) for _, match in timed}
        if None in times.values():  # ssh takes no such line either
            continue
        left = ",".join(one for one in options if one not in dict(timed))
        for_ssh.append(f"{found['names']}{left} {found['key']}" if timed else line)
        fingerprint = _fingerprint(found["key"].split()[1])
        if fingerprint is not None:
            one = Allowed(_split(words[0]), times.get("after"), times.get("before"))
            allowed.setdefault(fingerprint, []).append(one)
    return allowed, "".join(f"{line}\n" for line in for_ssh).encode()


def _seconds(text: str) -> int | None:
    """Return a time of ssh or of a record in seconds since the epoch; None if malformed.

    ssh's local times are read as UTC: a proof is the same everywhere.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    try:
        return calendar.timegm(time.strptime("".join(filter(None, found.groups("00"))), "%Y%m%d%H%M%S"))
    except ValueError:
        return None


def _words(line: str) -> Iterator[str]:
    if line.lstrip().startswith("#"):
        return
    try:
        yield from shlex.split(line)
    except ValueError:  # a quote that does not end: no line of ssh's either
        return


def _split(names: str) -> tuple[str, ...]:
    return tuple(name for name in names.split(",") if name)


def _fingerprint(key: str) -> str | None:
    try:
        data = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return None
    return "SHA256:" + base64.b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def _may_act(actor: str, names: Iterable[str]) -> bool:
    """Return whether an actor matches one of the names or patterns; `!` excludes."""
    allowed = [name for name in names if not name.startswith("!")]
    denied = [name[1:] for name in names if name.startswith("!")]

    def is_in(patterns: list[str]) -> bool:
        return any(fnmatch.fnmatchcase(actor, pattern.replace("[", "[[]")) for pattern in patterns)

    return is_in(allowed) and not is_in(denied)
