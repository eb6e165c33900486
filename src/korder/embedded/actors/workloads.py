"""All that stands in for kube-controller-manager, added to a manager in the order that is safe.

The embedded cluster and tests on real API servers call `add_workloads`. The garbage collector comes last, after everybody who reads more
than the metadata of a kind; other actors of the same manager are added before.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from korder.api.plan import AnyKind
from korder.embedded.actors.daemonsets import DaemonSets
from korder.embedded.actors.deployments import Deployments
from korder.embedded.actors.disruption import Disruptions
from korder.embedded.actors.garbage import GarbageCollector
from korder.embedded.actors.jobs import Jobs
from korder.embedded.actors.kinds import stored_kinds
from korder.embedded.actors.namespaces import DefaultAccounts, Namespaces
from korder.embedded.actors.podgc import PodCollector
from korder.embedded.actors.quotas import Quotas
from korder.embedded.actors.replicasets import ReplicaSets
from korder.embedded.actors.rootcertificates import RootCertificates
from korder.embedded.actors.statefulsets import StatefulSets
from korder.embedded.actors.volumeprotection import VolumeProtection
from korder.kube.client import Client
from korder.runtime.manager import Manager


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
