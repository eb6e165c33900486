"""Quotas on a real control plane: two managers answer at the door and one of them leads (S30-S35), and what goes on while nobody answers (S38).

Limits are for namespaces or labels of the test's own; only one quota is for the whole cluster, and it limits what no other test wants.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from tests.e2e.front import House, a_house
from tests.e2e.installation import account
from tests.e2e.limiting import here, is_let_in, limit, refusal, refused, short, shortfall, used
from tests.e2e.quota_cases import GPU, KEYS, NONSENSE, ODD, OF_THREE, Limited
from tests.e2e.stage import LANES, LOOK, PATIENCE, Stage, World, a_stage
from tests.e2e.wires import a_manager
from tests.reserve.quotas.quotas import a_quota
import yaml

from korder.api.quota import QUOTAS, QuotaCondition
from korder.api.reserve import ORDERS, SCHEDULING_GATE, TICKETS, Order, TicketPhase
from korder.install_config import Site
from korder.reserve.claims import patches as claim_patches
from kubeloop.client.errors import ApiError, InternalError, Invalid
from kubeloop.objects import conditions, instant, quantity
from kubeloop.objects.core import NAMESPACES, PODS
from kubeloop.objects.meta import JSON, Key, Kind, Object
from kubeloop.runtime.clock import Clock
from kubeloop.testing.builders import Builder
from kubeloop.testing.controlplane import programs

pytestmark = pytest.mark.asyncio(loop_scope="module")
SEED = Path(__file__).parents[2] / "examples" / "quota" / "team-quota.yaml"
ROOM = 7


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with a_house(tmp_path_factory.mktemp("managers")) as house:
        yield house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(house: House) -> World:
    return house.world


async def of_three(stage: Stage, limited: Limited) -> None:
    """Refused at the door with words; and let in, if it may wait, with as many tickets as there is room for."""
    await stage.add_nodes(1, **{GPU: "4"})
    quota = a_quota(stage.name, here(stage)).but({"spec": {"hard": limited.hard}})
    await limit(stage, quota)
    holding: JSON = {"requests": dict(OF_THREE), "limits": {GPU: "1"}}
    order = stage.order("o", 3, template={"spec": {"duration": "1h", "resources": holding}})
    stated = await refused(stage, order)
    assert f"exceeded quota {stage.name}: {limited.said}" in stated
    await stage.edit(QUOTAS, stage.name, {"spec": {"enforcement": "Wait"}})
    if "max-duration" in limited.hard:
        assert limited.said in await refused(stage, order)
        return
    async with asyncio.timeout(PATIENCE):
        while not await is_let_in(stage, order):
            await asyncio.sleep(LOOK)
    await short(stage, f"quota {stage.name}: {next(iter(limited.hard))} used")
    await stage.counted(Reserved=limited.made)


async def test_s30_every_key_limits_what_is_let_in_and_what_is_made(world: World) -> None:
    """All at the same time, each on a stage of its own."""

    async def play(key: str, limited: Limited) -> None:
        async with a_stage(world) as stage:
            try:
                await of_three(stage, limited)
            except BaseException as error:
                error.add_note(f"This was the limit of {key}.")
                raise

    async with asyncio.TaskGroup() as group:
        for key, limited in KEYS.items():
            group.create_task(play(key, limited))


async def test_s30_the_manifest_of_the_readme_limits_a_team_until_it_moves_away(
    stage: Stage,
) -> None:
    await stage.add_nodes()
    await stage.edit(NAMESPACES, stage.name, {"metadata": {"labels": {"team": "backend"}}})
    await stage.world.plane.kubectl("apply", "-f", str(SEED))
    try:
        too_many = await refused(stage, stage.order("many", 51, "10m"))
        assert "exceeded quota team-quota: tickets used 0 of 50, requested 51" in too_many
        long: JSON = {"spec": {"duration": "25h"}}
        too_long = await refused(stage, stage.order("long", 1, template=long))
        assert "exceeded quota team-quota: max-duration is 24h0m0s, requested 25h0m0s" in too_long
        async with a_stage(stage.world) as elsewhere:
            other = elsewhere.order("many", 51, "10m", template=long)
            await elsewhere.client.create(ORDERS, other.json, dry_run=True)
        await stage.put(stage.order("o", 3, "500m"))
        await stage.counted(Reserved=3)
        amounts = used(orders="1", tickets="3", reserved_cpu="1500m", reserved_memory="192Mi")
        await stage.until(QUOTAS, "team-quota", amounts)
        await stage.edit(NAMESPACES, stage.name, {"metadata": {"labels": {"team": "frontend"}}})
        nothing = used(orders="0", tickets="0", reserved_cpu="0", reserved_memory="0")
        await stage.until(QUOTAS, "team-quota", nothing)
    finally:
        await stage.delete(QUOTAS, "team-quota")


async def test_s30_scaling_is_judged_as_the_edit_that_it_is(stage: Stage) -> None:
    await limit(stage, a_quota(stage.name, here(stage), tickets="2"))
    await stage.put(stage.order("o", 1))
    scales = Kind(ORDERS.group, ORDERS.version, ORDERS.kind, ORDERS.plural, Object)

    async def scale(replicas: int) -> None:
        body: JSON = {"spec": {"replicas": replicas}}
        key = Key(stage.name, "o")
        await stage.client.patch(scales, key, body, subresource="scale", dry_run=True)

    stated = await refusal(lambda: scale(5))
    assert f"exceeded quota {stage.name}: tickets used " in stated
    assert "of 2, requested 4" in stated
    await scale(2)
    await scale(0)


async def test_s31_what_is_used_adds_up_exactly_and_dry_runs_add_nothing_s20(stage: Stage) -> None:
    until = await limit(stage, a_quota(stage.name, here(stage), reserved_cpu="2"))
    for _ in range(5):
        await stage.client.create(ORDERS, stage.order("dry", 4, "500m").json, dry_run=True)
    await stage.put(stage.order("a", 3, "500m"))
    await until(used(reserved_cpu="1500m"))
    stated = await refused(stage, stage.order("b", 2, "500m"))
    assert f"exceeded quota {stage.name}: reserved.cpu used 1500m of 2, requested 1" in stated
    await stage.put(stage.order("b", 1, "500m"))
    full = await until(used(reserved_cpu="2", tickets="4"))
    assert not conditions.is_true(full.status.conditions, QuotaCondition.EXCEEDED)


async def keep_watch(stage: Stage, done: asyncio.Event) -> None:
    """Reads the quota all the time; it never says that more is used than there is."""
    most = quantity.parse("3500m")
    while not done.is_set():
        quota = await stage.client.get(QUOTAS, Key("", stage.name))
        assert quantity.parse(quota.status.used.get("reserved.cpu", 0)) <= most
        await asyncio.sleep(LOOK / 2)


async def ask(stage: Stage, orders: int) -> int:
    """Asks for orders, many at once, and says how many were let in; whoever gets no answer asks again."""
    lanes = asyncio.Semaphore(LANES)

    async def one(number: int) -> bool:
        order = stage.order(f"o-{number}", 1, cpu="500m")
        async with lanes:
            while True:
                try:
                    return await is_let_in(stage, order)
                except InternalError as error:
                    if "failed calling webhook" not in error.message:
                        raise

    async with asyncio.timeout(PATIENCE):
        return sum(await asyncio.gather(*map(one, range(orders))))


@pytest.mark.parametrize(
    ("orders", "enforcement"),
    [
        pytest.param(20, "Refuse", id="20, turned away at the door"),
        pytest.param(200, "Wait", id="200, which wait"),
    ],
)
async def test_s31_exactly_as_many_orders_are_served_as_there_is_room_for(
    house: House, stage: Stage, tmp_path: Path, orders: int, enforcement: str
) -> None:
    """Both answer at the door and one leads; one more acts though it does not, as after a long pause. The leader goes in the middle of it."""
    world = house.world
    await stage.add_nodes(2)
    quota = a_quota(stage.name, here(stage), reserved_cpu="3500m")
    until = await limit(stage, quota.but({"spec": {"enforcement": enforcement}}))
    config = str(await account(world.plane, tmp_path))
    done = asyncio.Event()
    for manager in house.managers:
        await manager.ready()
    first = await house.leader()
    await house.front.shut()
    await house.front.open()
    try:
        async with (
            asyncio.TaskGroup() as group,
            a_manager(world, lambda wire: wire, "second", config),
        ):
            group.create_task(keep_watch(stage, done))
            asking = group.create_task(ask(stage, orders))
            await begun(stage)
            assert len(house.front.asked) == len(house.managers)
            house.resting.add(first)
            await first.stop()
            let_in = await asking
            assert await house.leader() is not first
            assert let_in == orders or enforcement == "Refuse"
            await served(stage, let_in)
            await stage.counted(Reserved=ROOM)
            await until(used(tickets=str(ROOM), reserved_cpu="3500m"))
            done.set()
    finally:
        house.resting.clear()


async def begun(stage: Stage) -> None:
    """Waits until the first ticket is made."""
    async with asyncio.timeout(PATIENCE):
        while not await stage.all(TICKETS):
            await asyncio.sleep(LOOK)


async def served(stage: Stage, orders: int) -> None:
    """Waits until all orders know how they stand."""
    async with asyncio.timeout(PATIENCE):
        while sum(bool(shortfall(o)) for o in await stage.all(ORDERS)) != orders - ROOM:
            await asyncio.sleep(LOOK)


async def test_s31_what_ends_lets_others_be_served(stage: Stage) -> None:
    await stage.add_nodes()
    waiting = a_quota(stage.name, here(stage), tickets="2").but({"spec": {"enforcement": "Wait"}})
    await limit(stage, waiting)
    await stage.put(stage.order("first", 2, cpu="100m"))
    await stage.phase(TicketPhase.RESERVED, "first-0", "first-1")
    await stage.put(stage.order("second", 2, cpu="100m"))
    await short(stage, f"quota {stage.name}: tickets used 2 of 2, requested 1", "second")
    await stage.delete(ORDERS, "first")
    await stage.phase(TicketPhase.RESERVED, "second-0", "second-1")
    assert len(await stage.all(TICKETS)) == 2


async def test_s32_a_day_can_be_said_in_three_ways_and_is_the_longest_each_time(
    stage: Stage,
) -> None:
    def lasting(name: str, hours: int) -> Builder[Order]:
        labels: JSON = {"said": f"{stage.name}-{name}"}
        spec: JSON = {"duration": f"{hours}h"}
        return stage.order(name, 1, "10m", template={"metadata": {"labels": labels}, "spec": spec})

    async def extend(name: str) -> None:
        longer: JSON = {"spec": {"template": {"spec": {"duration": "25h"}}}}
        await stage.client.patch(ORDERS, Key(stage.name, name), longer, dry_run=True)

    said: dict[str, JSON] = {"text": "24h", "seconds": "86400", "number": 86400}
    for name, longest in said.items():
        chosen: JSON = {"matchLabels": {"said": f"{stage.name}-{name}"}}
        scope: dict[str, JSON] = {"type": "ObjectSelector", "objectSelector": chosen}
        quota = a_quota(f"{stage.name}-{name}", scope)
        await limit(stage, quota.but({"spec": {"hard": {"max-duration": longest}}}))
        stated = "max-duration is 24h0m0s, requested 25h0m0s"
        assert stated in await refused(stage, lasting(name, 25))
        await stage.put(lasting(name, 24))
        assert stated in await refusal(partial(extend, name))


async def test_s33_a_namespace_stays_within_its_part_and_the_others_share_the_rest(
    stage: Stage,
) -> None:
    async with a_stage(stage.world) as others:
        part: JSON = [{"namespace": stage.name, "limits": {"reserved.cpu": "1"}}]
        more: JSON = {"allocation": part, "enforcement": "Wait"}
        quota = a_quota(stage.name, here(stage, others), reserved_cpu="3").but({"spec": more})
        until = await limit(stage, quota)
        await stage.put(stage.order("o", 3, "500m"))
        await short(stage, f"allocation {stage.name}: reserved.cpu used 1 of 1")
        await others.put(others.order("o", 5, "500m"))
        await short(others, f"quota {stage.name}: reserved.cpu used 3 of 3")
        found = await until(used(reserved_cpu="3", tickets="6"))
        (shown,) = found.status.allocation
        assert (shown.name, shown.hard, shown.used["reserved.cpu"]) == (
            stage.name,
            {"reserved.cpu": "1"},
            "1",
        )


async def test_s34_limits_change_at_the_edges_of_windows_and_take_nothing_away(
    stage: Stage, clock: Clock
) -> None:
    """The strongest window counts: when it closes, the next one begins to count."""
    opened = clock.now().replace(second=0, microsecond=0)

    def soon(seconds: int) -> datetime:
        return clock.now().replace(microsecond=0) + timedelta(seconds=seconds)

    def until_then(edge: datetime, **window: JSON) -> JSON:
        seconds = int((edge - opened).total_seconds())
        return {"schedule": f"{opened.minute} * * * *", "duration": f"{seconds}s", **window}

    def windows(calm: datetime, rush: datetime) -> dict[str, JSON]:
        strong = until_then(calm, name="calm", priority=2, multiplier="1")
        return {"timeWindows": [strong, until_then(rush, name="rush", priority=1, multiplier="2")]}

    late = soon(600)
    quota = a_quota(stage.name, here(stage), tickets="1")
    until = await limit(stage, quota.but({"spec": {"enforcement": "Wait", **windows(late, late)}}))
    always: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
    await stage.put(stage.order("o", 2, strategy=always))
    await short(stage, f"quota {stage.name}, window calm: tickets used 1 of 1, requested 1")
    calm = soon(2)
    await stage.edit(QUOTAS, stage.name, {"spec": windows(calm, late)})
    more = await until(lambda q: q.status.active_time_window == "rush")
    assert clock.now() >= calm
    assert more.status.hard["tickets"] == "2"
    await stage.counted(Pending=2)
    rush = soon(2)
    await stage.edit(QUOTAS, stage.name, {"spec": windows(calm, rush)})
    closed = await until(lambda q: q.status.active_time_window == "")
    assert clock.now() >= rush
    exceeded = conditions.find(closed.status.conditions, QuotaCondition.EXCEEDED)
    assert exceeded is not None
    assert exceeded.message == "tickets 2 of 1, 1 too much"
    assert timedelta() <= exceeded.last_transition_time - rush <= timedelta(seconds=1)
    (one, _) = await stage.counted(Pending=2)
    await stage.delete(TICKETS, one.metadata.name)
    await until(used(tickets="1"))
    await until(lambda q: not conditions.is_true(q.status.conditions, QuotaCondition.EXCEEDED))
    await stage.until(ORDERS, "o", lambda o: shortfall(o) and o.status.replicas == 1)
    await stage.counted(Pending=1)


async def test_s35_all_quotas_count_the_one_without_room_is_named_and_one_is_for_the_cluster(
    stage: Stage,
) -> None:
    rare = f"example.com/{stage.name}"
    golden: JSON = {"matchLabels": {"tier": stage.name}}
    scope: dict[str, JSON] = {"type": "ObjectSelector", "objectSelector": golden}
    selected: JSON = {"matchLabels": {"kubernetes.io/metadata.name": stage.name}}
    chosen: dict[str, JSON] = {"type": "NamespaceSelector", "namespaceSelector": selected}
    whole = a_quota(f"{stage.name}-whole").but({"spec": {"hard": {f"reserved.{rare}": "1"}}})
    await limit(stage, whole)
    try:
        await limit(stage, a_quota(f"{stage.name}-listed", here(stage), tickets="4"))
        await limit(stage, a_quota(f"{stage.name}-gold", scope, tickets="1"))
        await limit(stage, a_quota(f"{stage.name}-chosen", chosen, reserved_cpu="2"))
        gold: JSON = {"metadata": {"labels": {"tier": stage.name}}}
        device: JSON = {"requests": {rare: "1"}, "limits": {rare: "1"}}
        for order, said in (
            (stage.order("o", 5, "10m"), "listed: tickets used 0 of 4, requested 5"),
            (stage.order("o", 2, "10m", gold), "gold: tickets used 0 of 1, requested 2"),
            (stage.order("o", 4, "501m"), "chosen: reserved.cpu used 0 of 2, requested 2004m"),
            (
                stage.order("o", 2, "10m", {"spec": {"resources": device}}),
                f"whole: reserved.{rare} used 0 of 1, requested 2",
            ),
        ):
            assert f"exceeded quota {stage.name}-{said}" in await refused(stage, order)
        await stage.client.create(ORDERS, stage.order("o", 4, "500m").json, dry_run=True)
        stated = (
            f"quota {stage.name}-whole is for the whole cluster already; change that one instead"
        )
        second = a_quota("another", tickets="9").json
        assert stated in await refusal(lambda: stage.client.create(QUOTAS, second, dry_run=True))
    finally:
        await stage.delete(QUOTAS, f"{stage.name}-whole")


async def test_s35_an_order_for_every_node_is_charged_for_every_node_and_what_expired_is_not(
    stage: Stage, clock: Clock
) -> None:
    quota = a_quota(stage.name, here(stage), tickets="2").but({"spec": {"enforcement": "Wait"}})
    until = await limit(stage, quota)
    over: JSON = {"cleanupPolicy": "Retain"}
    start = instant.render(clock.now())
    await stage.put(stage.ticket("brief", startTime=start, duration="1s", lifecycle=over))
    await stage.add_nodes()
    await stage.put(stage.order("daemon", 1, "10m", daemonSet=True))
    await stage.phase(TicketPhase.EXPIRED, "brief")
    await until(used(tickets="1", orders="1"))
    await stage.add_nodes()
    await until(used(tickets="2"))
    await stage.add_nodes()
    await short(stage, f"quota {stage.name}: tickets used 2 of 2, requested 1", "daemon")
    await stage.counted(Reserved=2, Expired=1)


@pytest.mark.parametrize(("spec", "said"), NONSENSE.values(), ids=NONSENSE)
async def test_a_quota_that_nobody_can_mean_is_refused_with_words(
    stage: Stage, spec: JSON, said: str
) -> None:
    quota: dict[str, JSON] = {"metadata": {"name": stage.name}, "spec": spec}
    with pytest.raises(Invalid) as refused:
        await stage.client.create(QUOTAS, quota, dry_run=True)
    assert said in refused.value.message


@pytest.mark.parametrize(("spec", "said"), ODD.values(), ids=ODD)
async def test_an_odd_quota_is_let_in_with_a_warning(stage: Stage, spec: JSON, said: str) -> None:
    quota: JSON = {
        "apiVersion": QUOTAS.api_version,
        "kind": QUOTAS.kind,
        "metadata": {"name": stage.name},
        "spec": spec,
    }
    applied = await asyncio.create_subprocess_exec(
        str(programs.find() / "kubectl"),
        f"--kubeconfig={stage.world.plane.kubeconfig()}",
        *("create", "--dry-run=server", "-f", "-"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _, warned = await applied.communicate(yaml.safe_dump(quota).encode())
    assert applied.returncode == 0
    assert f"Warning: {said}" in warned.decode()


async def test_s38_while_nobody_answers_only_those_who_must_have_a_ticket_are_kept_out(
    house: House, stage: Stage
) -> None:
    await stage.add_nodes(cpu="8")
    always: JSON = {"type": "OneTime", "refreshPolicy": "Always"}
    await stage.put(stage.order("pool", 2, strategy=always))
    one, other = await stage.counted(Reserved=2)
    gates: JSON = [{"name": "example.com/later"}]
    (early,) = await stage.put(stage.asking("early").but({"spec": {"schedulingGates": gates}}))
    assert SCHEDULING_GATE in [gate.name for gate in early.spec.scheduling_gates]
    await house.front.shut()
    try:
        await the_schema_refuses_by_itself(stage)
        await more_than_its_limit_is_told_of(stage)
        with pytest.raises(ApiError, match=r"ticket-required\.korder\.dev.*connection refused"):
            await stage.client.create(PODS, stage.asking("late").json)
        plain, prefers = await stage.put(stage.pod("plain"), stage.pod("prefers", order="pool"))
        assert not claim_patches.is_gated(plain)
        assert not claim_patches.is_gated(prefers)
        await stage.bound("plain")
        await stage.bound("prefers")
        before = {pod.metadata.uid for pod in await stage.guardians()}
        await stage.delete(PODS, one.status.guardian_pod.partition("/")[2])
        await stage.delete(TICKETS, other.metadata.name)
        await replaced(stage, before)
        await stage.counted(Reserved=2, Pending=1)
        ours: JSON = {"spec": {"schedulingGates": [{"name": SCHEDULING_GATE}]}}
        await stage.edit(PODS, "early", ours)
        await stage.bound("early")
        await stage.counted(Reserved=2, Pending=1, Claimed=1)
    finally:
        await house.front.open()


async def replaced(stage: Stage, before: set[str]) -> None:
    """Waits until there are as many guardians as before, and all of them new."""
    async with asyncio.timeout(PATIENCE):
        while True:
            now = {pod.metadata.uid for pod in await stage.guardians()}
            if len(now) == len(before) and not now & before:
                return
            await asyncio.sleep(LOOK)


async def the_schema_refuses_by_itself(stage: Stage) -> None:
    """Nonsense hears of its field; only what makes sense hears that nobody answers."""
    never: JSON = {"strategy": {"type": "Sometimes"}}
    odd = stage.ticket("t", lifecycle={"ttlSecondsAfterFinished": -1})
    for kind, wrong, field in (
        (ORDERS, stage.order("o", 1).but({"spec": never}), r"spec\.strategy\.type"),
        (TICKETS, odd, r"spec\.lifecycle\.ttlSecondsAfterFinished"),
    ):
        with pytest.raises(Invalid, match=field):
            await stage.client.create(kind, wrong.json)
    scheduled: JSON = {"strategy": {"type": "Scheduled", "schedule": "0 9 * * *"}}
    with pytest.raises(Invalid, match=r"spec\.strategy\.type"):
        await stage.edit(ORDERS, "pool", {"spec": scheduled})
    with pytest.raises(ApiError, match=r"orders-and-tickets\.korder\.dev.*connection refused"):
        await stage.client.create(ORDERS, stage.order("o", 1).json)


async def more_than_its_limit_is_told_of(stage: Stage) -> None:
    """Rule 24: no schema sees it, so whatever gets in nevertheless, as by the manager for an owner, hears of it from its guardian."""
    more: JSON = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    pool = await stage.client.get(ORDERS, Key(stage.name, "pool"))
    owner: JSON = {
        "apiVersion": ORDERS.api_version,
        "kind": ORDERS.kind,
        "name": "pool",
        "uid": pool.metadata.uid,
    }
    owned: JSON = {"metadata": {"ownerReferences": [owner]}}
    ticket = stage.ticket("greedy", resources=more).but(owned).json
    typed = {"apiVersion": TICKETS.api_version, "kind": TICKETS.kind, **ticket}
    let_in = f"--as={Site().manager_user}"
    await stage.world.plane.kubectl("create", "-f", "-", let_in, input=yaml.safe_dump(typed))
    stated = "must be less than or equal to cpu limit"
    await stage.until(TICKETS, "greedy", lambda ticket: stated in ticket.status.message)
