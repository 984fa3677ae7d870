"""`context.manifest`: what the immutable block was made of, so that anybody can make it again and compare."""

# No `from __future__ import annotations`: each type would be text, to be compiled at every start.
from collections.abc import Mapping
from typing import Literal

from git_taskctx.model.canonical import SERIALIZER, SERIALIZER_VERSION, sha256_hex
from git_taskctx.model.oids import BlobOid
from git_taskctx.model.values import dataclass, field

MANIFEST = "context.manifest"
MANIFEST_VERSION = 1

Purpose = Literal["task", "policy", "scope macros", "standards"]


@dataclass(frozen=True)
class Source:
    """A file that was read."""

    path: str
    oid: BlobOid
    """Blob oid of its content as it was read."""
    purpose: Purpose


@dataclass(frozen=True)
class Capture:
    """What one capture read, and with what; `init` and `rebuild` put it on record."""

    sources: tuple[Source, ...] = ()
    """By purpose and path."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Name to version of what read and wrote: ours, the normalizer, the parsers."""

    def oids(self, purpose: Purpose) -> dict[str, BlobOid]:
        """Return the paths that were read for one purpose, with their blobs."""
        return {source.path: source.oid for source in self.sources if source.purpose == purpose}


@dataclass(frozen=True)
class Manifest:
    """The file: provenance of the text, and the files that were derived from it."""

    version: int
    task_id: str
    context_id: str
    serializer: str
    tools: Mapping[str, str]
    sources: tuple[Source, ...]
    exports: Mapping[str, str]
    """Name of each role export to the sha256 of its bytes."""


def build_manifest(task: str, context_id: str, capture: Capture, exports: Mapping[str, bytes]) -> Manifest:
    """Return the manifest of a context; it follows from the ledger and from the exports alone."""
    return Manifest(
        version=MANIFEST_VERSION,
        task_id=task,
        context_id=context_id,
        serializer=f"{SERIALIZER} {SERIALIZER_VERSION}",
        tools=capture.tools,
        sources=capture.sources,
        exports={name: sha256_hex(data) for name, data in exports.items()},
    )
