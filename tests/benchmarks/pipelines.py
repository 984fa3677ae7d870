"""The rows about pipelines: beside doit, luigi and snakemake where these are on PATH, and beside git.

What happens inside a process is the difference of two processes: one that does it, one that does less of it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import OURS, Case, Command, Goal
from benchmarks.shapes import Bench, Worktree

PATHS = 75
"""Changed paths that a merge brings together, as many on each side."""
_COMMANDS = """
from git_taskctx.runner import CommandTask, DagExecutor
assert DagExecutor([CommandTask(f"c{{n}}", ["true"]) for n in range({count})]).run().ok
"""
_TASKS = """
from git_taskctx.runner import DagExecutor, Task
step = lambda ctx: None
tasks = [Task(f"t{{n}}", step, after=[f"t{{n - 4}}"] if n >= 4 else []) for n in range({count})]
assert DagExecutor(tasks, jobs=4).run().ok
"""
_DOIT = 'def task_check():\n    for n in range({count}):\n        yield {{"name": str(n), "actions": ["true"]}}\n'
_LUIGI = """
import subprocess, luigi
class Check(luigi.Task):
    number = luigi.IntParameter()
    done = False
    def run(self):
        subprocess.run(["true"], check=True)
        self.done = True
    def complete(self):
        return self.done
assert luigi.build([Check(number=n) for n in range({count})], local_scheduler=True, log_level="ERROR")
"""
_SNAKES = """
rule all:
    input: [f"made/{{number}}" for number in range({count})]
rule check:
    output: touch("made/{{number}}")
    shell: "true"
"""
_OPENED = """
import os
from pathlib import Path
from git_taskctx.git.repository import open_repository
from git_taskctx.pipeline.here import TreeOwner
from git_taskctx.pipeline.threeway import merge_in_process
from git_taskctx.pipeline.trees import Trees
import pygit2
opened = open_repository(Path.cwd(), os.environ)
"""
_MERGES = """
names = ("HEAD", *(f"{{side}}{{number}}" for number in range({all}) for side in ("ours", "theirs")))
base, *sides = opened.git.run("rev-parse", *(f"{{name}}^{{{{tree}}}}" for name in names)).out.decode().split()
for number in range({count}):
    assert merge_in_process(opened, base, *sides[2 * number : 2 * number + 2])
"""
_BASE = 'base = opened.git.run("rev-parse", "HEAD^{tree}").out.decode().strip()\n'
_TREES = """
home = Path.cwd().parent / "trees"
with Trees(home) as trees:
    for name in ("api", "page"):
        trees.make(opened, base, TreeOwner(str(Path.cwd()), "TASK-1", name, 1))
