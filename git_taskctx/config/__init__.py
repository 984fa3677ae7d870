"""The team's policy and one person's taste, merged into one frozen value.

Team policy is committed: `.taskctx.toml`, or `[tool.taskctx]` in `pyproject.toml`. Personal settings are what
`git config` knows under `taskctx.`; they change built-in defaults freely, and keys that the team committed only to
the stricter side. This room reads no file and starts no git: it is handed bytes and settings.
"""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.config.committed import (
    COMMITTED_FILE,
    POLICY_FILES,
    PYPROJECT_FILE,
    PYPROJECT_LIMIT,
    CommittedPolicy,
    differs,
    find_in_pyproject,
    parse_file,
    parse_policy,
    parse_pyproject,
)
from git_taskctx.config.keys import flatten
from git_taskctx.config.personal import Config, Setting, personal_policy
from git_taskctx.model.values import replace

__all__ = [
    "POLICY_FILES",
    "PYPROJECT_LIMIT",
    "CommittedPolicy",
    "Config",
    "Setting",
    "differs",
    "flatten",
    "load_config",
    "parse_policy",
    "parse_pyproject",
    "personal_policy",
]


def load_config(
    *, taskctx_toml: bytes | None, pyproject: bytes | None, committed_name: str, personal: Sequence[Setting]
) -> Config:
    """Merge the committed policy (None where a file is absent) and the personal settings.

    `committed_name` says which file and revision was read, as in `.taskctx.toml at 1a2b3c4`; when the policy comes
    from `pyproject.toml`, it is called by that name instead. `.taskctx.toml` wins over `[tool.taskctx]`.

    Raises: BadConfig.
    """
    pyproject_name = committed_name.replace(COMMITTED_FILE, PYPROJECT_FILE)
    in_pyproject = None
    if pyproject is not None:
        in_pyproject = find_in_pyproject(pyproject, pyproject_name, lenient=taskctx_toml is not None)
    if taskctx_toml is None:
        return personal_policy(personal, in_pyproject or CommittedPolicy())
    config = personal_policy(personal, parse_file(taskctx_toml, committed_name))
    if in_pyproject is None:
        return config
    ignored = f"[tool.taskctx] in {PYPROJECT_FILE} is ignored: {committed_name} is there"
    return replace(config, warnings=(ignored, *config.warnings))
