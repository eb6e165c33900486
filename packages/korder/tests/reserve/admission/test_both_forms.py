"""Admission by policies and by webhooks: the same pods are marked, and the same writes are refused, with the same words."""

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.reserve.admission.admission_objects import URL, AdmissionForms, admission_objects

from korder.api.reserve import HANDOVER_TAINT, ORDERS, TICKETS, Order
from korder.install import objects
from korder.install.objects import Admission
from korder.install_config import Site
from korder.reserve.admission.verdicts import judge_order, judge_pod
from korder.reserve.validation import Question
from korder.testing.builders import a_ticket, an_order
from kubeloop.client import rest_mapper
from kubeloop.client.client import Client
from kubeloop.client.errors import ApiError, Forbidden, Invalid
from kubeloop.objects import codec
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder, a_pod

pytestmark = pytest.mark.parametrize("admission", list(Admission))

NOW = datetime(2026, 3, 1, tzinfo=UTC)
REQUIRED = {"korder.dev/required": "true"}

WORDS: list[dict[str, str]] = [
    {},
    {"team": "a"},
    {"korder.dev/required": "true"},
    {"korder.dev/required": "false"},
    {"korder.dev/required": "True"},
    {"korder.dev/required": ""},
    {"korder.dev/order": "my-order"},
    {"korder.dev/order": "other/my-order"},
    {"korder.dev/order": "other/"},
    {"korder.dev/order": "a" * 254},
    {"korder.dev/order": "a" * 253},
    {"korder.dev/order": f"{'n' * 64}/a"},
    {"korder.dev/order-request": "my-order"},
    {"korder.dev/order-request": "-x"},
    {"korder.dev/order": "a", "korder.dev/order-request": "a"},
    {"korder.dev/order": "a", "korder.dev/order-request": "b"},
    {"korder.dev/ticket-request": "a", "korder.dev/order": "b"},
    {"korder.dev/ticket-request": "a", "korder.dev/order-request": "b"},
    {"korder.dev/ticket-request": "my-order-0"},
    {"korder.dev/ticket-request": "name:my-order-0"},
    {"korder.dev/ticket-request": "name:"},
    {"korder.dev/ticket-request": "group:night"},
    {"korder.dev/ticket-request": "group:night shift"},
    {"korder.dev/ticket-request": "group: night"},
    {"korder.dev/ticket-request": "group:"},
    {"korder.dev/ticket-request": "selector:app=web"},
    {"korder.dev/ticket-request": "selector:app==web, tier!=x"},
    {"korder.dev/ticket-request": "selector:example.com/app in (a,b),!old"},
    {"korder.dev/ticket-request": "selector:appin (a)"},
    {"korder.dev/ticket-request": "selector:app=web,"},
    {"korder.dev/ticket-request": "selector:"},
    {"korder.dev/ticket-request": "selector:app in a"},
    {"korder.dev/ticket-request": "selector:size > 5"},
    {"korder.dev/ticket-request": "selector:size > five"},
    {"korder.dev/ticket-request": ""},
    {"korder.dev/ticket-request": "colour:red"},
    {"korder.dev/fallback-after": "90s"},
    {"korder.dev/fallback-after": "0"},
    {"korder.dev/fallback-after": "1.5h30m"},
    {"korder.dev/fallback-after": "-1s"},
    {"korder.dev/fallback-after": "5"},
    {"korder.dev/fallback-after": "1d"},
    {"korder.dev/required": "true", "korder.dev/fallback-after": "5s"},
    {"korder.dev/required": "false", "korder.dev/fallback-after": "5s"},
    {"korder.dev/ticket-claimed": "my-order-0", "korder.dev/ticket-node": "node-1"},
    {"korder.dev/ticket-claimed": "my-order-0", "korder.dev/required": "true"},
]


async def test_pods_are_marked_and_refused_as_the_rule_says(
    clock: Clock, admission: Admission
) -> None:
    """S15 and S20: every form of a request, asked with a dry run."""
    async with admission_objects(clock, admission) as there:
        for words in WORDS:
            pod = a_pod("p").annotated(words)
            expected = judge_pod(pod.build())
            if expected.refusals:
                with pytest.raises((Invalid, Forbidden), match=r"korder\.dev"):
                    await there.client.create(PODS, pod.json, dry_run=True)
                continue
            made = await there.client.create(PODS, pod.json, dry_run=True)
            gates = [gate.name for gate in made.spec.scheduling_gates]
            assert gates == ["korder.dev/ticket"] * expected.marked, words


