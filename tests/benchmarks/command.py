"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.breakdown import print_timeline
from benchmarks.cases import Place, cases_of, cases_of_ledger
from benchmarks.engine import print_engine
from benchmarks.measure import Case, Failed, measure, raw
from benchmarks.pipelines import cases_of_pipelines
from benchmarks.shapes import Bench
from benchmarks.table import HEADINGS, render, rows_of
from benchmarks.tokens import ENCODING, print_tokens

_WIDTHS = (44, 10, 10, 20, 22, 0)


def main(argv: Sequence[str]) -> int:
    """Measure, and print the table row by row."""
    options = _parser().parse_args(argv)
    if options.engine:
        tasks, megabytes = options.engine
        print_engine(tasks=tasks, megabytes=megabytes, copies=max(8, tasks // 50), rounds=options.rounds)
        return 0
    with tempfile.TemporaryDirectory(prefix="taskctx-benchmarks-") as folder:
        if options.tokens:
            print_tokens(Path(folder), options.tokens)
            return 0
        bench = Bench(options.cache or Path(folder))
        try:
            places = [] if options.pipelines else list(_places(bench, options))
            if options.timeline:
                for place in places:
                    print_timeline(place, shlex.split(options.timeline), rounds=options.rounds)
            else:
                _print_table(bench, places, options)
        except Failed as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
    return 0


def _places(bench: Bench, options: argparse.Namespace) -> Iterator[Place]:
    for repo in options.repo:
        yield Place(bench, repo.resolve(), repo.resolve().name)
    for size in options.sizes or ([] if options.repo else _sizes("1k,10k,100k")):
        yield Place(bench, bench.source(size), _label(size))


def _print_table(bench: Bench, places: list[Place], options: argparse.Namespace) -> None:
    figures = []
    print(render([HEADINGS], _WIDTHS))
    for case in _cases(bench, places, options):
        measured = measure(case, options.rounds)
        if measured is None:
            continue
        figures.append(raw(measured))
        print(render(rows_of(measured), _WIDTHS), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def _cases(bench: Bench, places: list[Place], options: argparse.Namespace) -> Iterator[Case]:
    if options.pipelines:
        yield from (case for case in cases_of_pipelines(bench, *options.pipelines) if options.rows.search(case.name))
        return
    for place in places:
        yield from (case for case in cases_of(place) if options.rows.search(case.name))
    ledger = cases_of_ledger(
        bench,
        places[0].source,
        notes=options.notes,
        tasks=options.tasks,
        past=options.past,
        proofs=options.proofs,
    )
    yield from (case for case in ledger if options.rows.search(case.name))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="What git taskctx costs beside git: whole processes, medians of paired rounds, as ratios.",
        epilog="STATUS is `git status --porcelain=v2 -z`, STASH is `git stash create`, with the same files changed.",
    )
    parser.add_argument("--sizes", type=_sizes, help="files of the generated repositories (default: 1k,10k,100k)")
    parser.add_argument("--repo", type=Path, action="append", default=[], help="a repository to measure a clone of")
    parser.add_argument("--rounds", type=int, default=7, help="paired rounds after the first, which is thrown away")
    parser.add_argument(
        "--rows", type=re.compile, default=re.compile(""), help="a pattern: only the rows it is found in"
    )
    parser.add_argument("--cache", type=Path, help="a folder that keeps the generated repositories for the next run")
    parser.add_argument("--json", type=Path, help="write the raw figures to this file")
    parser.add_argument("--timeline", metavar="VERB", help="draw when each git process of a verb, as typed, runs")
    parser.add_argument(
        "--tokens", nargs="?", const=ENCODING, metavar="ENCODING", help="count the tokens of a task's prompts instead"
    )
    parser.add_argument(
        "--engine", nargs="?", type=_pair, const=(1_000, 100), metavar="TASKS,MIB",
        help="measure the engine of pipelines instead, beside a copy of the store for each task (1k,100)",
    )  # fmt: skip
    parser.add_argument(
        "--pipelines", nargs="?", type=_pair, const=(10_000, 200), metavar="FILES,COMMANDS",
        help="measure pipelines instead, beside doit, luigi, snakemake and git (10k,200)",
    )  # fmt: skip
    parser.add_argument("--notes", type=_pair, default=(1_000, 100_000), help="notes on the ref (default: 1k,100k)")
    parser.add_argument(
        "--proofs", type=_pair, default=(100, 10_000), help="commits proved, and in all (default: 100,10k)"
    )
    parser.add_argument("--tasks", type=_pair, default=(1, 1_000), help="tasks on one base commit (default: 1,1k)")
    parser.add_argument("--past", type=_pair, default=(1, 500), help="tasks before this one (default: 1,500)")
    return parser


def _sizes(text: str) -> list[int]:
    return [int(word[:-1]) * 1000 if word.endswith("k") else int(word) for word in text.split(",")]


def _pair(text: str) -> tuple[int, int]:
    few, many = _sizes(text)
    return few, many


def _label(size: int) -> str:
    return f"{size // 1000}k" if size % 1000 == 0 else str(size)
