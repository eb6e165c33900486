"""Plays many seeds on all cores: `python -m korder.testing.soak --seeds 200 --hours 24`; or one, and tells everything about it.

`make soak` calls it. What is done is written down at once and not played again: a soak that was interrupted goes on where it was. Each
failure is one line, with the command that plays it again; with `--journal` that command writes all that happened, and with
`--shrink` it looks for the smallest run that fails in the same way.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import replace
import multiprocessing
import os
from pathlib import Path
import signal
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from korder.testing.seeds import (
    Done,
    Ledger,
    Task,
    figures_of,
    hush,
    play,
    setup_of,
    version_of_sources,
)
from korder.testing.suites import SUITES
from pocketkube.simulation import script
from pocketkube.simulation.shrinking import RUNS, smallest
from pocketkube.simulation.world import simulate

STATE = Path("build/soak")
RUNS_OF_A_WORKER = 25
"""Runs after which workers are replaced, on average, so that their memory is bounded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays what the flags say; 1 if anything failed."""
    flags = _flags(arguments)
    out = Console(highlight=False, soft_wrap=True)
    hush()
    suites = flags.suite or [*SUITES]
    try:
        if flags.seed is not None:
            return _one(Task(suites[0], flags.seed, flags.hours), flags, out)
        seeds = range(flags.first, flags.first + flags.seeds)
        tasks = [Task(each, seed, flags.hours) for seed in seeds for each in suites]
        return _many(tasks, flags.jobs, out)
    except KeyboardInterrupt:
        out.print("interrupted; the same command goes on from here")
        return 130
    except BrokenProcessPool:
        out.print(
            "a worker was killed, perhaps for want of memory; the same command goes on from here"
        )
        return 1


def _many(tasks: Sequence[Task], jobs: int, out: Console) -> int:
    """Plays what is not done yet."""
    ledger = Ledger(STATE / f"{version_of_sources()}.jsonl")
    known = [done for task in tasks if (done := ledger.get(task)) is not None]
    failed = [done for done in known if done.violation]
    for done in failed:
        out.print(str(done), markup=False)
    with ExitStack() as stack:
        bar = stack.enter_context(_progress(Console(stderr=True)))
        row = bar.add_task("seeds", total=len(tasks), completed=len(known))
        for done in _played([task for task in tasks if ledger.get(task) is None], jobs):
            ledger.add(done)
            bar.advance(row)
            if done.violation:
                failed.append(done)
                bar.console.print(str(done), markup=False, highlight=False, soft_wrap=True)
    played = [done for task in tasks if (done := ledger.get(task)) is not None]
    writes = sum(done.writes for done in played)
    hours = sum(task.hours for task in tasks)
    out.print(
        f"{len(tasks)} runs ({len(known)} done before), {hours:g} simulated hours, {writes} writes:"
        f" {len(failed)} failed"
    )
    _print_figures((done.figures for done in played), out)
    return 1 if failed else 0


def _print_figures(figures: Iterable[Mapping[str, int]], out: Console) -> None:
    """Prints the sums of what invariants counted, one line each."""
    total = Counter[str]()
    for each in figures:
        total.update(each)
    for name, number in sorted(total.items()):
        out.print(f"{number:8} {name}", markup=False)


def _played(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Plays tasks on so many cores; they come back as they end."""
    size = jobs * RUNS_OF_A_WORKER
    for start in range(0, len(tasks), size):
        yield from _batch(tasks[start : start + size], jobs)


def _batch(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    """Plays tasks with fresh workers; a pool that replaces its own may hang (gh-115634 in CPython)."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, initializer=_begin) as pool:
        futures = {pool.submit(play, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                yield Done(futures[future], f"it raised: {error!r}") if error else future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """A worker keeps its logs to itself, and ends at once when somebody presses Ctrl-C."""
    hush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _one(task: Task, flags: argparse.Namespace, out: Console) -> int:
    """Plays one seed and tells everything about it."""
    with ExitStack() as stack:
        setup = setup_of(task)
        if flags.journal is not None:
            file = stack.enter_context(flags.journal.open("w"))
            setup = replace(setup, sink=lambda line: file.write(line + "\n"))
        outcome = simulate(setup)
    out.print(f"{task.suite} seed {task.seed}: {outcome.writes} writes, journal {outcome.digest}")
    _print_figures([figures_of(setup)], out)
    if not outcome.violation:
        return 0
    out.print(outcome.report or outcome.violation, markup=False)
    if flags.shrink:
        _shrink(task, flags.runs, out)
    return 1


def _shrink(task: Task, runs: int, out: Console) -> None:
    small = smallest(lambda: setup_of(task), runs)
    if small is None:
        return
    case = small.case
    out.print(f"after {small.runs} runs, {len(case)} steps, faults and crashes are left:")
    out.print(script.render(case.steps).decode(), markup=False)
    for each in (*case.strikes, *case.crashes):
        out.print(str(each), markup=False)
    out.print(small.outcome.report or small.outcome.violation, markup=False)


def _progress(console: Console) -> Progress:
    """A bar, where somebody looks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    )


def _flags(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m korder.testing.soak", description=__doc__)
    parser.add_argument("--suite", action="append", choices=[*SUITES], help="all, if none is named")
    parser.add_argument("--seeds", type=_count, default=20, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--hours", type=_hours, default=1.0, help="simulated hours of each run")
    parser.add_argument("--jobs", type=_count, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--seed", type=int, help="play this one only, and tell all about it")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="with --seed: all that happens"
    )
    parser.add_argument(
        "--shrink", action="store_true", help="with --seed: make it small, if it fails"
    )
    parser.add_argument(
        "--runs", type=_count, default=RUNS, help="with --shrink: the most it takes"
    )
    flags = parser.parse_args(arguments)
    if flags.seed is None and (flags.journal or flags.shrink):
        parser.error("--journal and --shrink tell about one seed: name it with --seed")
    if flags.seed is not None and len(flags.suite or SUITES) != 1:
        parser.error(f"--seed is of one suite: name it with --suite, one of {', '.join(SUITES)}")
    return flags


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of hours above zero")
    return hours


if __name__ == "__main__":
    sys.exit(main())
