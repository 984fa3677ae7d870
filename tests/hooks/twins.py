"""Two repositories in which the same is done: one with our hooks and a task, one without. git must not notice."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from gated import NAMES, Gated
from gitrepo import GitRepo

_SHIM = """#!/bin/sh
[ "${GIT_TASKCTX-}" != 0 ] || exit 0
git taskctx hook NAME "$@" 2>"$SAID.NAME"; code=$?
cat "$SAID.NAME" >&2; echo "NAME $code" >>"$SAID"
exit $code
"""
_SAYS_NO = "#!/bin/sh\nexit 1\n"
GATES = ("pre-commit", "pre-merge-commit")
_EPOCH = 1_767_225_600
_BRANCHES = ("main", "side", "topic")
_FILES = ("a", "b", "dir/c", "new")
AGENTS = ("implementer", "reviewer", "validator")


def make_template(folder: Path) -> None:
    """Make the repository that both begin with: three branches, some of whose changes collide."""
    repo = GitRepo.init(folder)
    for name in ("a", "b", "dir/c"):
        repo.write(name, "one\ntwo\nthree\n")
    repo.commit("base")
    repo.git("branch", "side")
    repo.git("branch", "topic")
    repo.write("b", "one\ntwo\nmain\n")
    repo.commit("main")
    repo.checkout("side")
    repo.write("b", "one\ntwo\nside\n")
    repo.write("dir/side", "side\n")
    repo.commit("side")
    repo.checkout("topic")
    repo.write("dir/topic", "topic\n")
    repo.commit("topic")
    repo.checkout("main")


@dataclass
class Twins:
    """Both repositories, and what was done in them."""

    ours: Gated
    other: GitRepo
    said: Path
    """Where our hooks note how they ended."""
    told: list[str] = field(default_factory=list)
    _date: int = _EPOCH
    _number: int = 0

    @classmethod
    def create(cls, template: Path, folder: Path, program: dict[str, str]) -> Twins:
        """Copy the template twice; hooks go into the first copy, and into a folder that says no for the second."""
        for name in ("ours", "other"):
            shutil.copytree(template, folder / name / "repo", symlinks=True)
        said = folder / "said"
        ours = GitRepo(folder / "ours/repo", env={**program, "SAID": os.fspath(said), "GIT_EDITOR": "true"})
        other = GitRepo(folder / "other/repo", env={"GIT_EDITOR": "true"})
        places = {ours.path / ".git/hooks": (_SHIM, NAMES), folder / "no": (_SAYS_NO, GATES)}
        for place, (text, names) in places.items():
            place.mkdir(exist_ok=True)
            for name in names:
                (place / name).write_text(text.replace("NAME", name))
                (place / name).chmod(0o755)
        return cls(Gated(ours), other, said)

    def edit(self, draw: Random) -> None:
        """Change, add or delete a file in both."""
        name, text = draw.choice(_FILES), f"one\n{draw.randrange(4)}\nthree\n"
        self.told.append(f"edit {name}")
        delete = draw.random() < 0.15
        for repo in (self.ours.repo, self.other):
            if delete:
                repo.at(name).unlink(missing_ok=True)
            else:
                repo.write(name, text)

    def git(self, *args: str, off: bool = False) -> None:
        """Run git in both; where our gate says no, the other has a gate that says no. They must end alike."""
        self._date += 60
        date = f"{self._date} +0000"
        env = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.said.unlink(missing_ok=True)
        task = self.active()
        mine = self.ours.repo.run(*args, env={**env, **({"GIT_TASKCTX": "0"} if off else {})})
        ended = dict(line.split(" ") for line in self.said.read_text().splitlines()) if self.said.exists() else {}
        self.told.append(f"git {' '.join(args)}{' (off)' if off else ''}   # {mine.returncode} {ended or ''}")
        refused = any(ended.get(name, "0") != "0" for name in GATES)
        no = ("-c", f"core.hooksPath={self.said.parent / 'no'}") if refused else ()
        theirs = self.other.run(*no, *args, env=env)
        assert mine.returncode == theirs.returncode, f"{mine.stderr!r}\n{theirs.stderr!r}"
        assert all(code == "0" for name, code in ended.items() if name not in GATES)
        self._hold_said(mine.stderr)
        assert self.state(self.ours.repo) == self.state(self.other)
        if refused:
            assert task is not None
        if ended.get("pre-commit") == "0" and task is not None and args[0] == "commit" and mine.returncode == 0:
            assert self.active() is None, "a commit passed the gate that did not end the task"
            last = self.ours.data("log", "--task", task)[-2:]
            assert [record["type"] for record in last] == ["seal", "purge"]
            assert last[0]["commit"] == self.ours.repo.head()

    def verb(self, *args: str) -> None:
        """Run a verb of ours, which may say no; git's state is not its business."""
        before = self.state(self.ours.repo)
        said = self.ours.run(*args)
        self.told.append(f"taskctx {' '.join(args)}   # {said.code}")
        assert said.code in (0, 1, 3, 128), said.both
        assert self.state(self.ours.repo) == before

    def active(self) -> str | None:
        """Return the active task, as the files say."""
        file = self.ours.repo.at(".agent-output/active")
        return file.read_text().strip() if file.exists() else None

    def state(self, repo: GitRepo) -> tuple[str, ...]:
        """Return all that git says of a repository, but for what is ours."""
        refs = repo.git("for-each-ref", "--format=%(refname) %(objectname) %(symref)").splitlines()
        head = (repo.git_dir() / "HEAD").read_text()
        status = repo.git("-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch", "--untracked-files=all")
        told = repo.git("log", "-g", "-n", "3", "--format=%H %gs", "HEAD", check=False)
        files = repo.git("hash-object", "--stdin-paths", input="".join(f"{path}\n" for path in files_of(repo)))
        left = [line for line in refs if "taskctx" not in line]
        return head, *left, status, told, files, repo.git("ls-files", "-s")

    def hold(self) -> None:
        """Hold that nothing of ours lies about, and that every context is there, over, or can come back."""
        git_dir = self.ours.repo.git_dir()
        assert list(git_dir.rglob("*.lock")) == []
        assert [*(git_dir / "taskctx").glob("tmp-*"), *self.ours.repo.at(".agent-output").rglob(".tmp-*")] == []
        if self.active() is not None:
            self.ours.ok("get")  # which ends a task whose commit no hook saw
        states = [one["state"] for one in self.ours.data("list")]
        assert set(states) <= {"active", "archived"}, states
        assert states.count("active") == (self.active() is not None), states

    def _hold_said(self, stderr: bytes) -> None:
        for word in (b"Traceback", b"has a bug", b"this is a bug"):
            assert word not in stderr, stderr.decode()


