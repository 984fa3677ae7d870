"""The parts themselves: their schemas, the shells that they run in, and what a hostile repository can do to them."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ci.platforms import ACTION, COMPONENT, GitHub, GitLab, Server, documents
from ci.test_github import at_push, pushed
from gitrepo import ROOT
from nobody import give_to_nobody
from ruamel.yaml import YAML
from sharing.transports import served_by_http

Serve = Callable[..., Server]
PAGE = (ROOT / "docs" / "proof.md").read_text()


def schema(name: str) -> Any:
    """Return a schema as its platform publishes it."""
    folder = resources.files("check_jsonschema.builtin_schemas.vendor")
    return json.loads(folder.joinpath(f"{name}.json").read_text())


def check(document: Any, name: str) -> None:
    """Hold a document against a schema, in the draft that it is written in."""
    rules = schema(name)
    jsonschema.validators.validator_for(rules)(rules).validate(document)


def test_the_action_is_one() -> None:
    """`action.yml` fits the schema of actions, and has no expression where a shell would read what it becomes."""
    (action,) = documents(ACTION)
    check(action, "github-actions")
    (step,) = action["runs"]["steps"]
    assert "${{" not in step["run"]
    given = set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", " ".join(step["env"].values())))
    assert given == set(action["inputs"])


def test_the_component_is_one() -> None:
    """Both documents fit GitLab's schema, and every input is used; none of them stands in the script."""
    spec, job = documents(COMPONENT)
    check({**spec, "x": {"script": "true"}}, "gitlab-ci")
    filled = GitLab.interpolate(job, {key: str(one["default"]) for key, one in spec["spec"]["inputs"].items()})
    check(filled, "gitlab-ci")
    assert set(re.findall(r"\$\[\[ inputs\.([\w-]+) \]\]", COMPONENT.read_text())) == set(spec["spec"]["inputs"])
    ((_, body),) = job.items()
    assert "$[[" not in "".join(body["script"])


def test_the_page_shows_what_works() -> None:
    """What can be copied from the page fits the schemas, names inputs that exist, and asks for no more than reading."""
    text = PAGE[PAGE.index("## In CI") : PAGE.index("## Reasons")]
    github, gitlab = (
        YAML(typ="safe", pure=True).load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", text, re.M | re.S)
    )
    check(github, "github-workflows")
    check(gitlab, "gitlab-ci")
    assert github["permissions"] == {"contents": "read"}
    (_, step) = github["jobs"]["taskctx"]["steps"]
    assert re.fullmatch(r"[\w-]+/[\w-]+@v[\d.]+", step["uses"])
    (include,) = gitlab["include"]
    assert include["remote"].endswith(f"/{COMPONENT.relative_to(ROOT).as_posix()}")
    assert set(include["inputs"]) <= set(documents(COMPONENT)[0]["spec"]["inputs"])


def shell(folder: Path, name: str) -> dict[str, str]:
    """Return an environment in which `sh` is another shell."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not on PATH")
    folder.mkdir()
    (folder / "sh").symlink_to(found)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("name", ["dash", "bash", "busybox"])
def test_any_shell(server: Serve, tmp_path: Path, name: str) -> None:
    """The script runs in whatever is called sh in a job's image."""
    platform = server()
    done = at_push(platform, "refs/heads/main", platform.base, platform.head, env=shell(tmp_path / "sh", name))
    assert done.told() == "verified by commit", done.said


def test_the_script_is_plain() -> None:
    """shellcheck, where it is here, finds nothing."""
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not on PATH")
    done = subprocess.run(["shellcheck", ROOT / ".github" / "verify.sh"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("persisted", [False, True])
@pytest.mark.parametrize("token", ["T0KEN", ""])
def test_a_private_repository(server: Serve, token: str, persisted: bool) -> None:
    """Where the checkout left no credentials the token of the job reads, sent once, and to that server alone."""
    platform = server()
    words = base64.b64encode(b"x-access-token:T0KEN").decode()
    runner = GitHub(platform)
    platform.put("refs/heads/main", platform.head)
    repo = runner.checkout(platform.head, "refs/heads/main")
    event = pushed(platform, "refs/heads/main", platform.base, platform.head)
    with served_by_http(platform.folder, wanted=f"basic {words}") as address:
        repo.git("remote", "set-url", "origin", f"{address}/server.git")
        if persisted:
            repo.config(f"http.{address}/.extraheader", f"AUTHORIZATION: basic {words}")
        env = {"GITHUB_SERVER_URL": address}
        done = runner.run("push", event, platform.head, "refs/heads/main", env=env, token=token)
    if token or persisted:
        assert done.told() == "verified by commit", done.said
    else:
        assert done.told() == "unproven objects-missing", done.said
        assert "could not read Username" in done.said
    assert "T0KEN" not in done.said
    assert "T0KEN" not in (repo.path / ".git" / "config").read_text()


def test_no_python(server: Serve, tmp_path: Path) -> None:
    """Without a Python the job fails with an annotation that says what to add, and there is no verdict."""
    platform = server()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sh", "git", "mktemp", "dirname", "cat", "base64", "tr"):
        (programs / name).symlink_to(str(shutil.which(name)))
    env = {"PATH": os.fspath(programs)}
    done = at_push(platform, "refs/heads/main", platform.base, platform.head, tool="", env=env)
    assert (done.code, done.outputs["verdict"]) == (128, "error")
    assert "no Python 3.11 or later with venv was found: put actions/setup-python before this step" in done.said
    assert "::error title=git taskctx::git-taskctx could not be installed" in done.said


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({"unproven": "pass"}, 129, "::error title=git taskctx::the input unproven is either fail or warn"),
        ({"working_directory": "elsewhere"}, 128, "::error title=git taskctx::there is no folder of that name"),
        ({"format": "xml"}, 129, "::error title=git taskctx::nothing could be asked (exit code 129)"),
        ({"revision": "main...topic"}, 129, "hint: git taskctx verify --ci main..topic"),
        ({"revision": "--reports=/"}, 3, "the commit --reports=/ is not in this clone"),
        ({"policy": "nowhere"}, 3, "the commit nowhere is not in this clone"),
    ],
)
def test_inputs_that_make_no_sense(server: Serve, inputs: dict[str, str], code: int, said: str) -> None:
    """A mistake in the workflow is told, and never a pass."""
    platform = server()
    done = at_push(platform, "refs/heads/main", platform.base, platform.head, **inputs)
    assert done.code == code, done.said
    assert said in done.said
    assert done.outputs["verdict"] == ("unproven" if code == 3 else "error")


