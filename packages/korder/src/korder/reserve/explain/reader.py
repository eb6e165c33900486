"""Reads from a cluster what the explanations of pods, tickets, orders, quotas and nodes need."""

from dataclasses import dataclass
from typing import TypeVar

from korder.api.quota import QUOTAS
from korder.api.reserve import GUARDIAN_LABEL, ORDERS, TICKETS, ClaimReason, Ticket
from korder.explanation import Explanation
from korder.reserve.claims import plan as claim_plan
from korder.reserve.claims.inventory import Market
from korder.reserve.claims.requirements import InvalidRequest, Site, request_of
from korder.reserve.explain import cluster_scoped, orders, pods, tickets
from korder.reserve.explain.cluster_scoped import NodeQuestion
from korder.reserve.explain.orders import OrderQuestion
from korder.reserve.explain.pods import PodQuestion
from korder.reserve.explain.tickets import TicketQuestion
from korder.reserve.handovers import handover_state
from kubeloop.client.client import Client
from kubeloop.client.errors import Forbidden, NotFound
from kubeloop.objects import node_room
from kubeloop.objects.core import EVENTS, NODES, PODS, Node, Pod
from kubeloop.objects.meta import HasMetadata, Key, Kind, controller_of, key_of, owned_by
from kubeloop.runtime.clock import SystemClock

T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class Reader:
    """A cluster, and the namespace to look at where a user may not read others."""

    client: Client
    namespace: str


async def explain_pod(client: Client, key: Key, namespace: str) -> Explanation:
    """Why a pod waits, or which ticket it uses."""
    at = Reader(client, namespace)
    return pods.explain(await _question_of_pod(at, await client.get(PODS, key)))


async def explain_ticket(client: Client, key: Key, namespace: str) -> Explanation:
    """Why a ticket has its phase."""
    at = Reader(client, namespace)
    return tickets.explain(await _question_of_ticket(at, await client.get(TICKETS, key)))


async def explain_order(client: Client, key: Key, namespace: str) -> Explanation:
    """Which tickets an order has and wants."""
    order = await client.get(ORDERS, key)
    found = (await client.list(TICKETS, key.namespace)).items
    wanted = order.spec.daemon_set
    nodes = (await _nodes(Reader(client, namespace)) or {}).values() if wanted else ()
    return orders.explain(OrderQuestion(order, found, SystemClock().now(), tuple(nodes)))


async def explain_quota(client: Client, key: Key, _: str) -> Explanation:
    """What a quota allows, and what is used."""
    quota = await client.get(QUOTAS, key)
    return cluster_scoped.explain_quota(quota, SystemClock().now())


async def explain_node(client: Client, key: Key, namespace: str) -> Explanation:
    """Which tickets a node has."""
    node = await client.get(NODES, key)
    found = await _tickets(Reader(client, namespace))
    return cluster_scoped.explain_node(NodeQuestion(node, found, SystemClock().now()))


async def _question_of_pod(at: Reader, pod: Pod) -> PodQuestion:
    where = _sought(pod)
    nodes = await _nodes(at)
    neighbours = await _pods(at, "") if node_room.demand_of(pod).ports else []

    def site(name: str) -> Site | None:
        node = (nodes or {}).get(name)
        here = [each for each in neighbours if each.spec.node_name == name]
        return Site(node, here) if node is not None else None

    found = (await at.client.list(TICKETS, where)).items
    guardians = (await at.client.list(PODS, where, labels=f"{GUARDIAN_LABEL}=true")).items
    market = Market(
        where,
        found,
        (await at.client.list(ORDERS, where)).items,
        site,
        SystemClock().now(),
        blocked=handover_state.among(guardians, {key_of(each): each for each in found}.get),
    )
    return PodQuestion(
        pod,
        market,
        await _waiting(at, where),
        guardians,
        knows_nodes=nodes is not None,
        parting=await _parting(at, pod),
    )


async def _parting(at: Reader, pod: Pod) -> str:
    """What a pod was told when it was let go without a ticket: Events tell it for about an hour, to those who may read them."""
    meta, reason = pod.metadata, str(ClaimReason.FELL_BACK)
    fields = f"regarding.uid={meta.uid},reason={reason}"
    try:
        found = (await at.client.list(EVENTS, meta.namespace, fields=fields)).items
    except Forbidden:
        return ""
    return f"{reason}: {found[-1].note}" if found else ""


async def _question_of_ticket(at: Reader, ticket: Ticket) -> TicketQuestion:
    meta, owner, by = ticket.metadata, controller_of(ticket), ticket.status.claimed_by
    guardians = (await at.client.list(PODS, meta.namespace, labels=f"{GUARDIAN_LABEL}=true")).items
    is_ordered = owner is not None and owner.kind == ORDERS.kind
    claimant = await _find(at, PODS, Key(by.namespace, by.name)) if by is not None else None
    return TicketQuestion(
        ticket,
        SystemClock().now(),
        order=await _find(at, ORDERS, Key(meta.namespace, owner.name))
        if owner and is_ordered
        else None,
        guardians=[pod for pod in guardians if owned_by(pod, meta.uid)],
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


async def _waiting(at: Reader, namespace: str) -> list[Pod]:
    """The pods that wait for tickets of a namespace, wherever they are."""
    pending = await _pods(at, "status.phase=Pending")
    return [pod for pod in pending if claim_plan.sought_namespace(pod) == namespace]


async def _pods(at: Reader, fields: str) -> list[Pod]:
    """The pods of the cluster, or of the namespace for those who may not see more."""
    try:
        return list((await at.client.list(PODS, fields=fields)).items)
    except Forbidden:
        return list((await at.client.list(PODS, at.namespace, fields=fields)).items)


async def _tickets(at: Reader) -> list[Ticket]:
    """The tickets of the cluster, or of the namespace for those who may not see more."""
    try:
        return list((await at.client.list(TICKETS)).items)
    except Forbidden:
        return list((await at.client.list(TICKETS, at.namespace)).items)


async def _nodes(at: Reader) -> dict[str, Node] | None:
    """The nodes by name; None for those who may not see them."""
    try:
        return {node.metadata.name: node for node in (await at.client.list(NODES)).items}
    except Forbidden:
        return None


async def _find(at: Reader, kind: Kind[T], key: Key) -> T | None:
    try:
        return await at.client.get(kind, key)
    except NotFound:
        return None
