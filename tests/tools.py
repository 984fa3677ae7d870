"""The real tools that some tests run against, and where they are looked for."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

IN_CI = os.environ.get("CI") == "true"
"""Read before the seal takes it away."""
EARLIER = f"{sys.prefix}/earlier"
"""Where the tests' own environment has earlier versions of the hook managers."""
TOOLS = {
    "needs_chromium": "chromium",
    "needs_dash": "dash",
    "needs_dask": f"{sys.prefix}/bin/dask",
    "needs_man": "man",
    "needs_lfs": "git-lfs",
    "needs_gcc": "cc",
    "needs_precommit": "pre-commit",
    "needs_prek": "prek",
    "needs_husky": "husky",
    "needs_lefthook": "lefthook",
    "needs_lint_staged": "lint-staged",
    "needs_earlier_npm": f"{EARLIER}/node_modules/.bin/lefthook",
    "needs_earlier_pip": f"{EARLIER}/prek/bin/prek",
}
"""What a test with a marker needs."""
OTHERS = os.pathsep.join(
    place
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep)
    if not os.access(os.path.join(place, "git-taskctx"), os.X_OK)  # noqa: PTH118
)
"""PATH without the git-taskctx that somebody has installed."""


def _own_tools() -> str:
    """Return a folder with the tools of the tests' own environment, and no git-taskctx that is installed there too."""
    folder = Path(tempfile.mkdtemp(prefix="taskctx-tools-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("pre-commit", "prek"):
        found = Path(sys.prefix, "bin", name)
        if found.exists():
            (folder / name).symlink_to(found)
    browsers = (Path(sys.prefix, "browsers").glob(f"chromium*/*/{name}") for name in ("chrome", "*headless[-_]shell"))
    browser = next((found for some in browsers for found in some if os.access(found, os.X_OK)), None)
    if browser is not None:
        (folder / "chromium").symlink_to(browser)
    return os.fspath(folder)


TOOL_PATH = os.pathsep.join([_own_tools(), f"{sys.prefix}/node/node_modules/.bin", OTHERS])
"""Where the tests' own environment has its tools, and PATH."""
EARLIER_PATH = os.pathsep.join([f"{EARLIER}/python/bin", f"{EARLIER}/node_modules/.bin", OTHERS])
"""The same with earlier versions."""
