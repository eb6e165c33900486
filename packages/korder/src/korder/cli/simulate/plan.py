"""From what a person asked for to a run that can be played, or to the sentence that says why it cannot.

`simulate` calls it before anything is played. Flags that contradict each other, shapes no machine has and manifests a server would
refuse end here, in a `Mistake`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
import shlex

import typer

from korder.cli import documents
from korder.cli.simulate import flags, nodes, script
from korder.cli.simulate.flags import Asked, Mistake
from korder.cli.simulate.journal import Played
from korder.cli.simulate.script import Stage
from kubeloop.objects import instant
from pocketkube.simulation import preflight
from pocketkube.simulation.script import Step

JOBS_TAKE, SEED = "5m", 1
CALM = timedelta(minutes=10)
_MOST_REFUSALS = 10


def prepare(asked: Asked, words: Sequence[str], now: datetime) -> Played:
    """Makes a run of it; `words` are what was typed.

    Raises:
        Mistake: it cannot be played.
    """
    if not asked.files and asked.workload is None:
        raise Mistake("there is nothing to play; say -f FILE, --workload PODS or --replay FILE")
    start, end = flags.window(asked.begin, asked.end, asked.lasting, now)
    faults = flags.share(asked.faults or "0%")
    calm = _calm(asked, faults, end - start)
    runs_for = asked.jobs_take or JOBS_TAKE
    flags.span("--jobs-take", runs_for)
    seed = SEED if asked.seed is None else asked.seed
    stage = script.stage(documents.read(list(asked.files)) if asked.files else (), runs_for)
    machines, users = _populated(asked, stage, seed, end - start - calm, faulty=faults > 0)
    if asked.files:
        _rehearse(stage, start)
    return Played(
        seed=seed,
        faults=faults,
        start=start,
        end=end,
        warm_up=script.WARM_UP,
        calm=calm.total_seconds(),
        nodes=len(machines),
        manifests=len(stage.objects),
        workload=asked.workload or 0,
        command=_command(words, start),
        script=script.script(stage, machines, users),
        promised=stage.promised,
        runs_korder=stage.runs_korder,
    )


def _calm(asked: Asked, faults: float, length: timedelta) -> timedelta:
    """How long nothing happens at the end, so that what is judged is at rest."""
    if not faults and asked.workload is None:
        return timedelta()
    if length < 2 * CALM:
        flag = "--faults" if faults else "--workload"
        least = 2 * CALM // timedelta(minutes=1)
        raise Mistake(f"{flag} needs a run of {least}m at least: the last ten minutes are calm")
    return CALM


def _populated(
    asked: Asked, stage: Stage, seed: int, length: timedelta, *, faulty: bool
) -> tuple[list[Step], list[Step]]:
    if asked.workload is None:
        return nodes.machines(asked, stage.promised), []
    return nodes.users(asked, seed, length / timedelta(hours=1), faulty=faulty)


def _command(words: Sequence[str], start: datetime) -> str:
    """What to type to see the same again, also when it is not now any more."""
    fixed = [instant.render(start) if word == "now" else word for word in words]
    return shlex.join(["korder", *fixed])


def _rehearse(stage: Stage, start: datetime) -> None:
    tried = (*stage.before, *stage.objects)
    refusals = preflight.rehearse([document.body for document in tried], start)
    stated = [
        f"{document.place}: {refusal}"
        for document, refusal in zip(tried, refusals, strict=True)
        if refusal
    ]
    if stated:
        more = len(stated) - _MOST_REFUSALS
        rest = [f"{more} more are refused"] if more > 0 else []
        raise Mistake("\nkorder: ".join(stated[:_MOST_REFUSALS] + rest))
    for name in stage.idle:
        typer.echo(f"note: {name} is stored, but nothing acts on it yet", err=True)
    if not stage.promised:
        kinds = ", ".join(sorted({kind for _, kind in script.PLAYED}))
        raise Mistake(
            f"nothing in these manifests makes pods or holds room; there is none of {kinds}"
        )
