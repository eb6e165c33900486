"""From what a person asked for to a run that can be played, or to the sentence that says why it cannot.

`simulate` calls it before anything is played. Flags that contradict each other, shapes no machine has and manifests a server would
refuse end here, in a `Mistake`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
import random
import shlex

import typer

from korder.api import instant, quantity
from korder.cli import documents, likeness, playflags, staging
from korder.cli.playflags import Mistake
from korder.cli.recording import Played
from korder.cli.session import cluster
from korder.cli.staging import Stage
from korder.embedded import fleet
from korder.embedded.actors.machines import Shape
from korder.embedded.simulation import rehearsal
from korder.embedded.simulation.lines import Name

MOST_NODES = 5_000
NODES, SHAPE, JOBS_TAKE, SEED = 5, "cpu=8,memory=32Gi", "5m", 1
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_MOST_REFUSALS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The flags, as they were given; None where nothing was said."""

    files: Sequence[str] | None = None
    nodes: int | None = None
    node_shape: str | None = None
    like_cluster: bool | None = None
    begin: str | None = None
    end: str | None = None
    lasting: str | None = None
    jobs_take: str | None = None
    seed: int | None = None
    faults: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


FLAGS = {
    "files": "-f",
    "nodes": "--nodes",
    "node_shape": "--node-shape",
    "like_cluster": "--like-cluster",
    "begin": "--from",
    "end": "--to",
    "lasting": "--for",
    "jobs_take": "--jobs-take",
    "seed": "--seed",
    "faults": "--faults",
    "kubeconfig": "--kubeconfig",
    "context": "--context",
}


def said(asked: Asked, names: Iterable[str] = FLAGS) -> list[str]:
    """Which of these flags were given."""
    return [FLAGS[name] for name in names if getattr(asked, name) is not None]


def prepare(asked: Asked, words: Sequence[str], now: datetime) -> Played:
    """Makes a run of it; `words` are what was typed.

    Raises:
        Mistake: it cannot be played.
    """
    if not asked.files:
        raise Mistake(
            "there is nothing to play; name manifests with -f, or a journal with --replay"
        )
    start, end = playflags.window(asked.begin, asked.end, asked.lasting, now)
    faults = playflags.share(asked.faults or "0%")
    runs_for = asked.jobs_take or JOBS_TAKE
    playflags.span("--jobs-take", runs_for)
    stage = staging.stage(documents.read(list(asked.files)), runs_for)
    machines = _machines(asked, stage.promised)
    _rehearse(stage, start)
    return Played(
        seed=SEED if asked.seed is None else asked.seed,
        faults=faults,
        start=start,
        end=end,
        warm_up=staging.WARM_UP,
        nodes=len(machines),
        manifests=len(stage.objects),
        command=_command(words, start),
        script=staging.script(stage, machines),
        promised=stage.promised,
    )


def _command(words: Sequence[str], start: datetime) -> str:
    """What to type to see the same again, also when it is not now any more."""
    fixed = [instant.render(start) if word == "now" else word for word in words]
    return shlex.join(["korder", *fixed])


def _rehearse(stage: Stage, start: datetime) -> None:
    tried = (*stage.before, *stage.objects)
    refusals = rehearsal.rehearse([document.body for document in tried], start)
    told = [
        f"{document.place}: {refusal}"
        for document, refusal in zip(tried, refusals, strict=True)
        if refusal
    ]
    if told:
        more = len(told) - _MOST_REFUSALS
        rest = [f"{more} more are refused"] if more > 0 else []
        raise Mistake("\nkorder: ".join(told[:_MOST_REFUSALS] + rest))
    for name in stage.idle:
        typer.echo(f"note: {name} is stored, but nothing acts on it yet", err=True)
    if not stage.promised:
        kinds = ", ".join(sorted({kind for _, kind in staging.PLAYED}))
        raise Mistake(f"nothing in these manifests makes pods; there is none of {kinds}")


def _machines(asked: Asked, promised: Sequence[Name]) -> Mapping[str, Shape]:
    if asked.like_cluster:
        others = said(asked, ("nodes", "node_shape"))
        if others:
            raise Mistake(f"--like-cluster takes nodes as they are; leave out {others[0]}")
        return asyncio.run(_like_cluster(asked, promised))
    others = said(asked, ("kubeconfig", "context"))
    if others:
        raise Mistake(f"{others[0]} is only read with --like-cluster")
    count = NODES if asked.nodes is None else asked.nodes
    if not 1 <= count <= MOST_NODES:
        raise Mistake(f"--nodes: {count} is not between 1 and {MOST_NODES}")
    shape = _shape(asked.node_shape or SHAPE)
    return {f"node-{number}": shape for number in range(1, count + 1)}


def _shape(text: str) -> Shape:
    try:
        shape = fleet.shape_of(text)
    except fleet.BadShape as error:
        raise Mistake(f"--node-shape: {error}") from None
    names = [part.partition("=")[0].strip() for part in text.split(",")]
    for name in names:
        if names.count(name) > 1:
            raise Mistake(f"--node-shape: {name} is said twice")
        if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
            known = ", ".join(_RESOURCES)
            raise Mistake(
                f"--node-shape: {name!r} is nothing a node has; there are {known} and names with a domain such as nvidia.com/gpu"
            )
    for name in ("cpu", "memory", "pods"):
        if quantity.parse(str(shape.capacity[name])).is_zero:
            raise Mistake(f"--node-shape: a node without {name} can run nothing")
    return shape


async def _like_cluster(asked: Asked, promised: Sequence[Name]) -> Mapping[str, Shape]:
    async with cluster(asked.kubeconfig, asked.context, random.Random()) as client:
        found = await likeness.read(client, promised)
    if not found.machines:
        raise Mistake("--like-cluster: the cluster has no node that takes pods")
    for name in found.left_out:
        typer.echo(f"note: node {name} is left out, it takes no pods now", err=True)
    return found.machines
