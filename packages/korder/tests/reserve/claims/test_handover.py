"""One node's hand-over as a state machine: what it does next follows from tickets, pods and guardians alone."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest
from tests.reserve.claims.batches import (
    NODE,
    NOW,
    claiming,
    decide,
    gated,
    going,
    guardian,
    marked,
    member,
    opened,
    returning,
    stated,
)

from korder.api.reserve import Ticket
from korder.reserve.handovers import handover_state as membership
from korder.reserve.handovers.handover_state import Handover, Member, Settings
from korder.reserve.tickets import guardian as guardians
from korder.reserve.tickets.guardian import Place
from kubeloop.objects import patch, resources
from kubeloop.objects.core import PODS, Node, Pod
from kubeloop.objects.meta import JSON, HasMetadata, Kind
from kubeloop.objects.plan import Patch, Plan
from kubeloop.objects.workloads import JOBS, REPLICA_SETS, ReplicaSet
from kubeloop.testing.builders import Builder, a_node, a_pod

FULL = (guardian("other", cpu="3"),)


@pytest.mark.parametrize(
    ("members", "there", "steps"),
    [
        pytest.param(
            [member(claiming("t"), gated(), guardian())],
            (),
            [["open web"]],
            id="room for both: the pod goes first",
        ),
        pytest.param(
            [member(claiming("t"), gated(), guardian())],
            FULL,
            [["mark[node-1] web"], ["delete g"]],
            id="a full node: mark, and only then delete",
        ),
        pytest.param(
            [
                member(claiming("t"), marked(gated()), going(guardian())),
                member(claiming("u", "api"), marked(gated("api"), "u")),
            ],
            FULL,
            [],
            id="barrier: nobody goes while a guardian of the batch stands",
        ),
        pytest.param(
            [
                member(claiming("t"), marked(gated())),
                member(claiming("u", "api"), marked(gated("api"), "u")),
            ],
            FULL,
            [["open api", "open web"]],
            id="behind the barrier all go",
        ),
        pytest.param(
            [
                member(claiming("t"), marked(gated()), guardian()),
                member(claiming("u", "api"), gated("api"), guardian("h")),
            ],
            FULL,
            [["delete g"]],
            id="who comes later waits for the next batch",
        ),
        pytest.param(
            [member(claiming("t"), gated(), guardian())],
            (*FULL, returning()),
            [["mark[node-1] web", "nominate returning"], ["delete g"]],
            id="nothing is promised to another ticket while room is handed over",
        ),
        pytest.param(
            [member(claiming("t"), marked(gated()))],
            (*FULL, returning()),
            [["nominate returning"]],
            id="barrier: nobody goes while another ticket is promised room",
        ),
        pytest.param(
            [
                member(claiming("t"), opened()),
                member(claiming("u", "api"), gated("api"), guardian("h")),
            ],
            FULL,
            [],
            id="the next batch waits until all are bound",
        ),
        pytest.param(
            [member(claiming("t"), opened().but({"spec": {"nodeName": NODE}}), guardian())],
            (),
            [["delete g"], ["t is Claimed (InUse)"]],
            id="bound beside its guardian",
        ),
        pytest.param(
            [member(claiming("t"), opened().but({"spec": {"nodeName": NODE}}))],
            (),
            [["t is Claimed (InUse)"]],
            id="bound",
        ),
        pytest.param(
            [member(claiming("t"), marked(gated()), going(guardian(), seconds_ago=11))],
            (),
            [["delete g at once"]],
            id="a guardian on a silent node is forced out",
        ),
        pytest.param(
            [member(claiming("t"), None, guardian())],
            (),
            [["t is Reserved"]],
            id="S24: the pod is gone, the guardian stands",
        ),
        pytest.param(
            [member(claiming("t"), None)],
            (),
            [["t is Pending (ClaimUndone)"]],
            id="S24: the pod is gone, and so is the guardian",
        ),
        pytest.param(
            [member(claiming("t"), going(gated()), guardian())],
            (),
            [["t is Reserved"]],
            id="S24: the pod is going",
        ),
        pytest.param(
            [member(claiming("t"), going(marked(gated())), going(guardian()))],
            (),
            [["t is Pending (ClaimUndone)"]],
            id="S24: the pod goes when the guardian does",
        ),
        pytest.param(
            [member(claiming("t"), opened().but({"status": {"phase": "Failed"}}))],
            (),
            [["t is Pending (ClaimUndone)"]],
            id="S24: the pod failed",
        ),
        pytest.param(
            [member(claiming("t"), opened().but({"spec": {"nodeName": "node-2"}}), guardian())],
            (),
            [["t is Reserved"]],
            id="the pod went elsewhere",
        ),
        pytest.param(
            [member(claiming("t"), gated())],
            (),
            [["t is Pending (Lost)"]],
            id="the guardian was lost before anything began",
        ),
        pytest.param(
            [member(claiming("t"), gated(), guardian(), rival=True)],
            (),
            [["t is Reserved"]],
            id="the pod has another ticket",
        ),
        pytest.param(
            [member(claiming("t", seconds=30), gated(), guardian())],
            (),
            [["t is Reserved"]],
            id="too late to begin",
        ),
        pytest.param(
            [member(claiming("t", seconds=0), marked(gated()), going(guardian()))],
            (),
            [["tell[None] web"], ["t is Pending (ClaimUndone)"]],
            id="the guardian never went",
        ),
        pytest.param(
            [member(claiming("t", seconds=0), opened(said="no zone"))],
            (),
            [["tell[same] web"], ["t is Pending (NeverBound)"]],
            id="rule 9: a bare pod that never binds keeps waiting, and knows why",
        ),
        pytest.param(
            [member(claiming("t", seconds=0), opened(said="no zone"), guardian())],
            (),
            [["tell[same] web"], ["t is Reserved"]],
            id="rule 9: the guardian still stands",
        ),
        pytest.param(
            [member(claiming("t"), opened(said="full"))],
            (guardian("thief", cpu="4"),),
            [["tell[same] web"], ["t is Pending (Stolen)"]],
            id="K10: a thief",
        ),
        pytest.param(
            [member(claiming("t"), opened(said="full"), guardian())],
            FULL,
            [["mark[node-1] web"], ["delete g"]],
            id="the room beside the guardian was taken: now the hard way",
        ),
    ],
)
def test_the_next_step(
    members: list[Member], there: tuple[Builder[Pod], ...], steps: list[list[str]]
) -> None:
    assert stated(decide(*members, there=there)) == steps


def test_a_batch_that_only_waited_for_somebody_elses_promise_is_looked_at_at_once() -> None:
    """Nobody else tells of a promise that was taken back; what it waited for until then was its deadline."""
    ready = member(claiming("t"), marked(gated()))
    assert decide(ready, there=(*FULL, returning())).requeue_at == NOW
    assert stated(decide(ready, there=FULL)) == [["open web"]]


def shared(cpu: str = "2") -> Builder[Ticket]:
    requests: JSON = {"cpu": cpu}
    return claiming("t").but({"spec": {"allocateOnce": False, "resources": {"requests": requests}}})


def remainder_guardian(bound: bool = False, nominated: bool = True) -> Builder[Pod]:
    """The remainder guardian of 1 cpu beside a pod of 1 cpu."""
    ticket, rest = shared().build(), resources.parse_list({"cpu": "1"})
    made = guardians.body(ticket, "heir", guardians.Options(), rest, Place(NODE, gated=not bound))
    pod = Builder(PODS, made).stored("uid-heir", 5)
    if bound:
        return pod.but({"spec": {"nodeName": NODE}})
    return pod.but({"status": {"nominatedNodeName": NODE}}) if nominated else pod


BOUND = opened().but({"spec": {"nodeName": NODE}})


@pytest.mark.parametrize(
    ("members", "steps"),
    [
        pytest.param(
            [member(shared(), gated(), guardian(cpu="2"))], [["make t"]], id="an heir is made first"
        ),
        pytest.param(
            [member(shared(), gated(), guardian(cpu="2"), remainder_guardian(nominated=False))],
            [["mark[node-1] web", "nominate heir"], ["delete g"]],
            id="pod and heir are nominated, and only then the old one goes",
        ),
        pytest.param(
            [member(shared(), marked(gated()), going(guardian(cpu="2")), remainder_guardian())],
            [],
            id="both wait behind the barrier",
        ),
        pytest.param(
            [member(shared(), marked(gated()), remainder_guardian())],
            [["open heir", "open web"]],
            id="both go",
        ),
        pytest.param(
            [
                member(shared(), BOUND, remainder_guardian()),
                member(claiming("u", "api"), gated("api"), guardian("h")),
            ],
            [["open heir"]],
            id="the next batch waits for the heir too",
        ),
        pytest.param(
            [member(shared(), BOUND, remainder_guardian(bound=True))],
            [["t is Reserved (Held)"]],
            id="shared",
        ),
        pytest.param(
            [member(shared(), BOUND)], [["t is Pending (Returning)"]], id="the heir was lost"
        ),
        pytest.param(
            [member(shared("1"), BOUND, guardian())],
            [["delete g"], ["t is Claimed (InUse)"]],
            id="nothing is left for an heir",
        ),
        pytest.param(
            [member(shared(), None, guardian(cpu="2"), remainder_guardian())],
            [["t is Reserved"]],
            id="the pod is gone",
        ),
    ],
)
def test_the_remainder_of_a_shared_ticket_takes_part(
    members: list[Member], steps: list[list[str]]
) -> None:
    """The remainder of a shared ticket takes part (S18 and rule 11)."""
    assert stated(decide(*members, there=(guardian("other", cpu="2"),))) == steps


def test_a_claim_that_would_put_one_pod_too_many_on_the_node_is_given_back() -> None:
    crowd = tuple(guardian(f"p{number}", cpu="0") for number in range(109))
    sharing = member(shared(), gated(), guardian(cpu="2"))
    assert stated(decide(sharing, there=crowd)) == [["t is Reserved"]]
    assert stated(decide(sharing, there=crowd[1:])) == [["make t"]]


def test_a_guardian_stays_for_whom_nothing_is_taken_from() -> None:
    """S18: a pod that requests nothing takes no room of a shared ticket, whatever else is handed over there."""
    guest = member(shared(), gated(cpu="0"), guardian(cpu="2"))
    other = member(claiming("u", "api"), gated("api"), guardian("h"))
    full = (guardian("other", cpu="1"),)
    assert stated(decide(other, guest, there=full)) == [
        ["mark[node-1] api", "open web"],
        ["delete h"],
    ]
    crowd = tuple(guardian(f"p{number}", cpu="0") for number in range(109))
    assert stated(decide(guest, there=crowd)) == [["t is Reserved"]]


CORDONED = a_node(NODE).but({"spec": {"unschedulable": True}})
TAINT: JSON = {"key": "gpu", "effect": "NoSchedule"}
TAINTED = a_node(NODE).but({"spec": {"taints": [TAINT]}})


@pytest.mark.parametrize(
    ("node", "why"),
    [
        pytest.param(CORDONED, "node node-1 is cordoned", id="cordoned"),
        pytest.param(
            TAINTED, "does not tolerate taint gpu:NoSchedule of node node-1", id="tainted"
        ),
        pytest.param(None, "its node is gone", id="gone"),
    ],
)
def test_no_pod_is_tied_to_a_node_that_takes_it_no_more(
    node: Builder[Node] | None, why: str
) -> None:
    """Rule 12: what was claimed before the node closed is given back, as long as the pod can still go elsewhere."""
    queued = decide(member(claiming("t"), gated(), guardian()), node=node)
    assert stated(queued) == [["t is Reserved"]]
    begun = decide(member(claiming("t"), marked(gated())), node=node)
    assert stated(begun) == [["tell[None] web"], ["t is Pending (ClaimUndone)"]]
    for plan in (queued, begun):
        assert plan.emits[-1].note == f"pod default/web can have the room no more: {why}"
    let_go = decide(member(claiming("t"), opened()), node=node)
    assert stated(let_go) == []


def replica(pod: Builder[Pod]) -> Builder[Pod]:
    owner = ReplicaSet(metadata=a_pod("rs").stored("uid-rs").build().metadata)
    return pod.owned_by(REPLICA_SETS, owner)


@pytest.mark.parametrize(
    ("recreate", "steps"),
    [
        pytest.param(True, [["delete web"], ["t is Pending (NeverBound)"]], id="by default"),
        pytest.param(
            False, [["tell[same] web"], ["t is Pending (NeverBound)"]], id="unless switched off"
        ),
    ],
)
def test_a_stuck_pod_of_a_controller_comes_again(recreate: bool, steps: list[list[str]]) -> None:
    """A stuck pod of a controller comes again (rule 9)."""
    stuck = member(claiming("t", seconds=0), replica(opened(said="no zone")))
    assert (
        stated(decide(stuck, settings=Settings(Handover.NOMINATE, recreate_stuck_pods=recreate)))
        == steps
    )


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        pytest.param("Unschedulable", "no zone", id="the scheduler's own"),
        pytest.param("SchedulingGated", "The scheduler did not bind it.", id="words from before"),
        pytest.param("SchedulerError", "The scheduler did not bind it.", id="any other"),
    ],
)
def test_only_what_the_scheduler_says_of_the_nodes_is_quoted(reason: str, said: str) -> None:
    """Rule 9: a scheduler that never looked at the pod leaves the words of the gate behind."""
    tried: JSON = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": "no zone",
    }
    pod = opened().but({"status": {"conditions": [tried]}})
    emit, _ = decide(member(claiming("t", seconds=0), pod)).emits
    advice = "Delete the pod and create it again: ticket default/t takes its room back."
    assert emit.note == f"The pod is tied to node node-1 without a ticket: {said} {advice}"


@pytest.mark.parametrize(
    ("kind", "costs"), [(REPLICA_SETS, False), (JOBS, True)], ids=["ReplicaSet", "Job"]
)
def test_a_job_is_reported_what_another_pod_costs_it(kind: Kind[HasMetadata], costs: bool) -> None:
    """Rule 9: a pod that is deleted counts as one that failed, as `backoffLimit` sees it."""
    pod = opened(said="no zone").owned_by(kind, a_pod("w").stored("uid-w").build())
    emit, _ = decide(member(claiming("t", seconds=0), pod)).emits
    words = ", which costs its Job one of its tries (backoffLimit)" if costs else ""
    assert emit.note == f"Deleted so that its controller makes it again{words}: no zone"


def test_what_is_reported_belongs_to_the_step_that_does_it() -> None:
    """Of several hand-overs that end in one turn one may conflict, and the Events of the others are sent all the same (S39)."""
    plan = decide(
        member(claiming("t", seconds=0), replica(opened(said="no zone"))),
        member(claiming("u", "gone"), None),
        member(claiming("v", "there"), a_pod("there").on(NODE).stored("uid-there")),
    )
    steps = [step for stage in plan.stages for step in stage]
    assert len(plan.emits) == 4
    assert all(any(emit.after is step for step in steps) for emit in plan.emits)


def test_a_new_scheduler_is_reported_of_nominations_again() -> None:
    """A new scheduler gets the nominations again (K8)."""
    waiting = member(claiming("t"), marked(gated()), going(guardian()))
    assert stated(decide(waiting, scheduler="second")) == [["mark[same] web"]]


def nominations(plan: Plan, name: str) -> list[JSON]:
    """To which nodes a plan nominates a guardian; None takes the nomination back."""
    steps = [step for stage in plan.stages for step in stage if isinstance(step, Patch)]
    bodies = [cast("Any", step.body)["status"] for step in steps if step.key.name == name]
    return [body["nominatedNodeName"] for body in bodies]


def test_a_new_scheduler_is_reported_of_the_heir_again() -> None:
    """K8: a nomination that stays as it is is no news, so it is taken back and made again before anybody goes."""
    first = decide(member(shared(), marked(gated()), remainder_guardian()), scheduler="second")
    assert stated(first) == [["mark[same] web", "nominate heir"]]
    assert nominations(first, "heir") == [None]
    pod = marked(gated()).but(cast("Any", first.stages[0][0]).body)
    again = decide(member(shared(), pod, remainder_guardian(nominated=False)), scheduler="second")
    assert nominations(again, "heir") == [NODE]
    ready = decide(member(shared(), pod, remainder_guardian()), scheduler="second")
    assert stated(ready) == [["open heir", "open web"]]


def test_a_pod_that_was_reported_to_wait_is_reported_of_its_ticket_before_the_hand_over_ends() -> (
    None
):
    """We may have crashed between the pin and these words."""
    words: JSON = {"type": "korder.dev/TicketBound", "status": "False", "reason": "NoTicketFree"}
    pod = BOUND.but({"status": {"conditions": [words]}})
    steps = [["mark[same] web"], ["t is Claimed (InUse)"]]
    assert stated(decide(member(claiming("t"), pod))) == steps


def test_the_machine_looks_again_at_the_deadline() -> None:
    plan = decide(member(claiming("t", seconds=50), opened()))
    assert plan.requeue_at == NOW + timedelta(seconds=50)


@pytest.mark.parametrize(
    ("pod", "tickets", "best"),
    [
        pytest.param(gated(), [claiming("b"), claiming("a")], "a", id="by name"),
        pytest.param(
            marked(gated(), "b"), [claiming("a"), claiming("b")], "b", id="the one it was told of"
        ),
        pytest.param(
            marked(gated(), "a"),
            [claiming("a"), claiming("b").but({"status": {"phase": "Claimed"}})],
            "b",
            id="the one it has",
        ),
    ],
)
def test_one_of_two_tickets_is_the_right_one(
    pod: Builder[Pod], tickets: list[Builder[Ticket]], best: str
) -> None:
    """S26: two replicas may claim two tickets for one pod in the moment of a change."""
    found = membership.rightful(pod.build(), [ticket.build() for ticket in tickets])
    assert found is not None
    assert found.metadata.name == best


@pytest.mark.parametrize(
    ("terms", "pinned"),
    [
        pytest.param([], [["node-1"]], id="none"),
        pytest.param(
            [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * 2,
            [["node-1"], ["node-1"]],
            id="two terms get it both",
        ),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}],
            [["node-1"]],
            id="a daemon pod has it already",
        ),
        pytest.param(
            [{}, {"matchExpressions": [{"key": "a", "operator": "Exists"}]}],
            [[], ["node-1"]],
            id="an empty term matches nothing and stays",
        ),
    ],
)
def test_the_pin_is_in_every_term(terms: list[JSON], pinned: list[list[str]]) -> None:
    """The pin is in every term (S14 and K5)."""
    required: JSON = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
    }
    pod = gated().but({"spec": {"affinity": {"nodeAffinity": required}}}) if terms else gated()
    node = a_node(NODE).labelled({"a": "1"})
    (stage,) = decide(member(claiming("t"), pod, guardian()), node=node).stages
    (step,) = stage
    assert isinstance(step, Patch)
    after = patch.apply_merge(pod.json, step.body)
    spec = Builder(PODS, cast("Mapping[str, JSON]", after)).build().spec
    assert spec.scheduling_gates == ()
    assert spec.affinity is not None
    assert spec.affinity.node_affinity is not None
    assert spec.affinity.node_affinity.required is not None
    found = spec.affinity.node_affinity.required.node_selector_terms
    assert [[v for f in term.match_fields for v in f.values] for term in found] == pinned
