"""DaemonSets: one pod on every node that suits it, bound there by the scheduler through node affinity.

Which nodes suit is asked of `kubeloop.objects.scheduling`, with the tolerations that daemon pods have of themselves. Updates end old pods
within `maxUnavailable`; `maxSurge` is not played, an update with surge alone goes one node at a time. A pod that ended is
replaced no sooner than a second after it was made, so that a node which refuses it is not flooded.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

import msgspec

from kubeloop.client.client import Client
from kubeloop.objects import scheduling, workloads
from kubeloop.objects.core import NODES, PODS, Node, Pod, PodSpec, Toleration, is_finished
from kubeloop.objects.meta import JSON, Key, key_of
from kubeloop.objects.plan import NOTHING, Create, Plan, Step
from kubeloop.objects.workloads import DAEMON_SETS, DaemonSet, DaemonSetStatus, RollingUpdate
from kubeloop.runtime.manager import Manager
from pocketkube.controllers import pod_control, rollout
from pocketkube.controllers.adoption import Family, taken
from pocketkube.controllers.statefulsets import REVISION

BREATH = timedelta(seconds=1)
_ALWAYS_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_WITH_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Post:
    """A node, whether it shall have a pod, may keep one, and those it has, oldest first."""

    node: str
    wanted: bool
    kept: bool
    pods: tuple[Pod, ...]


class DaemonSets:
    """Keeps the pods of all DaemonSets."""

    def __init__(self, manager: Manager, client: Client) -> None:
        self._family = Family(manager, client, DAEMON_SETS, PODS, lambda each: each.spec.selector)
        self._nodes = manager.informers.of(NODES)
        controller = manager.controller("daemonsets", self._reconcile)
        controller.follow(self._family.owners)
        controller.follow(self._family.children, self._family.parents)
        controller.follow(self._nodes, lambda _: map(key_of, self._family.owners.reader.all()))

    async def _reconcile(self, key: Key, now: datetime) -> Plan:
        owner = self._family.owners.reader.get(key)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return NOTHING
        children = await self._family.of(owner)
        posts = posts_of(owner, self._nodes.reader.all(), children.mine)
        status, next_at = status_of(owner, posts, now)
        stated = pod_control.report(DAEMON_SETS, owner, owner.status, status)
        ended, waits_until = clearance(posts, now)
        creations = [self._create(owner, post.node) for post in posts if _is_bare(post)]
        steps = (
            *ended,
            *creations,
            *(renewals(owner, posts, now) if not creations else ()),
            *stated,
        )
        return Plan().then(*children.claims).then(*steps).requeue(next_at).requeue(waits_until)

    def _create(self, owner: DaemonSet, node: str) -> Create:
        meta = owner.metadata
        free = taken(self._family.children.reader.get, meta.namespace)
        (name,) = pod_control.fresh_names(meta.name, f"{meta.uid}/{node}", free, 1)
        return Create(PODS, pod_of(owner, node, name))


def posts_of(owner: DaemonSet, nodes: Collection[Node], pods: Iterable[Pod]) -> list[Post]:
    """Asks of each node what the DaemonSet wants there; pods for nodes that are gone stand at the end."""
    there: dict[str, list[Pod]] = {}
    for pod in pods:
        there.setdefault(node_of(pod), []).append(pod)
    spec = _daemon_spec(workloads.template_of(owner.spec.template).spec)
    posts = []
    for node in nodes:
        suited = scheduling.unsuited(spec, node)
        found = tuple(sorted(there.pop(node.metadata.name, []), key=_age))
        posts.append(Post(node.metadata.name, not suited, _may_stay(spec, node), found))
    posts += (
        Post(name, wanted=False, kept=False, pods=tuple(left)) for name, left in there.items()
    )
    return posts


def _age(pod: Pod) -> tuple[datetime | str, ...]:
    return (*filter(None, (pod.metadata.creation_timestamp,)), pod.metadata.name)


def _may_stay(spec: PodSpec, node: Node) -> bool:
    """A taint that only keeps new pods away leaves the one that is there."""
    driving_out = tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute")
    bared = msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, taints=driving_out)
    )
    return not scheduling.unsuited(spec, bared)


def _daemon_spec(spec: PodSpec) -> PodSpec:
    added = tuple(
        Toleration(key=key, operator="Exists", effect=effect)
        for key, effect in _tolerated(host_network=spec.host_network)
    )
    return msgspec.structs.replace(spec, tolerations=(*spec.tolerations, *added))


def _tolerated(*, host_network: bool) -> tuple[tuple[str, str], ...]:
    return (*_ALWAYS_TOLERATED, _WITH_HOST_NETWORK) if host_network else _ALWAYS_TOLERATED


def node_of(pod: Pod) -> str:
    """Where a pod is, or where its affinity pins it."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    if pod.spec.node_name or affinity is None or affinity.required is None:
        return pod.spec.node_name
    for term in affinity.required.node_selector_terms:
        for field in term.match_fields:
            if field.key == "metadata.name" and len(field.values) == 1:
                return field.values[0]
    return ""