def strategy(expression: str, zone: str = "UTC") -> Builder[Any]:
    said: JSON = {"type": "Scheduled", "schedule": expression, "timeZone": zone}
    return an_order("o").but({"spec": {"strategy": said}})


def template(spec: dict[str, JSON]) -> Builder[Any]:
    return an_order("o").but({"spec": {"template": {"spec": spec}}})


def worded(kind: str, **words: JSON) -> Builder[Any]:
    said: JSON = {
        kind: {f"korder.dev/{word.replace('_', '-')}": value for word, value in words.items()}
    }
    return an_order("o").but({"spec": {"template": {"metadata": said}}})


def amounts(requests: dict[str, JSON], limits: dict[str, JSON]) -> Builder[Any]:
    return template({"resources": {"requests": requests, "limits": limits}})


ORDERS_TO_JUDGE = [
    strategy("0 2 * * *"),
    strategy("*/5 18-8 ? jan-MAR 7"),
    strategy("0 0 L * 5#3"),
    strategy("@daily"),
    strategy("60 * * * *"),
    strategy("* 24 * * *"),
    strategy("* * 0 * *"),
    strategy("* * * 13 *"),
    strategy("* * * * 8"),
    strategy("*/61 * * * *"),
    strategy("? * * * *"),
    strategy("0 0 30 2 *"),
    strategy("0 0 31 4,jun *"),
    strategy("0 0 31 4,jul *"),
    strategy("0 0 30 2 1"),
    strategy("0 2 * * *", "Europe/Berlin"),
    strategy("0 2 * * *", "Europe/Nowhere"),
    strategy("0 2 * * *", ""),
    template({"window": {"timeZone": "Asia/Kolkata"}}),
    template({"window": {"timeZone": "Mars"}}),
    template({"priorityClassName": "system-cluster-critical"}),
    template({"priorityClassName": "system"}),
    worded("labels", node="node-1"),
    worded("labels", ticket_group="g"),
    worded("annotations", standing="true"),
    worded("annotations", ticket_group="g"),
    worded("annotations", ticket_group="g", lead_time="1h"),
    an_order("o").but({"spec": {"template": {"metadata": {"labels": {"node": "node-1"}}}}}),
    amounts({"cpu": "1"}, {"cpu": "1000m"}),
    amounts({"cpu": "1001m"}, {"cpu": 1}),
    amounts({"memory": "1Gi"}, {"memory": "1G"}),
    amounts({"memory": "1Gi"}, {"cpu": "1"}),
]


async def test_orders_are_refused_as_the_rule_says(clock: Clock, admission: Admission) -> None:
    """Orders are refused as the rule says (S29, rules 21 and 24)."""
    async with admission_objects(clock, admission) as there:
        for order in ORDERS_TO_JUDGE:
            spec = cast("dict[str, JSON]", order.json["spec"])
            if judge_order(order.build(), Question(NOW, spec)).refusals:
                with pytest.raises(ApiError):
                    await there.client.create(ORDERS, order.json, dry_run=True)
            else:
                await there.client.create(ORDERS, order.json, dry_run=True)


ORDERS_REFUSED = [
    (strategy("61 * * * *"), ("spec.strategy.schedule", "'61")),
    (strategy("0 0 30 2 *"), ("spec.strategy.schedule", "0 0 30 2 *")),
    (strategy("0 2 * * *", "Mars/Olympus"), ("time zone", "Europe/Berlin")),
    (template({"window": {"timeZone": "Mars"}}), ("time zone", "Europe/Berlin")),
    (
        amounts({"cpu": "100m", "memory": "2Gi"}, {"cpu": "100m", "memory": "1Gi"}),
        ("spec.template.spec.resources.requests.memory", "limit", "2Gi", "1Gi"),
    ),
]
PODS_REFUSED = {
    "korder.dev/required": "yes",
    "korder.dev/order": "a/b/c",
    "korder.dev/order-request": "UPPER",
    "korder.dev/ticket-request": "colour:red",
    "korder.dev/fallback-after": "soon",
}


