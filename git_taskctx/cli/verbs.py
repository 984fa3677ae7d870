"""Every verb, in the order of the help.

Both parsers, the help, the completions and "did you mean" use this table: a new verb needs a line here and a function.
"""

from __future__ import annotations

from collections.abc import Mapping

from git_taskctx.cli.options import READS, WRITES, Verb

PLUMBING = "plumbing"
"""The group shown by `help --all` alone."""
GROUPS: Mapping[str, tuple[Verb, ...]] = {
    "start here": (
        Verb("demo", "plumbing.demo", common=()),
        Verb("init", "contexts.init", common=("format", "actor", "force_secrets", "deep")),
        Verb("status", "contexts.status", common=(*READS, "actor")),
        Verb("help", "plumbing.show_help", common=()),
    ),
    "hand over": (
        Verb("start", "chain.start", common=WRITES),
        Verb("snapshot", "chain.snapshot", common=(*WRITES, "deep")),
        Verb("diff", "chain.diff", common=READS),
        Verb("block", "chain.block", common=WRITES),
        Verb("unblock", "chain.unblock", common=WRITES),
        Verb("update", "chain.update", common=WRITES),
        Verb("run", "run.run", common=WRITES),
    ),
    "drift": (
        Verb("verify", "chain.verify", common=tuple(name for name in WRITES if name != "format"), bare="reads"),
        Verb("restore", "chain.restore", common=WRITES),
        Verb("resolve-drift", "chain.resolve_drift", common=WRITES),
    ),
    "checks and evidence": (
        Verb("record-qa", "quality.record_qa", common=(*WRITES, "deep")),
        Verb("compare-qa", "quality.compare_qa", common=READS),
        Verb("attach", "quality.attach", common=(*WRITES, "deep")),
        Verb("evidence", "quality.evidence", common=READS),
    ),
    "tasks": (
        Verb("list", "contexts.list_contexts", common=("format",), bare="reads"),
        Verb("log", "contexts.log", common=READS, bare="reads"),
        Verb("report", "export.report", common=READS, bare="reads"),
        Verb("rebuild", "contexts.rebuild", common=WRITES),
        Verb("complete", "contexts.complete", common=(*READS, "actor")),
        Verb("purge", "contexts.purge", common=("format", "actor")),
        Verb("recover", "contexts.recover", common=("context_id", "format", "actor")),
        Verb("sweep", "contexts.sweep", common=("format",)),
    ),
    "commits and CI": (
        Verb("install", "hooks.install", common=("format",)),
        Verb("uninstall", "hooks.uninstall", common=("format",)),
        Verb("doctor", "hooks.doctor", common=("format",)),
        Verb("config", "plumbing.config", common=("format",)),
        Verb("adopt", "proof.adopt", common=WRITES, bare="writes"),
        Verb("export", "export.export", common=(), bare="reads"),
    ),
    "share": (
        Verb("push", "share.push", common=WRITES, bare="writes"),
        Verb("fetch", "share.fetch", common=("format",), bare="writes"),
    ),
    "agents": (
        Verb("agent-setup", "agents.agent_setup", common=("format",)),
        Verb("get", "contexts.get", common=("task", "context_id")),
        Verb("mcp", "agents.mcp", common=()),
    ),
    PLUMBING: (
        Verb("hook", "hook.hook", common=()),
        Verb("agent-hook", "agents.agent_hook", common=()),
        Verb("fingerprint", "plumbing.fingerprint", common=("format",)),
        Verb("schema", "plumbing.schema", common=("format",)),
        Verb("completion", "plumbing.completion", common=("format",)),
    ),
}
VERBS: Mapping[str, Verb] = {verb.name: verb for group in GROUPS.values() for verb in group}