def files_of(repo: GitRepo) -> list[str]:
    """List the files of a worktree, sorted."""
    found = (path for path in repo.path.rglob("*") if path.is_file() and not path.is_symlink())
    names = (os.fspath(path.relative_to(repo.path)) for path in found)
    return sorted(name for name in names if not name.startswith((".git/", ".agent-output/")))


Step = Callable[[Twins, Random], None]


def _git(*ways: str) -> Step:
    """Return a step that runs one of several git commands; `BRANCH` in it is one of the branches."""

    def step(twins: Twins, draw: Random) -> None:
        way = draw.choice(ways).replace("BRANCH", draw.choice(_BRANCHES)).replace("FILE", draw.choice(_FILES))
        twins._number += 1
        twins.git(*way.replace("NEW", f"n{twins._number}").split(), off=draw.random() < 0.1)

    return step


def _verb(*ways: str) -> Step:
    return lambda twins, draw: twins.verb(*draw.choice(ways).split())


def _validate(twins: Twins, draw: Random) -> None:
    """Come as far as the chain lets us, and stage all of it."""
    twins.verb("resolve-drift", "--accept", "--note", "mine")
    for agent in AGENTS:
        twins.verb("snapshot", "--agent", agent, "--allow-clean", *(["--done"] if agent == "validator" else []))
    twins.git("add", "-A")


def _finish(twins: Twins, draw: Random) -> None:
    """The same, and the commit, in one of the ways that git has."""
    _validate(twins, draw)
    twins.git(*draw.choice(("commit -q -m task", "commit -q -a -m task", "commit -q -m task -- .")).split())


STEPS: list[tuple[int, Step]] = [
    (10, Twins.edit),
    (5, _git("add -A", "add -A", "rm -q --cached a", "reset -q")),
    (9, _git("commit -q -a -m NEW", "commit -q -m NEW", "commit -q --amend -m NEW", "commit -q -m NEW -- FILE",
             "commit -q --allow-empty -m NEW", "commit -q -n -a -m NEW", "commit -q -a --amend --no-edit")),
    (7, _git("switch -q BRANCH", "checkout -q BRANCH", "checkout -q -f BRANCH", "switch -q -", "switch -q -c NEW",
             "checkout -q -B topic", "checkout -q --detach", "checkout -q -B side main", "checkout -q --orphan NEW",
             "checkout -q -- .", "switch -q -m BRANCH")),
    (4, _git("rebase -q BRANCH", "rebase -q --autostash BRANCH", "rebase --continue", "rebase --abort", "rebase --skip",
             "rebase -q --apply --autostash BRANCH")),
    (4, _git("merge -q --no-edit BRANCH", "merge -q --no-ff --no-edit BRANCH", "merge --abort",
             "merge -q --squash BRANCH",
             "merge -q --no-verify --no-edit BRANCH")),
    (4, _git("stash -q", "stash -q -u", "stash -q -k", "stash pop -q", "stash pop -q --index")),
    (4, _git("reset -q --hard", "reset -q --soft HEAD~1", "reset -q HEAD~1", "reset -q --keep BRANCH",
             "reset -q --merge")),
    (3, _git("cherry-pick BRANCH", "cherry-pick --abort", "cherry-pick --continue", "revert --no-edit HEAD",
             "revert --abort")),
    (1, _git("worktree add -q ../NEW", "worktree add -q -f --detach ../NEW BRANCH")),
    (2, _git("bisect start HEAD HEAD~1", "bisect start topic main~1", "bisect good", "bisect reset")),
    (6, _verb("init TASK-1 --title One", "init TASK-2 --title Two")),
    (3, _validate),
    (6, _finish),
    (3, _verb("recover TASK-1", "recover TASK-2")),
    (3, _verb("verify", "status", "snapshot --agent implementer", "resolve-drift --accept --note mine", "complete")),
]  # fmt: skip


def play(twins: Twins, seed: int, steps: int) -> None:
    """Take so many steps, drawn from a seed; after each one everything must hold."""
    draw = Random(seed)
    twins.verb("init", "TASK-1", "--title", "One")
    for step in draw.choices([step for _, step in STEPS], [weight for weight, _ in STEPS], k=steps):
        step(twins, draw)
        twins.hold()
    if twins.active() is not None:
        twins.verb("purge")
    for one in twins.ours.data("list"):
        if one["sealed"] is None:
            twins.ours.ok("recover", one["task"], "--context", one["context_id"])
            twins.ours.ok("purge")