def pod_of(owner: DaemonSet, node: str, name: str) -> dict[str, JSON]:
    """The pod for this node: its own affinity to nodes has been asked already and gives way to the node's name."""
    mark = {REVISION: pod_control.template_hash(owner.spec.template)}
    body = pod_control.pod_from(owner.spec.template, DAEMON_SETS, owner, name, mark)
    spec = cast("Mapping[str, JSON]", body["spec"])
    affinity = cast("Mapping[str, JSON]", spec.get("affinity") or {})
    to_nodes = cast("Mapping[str, JSON]", affinity.get("nodeAffinity") or {})
    here: JSON = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required: dict[str, JSON] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}
    }
    own = cast("list[JSON]", spec.get("tolerations") or [])
    added: list[JSON] = [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in _tolerated(host_network=bool(spec.get("hostNetwork")))
    ]
    pinned: JSON = {**affinity, "nodeAffinity": {**to_nodes, **required}}
    return {**body, "spec": {**spec, "affinity": pinned, "tolerations": [*own, *added]}}


def _is_bare(post: Post) -> bool:
    """Says whether the node waits for a pod: one that is still ending holds its place."""
    return post.wanted and not post.pods


def clearance(posts: Iterable[Post], now: datetime) -> tuple[list[Step], datetime | None]:
    """Ends pods where none may be, pods that have finished, and all but the oldest; and says when to look again."""
    doomed: list[Pod] = []
    waiting: list[datetime] = []
    for post in posts:
        present = [pod for pod in post.pods if pod.metadata.deletion_timestamp is None]
        finished = [pod for pod in present if is_finished(pod)]
        active = [pod for pod in present if not is_finished(pod)]
        doomed += active[1:] if post.kept else active
        for pod in finished:
            due = (pod.metadata.creation_timestamp or now) + BREATH
            if due > now:
                waiting.append(due)
            else:
                doomed.append(pod)
    return [pod_control.end(PODS, pod) for pod in doomed], min(waiting, default=None)


def renewals(owner: DaemonSet, posts: Iterable[Post], now: datetime) -> list[Step]:
    """Ends pods of an old template: those that do not serve anyway, and of the others as many as may be missing."""
    if owner.spec.update_strategy.type == "OnDelete":
        return []
    wanted = [post for post in posts if post.wanted]
    rolling = owner.spec.update_strategy.rolling_update or RollingUpdate()
    most = max(rollout.amount(rolling.max_unavailable, 1, len(wanted), up=True), 1)
    latest = pod_control.template_hash(owner.spec.template)
    missing = 0
    idle: list[Pod] = []
    serving: list[Pod] = []
    for post in wanted:
        pod = next(filter(pod_control.is_active, post.pods), None)
        serves = pod is not None and _serves(owner, pod, now)
        missing += not serves
        if pod is not None and pod.metadata.labels.get(REVISION) != latest:
            (serving if serves else idle).append(pod)
    return [pod_control.end(PODS, pod) for pod in (*idle, *serving[: max(most - missing, 0)])]


def _serves(owner: DaemonSet, pod: Pod, now: datetime) -> bool:
    return pod_control.is_available(pod, owner.spec.min_ready_seconds, now)


def status_of(
    owner: DaemonSet, posts: Iterable[Post], now: datetime
) -> tuple[DaemonSetStatus, datetime | None]:
    """Counts nodes by how they are served, and says when the next pod will count as available."""
    posts = list(posts)
    wanted = [post for post in posts if post.wanted]
    active = [next(filter(pod_control.is_active, post.pods), None) for post in wanted]
    pods = [pod for pod in active if pod is not None]
    readiness = pod_control.readiness(pods, owner.spec.min_ready_seconds, now)
    latest = pod_control.template_hash(owner.spec.template)
    status = msgspec.structs.replace(
        owner.status,
        observed_generation=owner.metadata.generation,
        desired_number_scheduled=len(wanted),
        current_number_scheduled=len(pods),
        updated_number_scheduled=sum(pod.metadata.labels.get(REVISION) == latest for pod in pods),
        number_misscheduled=sum(
            any(map(pod_control.is_active, post.pods)) for post in posts if not post.wanted
        ),
        number_ready=readiness.ready,
        number_available=readiness.available,
        number_unavailable=len(wanted) - readiness.available,
    )
    return status, readiness.next_at
