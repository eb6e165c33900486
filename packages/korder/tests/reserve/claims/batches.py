"""Pods, tickets and guardians in the middle of a hand-over, and a plan in few words."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Any, cast

from korder.api.reserve import (
    NOMINATION_SCHEDULER_ANNOTATION,
    NOMINATION_TICKET_ANNOTATION,
    SCHEDULING_GATE,
    TICKETS,
    Ticket,
)
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers import plan as handover_plan
from korder.reserve.handovers.handover_state import (
    Handover,
    Member,
    Return,
    Scene,
    SchedulerSigns,
    Settings,
)
from korder.testing.builders import a_ticket
from kubeloop.objects.core import NODES, Node, Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Create, Delete, Patch, Plan, Step
from kubeloop.testing.builders import Builder, PodBuilder, a_node, a_pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
NODE = "node-1"
NOMINATE = Settings(Handover.NOMINATE)
OPEN_NODE = a_node(NODE)


def claiming(name: str, pod: str = "web", seconds: int = 60) -> Builder[Ticket]:
    """A ticket that is being claimed and has so many seconds left."""
    status: JSON = {
        "phase": "Claiming",
        "nodeName": NODE,
        "claimedBy": {"namespace": "default", "name": pod, "uid": f"uid-{pod}"},
        "claimedPod": f"default/{pod}",
        "claimDeadline": (NOW + timedelta(seconds=seconds)).isoformat(),
    }
    return a_ticket(name).stored(f"uid-{name}").but({"status": status})


def gated(name: str = "web", cpu: str = "1") -> PodBuilder:
    pod = a_pod(name).requesting(cpu=cpu).gated_by(SCHEDULING_GATE).stored(f"uid-{name}")
    return cast("PodBuilder", pod)


def marked(pod: Builder[Pod], ticket: str = "t") -> Builder[Pod]:
    condition: JSON = {
        "type": "korder.dev/TicketBound",
        "status": "True",
        "reason": "TicketClaimed",
        "message": f"Ticket default/{ticket} holds room on node {NODE} for this pod.",
    }
    noted: JSON = {
        NOMINATION_TICKET_ANNOTATION: f"default/{ticket}",
        NOMINATION_SCHEDULER_ANNOTATION: "",
    }
    status: JSON = {"nominatedNodeName": NODE, "conditions": [condition]}
    return pod.but({"metadata": {"annotations": noted}, "status": status})


def opened(name: str = "web", cpu: str = "1", said: str = "") -> Builder[Pod]:
    """A pod that was let go; `said` is what the scheduler says about it."""
    tried: JSON = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": said,
    }
    pod = a_pod(name).requesting(cpu=cpu).stored(f"uid-{name}")
    return pod.but({"status": {"conditions": [tried]}}) if said else pod


def guardian(name: str = "g", cpu: str = "1") -> Builder[Pod]:
    return a_pod(name).requesting(cpu=cpu).on(NODE).stored(f"uid-{name}")


def going(pod: Builder[Pod], seconds_ago: int = 0) -> Builder[Pod]:
    return pod.deleted_at(NOW - timedelta(seconds=seconds_ago))


def returning() -> Builder[Pod]:
    """The guardian of another ticket, which waits for the room of a pod that has been told to go."""
    pod = a_pod("returning").requesting(cpu="1").gated_by("korder.dev/guardian").stored("uid-ret")
    return pod.but({"status": {"nominatedNodeName": NODE}})


def member(
    ticket: Builder[Ticket], pod: Builder[Pod] | None, *guardians: Builder[Pod], rival: bool = False
) -> Member:
    built = tuple(each.build() for each in guardians)
    return Member(ticket.build(), pod.build() if pod is not None else None, built, rival)


def decide(
    *members: Member,
    there: tuple[Builder[Pod], ...] = (),
    scheduler: str = "",
    settings: Settings = NOMINATE,
    returning: tuple[Return, ...] = (),
    node: Builder[Node] | None = OPEN_NODE,
    signs: SchedulerSigns | None = None,
    inherited_until: datetime | None = None,
) -> Plan:
    guardians = [guardian for each in members for guardian in each.guardians]
    bound = [each.pod for each in members if each.pod is not None and each.pod.spec.node_name]
    pods = (*guardians, *bound, *(each.build() for each in there))
    site = Site(node.build(), pods) if node is not None else None
    scene = Scene(NODE, site, members, NOW, scheduler, settings, returning)
    return handover_plan.plan(replace(scene, signs=signs, inherited_until=inherited_until))


def stated(plan: Plan) -> list[list[str]]:
    """The steps of a plan in short, stage by stage."""
    stages = [list(map(_short, stage)) for stage in plan.stages]
    lanes = zip_longest(*map(stated, plan.lanes), fillvalue=list[str]())
    stages += ([step for stage in beside for step in stage] for beside in lanes)
    return [sorted(stage) for stage in stages]


def _short(step: Step) -> str:  # noqa: PLR0911 one line a form
    match step:
        case Create():
            return "make t"
        case Delete():
            force = " at once" if step.grace_seconds == 0 else ""
            return f"delete {step.key.name}{force}"
        case Patch(kind, key, body) if kind == TICKETS:
            assert step.resource_version
            status = cast("Mapping[str, Any]", body)["status"]
            why = f" ({status['reason']})" if status.get("reason") else ""
            return f"{key.name} is {status['phase']}{why}"
        case Patch(kind, key, body) if kind == NODES:
            assert step.resource_version
            return f"{'raise' if 'handover' in str(body) else 'lower'} barrier"
        case Patch(_, key, body):
            content = cast("Mapping[str, Any]", body)
            if "conditions" not in content.get("status", ("conditions",)):
                return f"nominate {key.name}"
            if "spec" in content:
                assert step.resource_version
                passes = " through barrier" if "tolerations" in content["spec"] else ""
                opens = "open" if "schedulingGates" in content["spec"] else "let"
                return f"{opens} {key.name}{passes}"
            return f"{_mark(content['status'])} {key.name}"
    raise AssertionError(step)


def _mark(status: Mapping[str, Any]) -> str:
    (condition,) = status["conditions"]
    node = status.get("nominatedNodeName", "same")
    return f"{'mark' if condition['status'] == 'True' else 'tell'}[{node}]"
