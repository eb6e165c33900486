"""From manifests and machines to the script of a run, and to what it promises.

`simulate` asks. Machines join and namespaces are made before the run begins, manifests are applied in its first instant, in the order
in which they stand. A namespace that a manifest names is made if no manifest does it. Containers are not run, so Jobs and pods
that are meant to end get the annotation that says when, unless they have it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from korder.cli.documents import Document
from korder.cli.simulate import programs
from korder.install import crds
from kubeloop.objects.meta import JSON
from pocketkube.nodes.lifetimes import FAILS_AFTER, RUNS_FOR
from pocketkube.nodes.machines import Shape
from pocketkube.simulation.report.workload_rows import Name
from pocketkube.simulation.script import AddNode, Apply, Step, in_order

WARM_UP = 30.0
"""Seconds before the start in which machines join and kinds are defined."""
_SETTING_UP = 1.0

PLAYED = frozenset(
    {
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("batch/v1", "Job"),
        *programs.kinds(),
    }
)
"""Kinds that make pods or hold room, so that they promise something."""

_IDLE = frozenset({"CronJob", "HorizontalPodAutoscaler", "ReplicationController"})
_OURS = {kind.group for kind in crds.KINDS}
_OF_THE_CLUSTER = {(kind.api_version, kind.kind) for kind in crds.KINDS if not kind.namespaced}
_ALWAYS_THERE = ("default", "kube-system", "kube-public", "kube-node-lease")


@dataclass(frozen=True, slots=True)
class Stage:
    """What manifests come to.

    Attributes:
        before: What is applied before the start.
        objects: What is applied in the first instant.
        promised: The workloads among them.
        idle: Objects that are stored and that nothing acts on.
        books: Whether somebody books room, or asks for it.
    """

    before: tuple[Document, ...]
    objects: tuple[Document, ...]
    promised: tuple[Name, ...]
    idle: tuple[str, ...]
    runs_korder: bool


def stage(found: Sequence[Document], runs_for: str) -> Stage:
    """Prepares manifests; containers that are meant to end run for so long."""
    documents = [_ending(document, runs_for) for document in found]
    first = [each for each in documents if each.kind in ("Namespace", "CustomResourceDefinition")]
    rest = [each for each in documents if each not in first]
    defined = {each.defines for each in first}
    runs_korder = any(programs.concerns(each.body) for each in rest)
    ours = [
        Document(crd, "korder's own kinds")
        for crd in crds.all_crds()
        if (runs_korder or any(each.group in _OURS for each in rest))
        and Document(crd, "").defines not in defined
    ]
    acted = {*PLAYED, *programs.acted()} if runs_korder else set(PLAYED)
    installed = (
        [Document(body, "korder itself") for body in programs.objects()] if runs_korder else []
    )
    return Stage(
        before=(*_namespaces(first, rest), *first, *ours, *installed),
        objects=tuple(rest),
        promised=tuple(
            Name(each.kind, _namespace(each), each.name)
            for each in rest
            if (each.api_version, each.kind) in PLAYED
        ),
        idle=tuple(
            f"{each.kind} {_where(each)}{each.name}"
            for each in rest
            if each.kind in _IDLE
            or (each.group in _OURS and (each.api_version, each.kind) not in acted)
        ),
        runs_korder=runs_korder,
    )


def script(stage: Stage, machines: Sequence[Step], users: Sequence[Step] = ()) -> tuple[Step, ...]:
    """Everything that is done: machines join first, then what is needed before the start, then all the rest."""
    before = [Step(_SETTING_UP, Apply(document.body)) for document in stage.before]
    objects = [Step(WARM_UP, Apply(document.body)) for document in stage.objects]
    later = [
        Step(step.at + (WARM_UP if step.at > _SETTING_UP else 0.0), step.action) for step in users
    ]
    return in_order([*machines, *before, *objects, *later])


def joining(machines: Mapping[str, Shape]) -> list[Step]:
    """Machines join, all at once."""
    return [Step(0.0, add_node(name, shape)) for name, shape in machines.items()]


def add_node(name: str, shape: Shape) -> AddNode:
    """A machine as a deed."""
    capacity = {"cpu": shape.cpu, "memory": shape.memory, "pods": str(shape.pods)}
    return AddNode(
        name,
        {**capacity, **shape.extended},
        dict(shape.labels),
        [dict(taint) for taint in shape.taints],
    )


def _namespaces(first: Iterable[Document], rest: Iterable[Document]) -> list[Document]:
    said = {each.name for each in first if each.kind == "Namespace"} | set(_ALWAYS_THERE)
    named = dict.fromkeys(_namespace(each) for each in rest if "namespace" in each.metadata)
    return [
        Document(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            f"namespace {name}",
        )
        for name in named
        if name not in said
    ]


def _namespace(document: Document) -> str:
    return str(document.metadata.get("namespace") or "default")


def _where(document: Document) -> str:
    """What stands before a name; nothing for kinds that are in no namespace."""
    clusterwide = (document.api_version, document.kind) in _OF_THE_CLUSTER
    return "" if clusterwide else f"{_namespace(document)}/"


def _ending(document: Document, runs_for: str) -> Document:
    """Says when the containers of a Job, or of a pod that is meant to end, do so."""
    if (document.api_version, document.kind) == ("batch/v1", "Job"):
        spec = _part(document.body, "spec")
        template = _annotated(_part(spec, "template"), runs_for)
        return document._replace(body={**document.body, "spec": {**spec, "template": template}})
    policy = _part(document.body, "spec").get("restartPolicy", "Always")
    if (document.api_version, document.kind) == ("v1", "Pod") and policy != "Always":
        return document._replace(body=_annotated(document.body, runs_for))
    return document


def _annotated(body: dict[str, JSON], runs_for: str) -> dict[str, JSON]:
    meta = _part(body, "metadata")
    annotations = _part(meta, "annotations")
    if RUNS_FOR in annotations or FAILS_AFTER in annotations:
        return body
    return {**body, "metadata": {**meta, "annotations": {**annotations, RUNS_FOR: runs_for}}}


def _part(body: dict[str, JSON], name: str) -> dict[str, JSON]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}
