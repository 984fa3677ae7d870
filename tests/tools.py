"""The real tools that some tests run against, and where they are looked for."""

from __future__ import annotations

import os
import sys

TOOLS = {
    "needs_lfs": "git-lfs",
    "needs_gcc": "cc",
    "needs_precommit": "pre-commit",
    "needs_prek": "prek",
    "needs_husky": "husky",
    "needs_lefthook": "lefthook",
}
"""What a test with a marker needs."""
OTHERS = os.pathsep.join(
    place
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep)
    if not os.access(os.path.join(place, "git-taskctx"), os.X_OK)  # noqa: PTH118
)
"""PATH without the git-taskctx that somebody has installed."""
TOOL_PATH = os.pathsep.join([f"{sys.prefix}/bin", f"{sys.prefix}/node/node_modules/.bin", OTHERS])
"""Where the tests' own environment has its tools, and PATH."""
