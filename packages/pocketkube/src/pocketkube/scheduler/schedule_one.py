"""What happens to one pod: a node for it, or why there is none and whom it may push aside.

The whole of a scheduling attempt, without its effects; `pocketkube.scheduler.scheduler` makes a plan of the answer. Of many nodes only a
part is looked at, beginning anywhere, as kube-scheduler does: a good node is found long before the best, and a pod costs the
same on a thousand nodes as on a hundred.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import random

from pocketkube.scheduler import filters, preemption, scoring
from pocketkube.scheduler.dry_run import Trial
from pocketkube.scheduler.filters import Refusal
from pocketkube.scheduler.pod_info import Tenant
from pocketkube.scheduler.preemption import Eviction
from pocketkube.scheduler.snapshot import Cluster, Site

_ENOUGH = 100
"""How many nodes that take the pod are compared; kube-scheduler's floor, to which it can be set for clusters of any size."""
_NO_CLAIMS = "no new claims to deallocate"
"""What kube-scheduler's plugin for resource claims has to say about every pod without one."""
_NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"


@dataclass(frozen=True, slots=True)
class Found:
    """The node the pod goes to."""

    node: str


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Why the pod goes nowhere now, the nomination it has from now on, and who must leave for it."""

    message: str
    nominated: str = ""
    victims: tuple[Tenant, ...] = ()


def choose(tenant: Tenant, cluster: Cluster, rng: random.Random) -> Found | Unschedulable:
    """Decides about one pod."""
    if not cluster.nodes:
        return Unschedulable("no nodes available to schedule pods")
    trial = Trial(tenant, cluster)
    nominated = tenant.pod.status.nominated_node_name
    if nominated in cluster.nodes and trial.refusal(nominated) is None:
        return Found(nominated)
    named = filters.pinned_to(tenant)
    if named is not None and not named:
        message = f"{preemption.unavailable({}, len(cluster.nodes))} pod affinity terms conflict."
        return _fail(trial, {}, message, rng)
    names = list(cluster.nodes) if named is None else sorted(named & cluster.nodes.keys())
    feasible, refusals = _search(trial, names, rng)
    if feasible:
        return Found(scoring.best(tenant, cluster, feasible, rng))
    otherwise = _NOT_NAMED if named is not None else ""
    message = preemption.unavailable(refusals, len(cluster.nodes), otherwise)
    return _fail(trial, refusals, message, rng)


def feasible(tenant: Tenant, cluster: Cluster) -> frozenset[str]:
    """All nodes that would take the pod now."""
    trial = Trial(tenant, cluster)
    return frozenset(name for name in cluster.nodes if trial.refusal(name) is None)


def hopeful(tenant: Tenant, site: Site) -> bool:
    """Whether a node that has changed may take a pod that other pods do not concern: as it is, or if lesser ones leave it."""
    if site.node is None:
        return False
    refusal = filters.unfit(tenant, site.node, site.room)
    return refusal is None or (
        not refusal.final and any(t.priority < tenant.priority for t in site.tenants.values())
    )


def _search(
    trial: Trial, names: Sequence[str], rng: random.Random
) -> tuple[list[str], dict[str, Refusal]]:
    """Asks nodes until enough take the pod."""
    start = rng.randrange(len(names)) if len(names) > _ENOUGH else 0
    taking: list[str] = []
    refusals: dict[str, Refusal] = {}
    for name in (*names[start:], *names[:start]):
        refusal = trial.refusal(name)
        if refusal is not None:
            refusals[name] = refusal
            continue
        taking.append(name)
        if len(taking) == _ENOUGH:
            break
    return taking, refusals


def _fail(
    trial: Trial, refusals: dict[str, Refusal], message: str, rng: random.Random
) -> Unschedulable:
    answer = preemption.preempt(trial, refusals, rng)
    if isinstance(answer, Eviction):
        return Unschedulable(message, answer.node, answer.victims)
    kept = trial.tenant.pod.status.nominated_node_name if answer.keeps_nomination else ""
    return Unschedulable(f"{message} {_NO_CLAIMS}, preemption: {answer.note}", kept)
