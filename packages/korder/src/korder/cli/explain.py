"""`korder explain`: why a pod, a ticket, an order, a quota or a node stands as it does, by the rules that decide about it.

It only reads, and asks the same pure rules as the controllers, so it answers also where no manager runs.
"""

import asyncio
from typing import Annotated, TypeVar

from rich.text import Text
import typer

from korder.api.quota import QUOTAS
from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS, ClaimReason, Ticket
from korder.cli import tables
from korder.cli.options import Context, Desk, Kubeconfig, Namespace, desk
from korder.cli.tables import Layout
from korder.explanation import Explanation
from korder.reserve.claims import plan as claim_plan
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import InvalidRequest, Site, request_of
from korder.reserve.explain import (
    cluster_scoped,
    orders as explain_orders,
    pods as explain_pods,
    tickets as explain_tickets,
)
from korder.reserve.explain.cluster_scoped import NodeQuestion
from korder.reserve.explain.orders import OrderQuestion
from korder.reserve.explain.pods import PodQuestion
from korder.reserve.explain.tickets import TicketQuestion
from korder.reserve.handovers import handover_state
from kubeloop.client.errors import Forbidden, KubeError, NotFound
from kubeloop.objects import node_room
from kubeloop.objects.core import EVENTS, NODES, PODS, Node, Pod
from kubeloop.objects.meta import HasMetadata, Key, Kind, controller_of, key_of, owned_by
from kubeloop.runtime.clock import SystemClock

T = TypeVar("T", bound=HasMetadata)

What = Annotated[
    list[str],
    typer.Argument(
        metavar="TYPE NAME...",
        help="Such as pod web-0, order my-order, ticket/my-order-0.",
        show_default=False,
    ),
]


