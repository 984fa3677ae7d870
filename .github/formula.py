"""Write the Homebrew formula of a version: the source archive on PyPI, and those of all that it needs.

usage: formula.py VERSION REPORT      REPORT is what `pip install --report` writes
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_FORMULA = """\
class GitTaskctx < Formula
  include Language::Python::Virtualenv

  desc "{about}"
  homepage "{home}"
  url "{url}"
  sha256 "{sha256}"
  license "MIT"

  depends_on "git"
  depends_on "libyaml"
  depends_on "python@3.13"

{resources}
  def install
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/git-taskctx --version")
  end
end
"""
_RESOURCE = """\
  resource "{name}" do
    url "{url}"
    sha256 "{sha256}"
  end
"""


def fetch(name: str, version: str) -> Mapping[str, Any]:
    """Return what PyPI says of a version of a package."""
    with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/{version}/json", timeout=60) as answer:
        found: Mapping[str, Any] = json.load(answer)
    return found


def render_formula(
    version: str, report: Mapping[str, Any], fetched: Callable[[str, str], Mapping[str, Any]] = fetch
) -> str:
    """Return the formula. Raises: ValueError for a package without a source archive."""
    needed = sorted((one["metadata"]["name"].lower(), one["metadata"]["version"]) for one in report["install"])
    ours = fetched("git-taskctx", version)
    resources = [
        _RESOURCE.format(name=name, **_source(fetched(name, found), name))
        for name, found in needed
        if name != "git-taskctx"
    ]
    about = ours["info"]["summary"].replace('"', '\\"')
    home = ours["info"]["project_urls"]["Homepage"]
    return _FORMULA.format(about=about, home=home, resources="\n".join(resources), **_source(ours, "git-taskctx"))


def _source(found: Mapping[str, Any], name: str) -> dict[str, str]:
    for one in found["urls"]:
        if one["packagetype"] == "sdist":
            return {"url": one["url"], "sha256": one["digests"]["sha256"]}
    raise ValueError(f"{name} has no source archive")


if __name__ == "__main__":
    sys.stdout.write(render_formula(sys.argv[1], json.loads(Path(sys.argv[2]).read_text())))
