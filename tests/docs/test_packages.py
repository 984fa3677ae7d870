"""One place names the repository and one the version: whatever a user copies, and what releases them, agrees."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import tomllib
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from ci.platforms import documents
from gitrepo import ROOT

import git_taskctx

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = PROJECT["urls"]["Homepage"]
COPIED = [
    ROOT / "README.md", ROOT / "action.yml", ROOT / "install.sh", ROOT / ".pre-commit-hooks.yaml",
    *ROOT.glob("docs/*.md"), *ROOT.glob("templates/*"),
]  # fmt: skip
"""What users read and copy."""


def test_the_repository_is_named_in_one_place() -> None:
    """Every address of the project is below pyproject's Homepage, and no placeholder is left to fill in."""
    slug = HOME.removeprefix("https://github.com/")
    assert all(url.startswith(HOME) for url in PROJECT["urls"].values())
    for path in COPIED:
        text = path.read_text()
        assert re.findall(r"\b(?:OWNER|GROUP|@VERSION)\b", text) == [], path
        named = re.findall(r"(?:github\.com/|githubusercontent\.com/|uses: )([\w.-]+/git-taskctx)\b", text)
        assert set(named) <= {slug}, path


def test_what_is_copied_names_this_version() -> None:
    """Action, template, hooks and package are pinned to the version that the changelog has last."""
    pinned = r"git-taskctx(?:@v|/v|==)(\d[\d.]*\d)|rev: v(\d[\d.]*\d)"
    found = {one or other for path in COPIED for one, other in re.findall(pinned, path.read_text())}
    assert found == {git_taskctx.__version__}
    released = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[:1] == [git_taskctx.__version__]


@pytest.mark.parametrize("name", ["test", "release"])
def test_the_workflows_are_ones(name: str) -> None:
    """They fit GitHub's schema, and no expression stands where a shell would read what it becomes."""
    (workflow,) = documents(ROOT / ".github" / "workflows" / f"{name}.yml")
    folder = resources.files("check_jsonschema.builtin_schemas.vendor")
    jsonschema.validate(workflow, json.loads(folder.joinpath("github-workflows.json").read_text()))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    writes = {key: job["permissions"] for key, job in workflow["jobs"].items() if "permissions" in job}
    assert workflow["permissions"] == {"contents": "read"}
    assert writes == (
        {"publish": {"id-token": "write", "attestations": "write"}, "announce": {"contents": "write"}}
        if name == "release"
        else {}
    )


def test_the_notes_of_a_release_are_its_part_of_the_changelog(tmp_path: Path) -> None:
    """The line of the workflow cuts out exactly the section of the tag."""
    (workflow,) = documents(ROOT / ".github" / "workflows" / "release.yml")
    (script,) = (step["run"] for step in workflow["jobs"]["announce"]["steps"] if "awk" in step.get("run", ""))
    (tmp_path / "CHANGELOG.md").write_text("# C\n\n## [2.0] - x\n\nnew\n\n## [1.0] - x\n\nold\n\n## [0.9]\n\nolder\n")
    subprocess.run(
        ["sh", "-c", script.splitlines()[0]], cwd=tmp_path, env={"TAG": "v1.0", "PATH": "/usr/bin:/bin"}, check=True
    )
    assert (tmp_path / "notes.md").read_text().strip() == "old"


def test_the_formula() -> None:
    """It has the source archive of each package that pip resolves, once, and refuses one that has none."""
    spec = importlib.util.spec_from_file_location("formula", ROOT / ".github" / "formula.py")
    assert spec is not None
    assert spec.loader is not None
    formula = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(formula)
    report = {"install": [{"metadata": {"name": name, "version": "1"}} for name in ("Rich", "git-taskctx", "click")]}

    def fetched(name: str, version: str) -> dict:
        about = {"summary": PROJECT["description"], "project_urls": PROJECT["urls"]}
        source = {"packagetype": "sdist", "url": f"https://x/{name}-{version}.tar.gz", "digests": {"sha256": name * 2}}
        return {"info": about, "urls": [{"packagetype": "bdist_wheel"}, source]}

    text = formula.render_formula("0.2.0", report, fetched)
    assert re.findall(r'^( *)url "https://x/(.*)\.tar\.gz"$', text, re.MULTILINE) == [
        ("  ", "git-taskctx-0.2.0"), ("    ", "click-1"), ("    ", "rich-1"),
    ]  # fmt: skip
    assert f'homepage "{HOME}"' in text
    assert text.count("\n  end\n") + text.count("\nend\n") == text.count(" do\n") + text.count("  def ") + 1
    with pytest.raises(ValueError, match="click has no source archive"):
        formula.render_formula(
            "1",
            report,
            lambda name, version: {**fetched(name, version), "urls": []} if name == "click" else fetched(name, version),
        )
