"""GitHub's runner and GitLab's, as far as our parts see of them: clones, variables, files, steps.

Sources: actions/checkout (`git-source-provider`, `ref-helper`), actions/runner (`ScriptHandler`, file commands),
gitlab-runner (`shells/abstract.go`: fetch of refspecs into a detached HEAD).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from gitrepo import ROOT, GitRepo
from proof.scene import NOTES
from ruamel.yaml import YAML

from git_taskctx.model.schema import build_schema

ACTION = ROOT / "action.yml"
COMPONENT = ROOT / "templates" / "verify.yml"
ZERO = "0" * 40
SHELLS = {"sh": ["sh", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}
"""How the runner starts a step's script, by the name in `shell`."""


def documents(path: Path) -> list[Any]:
    """Return the documents of a YAML file."""
    return list(YAML(typ="safe", pure=True).load_all(path.read_text()))


@dataclass
class Done:
    """What a job left."""

    code: int
    said: str
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    reports: Path | None = None

    def proof(self) -> Any:
        """Return the proof that was reported."""
        assert self.reports is not None, self.said
        found = json.loads((self.reports / "proof.json").read_text())["data"]
        jsonschema.validate(found, build_schema("proof"))
        return found

    def told(self) -> str:
        """Return the verdict, how many commits were judged, and what says why, in a few words."""
        found = self.proof()
        assert {"verified": 0, "violated": 1, "unproven": 3}[found["verdict"]] == self.code, self.said
        required = [one for one in found["commits"] if one["required"]]
        codes = [reason["code"] for one in required for reason in one["reasons"]]
        whole = [reason["code"] for reason in found["reasons"]]
        by = [f"by {one['by']}" for one in required[:1] if one["by"]]
        return " ".join([found["verdict"], *dict.fromkeys([*whole, *codes]), *by])


class Server:
    """A bare repository as a platform keeps it, made from a scene."""

    def __init__(self, folder: Path, made: Path) -> None:
        shutil.copytree(made, folder, dirs_exist_ok=True, symlinks=True)
        self.folder = folder
        self.bare = GitRepo(folder / "server.git")
        self.address = f"file://{self.bare.path}"
        self.base, self.head = (self.oid(f"refs/heads/{name}") for name in ("main", "topic"))

    def oid(self, name: str) -> str:
        """Return what a name stands for."""
        return self.bare.git("rev-parse", f"{name}^{{commit}}")

    def merge(self, ref: str, base: str | None = None, head: str | None = None) -> str:
        """Merge as the platform does, and leave it at `ref`."""
        base, head = base or self.oid("refs/heads/main"), head or self.head
        work = GitRepo(self.folder / "merges")
        if not work.path.exists():
            self.bare.git("clone", "-q", "--no-checkout", self.address, os.fspath(work.path))
        work.git("fetch", "-q", "origin", base, head)
        work.checkout("--detach", base)
        work.git("merge", "-q", "--no-ff", "-m", "Merge", head)
        work.git("push", "-q", "origin", f"+HEAD:{ref}")
        return work.head()

    def put(self, ref: str, oid: str) -> None:
        """Let a ref stand where somebody pushed it."""
        self.bare.git("update-ref", ref, oid)

    def drop_notes(self) -> None:
        """Take the notes away: nobody pushed them."""
        self.bare.git("update-ref", "-d", NOTES)

    def lock(self) -> dict[str, str]:
        """Refuse every push from now on; return all refs."""
        hook = self.bare.path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho no rights >&2\nexit 1\n")
        hook.chmod(0o755)
        return self.refs()

    def refs(self) -> dict[str, str]:
        """Return every ref."""
        lines = self.bare.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def clone(self, place: Path, ref: str, *refspecs: str, depth: int | None) -> GitRepo:
        """Make a clone that has `ref` checked out, detached, and `depth` commits of its history."""
        repo = GitRepo.init(place)
        repo.git("remote", "add", "origin", self.address)
        cut = (f"--depth={depth}",) if depth else ()
        words = ("-c", "protocol.version=2", "fetch", "-q", "--no-tags", "--prune", "--no-recurse-submodules")
        repo.git(*words, *cut, "origin", *refspecs)
        repo.git("checkout", "-q", "--force", "--detach", ref)
        return repo


def program(folder: Path) -> str:
    """Return a git-taskctx that is installed already."""
    folder.mkdir(exist_ok=True)
    script = folder / "git-taskctx"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m git_taskctx "$@"\n')
    script.chmod(0o755)
    return os.fspath(script)


