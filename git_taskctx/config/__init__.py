"""Team policy and personal settings, merged into one frozen value.

Policy is committed: `.taskctx.toml`, or `[tool.taskctx]` in `pyproject.toml`. Personal settings are `taskctx.*` in `git
config`; they change built-in defaults freely, and committed keys only to the stricter side. Pure: bytes and settings
are passed in.
"""

from __future__ import annotations

from collections.abc import Sequence

from git_taskctx.config import committed
from git_taskctx.config.committed import POLICY_FILES, CommittedPolicy, differs
from git_taskctx.config.keys import flatten
from git_taskctx.config.personal import Config, Setting, personal_policy
from git_taskctx.model.values import replace

__all__ = ["POLICY_FILES", "Config", "differs", "flatten", "load_config"]


def load_config(
    *, taskctx_toml: bytes | None, pyproject: bytes | None, committed_name: str, personal: Sequence[Setting]
) -> Config:
    """Merge the committed policy (None where a file is absent) and the personal settings. Raises: BadConfig.

    `committed_name` is the file and revision, as in `.taskctx.toml at 1a2b3c4`, or `pyproject.toml` where the policy is
    there. `.taskctx.toml` wins.
    """
    pyproject_name = committed_name.replace(committed.COMMITTED_FILE, committed.PYPROJECT_FILE)
    in_pyproject = None
    if pyproject is not None:
        in_pyproject = committed.find_in_pyproject(pyproject, pyproject_name, lenient=taskctx_toml is not None)
    if taskctx_toml is None:
        return personal_policy(personal, in_pyproject or CommittedPolicy())
    config = personal_policy(personal, committed.parse_file(taskctx_toml, committed_name))
    if in_pyproject is None:
        return config
    ignored = f"[tool.taskctx] in {committed.PYPROJECT_FILE} is ignored: {committed_name} is there"
    return replace(config, warnings=(ignored, *config.warnings))
