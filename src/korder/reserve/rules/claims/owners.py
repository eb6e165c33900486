"""Who may claim a ticket.

Claims and `korder explain` ask it. The entries of `owners` are alternatives, the fields of one entry must all hold. A
ticket without owners is for the pods of its own namespace, and so is an entry that names no namespaces: a service
account or a label of the same name somewhere else in the cluster is somebody else.
"""

from collections.abc import Iterable

from korder.api import selector
from korder.api.core import Pod
from korder.api.reserve import Owner, Ticket

_DEFAULT_ACCOUNT = "default"


def may_claim(ticket: Ticket, pod: Pod) -> bool:
    """Says whether the pod is one of those the ticket is for."""
    home = ticket.metadata.namespace
    if not ticket.spec.owners:
        return pod.metadata.namespace == home
    return any(_covers(owner, pod, home) for owner in ticket.spec.owners)


def labels_asked_for(tickets: Iterable[Ticket]) -> frozenset[str]:
    """The keys of all labels of pods that decide who may claim."""
    selectors = (owner.pod_selector for ticket in tickets for owner in ticket.spec.owners)
    return frozenset(
        key
        for each in selectors
        if each is not None
        for key in (*each.match_labels, *(one.key for one in each.match_expressions))
    )


def _covers(owner: Owner, pod: Pod, home: str) -> bool:
    account = pod.spec.service_account_name or _DEFAULT_ACCOUNT
    return (
        pod.metadata.namespace in (owner.namespaces or (home,))
        and account in (owner.service_accounts or (account,))
        and (owner.pod_selector is None or _selects(owner, pod))
    )


def _selects(owner: Owner, pod: Pod) -> bool:
    try:
        return selector.from_struct(owner.pod_selector).matches(pod.metadata.labels)
    except selector.InvalidSelector:
        return False