def run_script(words: list[str], script: str, place: Path, cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Run the text of a step from a file, as a runner does."""
    file = place / "step.sh"
    file.write_text(script)
    done = subprocess.run(
        [*words, os.fspath(file)], cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False, timeout=300,
    )  # fmt: skip
    said = done.stdout.decode("utf-8", "replace")
    assert "Traceback" not in said, said
    return done.returncode, said


def machine() -> dict[str, str]:
    """Return the variables that any job has."""
    names = ("PATH", "HOME", "GIT_CONFIG_NOSYSTEM", "TZ", "LC_ALL")
    return {name: os.environ[name] for name in names if name in os.environ}


class GitHub:
    """A runner of GitHub Actions."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.action = documents(ACTION)[0]
        self.temp = server.folder / "runner"
        self.temp.mkdir()
        self.workspace = server.folder / "workspace"

    def checkout(self, sha: str, ref: str, *, depth: int | None = 1) -> GitRepo:
        """Do what actions/checkout does: a branch or tag by its own name, anything else below refs/remotes."""
        local = re.sub(r"^refs/(heads/|(?=pull/))", "refs/remotes/origin/" if "heads" in ref else "refs/remotes/", ref)
        alone = () if depth is None and ref.startswith(("refs/heads/", "refs/tags/")) else (f"+{sha}:{local}",)
        whole = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*") if depth is None else ()
        return self.server.clone(self.workspace, local, *alone, *whole, depth=depth)

    def run(
        self, name: str, event: Any, sha: str, ref: str, *, env: Mapping[str, str] | None = None, **inputs: str
    ) -> Done:
        """Run the steps of the action; `inputs` are those of the workflow that uses it."""
        files = {kind: self.temp / kind for kind in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH")}
        for file in files.values():
            file.write_text("")
        payload = self.temp / "event.json"
        payload.write_text(json.dumps(event))
        given = {key: str(one.get("default", "")) for key, one in self.action["inputs"].items()}
        given |= {"tool": program(self.server.folder / "bin")}  # installing one is a test of its own
        given |= {key.replace("_", "-"): value for key, value in inputs.items()}
        assert set(given) == set(self.action["inputs"])
        whole = {f"inputs.{key}": self.evaluate(value, {"github.token": "T0KEN"}) for key, value in given.items()}
        variables = {
            **machine(), "CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name, "GITHUB_SHA": sha,
            "GITHUB_REF": ref, "GITHUB_EVENT_PATH": os.fspath(payload), "GITHUB_WORKSPACE": os.fspath(self.workspace),
            "GITHUB_ACTION_PATH": os.fspath(ROOT), "GITHUB_SERVER_URL": "https://github.example",
            "RUNNER_TEMP": os.fspath(self.temp), **{f"GITHUB_{kind}": os.fspath(file) for kind, file in files.items()},
            **(env or {}),
        }  # fmt: skip
        (step,) = self.action["runs"]["steps"]
        variables |= {key: self.evaluate(value, whole) for key, value in step["env"].items()}
        code, said = run_script(
            SHELLS[step["shell"]], self.evaluate(step["run"], whole), self.temp, self.workspace, variables
        )
        lines = files["OUTPUT"].read_text().splitlines()
        left = {f"steps.{step['id']}.outputs.{key}": value for key, value in (line.split("=", 1) for line in lines)}
        outputs = {key: self.evaluate(one["value"], left) for key, one in self.action["outputs"].items()}
        reports = Path(outputs["reports"]) if outputs["reports"] else None
        return Done(code, said, outputs, files["STEP_SUMMARY"].read_text(), reports)

    @staticmethod
    def evaluate(text: str, values: Mapping[str, str]) -> str:
        """Put values in the place of `${{ name }}`; one that is not set is empty, as on the runner."""
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: values.get(found[1], ""), text)


class GitLab:
    """A runner of GitLab CI."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.project = server.folder / "builds"

    def checkout(self, sha: str, *refspecs: str, depth: int | None = 20) -> GitRepo:
        """Do what gitlab-runner does: the pipeline's own ref, the branch, and a detached HEAD."""
        return self.server.clone(self.project, "refs/pipelines/1", f"+{sha}:refs/pipelines/1", *refspecs, depth=depth)

    def run(
        self, source: str, sha: str, *, shell: str = "bash", inputs: Mapping[str, str] | None = None, **variables: str
    ) -> Done:
        """Run the component's job, with the variables of the pipeline."""
        spec, config = documents(COMPONENT)
        given = {key: one["default"] for key, one in spec["spec"]["inputs"].items()}
        given |= {"program": program(self.server.folder / "bin")} | dict(inputs or {})
        assert set(given) == set(spec["spec"]["inputs"])
        ((_, job),) = self.interpolate(config, given).items()
        env = {
            **machine(), "CI": "true", "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": source, "CI_COMMIT_SHA": sha,
            "CI_PROJECT_DIR": os.fspath(self.project), "CI_DEFAULT_BRANCH": "main", "CI_PROJECT_ID": "1",
            **variables,
        }  # fmt: skip
        env |= {
            key: re.sub(r"\$(\w+)", lambda found: env.get(found[1], ""), value)
            for key, value in job["variables"].items()
        }
        code, said = run_script(SHELLS[shell], "\n".join(job["script"]), self.server.folder, self.project, env)
        reports = self.project / "taskctx-reports"
        return Done(code, said, reports=reports if reports.exists() else None)

    @classmethod
    def interpolate(cls, value: Any, inputs: Mapping[str, str]) -> Any:
        """Put inputs in the place of `$[[ inputs.name ]]`, in keys and values, once they are parsed."""
        if isinstance(value, dict):
            return {cls.interpolate(key, inputs): cls.interpolate(one, inputs) for key, one in value.items()}
        if isinstance(value, list):
            return [cls.interpolate(one, inputs) for one in value]
        if not isinstance(value, str):
            return value
        return re.sub(r"\$\[\[\s*inputs\.([\w-]+)\s*\]\]", lambda found: inputs[found[1]], value)
