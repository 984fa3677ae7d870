"""Signatures by the user's git signing key, made and checked by git.

A text is signed as the message of a temporary commit, so that all of git's key settings (`gpg.format`,
`user.signingKey`, `gpg.ssh.program`, an agent, a smart card) work as for `git commit -S`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence

from git_taskctx.errors import CouldNotTell, GitFailed
from git_taskctx.git.private import private_folder, quarantine
from git_taskctx.git.repository import Repository
from git_taskctx.limits import SIGNATURE_LIMIT, SIGNING_SECONDS
from git_taskctx.model.codec import to_plain
from git_taskctx.model.payloads import Signature
from git_taskctx.model.values import dataclass, replace

_AUTHOR = ("git-taskctx", "git-taskctx@localhost", "@0 +0000")
AUTHOR = "git-taskctx <git-taskctx@localhost> 0 +0000"
SSH = "-----BEGIN SSH SIGNATURE-----"
KINDS = (SSH, "-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----")
"""Prefixes of known signatures; `git log` stops at others."""
_IDENTITY = re.compile(r"[^\n\0<>]{0,500} <[^\n\0<>]{0,500}> [0-9]{1,12} [+-][0-9]{4}")
_FIELDS = "%H%x00%G?%x00%GF%x00%GP%x00%GS%x00%GK"
_QUIET = ("i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", "gpg.minTrustLevel=undefined")


@dataclass(frozen=True)
class SignatureStatus:
    """git's answer about a signature."""

    status: str
    """git's `%G?`: G good, U good by an unknown key, B bad, E cannot be checked, N none; X, Y, R expired or revoked."""
    fingerprints: tuple[str, ...]
    """Of the key and its primary key."""
    signer: str
    """The principal or user id, from git."""
    key: str = ""
    """The end of a missing key's fingerprint."""


def find_signature(value: object) -> Signature | None:
    """Read a record's signature; None if malformed."""
    if not isinstance(value, Mapping) or set(value) != {"committer", "value"}:
        return None
    committer, text = value["committer"], value["value"]
    if not (isinstance(committer, str) and isinstance(text, str) and _IDENTITY.fullmatch(committer)):
        return None
    if len(text) > SIGNATURE_LIMIT or not text.startswith(KINDS) or not text.isascii() or "\0" in text:
        return None
    return Signature(committer, text)


def key_in(value: object) -> tuple[str, ...]:
    """Return the fingerprint of a signature's ssh key, unchecked; nothing for other kinds."""
    found = find_signature(value)
    lines = found.value.split("\n") if found is not None else []
    if not lines or lines[0] != SSH:
        return ()
    try:
        data = base64.b64decode("".join(lines[1 : lines.index("-----END SSH SIGNATURE-----")]), validate=True)
    except ValueError:
        return ()
    start = len(b"SSHSIG") + 8  # a version, and how long the key is (PROTOCOL.sshsig)
    key = data[start : start + int.from_bytes(data[start - 4 : start], "big")]
    return ("SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("="),)


def sign(repository: Repository, text: str) -> Signature:
    """Sign a text. Raises: GitFailed without a key, or where it does not sign."""
    author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"), _AUTHOR, strict=True))
    with private_folder(repository) as folder:
        # A program that asks for a passphrase must not wait for a terminal that it may not read.
        env = {**quarantine(repository, folder / "objects"), **author, "SSH_ASKPASS_REQUIRE": "force"}
        git = replace(repository.git.with_env(**env).with_settings(_QUIET), time_limit=SIGNING_SECONDS, hard_limit=True)
        try:
            oid = git.run("commit-tree", "-S", repository.objects.empty_tree, stdin=text.encode("utf-8"))
            data = git.run("cat-file", "commit", oid.out.decode().strip()).out
        except GitFailed as error:
            raise GitFailed(
                f"cannot sign the record: {error.message}",
                hint="git config user.signingKey KEY   # what `git commit -S` signs with; and gpg.format",
            ) from error
    header, _, message = data.partition(b"\n\n")
    fields = _header_fields(header.decode("utf-8", "replace"))
    made = Signature(fields["committer"], fields[_field(repository)])
    if message.decode("utf-8") != text or fields["author"] != AUTHOR or find_signature(to_plain(made)) is None:
        raise GitFailed("cannot sign the record: git signed something else", hint="git config --get-regexp '^gpg'")
    return made


def check_signatures(
    repository: Repository, signed: Sequence[tuple[str, Signature]], allowed_signers: bytes
) -> list[SignatureStatus]:
    """Return git's answer about each signed text, in one git process. Raises: CouldNotTell where git cannot check."""
    if not signed:
        return []
    with private_folder(repository) as folder:
        signers = folder / "allowed-signers"
        signers.write_bytes(allowed_signers)
        view = repository.view(**quarantine(repository, folder / "objects"))
        view.git = replace(view.git, settings=(*view.git.settings, *_QUIET, f"gpg.ssh.allowedSignersFile={signers}"))
        try:
            oids = [view.objects.add("commit", _commit(repository, text, one)) for text, one in signed]
            view.objects.flush()
            asked = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
            log = view.as_written.run(
                "log", "--no-walk=unsorted", "--stdin", "--no-notes", "--no-show-signature", "--no-color",
                "--no-mailmap", f"--format={_FIELDS}", stdin=asked,
            )  # fmt: skip
        except GitFailed as error:
            refused = f"signatures cannot be checked: {error.message}"
            raise CouldNotTell(refused, hint="git log --show-signature") from error
        finally:
            view.close()
    answers = {}
    for line in log.out.decode("utf-8", "replace").splitlines():
        oid, status, key, primary, signer, short = (*line.split("\0"), "", "", "", "", "")[:6]
        answers[oid] = SignatureStatus(status, tuple(dict.fromkeys(filter(None, (key, primary)))), signer, short)
    return [answers.get(oid, SignatureStatus("E", (), "")) for oid in oids]


def _field(repository: Repository) -> str:
    return "gpgsig" if repository.algorithm == "sha1" else "gpgsig-sha256"


def _commit(repository: Repository, text: str, signature: Signature) -> bytes:
    folded = signature.value.rstrip("\n").replace("\n", "\n ")
    header = (
        f"tree {repository.objects.empty_tree}\nauthor {AUTHOR}\ncommitter {signature.committer}\n"
        f"{_field(repository)} {folded}\n\n"
    )
    return header.encode("utf-8") + text.encode("utf-8")


def _header_fields(header: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in header.split("\n"):
        if line.startswith(" "):
            fields[name] += "\n" + line[1:]
        else:
            name, _, fields[name] = line.partition(" ")
    return fields