def run(
    what: What,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Say why a pod, order, ticket, quota or node is as it is."""
    asyncio.run(_explain(what, namespace, kubeconfig, context))


async def _explain(
    what: list[str], namespace: str | None, kubeconfig: str | None, context: str | None
) -> None:
    async with desk(kubeconfig, context, namespace) as at:
        at.require(ORDERS, TICKETS)
        named = at.named(what)
        if not named:
            raise KubeError(f"say which {what[0]}: `korder explain {what[0]} NAME`")
        for number, (served, name) in enumerate(named):
            if number:
                print()
            kind = (served.kind.group, served.kind.kind)
            explanation = await _explanation(at, kind, Key(at.namespace, name))
            _show(f"{served.kind.kind} {name}", explanation)


async def _explanation(at: Desk, kind: tuple[str, str], key: Key) -> Explanation:
    match kind:
        case (PODS.group, PODS.kind):
            return explain_pods.explain(await _ask_of_pod(at, await at.client.get(PODS, key)))
        case (TICKETS.group, TICKETS.kind):
            ticket = await at.client.get(TICKETS, key)
            return explain_tickets.explain(await _ask_of_ticket(at, ticket))
        case (ORDERS.group, ORDERS.kind):
            order = await at.client.get(ORDERS, key)
            tickets = (await at.client.list(TICKETS, key.namespace)).items
            nodes = (await _nodes(at) or {}).values() if order.spec.daemon_set else ()
            now = SystemClock().now()
            return explain_orders.explain(OrderQuestion(order, tickets, now, tuple(nodes)))
        case (QUOTAS.group, QUOTAS.kind):
            quota = await at.client.get(QUOTAS, Key("", key.name))
            return cluster_scoped.explain_quota(quota, SystemClock().now())
        case (NODES.group, NODES.kind):
            node = await at.client.get(NODES, Key("", key.name))
            return cluster_scoped.explain_node(
                NodeQuestion(node, await _tickets(at), SystemClock().now())
            )
        case _:
            raise KubeError(
                f"korder explains pods, orders, tickets, quotas and nodes, and nothing of a {kind[1]}"
            )


async def _ask_of_pod(at: Desk, pod: Pod) -> PodQuestion:
    where = _sought(pod)
    nodes = await _nodes(at)
    neighbours = await _pods(at, "") if node_room.demand_of(pod).ports else []

    def site(name: str) -> Site | None:
        node = (nodes or {}).get(name)
        here = [each for each in neighbours if each.spec.node_name == name]
        return Site(node, here) if node is not None else None

    tickets = (await at.client.list(TICKETS, where)).items
    guardians = (await at.client.list(PODS, where, labels=f"{GUARDIAN_LABEL}=true")).items
    market = Market(
        where,
        tickets,
        (await at.client.list(ORDERS, where)).items,
        site,
        SystemClock().now(),
        blocked=handover_state.among(guardians, {key_of(each): each for each in tickets}.get),
    )
    return PodQuestion(
        pod,
        market,
        await _waiting(at, where),
        guardians,
        knows_nodes=nodes is not None,
        parting=await _parting(at, pod),
    )


async def _parting(at: Desk, pod: Pod) -> str:
    """What a pod was told when it was let go without a ticket: Events tell it for about an hour, to those who may read them."""
    meta, reason = pod.metadata, str(ClaimReason.FELL_BACK)
    fields = f"regarding.uid={meta.uid},reason={reason}"
    try:
        found = (await at.client.list(EVENTS, meta.namespace, fields=fields)).items
    except Forbidden:
        return ""
    return f"{reason}: {found[-1].note}" if found else ""


async def _ask_of_ticket(at: Desk, ticket: Ticket) -> TicketQuestion:
    meta, owner, by = ticket.metadata, controller_of(ticket), ticket.status.claimed_by
    pods = (await at.client.list(PODS, meta.namespace, labels=f"{GUARDIAN_LABEL}=true")).items
    is_ordered = owner is not None and owner.kind == ORDERS.kind
    claimant = await _find(at, PODS, Key(by.namespace, by.name)) if by is not None else None
    return TicketQuestion(
        ticket,
        SystemClock().now(),
        order=await _find(at, ORDERS, Key(meta.namespace, owner.name))
        if owner and is_ordered
        else None,
        guardians=[pod for pod in pods if owned_by(pod, meta.uid)],
        waiting=await _waiting(at, meta.namespace),
        claimant=claimant if by and claimant and claimant.metadata.uid == by.uid else None,
        nodes=await _nodes(at),
    )


def _sought(pod: Pod) -> str:
    own = pod.metadata.namespace
    try:
        return request_of(pod.metadata.annotations).namespace(own)
    except InvalidRequest:
        return own


async def _waiting(at: Desk, namespace: str) -> list[Pod]:
    """The pods that wait for tickets of a namespace, wherever they are."""
    pods = await _pods(at, "status.phase=Pending")
    return [pod for pod in pods if claim_plan.sought_namespace(pod) == namespace]


async def _pods(at: Desk, fields: str) -> list[Pod]:
    """The pods of the cluster, or of the namespace for those who may not see more."""
    try:
        return list((await at.client.list(PODS, fields=fields)).items)
    except Forbidden:
        return list((await at.client.list(PODS, at.namespace, fields=fields)).items)


async def _tickets(at: Desk) -> list[Ticket]:
    """The tickets of the cluster, or of the namespace for those who may not see more."""
    try:
        return list((await at.client.list(TICKETS)).items)
    except Forbidden:
        return list((await at.client.list(TICKETS, at.namespace)).items)


async def _nodes(at: Desk) -> dict[str, Node] | None:
    """The nodes by name; None for those who may not see them."""
    try:
        return {node.metadata.name: node for node in (await at.client.list(NODES)).items}
    except Forbidden:
        return None


async def _find(at: Desk, kind: Kind[T], key: Key) -> T | None:
    try:
        return await at.client.get(kind, key)
    except NotFound:
        return None


def _show(title: str, stated: Explanation) -> None:
    tables.show([Text.assemble((title, "bold"), f": {stated.verdict}")])
    tables.show(Text(f"  - {fact}") for fact in stated.facts)
    if stated.rows:
        print()
        lines = Layout(stated.titles).lines(stated.rows)
        tables.show(Text.assemble("  ", line) for line in lines)
