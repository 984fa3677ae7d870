"""The rules that a range of commits is judged by."""

from __future__ import annotations

from collections.abc import Callable

from git_taskctx.config import Config
from git_taskctx.model.oids import CommitOid
from git_taskctx.model.policy import Policy
from git_taskctx.model.values import dataclass
from git_taskctx.proof.range import Range


@dataclass(frozen=True)
class Rules:
    """The rules for one range."""

    policy: Policy
    agents: tuple[str, ...] | None
    """The agents that the team committed; None where it did not."""
    missing: bool = False
    """True when the policy could not be read: nothing can be proved."""
    signers: bytes | None = None
    """The allowed signers, from the commit of the policy."""
    warnings: tuple[str, ...] = ()
    at: Callable[[CommitOid | None], Rules] | None = None
    """Reads the rules of another commit; None where these always apply."""

    def of(self, what: Range) -> Rules:
        return self.at(what.policy) if self.at is not None else self


def rules_of(
    config: Config,
    signers: bytes | None,
    *,
    missing: bool = False,
    at: Callable[[CommitOid | None], Rules] | None = None,
) -> Rules:
    """Return the rules that follow from a configuration."""
    return Rules(config.policy, config.agents, missing, signers, config.warnings, at)
