"""The files of a context that follow from its ledger, rewritten with every record."""

from __future__ import annotations

from collections.abc import Mapping

from git_taskctx.context.roles import role_exports
from git_taskctx.ledger.chain import Chain
from git_taskctx.model.canonical import dump_canonical
from git_taskctx.model.codec import to_plain
from git_taskctx.model.context import Context
from git_taskctx.model.manifest import MANIFEST, build_manifest
from git_taskctx.store import CONTEXT


def context_files(context: Context, chain: Chain) -> dict[str, bytes]:
    """Return `context.json` and the files derived from it and the chain, by name."""
    exports = role_exports(context, chain)
    return {**exports, **manifest_file(context, chain, exports), CONTEXT: context.to_bytes()}


def manifest_file(context: Context, chain: Chain, exports: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the manifest by its name; `exports` are the role exports by name."""
    manifest = build_manifest(context.task_id, context.context_id, chain.capture, exports)
    return {MANIFEST: dump_canonical(to_plain(manifest))}
