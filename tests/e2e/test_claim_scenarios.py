"""Claims on a real control plane, as people make them: one plane and one `korder manager` for all (S11-S18, S20, S25)."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

import pytest
from tests.e2e.stage import LOOK, PATIENCE, Stage
import yaml

from korder.api.reserve import ORDERS, TICKETS, Ticket, TicketPhase
from korder.reserve.claims import patches as claim_patches
from korder.reserve.tickets import guardian
from kubeloop.client.errors import ApiError
from kubeloop.objects import core
from kubeloop.objects.core import NODES, PODS, Pod
from kubeloop.objects.meta import JSON, HasMetadata, Kind
from kubeloop.objects.workloads import DEPLOYMENTS, JOBS, STATEFUL_SETS
from kubeloop.testing.builders import Builder
from pocketkube.nodes.machines import Manners

pytestmark = pytest.mark.asyncio(loop_scope="module")
T = TypeVar("T", bound=HasMetadata)
CLAIMED, RESERVED = TicketPhase.CLAIMED, TicketPhase.RESERVED
GPU = "example.com/gpu"


def reason_told(pod: Pod) -> str:
    stated = claim_patches.stated(pod)
    return stated.reason if stated is not None else ""


async def test_s11_the_pods_of_a_deployment_take_the_room_of_full_nodes(stage: Stage) -> None:
    await stage.add_nodes(3, cpu="1")
    await stage.put(stage.order("pool", 3, strategy={"type": "OneTime", "refreshPolicy": "Never"}))
    await stage.counted(Reserved=3)
    await stage.put(stage.workload(DEPLOYMENTS, stage.asking("web", order="pool"), replicas=3))
    tickets = await stage.counted(Claimed=3)
    pods = {pod.metadata.uid: pod for pod in await stage.all(PODS)}
    owners = {t.status.claimed_by.uid: t.status.node_name for t in tickets if t.status.claimed_by}
    assert {uid: pod.spec.node_name for uid, pod in pods.items()} == owners
    assert len(set(owners.values())) == 3
    await stage.until(DEPLOYMENTS, "web", lambda web: web.status.ready_replicas == 3)


async def test_s12_who_requires_a_ticket_waits_with_words_until_there_is_one(
    stage: Stage,
) -> None:
    await stage.add_nodes()
    await stage.put(
        stage.asking("web", order="gold"), stage.pod("idle", order="gold", fallback_after="3s")
    )
    web = await stage.until(PODS, "web", lambda pod: reason_told(pod) == "NoTicket")
    assert claim_patches.is_gated(web)
    assert f"There is no order {stage.name}/gold." in await stage.event("web", "NoTicket")
    idle = await stage.bound("idle")
    scheduled = next(c for c in idle.status.conditions if c.type == "PodScheduled")
    assert scheduled.last_transition_time - idle.metadata.creation_timestamp >= timedelta(seconds=3)
    assert "korder.dev/ticket-claimed" not in idle.metadata.annotations
    assert claim_patches.is_gated(await stage.until(PODS, "web", lambda _: True))
    await stage.put(stage.order("gold", 1))
    assert (await stage.bound("web")).metadata.annotations["korder.dev/ticket-claimed"] == "gold-0"


async def test_s13_who_only_prefers_a_ticket_goes_without_at_once(stage: Stage) -> None:
    """That it takes less than a second is judged in simulation, where the machine cannot be late."""
    await stage.add_nodes()
    (pod,) = await stage.put(stage.pod("web", order="gold"))
    assert claim_patches.is_gated(pod)
    await stage.bound("web")
    note = await stage.event("web", "FellBack")
    assert note == f"Scheduled without a ticket: There is no order {stage.name}/gold."


def container(cpu: str, **more: JSON) -> JSON:
    return {"name": f"c{cpu}", "image": "app", "resources": {"requests": {"cpu": cpu}}, **more}


def required(*terms: Mapping[str, str]) -> JSON:
    """A node affinity: all labels of one of the terms."""
    wanted: list[JSON] = [
        {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]} for key, value in term.items()
            ]
        }
        for term in terms
    ]
    selector: JSON = {"nodeSelectorTerms": wanted}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def misfits(stage: Stage) -> dict[str, tuple[dict[str, JSON], str]]:
    """Pods that do not fit into 1 cpu on a plain node: how they differ from one that does, and what they are told."""
    gpu: JSON = {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}}
    return {
        "size": ({"containers": [container("2")]}, "needs cpu 2, it holds 1"),
        "init": ({"initContainers": [container("1500m")]}, "needs cpu 1500m, it holds 1"),
        "sidecar": (
            {"initContainers": [container("500m", restartPolicy="Always")]},
            "needs cpu 1500m, it holds 1",
        ),
        "overhead": ({"runtimeClassName": stage.name}, "needs cpu 1500m, it holds 1"),
        "pod-level": ({"resources": {"requests": {"cpu": "3"}}}, "needs cpu 3, it holds 1"),
        "device": (
            {"containers": [{"name": "app", "image": "app", "resources": gpu}]},
            f"needs {GPU} 1, it holds none",
        ),
        "selector": ({"nodeSelector": {"disk": "ssd"}}, "needs labels disk=ssd, which its node"),
        "affinity": (
            {"affinity": required({"disk": "ssd"}, {"disk": "nvme"})},
            "requires node affinity",
        ),
        "taint": ({}, "does not tolerate taint burning:NoSchedule of its node"),
    }


async def test_s14_only_a_ticket_that_fits_is_claimed_and_the_mismatch_of_others_is_named(
    stage: Stage,
) -> None:
    plain, burning = await stage.add_nodes(2, cpu="16")
    (rich,) = await stage.add_nodes(1, cpu="64", **{GPU: "16"})
    await stage.edit(NODES, rich, {"metadata": {"labels": {"disk": "ssd"}}})
    await make_burn(stage, burning)
    runtime: JSON = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": stage.name},
        "handler": "heavy",
        "overhead": {"podFixed": {"cpu": "500m"}},
    }
    await stage.world.plane.kubectl("create", "-f", "-", input=yaml.safe_dump(runtime))
    cases = misfits(stage)

    def ticket(case: str, name: str, node: str, cpu: str) -> Builder[Ticket]:
        bearing: JSON = [*stage.place["tolerations"], {"key": "burning", "operator": "Exists"}]
        held = stage.ticket(f"{case}-{name}", cpu, nodeName=node, tolerations=bearing)
        return held.labelled({"case": case})

    await stage.reserve(
        *(ticket(case, "1", burning if case == "taint" else plain, "1") for case in cases)
    )
    await stage.put(
        *(
            stage.asking(case, ticket_request=f"selector:case={case}").but({"spec": change})
            for case, (change, _) in cases.items()
        )
    )
    for case, (_, why) in cases.items():
        pod = await stage.until(PODS, case, lambda pod: reason_told(pod) == "NoTicketFits")
        stated = claim_patches.stated(pod)
        assert stated is not None
        none = "No ticket fits" if "it holds" in why else "No free ticket fits"
        assert stated.message.startswith(f"{none}; nearest mismatch: {why}")
    device: JSON = {GPU: "1"}
    more: JSON = {"spec": {"resources": {"requests": device, "limits": device}}}
    await stage.put(*(ticket(case, "2", rich, "4").but(more) for case in cases))
    for case in cases:
        assert (await stage.bound(case)).spec.node_name == rich
    await stage.phase(CLAIMED, *(f"{case}-2" for case in cases))
    await stage.phase(RESERVED, *(f"{case}-1" for case in cases))
    chosen = (await stage.bound("affinity")).spec.affinity
    terms = chosen.node_affinity.required.node_selector_terms
    assert [[field.values for field in term.match_fields] for term in terms] == [[(rich,)]] * 2


async def make_burn(stage: Stage, node: str) -> None:
    """Gives a node one more taint."""
    there = await stage.until(NODES, node, lambda _: True)
    taints: JSON = [
        *({"key": t.key, "value": t.value, "effect": t.effect} for t in there.spec.taints),
        {"key": "burning", "effect": "NoSchedule"},
    ]
    await stage.edit(NODES, node, {"spec": {"taints": taints}})


async def test_s15_each_form_of_a_request_finds_its_ticket(stage: Stage) -> None:
    await stage.add_nodes(cpu="8")
    order = stage.order("gold", 1, strategy={"type": "OneTime", "refreshPolicy": "Never"})
    await stage.put(order)
    await stage.reserve(
        stage.ticket("named"),
        stage.ticket("bare"),
        stage.ticket("labelled").labelled({"tier": "gold"}),
        stage.ticket("grouped").annotated({"korder.dev/ticket-group": "nightly"}),
    )
    asked = {
        "named": {"ticket_request": "name:named"},
        "bare": {"ticket_request": "bare"},
        "labelled": {"ticket_request": "selector:tier=gold"},
        "grouped": {"ticket_request": "group:nightly"},
        "gold-0": {"order_request": "gold"},
    }
    await stage.put(*(stage.asking(name, **words) for name, words in asked.items()))
    for name in asked:
        pod = await stage.bound(name)
        assert pod.metadata.annotations["korder.dev/ticket-claimed"] == name
        (ticket,) = await stage.phase(CLAIMED, name)
        assert ticket.status.claimed_by is not None
        assert ticket.status.claimed_by.uid == pod.metadata.uid


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        pytest.param({"required": "yes"}, "must be true or false", id="neither true nor false"),
        pytest.param({"ticket_request": "uid:1"}, "must be name:<ticket>", id="unknown form"),
        pytest.param(
            {"order": "a", "order_request": "b"}, "name different orders", id="two orders"
        ),
        pytest.param(
            {"ticket_request": "a", "order_request": "b"}, "exclude each other", id="two requests"
        ),
        pytest.param(
            {"required": "true", "fallback_after": "5s"}, "never falls back", id="both ways"
        ),
        pytest.param({"order": "a", "fallback_after": "soon"}, "duration", id="no duration"),
    ],
)
async def test_s15_a_request_that_nobody_understands_is_refused(
    stage: Stage, annotations: dict[str, str], said: str
) -> None:
    pod = stage.pod("web", **annotations)
    with pytest.raises(ApiError, match=said):
        await stage.client.create(PODS, pod.json)


ENDS: dict[str, dict[str, str]] = {
    "deleted": {},
    "failed": {"fails_after": "500ms"},
    "succeeded": {"runs_for": "500ms"},
}


async def test_s16_a_ticket_is_released_however_its_pod_ends_and_refilled_by_policy(
    stage: Stage,
) -> None:
    await stage.add_nodes(2)
    await stage.put(
        stage.order("pool", 3, strategy={"type": "OneTime", "refreshPolicy": "OnClaim"})
    )
    await stage.counted(Reserved=3)
    once = {name: stage.asking(name, order="pool", **how) for name, how in ENDS.items()}
    job = once.pop("succeeded").but({"spec": {"restartPolicy": "Never"}})
    await stage.put(*(pod.but({"spec": {"restartPolicy": "Never"}}) for pod in once.values()))
    await stage.put(stage.workload(JOBS, job))
    await stage.bound("deleted")
    await stage.delete(PODS, "deleted")
    await stage.counted(Reserved=3, Released=3)
    await stage.until(JOBS, "web", lambda job: job.status.succeeded == 1)


@pytest.mark.parametrize("kind", [DEPLOYMENTS, STATEFUL_SETS], ids=lambda kind: kind.kind)
async def test_s16_the_pod_that_comes_instead_gets_the_same_room_again(
    stage: Stage, kind: Kind[T]
) -> None:
    await stage.add_nodes(cpu="1")
    await stage.reserve(stage.ticket("t", afterUse="Reserve"))
    await stage.put(stage.workload(kind, stage.asking("web"), replicas=1))
    (ticket,) = await stage.phase(CLAIMED, "t")
    first = ticket.status.claimed_by
    assert first is not None
    await stage.delete(PODS, first.name)
    again = await stage.until(
        TICKETS,
        "t",
        lambda t: t.status.phase is CLAIMED and t.status.claimed_by.uid != first.uid,
    )
    assert again.status.claimed_by is not None
    assert (again.status.claimed_by.name == first.name) == (kind is STATEFUL_SETS)
    (pod,) = await stage.all(PODS)
    assert pod.metadata.uid == again.status.claimed_by.uid


async def test_s16_room_returns_to_its_ticket_although_others_wait_for_it_rule_10(
    stage: Stage,
) -> None:
    (node,) = await stage.add_nodes(cpu="4")
    stage.world.machines.slow(node, Manners(stop=1))
    await stage.reserve(stage.ticket("t", "3500m", afterUse="Reserve"))
    await stage.put(stage.asking("user", "3500m"))
    await stage.phase(CLAIMED, "t")
    rivals = [stage.pod(f"rival-{n}", "1500m") for n in range(10)]
    for rival in await stage.put(*rivals):
        await stage.until(PODS, rival.metadata.name, has_been_tried)
    await stage.delete(PODS, "user")
    await stage.phase(RESERVED, "t")
    await stage.gone(PODS, "user")
    assert [pod.metadata.name for pod in await stage.all(PODS) if pod.spec.node_name] == [
        pod.metadata.name for pod in await stage.guardians()
    ]


def has_been_tried(pod: Pod) -> bool:
    """Whether the scheduler has looked at the pod and found no node."""
    said = core.reported(pod.status.conditions, "PodScheduled")
    return said is not None and said.reason == "Unschedulable"


async def test_s17_who_is_no_owner_or_writes_our_answer_himself_gets_nothing(stage: Stage) -> None:
    await stage.add_nodes()
    owners: JSON = [{"serviceAccounts": ["robot"]}]
    (before,) = await stage.reserve(stage.ticket("t", owners=owners))
    await stage.put(stage.asking("guest"), stage.pod("liar", ticket_claimed="t"))
    await stage.until(PODS, "guest", lambda pod: reason_told(pod) == "NotAnOwner")
    assert "t" in await stage.event("guest", "NotAnOwner")
    assert "never read" in await stage.event("liar", "NotAClaim")
    await stage.bound("liar")
    (after,) = await stage.all(TICKETS)
    assert after.metadata.resource_version == before.metadata.resource_version


async def test_s18_two_pods_share_a_ticket_whose_rest_stays_held_and_the_third_waits(
    stage: Stage,
) -> None:
    await stage.add_nodes(cpu="2")
    both: JSON = {"requests": {"cpu": "2", "memory": "128Mi"}}
    await stage.reserve(stage.ticket("t", allocateOnce=False, resources=both))
    await stage.put(stage.asking("a"))
    await stage.bound("a")
    shared = await stage.until(
        TICKETS, "t", lambda t: t.status.phase is RESERVED and t.status.shared_by
    )
    assert [share.name for share in shared.status.shared_by] == ["a"]
    (rest,) = await stage.guardians()
    assert (rest.spec.node_name, str(guardian.holds(rest)["cpu"])) == (
        shared.status.node_name,
        "1",
    )
    await stage.put(stage.pod("intruder"), stage.asking("b"))
    await stage.bound("b")
    (full,) = await stage.phase(CLAIMED, "t")
    assert [share.name for share in full.status.shared_by] == ["a", "b"]
    await stage.put(stage.asking("c"))
    third = await stage.until(PODS, "c", lambda pod: reason_told(pod) == "NoTicketFree")
    assert claim_patches.is_gated(third)
    intruder = await stage.get(PODS, "intruder")
    assert intruder is not None
    assert not intruder.spec.node_name


def refusing(stage: Stage) -> list[tuple[str, list[dict[str, JSON]]]]:
    """Who is asked after us and refuses every pod of a stage: what it says, and what it is made of; each is asked before the one above."""
    here: JSON = {"matchLabels": {"kubernetes.io/metadata.name": stage.name}}
    rule: JSON = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    rules: JSON = [{**rule, "operations": ["CREATE"]}]
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": stage.name}}
    nobody: JSON = {
        "name": "late.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/nobody"},
        "rules": rules,
        "namespaceSelector": here,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    matched: JSON = {"namespaceSelector": here, "resourceRules": rules}
    refused: JSON = [{"expression": "false", "message": "no more pods today"}]
    policy: JSON = {"matchConstraints": matched, "validations": refused}
    binding: JSON = {"policyName": stage.name, "validationActions": ["Deny"]}
    full: JSON = {"hard": {"requests.cpu": "1500m"}}
    quota = {"metadata": {"name": "tight", "namespace": stage.name}, "spec": full}
    return [
        ("exceeded quota", [{"apiVersion": "v1", "kind": "ResourceQuota", **quota}]),
        (
            'failed calling webhook "late.example.com"',
            [{**api, "kind": "ValidatingWebhookConfiguration", "webhooks": [nobody]}],
        ),
        (
            "no more pods today",
            [
                {**api, "kind": "ValidatingAdmissionPolicy", "spec": policy},
                {**api, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
            ],
        ),
    ]


async def is_reported(stage: Stage, pod: Builder[Pod], said: str, *, dry_run: bool = False) -> bool:
    """Whether a pod is refused with these words."""
    try:
        await stage.client.create(PODS, pod.json, dry_run=dry_run)
    except ApiError as refused:
        return said in refused.message
    return False


async def test_s20_dry_runs_and_pods_that_are_refused_after_us_consume_nothing(
    stage: Stage,
) -> None:
    await stage.add_nodes()
    await stage.put(stage.order("gold", 1))
    (before,) = await stage.counted(Reserved=1)
    web = stage.asking("web", order="gold")
    shown = await stage.client.create(PODS, web.json, dry_run=True)
    assert claim_patches.is_gated(shown)
    await stage.client.create(ORDERS, stage.order("dry", 3).json, dry_run=True)
    for said, made in refusing(stage):
        await stage.world.plane.kubectl("create", "-f", "-", input=yaml.safe_dump_all(made))
        async with asyncio.timeout(PATIENCE):
            while not await is_reported(stage, web, said, dry_run=True):
                await asyncio.sleep(LOOK)
        for _ in range(20):
            assert await is_reported(stage, web, said)
    (after,) = await stage.all(TICKETS)
    assert after.metadata.resource_version == before.metadata.resource_version
    assert len(await stage.guardians()) == 1


async def test_s25_updates_of_a_pod_that_has_its_ticket_claim_nothing_more(stage: Stage) -> None:
    await stage.add_nodes()
    await stage.reserve(*(stage.ticket(f"t{n}").labelled({"tier": "gold"}) for n in range(3)))
    await stage.put(stage.asking("web", ticket_request="selector:tier=gold"))
    await stage.bound("web")
    await stage.counted(Claimed=1, Reserved=2)
    for number in range(25):
        await stage.edit(PODS, "web", {"metadata": {"labels": {"number": str(number)}}})
        finalizers: JSON = ["example.com/last"] if number % 2 else None
        await stage.edit(PODS, "web", {"metadata": {"finalizers": finalizers}})
    tickets = await stage.counted(Claimed=1, Reserved=2)
    assert {t.status.claimed_by.name for t in tickets if t.status.claimed_by} == {"web"}
    web = await stage.bound("web")
    assert (web.metadata.labels, web.metadata.finalizers) == ({"number": "24"}, ())
