"""All that stands in for kube-controller-manager, added to a manager in the order that is safe.

The embedded cluster and tests on real API servers call `add_workloads`. The garbage collector comes last, after everybody who reads more
than the metadata of a kind; other actors of the same manager are added before.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from kubeloop.client.client import Client
from kubeloop.objects.plan import AnyKind
from kubeloop.runtime.manager import Manager
from pocketkube.controllers.daemonsets import DaemonSets
from pocketkube.controllers.deployments import Deployments
from pocketkube.controllers.disruption import Disruptions
from pocketkube.controllers.garbage_collector import GarbageCollector
from pocketkube.controllers.jobs import Jobs
from pocketkube.controllers.namespaces import DefaultAccounts, Namespaces
from pocketkube.controllers.pod_gc import PodCollector
from pocketkube.controllers.quotas import Quotas
from pocketkube.controllers.replicasets import ReplicaSets
from pocketkube.controllers.root_certificates import RootCertificates
from pocketkube.controllers.statefulsets import StatefulSets
from pocketkube.controllers.stored_kinds import stored_kinds
from pocketkube.controllers.volume_protection import VolumeProtection


def add_workloads(
    manager: Manager,
    client: Client,
    collected: Iterable[AnyKind],
    present: Callable[[], Awaitable[Iterable[AnyKind]]] | None = None,
    root_certificate: str | None = None,
) -> None:
    """Adds the workload controllers, namespace deletion, quotas, and the collection of garbage among the kinds `collected`.

    `present` tells which kinds namespaces are emptied of at the moment; by default the server is asked each time.
    `root_certificate` is published in every namespace, if given.
    """
    collected = tuple(collected)
    present = present or partial(stored_kinds, client)
    Deployments(manager, client)
    ReplicaSets(manager, client)
    StatefulSets(manager, client)
    DaemonSets(manager, client)
    Jobs(manager)
    DefaultAccounts(manager)
    if root_certificate is not None:
        RootCertificates(manager, root_certificate)
    Disruptions(manager)
    PodCollector(manager, client)
    VolumeProtection(manager)
    Namespaces(manager, client, present)
    Quotas(manager, client, collected, present)
    GarbageCollector(manager, client, collected)
