"""Which tickets a pod asks for, read off its annotations by the judge himself: all request forms, and who may claim."""

from korder.api.reserve import (
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    ORDERS,
    TICKET_GROUP_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    Owner,
    Ticket,
)
from kubeloop.objects import selector
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import controller_of


def asks(pod: Pod, ticket: Ticket) -> bool:
    """Whether a pod asks for this ticket, perhaps among others, and may have it."""
    notes = pod.metadata.annotations
    ordered = notes.get(ORDER_ANNOTATION) or notes.get(ORDER_REQUEST_ANNOTATION, "")
    where, _, order = ordered.rpartition("/")
    if ticket.metadata.namespace != (where or pod.metadata.namespace) or not _may(pod, ticket):
        return False
    ref = controller_of(ticket)
    made_by = ref.name if ref is not None and ref.kind == ORDERS.kind else ""
    if order and made_by != order:
        return False
    return _named(notes.get(TICKET_REQUEST_ANNOTATION, ""), ticket)


def _named(request: str, ticket: Ticket) -> bool:
    """Whether a ticket is meant by `name:`, `selector:`, `group:` or a bare name; nothing means any."""
    form, colon, value = request.partition(":")
    meta = ticket.metadata
    match form if colon else "name":
        case "selector":
            return selector.parse(value).matches(meta.labels)
        case "group":
            return meta.annotations.get(TICKET_GROUP_ANNOTATION) == value
        case _:
            return (value if colon else request) in ("", meta.name)


def _may(pod: Pod, ticket: Ticket) -> bool:
    if not ticket.spec.owners:
        return pod.metadata.namespace == ticket.metadata.namespace
    return any(_is(owner, pod, ticket) for owner in ticket.spec.owners)


def _is(owner: Owner, pod: Pod, ticket: Ticket) -> bool:
    places = owner.namespaces or (ticket.metadata.namespace,)
    account = pod.spec.service_account_name or "default"
    fits = owner.pod_selector is None or selector.from_struct(owner.pod_selector).matches(
        pod.metadata.labels
    )
    return (
        pod.metadata.namespace in places
        and (not owner.service_accounts or account in owner.service_accounts)
        and fits
    )
