"""`korder simulate`: plays manifests against a cluster of a given shape, on virtual time, and tells what happened when.

It only reads flags and shows results; `script` makes the script, `pocketkube.simulation` plays it. Exit code 0: everything promised was
kept; 1: something was not; 2: what was asked for cannot be played.
"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
import sys
from typing import Annotated, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text
import typer

from korder.cli import logs, tables
from korder.cli.options import Context, Kubeconfig
from korder.cli.simulate import (
    chart,
    flags,
    journal as journal_file,
    nodes as simulated_nodes,
    plan,
    programs,
)
from korder.cli.simulate.flags import Asked, Destination, Form, Mistake
from korder.cli.simulate.journal import Played
from kubeloop.client.errors import KubeError
from kubeloop.net.http import NetError
from kubeloop.objects import instant
from kubeloop.runtime.clock import SystemClock
from pocketkube.simulation.journal import Sink
from pocketkube.simulation.report import page, report
from pocketkube.simulation.report.report import Report, Run
from pocketkube.simulation.report.timeline import Violation, lasting as lasting_for
from pocketkube.simulation.report.timeline_builder import Chronicle
from pocketkube.simulation.world import Setup, simulate


def run(  # noqa: PLR0913, PLR0917  the options of the verb
    files: Annotated[
        list[str] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="A file, a folder, or - for input."),
    ] = None,
    workload: Annotated[
        int | None,
        typer.Option(
            metavar="PODS", help="Let made-up users run so many pods, on average, besides."
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help=f"How many nodes; {simulated_nodes.NODES} if not given."
        ),
    ] = None,
    node_shape: Annotated[
        str | None,
        typer.Option(
            metavar="RESOURCES", help=f"What each node has; {simulated_nodes.SHAPE} if not given."
        ),
    ] = None,
    like_cluster: Annotated[
        bool,
        typer.Option(
            "--like-cluster",
            help="Take the nodes of the current kubeconfig's cluster, with what is free on them.",
        ),
    ] = False,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="INSTANT",
            help="When it starts: an instant, a day, or now; 2026-01-01 if not given.",
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="INSTANT", help="When it ends.")
    ] = None,
    lasting: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="How long it lasts; 24h if not given."),
    ] = None,
    jobs_take: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help=f"How long Jobs' pods run; {plan.JOBS_TAKE} if not given."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="What chance is drawn from; 1 if not given."),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="How many of all requests go wrong, such as 5%."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output", "-o", metavar="FORM[=FILE]", help="text, json or html; can be repeated."
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write down everything, to be played again."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Play a journal again and compare."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Play manifests on virtual time and tell what happens when."""
    asked = Asked(
        files=files,
        workload=workload,
        nodes=nodes,
        node_shape=node_shape,
        like_cluster=like_cluster or None,
        begin=begin,
        end=end,
        lasting=lasting,
        jobs_take=jobs_take,
        seed=seed,
        faults=faults,
        kubeconfig=kubeconfig,
        context=context,
    )
    try:
        forms = flags.destinations(output or ())
        if replay is not None:
            made, trouble = _replayed(replay, asked, journal)
        else:
            made, trouble = _played(asked, journal), ""
    except OSError as error:
        typer.echo(f"korder: {error.filename}: {error.strerror}", err=True)
        raise typer.Exit(2) from None
    except (KubeError, NetError) as error:
        typer.echo(f"korder: {error}", err=True)
        raise typer.Exit(2) from None
    for destination in forms:
        _show(made, destination)
    if trouble:
        typer.echo(f"korder: the replay went another way: {trouble}", err=True)
    if trouble or not made.timeline.kept:
        raise typer.Exit(1)


def _played(asked: Asked, journal: Path | None) -> Report:
    if journal is not None:
        flags.check_writable("--journal", journal)
    played = plan.prepare(asked, sys.argv[1:], SystemClock().now())
    if journal is None:
        return _play(played, None)
    with journal_file.recorded(journal, played) as out:
        return _play(played, lambda line: out.write(line + "\n"))


def _replayed(file: Path, asked: Asked, journal: Path | None) -> tuple[Report, str]:
    others = flags.said(asked) + (["--journal"] if journal is not None else [])
    if others:
        raise Mistake(f"--replay plays everything as it was; leave out {others[0]}")
    played, earlier = journal_file.reopened(file)
    with earlier:
        comparison = journal_file.Comparison(earlier)
        made = _play(played, comparison)
        comparison.end()
    return made, comparison.difference


def _play(played: Played, sink: Sink | None) -> Report:
    chronicle = Chronicle(played.start, played.end, played.promised, programs.report())
    setup = played.setup()
    with logs.silent(), _Progress(setup, sink) as progress:
        outcome = simulate(replace(setup, observers=(chronicle.see,), sink=progress.pass_on))
    if outcome.report:
        typer.echo(outcome.report, err=True)
    ended = min(setup.start + timedelta(seconds=outcome.ended_after), played.end)
    violations = [
        Violation(at=ended, invariant=name, text=text.strip())
        for name, _, text in [outcome.violation.partition(":")]
        if name
    ]
    run = Run(
        seed=played.seed,
        faults=played.faults,
        nodes=played.nodes,
        manifests=played.manifests,
        workload=played.workload,
        strikes=len(outcome.strikes),
        writes=outcome.writes,
        digest=outcome.digest,
        command=played.command,
    )
    return Report(run=run, timeline=chronicle.tell(ended, violations))


class _Progress:
    """How far a run is, for whoever watches; lines of the journal tell it on their way to their sink."""

    def __init__(self, setup: Setup, sink: Sink | None) -> None:
        self._sink = sink
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bar.add_task("simulating", total=setup.length + setup.settle)
        self._lines = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def pass_on(self, line: str) -> None:
        self._lines += 1
        if self._sink is not None:
            self._sink(line)
        if self._lines % 200 == 0:
            done = float(line.partition(" ")[0])
            self._bar.update(self._task, completed=done, refresh=True)


def _show(made: Report, destination: Destination) -> None:
    """Writes a result to where it was wanted."""
    if destination.form is Form.TEXT:
        out = tables.console()
        width = min(out.width, chart.WIDTH) if out.is_terminal else chart.WIDTH
        lines = [_heading(made), Text(), *chart.lines(made.timeline, width)]
        if destination.file is None:
            tables.show(lines)
        else:
            destination.file.write_text("".join(f"{line.plain}\n" for line in lines))
        return
    json = destination.form is Form.JSON
    content = report.encode(made).decode() if json else page.render(made)
    if destination.file is None:
        print(content, end="", flush=True)
    else:
        destination.file.write_text(content)


def _heading(made: Report) -> Text:
    stated, run = made.timeline, made.run
    length = lasting_for((stated.end - stated.start).total_seconds())
    faults = f", faults {run.faults:.1%} ({run.strikes} requests)" if run.faults else ""
    played = [_counted(run.manifests, "manifest")] if run.manifests else []
    played += [f"about {run.workload} pods of made-up users"] if run.workload else []
    return Text(
        f"{instant.render(stated.start)}, {length}: {' and '.join(played)} on "
        f"{_counted(run.nodes, 'node')}, seed {run.seed}{faults}",
        style="bold",
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