def lay_traps(folder: Path, trap: Path) -> None:
    """Put what Python, pip, uv and git might take for theirs into a worktree; whatever is run leaves `trap`."""
    code = f"open({os.fspath(trap)!r}, 'w').close()\n"
    for name in ("pip", "venv", "ensurepip", "git_taskctx", "sitecustomize", "usercustomize", "os", "sys", "typing"):
        (folder / f"{name}.py").write_text(code)
    for name in ("pip", "git_taskctx"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(code)
        (folder / name / "__main__.py").write_text(code)
    for name in ("pip.conf", "uv.toml", "setup.cfg", "pyproject.toml"):
        (folder / name).write_text('[global]\nindex-url = "http://127.0.0.1:9/"\n')
    for name in ("git-taskctx", "python3", "git"):
        (folder / name).write_text(f"#!/bin/sh\n: >'{trap}'\n")
        (folder / name).chmod(0o755)


@pytest.mark.parametrize("installed", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["there", "installed"])
@pytest.mark.parametrize("part", ["action", "component"])
def test_nothing_of_a_hostile_repository_is_run(server: Serve, tmp_path: Path, part: str, installed: bool) -> None:
    """Run beside modules, programs and settings that a change brought, it runs none of them; nor does installing it."""
    platform, trap, tool = server(), tmp_path / "trap", tmp_path / "checkout"
    platform.put("refs/heads/main", platform.head)
    env: dict[str, str] = {}
    if installed:
        clean = {"ignore": shutil.ignore_patterns(".git", "__pycache__", ".agent-output", ".venv", ".*_cache")}
        shutil.copytree(ROOT, tool, **clean)
        env = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        env |= {"PIP_CACHE_DIR": os.fspath(tmp_path / "cache"), "PIP_NO_COMPILE": "1"}
    if part == "action":
        runner = GitHub(platform)
        lay_traps(runner.checkout(platform.head, "refs/heads/main").path, trap)
        event = pushed(platform, "refs/heads/main", platform.base, platform.head)
        if installed:
            env["GITHUB_ACTION_PATH"] = os.fspath(tool)
        own = {"tool": ""} if installed else {}
        done = runner.run("push", event, platform.head, "refs/heads/main", env=env, **own)
        assert list(tmp_path.rglob("*.egg-info")) == []
    else:
        job = GitLab(platform)
        lay_traps(job.checkout(platform.head, depth=1).path, trap)
        variables = {"CI_COMMIT_BRANCH": "main", "CI_COMMIT_BEFORE_SHA": platform.base}
        inputs = {"program": "", "tool": os.fspath(tool)} if installed else {}
        done = job.run("push", platform.head, inputs=inputs, **variables, **env)
    assert done.told() == "verified by commit", done.said
    assert not trap.exists()


@pytest.mark.parametrize("part", ["action", "component"])
def test_a_checkout_of_another_user(server: Serve, part: str) -> None:
    """In a container the checkout belongs to somebody else; it is the one that was named, and is read all the same."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a folder away")
    platform = server()
    if part == "action":
        platform.put("refs/heads/main", platform.head)
        runner = GitHub(platform)
        give_to_nobody(runner.checkout(platform.head, "refs/heads/main").path)
        event = pushed(platform, "refs/heads/main", platform.base, platform.head)
        done = runner.run("push", event, platform.head, "refs/heads/main")
    else:
        job = GitLab(platform)
        give_to_nobody(job.checkout(platform.head, depth=1).path)
        done = job.run("push", platform.head, CI_COMMIT_BRANCH="main", CI_COMMIT_BEFORE_SHA=platform.base)
    assert done.told() == "verified by commit", done.said