"""
_ADD = "for n in api page; do git worktree add -q --detach ../$n HEAD; done"


def cases_of_pipelines(bench: Bench, files: int, count: int) -> Iterator[Case]:
    """Yield the rows, with so many files, and so many commands and checks."""
    where = bench.folder / "pipelines"
    where.mkdir(exist_ok=True)
    (where / "dodo.py").write_text(_DOIT.format(count=count))
    doit, luigi = _doit(bench, where), _python_of(bench, "luigi")
    others = {"doit": doit} if doit is not None else {}
    if luigi is not None:
        others["luigi"] = Command((luigi, "-c", _LUIGI.format(count=count)), where, bench.env)
    (where / "Snakefile").write_text(_SNAKES.format(count=count))
    if (snakemake := _found(bench, "snakemake")) is not None:
        others["snakemake"] = Command((snakemake, "--quiet", "all", "--cores", "all"), where, bench.env)
    limits = {"doit": 1.0, "luigi": 0.1, "snakemake": 0.1}
    goals = [Goal("ratio", limits[name], name) for name in others]
    yield Case(
        f"{count:,} commands that do nothing", lambda: None, _python(bench, where, _COMMANDS.format(count=count)),
        others, (Goal("ms"), *goals), lambda _: _forget(where),
    )  # fmt: skip
    yield _run(bench, count, where, doit)
    thousand = 5 * count
    yield Case(
        f"{thousand:,} tasks that do nothing, in process", lambda: None,
        _python(bench, where, _TASKS.format(count=thousand)),
        {"one": _python(bench, where, _TASKS.format(count=1))}, (Goal("extra ms", 0.2 * thousand, "one"),),
    )  # fmt: skip
    yield from _merges(bench, files)
    made = bench.folder / "own-trees"
    yield Case(
        f"trees for two stages, {files:,} files",
        lambda: bench.worktree(bench.source(files), "own-trees/main") and None,
        _python(bench, made / "main", _OPENED + _BASE + _TREES),
        {"worktree add": Command(("sh", "-c", _ADD), made / "main", bench.env)},
        (Goal("ms"), Goal("ratio", 1.5, "worktree add")),
        lambda name: None if name == OURS else _remove_worktrees(bench, made),
    )  # fmt: skip


def _run(bench: Bench, count: int, where: Path, doit: Command | None) -> Case:
    """Return the row of `git taskctx run`, with everything on record, each time in a new clone."""
    source = bench.folder / "checks-source"

    def prepare() -> None:
        bench.git(bench.folder, "init", "-q", os.fspath(source))
        stages = "".join(f'[stage.c{number}]\nrun = ["true"]\n' for number in range(count))
        (source / ".taskctx.toml").write_text(stages)
        bench.git(source, "add", "-A")
        bench.git(source, "commit", "-qm", "checks")

    def before(name: str) -> None:
        if name != OURS:
            _forget(where)
            return
        bench.worktree(source, "checks").taskctx("init", "TASK-1", "--title", "Measure")

    goals = (Goal("ms"), *((Goal("ratio", 1.5, "doit"),) if doit is not None else ()))
    command = Command(("git", "taskctx", "run"), bench.folder / "checks", bench.env)
    return Case(f"git taskctx run, {count:,} checks", prepare, command, {"doit": doit} if doit else {}, goals, before)


def _merges(bench: Bench, files: int) -> Iterator[Case]:
    """Yield the rows of merges in a running process: the first one, and what each further one takes."""
    name, paths, further = "merges", min(PATHS, files // 3), 10
    folder = bench.folder / name

    def prepare() -> None:
        made = bench.worktree(bench.source(files), name)
        listed = made.git("ls-files", "-z").decode().split("\0")[:-1]
        for number in range(further + 1):
            for side, first in (("ours", 0), ("theirs", paths)):
                made.git("checkout", "-q", "--detach", "origin/HEAD")
                _edit(made, listed[first : first + paths], f"{side} {number}\n")
                made.git("commit", "-qam", side)
                made.git("branch", "-f", f"{side}{number}")
        made.git("checkout", "-q", "--detach", "origin/HEAD")

    commands = [
        _python(bench, folder, _OPENED + _MERGES.format(count=count, all=further + 1)) for count in (0, 1, further + 1)
    ]
    for what, few, many, limit in (("the first merge", 0, 1, None), (f"{further} more merges", 1, 2, 20.0 * further)):
        yield Case(
            f"{what}, {paths} changed paths a side of {files:,}", prepare, commands[many], {"less": commands[few]},
            (Goal("extra ms", limit, "less"),),
            lambda _: bench.git(folder, "prune", "--expire=now") and None,
        )  # fmt: skip


def _edit(made: Worktree, paths: list[str], text: str) -> None:
    for path in paths:
        with (made.path / path).open("a") as file:
            file.write(text)


def _remove_worktrees(bench: Bench, made: Path) -> None:
    for name in ("api", "page"):
        shutil.rmtree(made / name, ignore_errors=True)
    bench.git(made / "main", "worktree", "prune")


def _forget(where: Path) -> None:
    for path in where.glob(".doit*"):
        path.unlink()
    for name in ("made", ".snakemake"):
        shutil.rmtree(where / name, ignore_errors=True)


def _doit(bench: Bench, where: Path) -> Command | None:
    found = _found(bench, "doit")
    return Command((found, "-f", "dodo.py"), where, bench.env) if found is not None else None


def _python_of(bench: Bench, program: str) -> str | None:
    """Return the Python beside a program."""
    found = _found(bench, program)
    return os.fspath(Path(found).with_name("python")) if found is not None else None


def _found(bench: Bench, program: str) -> str | None:
    found = shutil.which(program, path=bench.env["PATH"])
    if found is None:
        sys.stderr.write(f"skipped: rows beside {program}, which is not on PATH\n")
    return found


def _python(bench: Bench, folder: Path, code: str) -> Command:
    return Command((sys.executable, "-c", code), folder, bench.env)
