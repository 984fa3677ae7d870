"""The engine of pipelines, beside the design that it replaces: a copy of the whole store for each task, merged back.

Every figure is of a process of its own; both designs run the same graph, on the same number of threads, in turn.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

MIB = 1024 * 1024
THREADS = 4
_SETUP = "import sys; sys.path[:0] = {paths!r}\nfrom benchmarks.engine import measure_here\nmeasure_here(*sys.argv[1:])"


def store_of(megabytes: int) -> dict[str, Any]:
    """Return a store of that size: lists of texts, as the output of earlier tasks is."""
    return {f"seed{n}": [f"{n:05}-{line:04}" + "x" * 1_014 for line in range(102)] for n in range(megabytes * 10)}


def run_ours(tasks: int, seed: Mapping[str, Any]) -> None:
    """Run tasks that each read one key and write one."""
    from git_taskctx.runner import DagExecutor, Task, TaskContext

    key = next(iter(seed), None)

    def step(ctx: TaskContext) -> None:
        ctx.outputs.set("size", len(ctx.inputs[key]) if key else 0)

    found = [Task(f"t{n:05}", step, after=[f"t{n - THREADS:05}"] if n >= THREADS else []) for n in range(tasks)]
    assert DagExecutor(found, jobs=THREADS).run(seed).ok


def run_copies(tasks: int, seed: Mapping[str, Any]) -> None:
    """Run the same with a copy of the store for each task, and merge all of it back."""
    store, lock = dict(seed), threading.Lock()
    key = next(iter(seed), None)

    def step(name: str) -> None:
        with lock:
            mine = copy.deepcopy(store)
        mine[f"{name}.size"] = len(mine[key]) if key else 0
        with lock:
            store.update(mine)

    with ThreadPoolExecutor(THREADS) as pool:
        for first in range(0, tasks, THREADS):
            for future in wait([pool.submit(step, f"t{n:05}") for n in range(first, min(first + THREADS, tasks))]).done:
                future.result()


def run_pool(tasks: int, _: Mapping[str, Any]) -> None:
    """Run nothing on a bare pool of threads: the floor."""
    with ThreadPoolExecutor(THREADS) as pool:
        for future in wait([pool.submit(int) for _ in range(tasks)]).done:
            future.result()


DESIGNS = {"ours": run_ours, "copy per task": run_copies, "bare pool": run_pool}


def measure_here(design: str, tasks: str, megabytes: str) -> None:
    """Measure in this process, and print what one task took, what each further one, and what memory grew by."""
    DESIGNS[design](10, {})  # imports, threads
    seed = store_of(int(megabytes))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    taken = []
    for count in (1, int(tasks)):
        wall, cpu = time.perf_counter(), time.process_time()
        DESIGNS[design](count, seed)
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    (first, first_cpu), (all_, all_cpu) = taken
    further = max(1, int(tasks) - 1)
    found = {"first": first, "wall": (all_ - first) / further, "cpu": (all_cpu - first_cpu) / further}
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / MIB
    print(json.dumps({"grown": grown, **{name: seconds * 1000 for name, seconds in found.items()}}))


def measure(design: str, tasks: int, megabytes: int) -> dict[str, float]:
    """Measure in a process of its own: milliseconds of the first and of a further task, and MiB."""
    folder = Path(__file__).resolve().parents[1]
    code = _SETUP.format(paths=[os.fspath(folder), os.fspath(folder.parent)])
    argv = [sys.executable, "-c", code, design, str(tasks), str(megabytes)]
    found: dict[str, float] = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    return found


def print_engine(*, tasks: int, megabytes: int, copies: int, rounds: int) -> None:
    """Print the table: each design over an empty store and over a large one."""
    rows = [("bare pool", tasks, 0), ("ours", tasks, 0), ("ours", tasks, megabytes), ("copy per task", copies, 0),
            ("copy per task", copies, megabytes)]  # fmt: skip
    found: dict[tuple[str, int, int], list[dict[str, float]]] = {row: [] for row in rows}
    for _ in range(rounds):
        for row in rows:
            found[row].append(measure(*row))
    print(f"{'design':<14}{'tasks':>7}{'store':>9}{'first, ms':>12}{'further':>9}{'CPU':>8}{'memory':>12}")
    middle = {
        row: {name: statistics.median(one[name] for one in ones) for name in ones[0]} for row, ones in found.items()
    }
    for (design, count, size), one in middle.items():
        times = f"{one['first']:>12.1f}{one['wall']:>9.3f}{one['cpu']:>8.3f}"
        print(f"{design:<14}{count:>7}{size:>5} MiB{times}{one['grown']:>8.1f} MiB")
    for design, count in (("ours", tasks), ("copy per task", copies)):
        empty, full = middle[design, count, 0], middle[design, count, megabytes]
        ratios = [full[name] / empty[name] for name in ("wall", "cpu")]
        print(f"{design}, {megabytes} MiB over empty: {ratios[0]:.2f}x, CPU {ratios[1]:.2f}x")