async def test_a_refusal_names_the_field_the_value_and_what_is_allowed(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        for order, words in ORDERS_REFUSED:
            with pytest.raises(ApiError) as refused:
                await there.client.create(ORDERS, order.json, dry_run=True)
            assert [word for word in words if word not in str(refused.value)] == []
        for word, value in PODS_REFUSED.items():
            pod = a_pod("p").annotated({word: value})
            with pytest.raises(ApiError) as refused:
                await there.client.create(PODS, pod.json, dry_run=True)
            assert word in str(refused.value)
            assert value in str(refused.value)


async def test_a_pod_that_chose_its_node_hears_what_to_change(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        pod = a_pod("p").annotated(REQUIRED).on("node-1")
        with pytest.raises(ApiError, match=r"spec\.nodeName.*must be empty in a pod that asks"):
            await there.client.create(PODS, pod.json)


async def test_a_value_that_cannot_be_shown_is_refused_all_the_same(
    clock: Clock, admission: Admission
) -> None:
    """The server drops a message of several lines or without an end, and says the plain one."""
    async with admission_objects(clock, admission) as there:
        for value in ("a\nb", "x" * 9000, "'\""):
            pod = a_pod("p").annotated({"korder.dev/order": value})
            with pytest.raises(ApiError, match="must be an order's name or namespace/name"):
                await there.client.create(PODS, pod.json, dry_run=True)


async def test_a_ticket_keeps_what_its_guardian_is_made_of_and_can_be_extended(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        await there.client.create(TICKETS, a_ticket("t").json)
        key = Key("default", "t")
        for change in (
            {"resources": {"requests": {"cpu": "2"}}},
            {"allocateOnce": False},
            {"nodeSelector": {"disk": "ssd"}},
        ):
            with pytest.raises(
                (Invalid, Forbidden), match="make a new ticket, or change its order"
            ):
                await there.client.patch(TICKETS, key, {"spec": cast("JSON", change)})
        extended = await there.client.patch(TICKETS, key, {"spec": {"duration": "8h"}})
        assert extended.spec.duration == "8h"


async def test_an_order_stays_of_its_kind(clock: Clock, admission: Admission) -> None:
    async with admission_objects(clock, admission) as there:
        await there.client.create(ORDERS, an_order("o").json)
        key = Key("default", "o")
        with pytest.raises((Invalid, Forbidden), match=r"spec\.daemonSet.*make a new order"):
            await there.client.patch(ORDERS, key, {"spec": {"daemonSet": True}})
        scaled = await there.client.patch(ORDERS, key, {"spec": {"replicas": 3}})
        assert scaled.spec.replicas == 3


async def test_what_was_once_let_in_is_not_refused_for_a_label(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        await there.client.create(TICKETS, a_ticket("t").json)
        key = Key("default", "t")
        there.manager.up = False
        labelled = await there.client.patch(TICKETS, key, {"metadata": {"labels": {"a": "b"}}})
        assert labelled.metadata.labels == {"a": "b"}


async def test_the_managers_own_writes_are_not_judged(clock: Clock, admission: Admission) -> None:
    """Rule 23: whatever the manager writes passes, even if its webhooks do not answer."""
    place = Site(webhook_url=URL, user="kubernetes-admin")
    async with admission_objects(clock, admission, place) as there:
        order = await there.client.create(ORDERS, an_order("o").json)
        there.manager.asked.clear()
        there.manager.up = False
        ticket = await there.client.create(TICKETS, a_ticket("t").owned_by(ORDERS, order).json)
        key = Key("default", "t")
        await there.client.patch(TICKETS, key, {"spec": {"resources": {"requests": {"cpu": "2"}}}})
        guardian = a_pod("p").annotated(REQUIRED).owned_by(TICKETS, ticket)
        made = await there.client.create(PODS, guardian.json)
        assert not made.spec.scheduling_gates
        assert there.manager.asked == []


async def test_who_runs_the_manager_is_judged_like_others(
    clock: Clock, admission: Admission
) -> None:
    place = Site(webhook_url=URL, user="kubernetes-admin")
    async with admission_objects(clock, admission, place) as there:
        made = await there.client.create(PODS, a_pod("p").annotated(REQUIRED).json)
        assert [gate.name for gate in made.spec.scheduling_gates] == ["korder.dev/ticket"]
        await there.client.create(TICKETS, a_ticket("t").json)
        larger: JSON = {"spec": {"resources": {"requests": {"cpu": "2"}}}}
        with pytest.raises((Invalid, Forbidden), match="make a new ticket"):
            await there.client.patch(TICKETS, Key("default", "t"), larger)


async def test_a_foreign_gate_stays_beside_ours(clock: Clock, admission: Admission) -> None:
    """A foreign gate stays beside ours (rule 8)."""
    async with admission_objects(clock, admission) as there:
        pod = a_pod("p").annotated(REQUIRED).gated_by("example.com/wait")
        made = await there.client.create(PODS, pod.json)
        names = [gate.name for gate in made.spec.scheduling_gates]
        assert names == ["example.com/wait", "korder.dev/ticket"]


async def test_a_dry_run_leaves_nothing_behind(clock: Clock, admission: Admission) -> None:
    """S20: the answer shows the gate, the server keeps nothing."""
    async with admission_objects(clock, admission) as there:
        made = await there.client.create(PODS, a_pod("p").annotated(REQUIRED).json, dry_run=True)
        assert [gate.name for gate in made.spec.scheduling_gates] == ["korder.dev/ticket"]
        assert not (await there.client.list(PODS)).items


async def test_a_pod_that_is_changed_later_is_no_concern_of_admission(
    clock: Clock, admission: Admission
) -> None:
    """S25: gates can only be set at creation, so updates are not looked at."""
    async with admission_objects(clock, admission) as there:
        await there.client.create(PODS, a_pod("p").annotated(REQUIRED).json)
        there.manager.up = False
        for number in range(50):
            change: JSON = {"metadata": {"labels": {"number": str(number)}}}
            await there.client.patch(PODS, Key("default", "p"), change)


async def test_a_name_like_a_selector_cannot_break_out_of_an_expression(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        for nasty in ("'", "\\", "') || true || ('", "x\ny", "\u0000", "ä", "🎫"):
            pod = a_pod("p").annotated({"korder.dev/order": nasty})
            with pytest.raises(ApiError):
                await there.client.create(PODS, pod.json, dry_run=True)


NOTES = {
    "korder.dev/standing": "true",
    "korder.dev/scheduled-time": "2031-01-01T00:00:00Z",
    "korder.dev/lead-time": "1h",
    "korder.dev/terms": "x",
}


async def test_nobody_speaks_to_a_ticket_in_the_name_of_an_order(
    clock: Clock, admission: Admission
) -> None:
    """A clock that starts in years, or never ends, would go round max-duration."""
    async with admission_objects(clock, admission) as there:
        await there.client.create(TICKETS, a_ticket("t").annotated({"team": "a"}).json)
        key = Key("default", "t")
        for word, said in NOTES.items():
            with pytest.raises(Invalid, match=f"{word}.*must not be written by anybody but korder"):
                await there.client.create(TICKETS, a_ticket("u").annotated({word: said}).json)
            with pytest.raises(Invalid, match=word):
                await there.client.patch(TICKETS, key, {"metadata": {"annotations": {word: said}}})
        await there.client.patch(TICKETS, key, {"metadata": {"annotations": {"team": "b"}}})


def tolerating(*tolerations: dict[str, JSON]) -> Builder[Any]:
    return a_pod("p").but({"spec": {"tolerations": list(tolerations)}})


EVERY_TAINT: dict[str, JSON] = {"operator": "Exists"}
OTHER: dict[str, JSON] = {"key": "dedicated", "operator": "Exists"}
BY_NAME: list[dict[str, JSON]] = [
    {"key": HANDOVER_TAINT, "operator": "Exists"},
    {"key": HANDOVER_TAINT, "operator": "Exists", "effect": "NoSchedule"},
    {"key": HANDOVER_TAINT, "operator": "Equal", "value": "1767268800000"},
    {"key": HANDOVER_TAINT, "value": "x", "effect": "NoExecute", "tolerationSeconds": 5},
]
REFUSED = (
    r"spec\.tolerations:? must not name the key korder\.dev/handover.*allowed is any other key"
)


async def test_a_tenant_cannot_let_a_pod_pass_hand_overs(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        tenant = await there.tenant()
        for toleration in BY_NAME:
            with pytest.raises((Invalid, Forbidden), match=REFUSED):
                await tenant.create(PODS, tolerating(OTHER, toleration).json, dry_run=True)
        created = tolerating(EVERY_TAINT, OTHER)
        assert (await tenant.create(PODS, created.json)).spec.tolerations
        for toleration in BY_NAME:
            with pytest.raises((Invalid, Forbidden), match=REFUSED):
                await add(tenant, EVERY_TAINT, OTHER, toleration)
        await add(tenant, EVERY_TAINT, OTHER, {"key": "more", "operator": "Exists"})


async def test_a_manager_that_an_administrator_runs_hands_over(
    clock: Clock, admission: Admission
) -> None:
    """Who may write the status of tickets may let pods pass, whether admission knows the user as the manager or not."""
    async with admission_objects(clock, admission) as there:
        await there.client.create(PODS, tolerating(OTHER).json)
        await add(there.client, BY_NAME[2])


async def add(client: Client, *tolerations: dict[str, JSON]) -> None:
    """Adds to the tolerations of the pod, to those that the server has added itself."""
    pod = await client.get(PODS, Key("default", "p"))
    had = [codec.plain(each) for each in pod.spec.tolerations]
    listed: JSON = [*had, *(each for each in tolerations if each not in had)]
    await client.patch(PODS, Key("default", "p"), {"spec": {"tolerations": listed}})


async def test_the_manager_gives_pods_leave_and_others_may_change_them_after_that(
    clock: Clock, admission: Admission
) -> None:
    """Also while its webhooks do not answer, and also on a pod without a controller."""
    place = Site(webhook_url=URL, user="kubernetes-admin")
    async with admission_objects(clock, admission, place) as there:
        there.manager.up = False
        await there.client.create(PODS, tolerating(OTHER).json)
        await add(there.client, BY_NAME[2])
        order = await create_order(there)
        owned = tolerating(BY_NAME[2]).but({"metadata": {"name": "guardian"}})
        await there.client.create(PODS, owned.owned_by(ORDERS, order).json)


async def create_order(there: AdmissionForms) -> Order:
    there.manager.up = True
    order = await there.client.create(ORDERS, an_order("o").json)
    there.manager.up = False
    return order


async def test_a_pod_that_was_given_leave_can_be_changed_by_anybody(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(
        clock, admission, Site(webhook_url=URL, user="kubernetes-admin")
    ) as there:
        await there.client.create(PODS, tolerating(OTHER).json)
        await add(there.client, BY_NAME[2])
        for body in objects.admission_objects(Site(webhook_url=URL), admission):
            await reapply(there, body)
        there.manager.up = False
        key, tenant = Key("default", "p"), await there.tenant()
        labelled = await tenant.patch(PODS, key, {"metadata": {"labels": {"a": "b"}}})
        assert labelled.metadata.labels == {"a": "b"}
        there.manager.up = True
        with pytest.raises((Invalid, Forbidden), match=REFUSED):
            await add(tenant, BY_NAME[0])


async def reapply(there: AdmissionForms, body: dict[str, JSON]) -> None:
    found = (await rest_mapper.discover(there.client)).of(
        str(body["apiVersion"]), str(body["kind"])
    )
    name = cast("dict[str, str]", body["metadata"])["name"]
    assert found is not None
    await there.client.patch(found.kind, Key("", name), body, PatchType.APPLY, force=True)


async def test_pods_without_such_a_toleration_are_never_sent_to_the_manager(
    clock: Clock, admission: Admission
) -> None:
    async with admission_objects(clock, admission) as there:
        there.manager.up = False
        await there.client.create(PODS, tolerating(EVERY_TAINT, OTHER).json)
        await add(there.client, {"key": "more", "operator": "Exists"})
        assert there.manager.asked == []
