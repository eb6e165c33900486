"""The scheduler's decisions as rules: on random clusters, and on the cases kube-scheduler's documentation names."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
import random

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import node_room, scheduling, selector
from kubeloop.objects.core import Node
from kubeloop.objects.meta import JSON, Key
from kubeloop.objects.node_room import NodeRoom
from kubeloop.testing.builders import NodeBuilder, PodBuilder, a_node, a_pod
from pocketkube.scheduler import pod_info, schedule_one
from pocketkube.scheduler.pod_info import Query, Selection, Tenant
from pocketkube.scheduler.queue import LONGEST_PAUSE, Backlog
from pocketkube.scheduler.schedule_one import Found, Unschedulable
from pocketkube.scheduler.snapshot import Cluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def a_cluster(*objects: NodeBuilder | PodBuilder) -> Cluster:
    cluster = Cluster()
    for obj in objects:
        if isinstance(obj, NodeBuilder):
            node = obj.build()
            cluster.set_node(node.metadata.name, node)
        else:
            pod = obj.build()
            cluster.seat(pod_info.measure(pod), pod.spec.node_name)
    return cluster


def feasible(pod: PodBuilder, cluster: Cluster) -> set[str]:
    return set(schedule_one.feasible(pod_info.measure(pod.build()), cluster))


def chosen(pod: PodBuilder, cluster: Cluster, seed: int = 0) -> Found | Unschedulable:
    return schedule_one.choose(pod_info.measure(pod.build()), cluster, random.Random(seed))


def prioritized(pod: PodBuilder, priority: int) -> PodBuilder:
    return pod.but({"spec": {"priority": priority}})


def zoned(name: str, zone: str) -> NodeBuilder:
    return a_node(name).labelled({"zone": zone})


cpus = st.sampled_from(("0", "100m", "500m", "1", "1500m", "3"))
pods = st.builds(
    lambda i, cpu, tolerant, port, priority: (
        a_pod(f"p{i}")
        .labelled({"app": "web"})
        .but(
            {
                "spec": {
                    "priority": priority,
                    "tolerations": [{"operator": "Exists"}] if tolerant else [],
                    "containers": [
                        {
                            "name": "app",
                            "image": "app",
                            "resources": {"requests": {"cpu": cpu}},
                            "ports": [{"containerPort": 1, "hostPort": port}] if port else [],
                        }
                    ],
                }
            }
        )
    ),
    st.integers(0, 10**6),
    cpus,
    st.booleans(),
    st.sampled_from((0, 0, 80)),
    st.integers(0, 3),
)
nodes = st.builds(
    lambda cpu, tainted, cordoned: (cpu, tainted, cordoned),
    st.sampled_from(("1", "2", "4")),
    st.booleans(),
    st.booleans(),
)


def a_random_node(index: int, traits: tuple[str, bool, bool]) -> NodeBuilder:
    cpu, tainted, cordoned = traits
    node = a_node(f"n{index}").offering(cpu=cpu, memory="8Gi", pods="4")
    node = node.tainted("dedicated") if tainted else node
    return node.cordoned() if cordoned else node


def rooms(cluster: Cluster, nodes: Mapping[str, Node]) -> dict[str, NodeRoom]:
    """Counts what is left on every node afresh."""
    return {
        name: node_room.room_of(node, (t.pod for t in cluster.site(name).tenants.values()))
        for name, node in nodes.items()
    }


@given(st.lists(nodes, min_size=1, max_size=5), st.lists(pods, max_size=20), st.integers())
def test_no_node_is_overbooked_and_none_is_chosen_that_the_rules_refuse(
    traits: list[tuple[str, bool, bool]], waiting: list[PodBuilder], seed: int
) -> None:
    built = [a_random_node(i, each).build() for i, each in enumerate(traits)]
    cluster = a_cluster(*(a_random_node(i, each) for i, each in enumerate(traits)))
    rng = random.Random(seed)
    by_name = {node.metadata.name: node for node in built}
    for pod in (each.build() for each in waiting):
        cluster.leave(Key("default", pod.metadata.name))
        seated = rooms(cluster, by_name)
        decision = schedule_one.choose(pod_info.measure(pod), cluster, rng)
        able = {n for n, node in by_name.items() if not scheduling.why_not(pod, node, seated[n])}
        if isinstance(decision, Found):
            assert decision.node in able
            cluster.seat(pod_info.measure(pod), decision.node)
        else:
            assert able == set()
            for victim in decision.victims:
                assert victim.priority < (pod.spec.priority or 0)
                seated[decision.nominated] = seated[decision.nominated].without_pod(victim.demand)
            if decision.victims:
                node = by_name[decision.nominated]
                assert scheduling.why_not(pod, node, seated[decision.nominated]) == ()
    assert {n: cluster.site(n).room for n in by_name} == rooms(cluster, by_name)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=30))
def test_kept_answers_equal_fresh_counts(moves: list[tuple[int, int, bool]]) -> None:
    cluster = a_cluster(a_node("n0"), a_node("n1"), a_node("n2"))
    web = pod_info.measure(a_pod("x").labelled({"app": "web"}).build())
    query = Query((Selection(None, selector.from_labels({"app": "web"})),))
    cluster.count(query)
    for pod, node, leaves in moves:
        if leaves:
            cluster.leave(Key("default", f"p{pod}"))
        else:
            labels = {"app": "web"} if pod % 2 else {}
            seat = a_pod(f"p{pod}").labelled(labels).build()
            cluster.seat(pod_info.measure(seat), f"n{node}")
        fresh = {
            name: sum(query.matches(t.pod) for t in cluster.site(name).tenants.values())
            for name in cluster.nodes
        }
        kept = cluster.count(query)
        assert {name: kept.get(name, 0) for name in cluster.nodes} == fresh
    assert query.matches(web.pod)


def spreading(skew: int = 1, key: str = "zone", **more: JSON) -> PodBuilder:
    constraint: Mapping[str, JSON] = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    pod = a_pod("new").labelled({"app": "web"})
    return pod.but({"spec": {"topologySpreadConstraints": [dict(constraint)]}})


def web(name: str, node: str) -> PodBuilder:
    return a_pod(name).labelled({"app": "web"}).on(node)


def test_spread_allows_only_the_emptier_domains() -> None:
    cluster = a_cluster(
        zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), a_node("bare"), web("w", "a1")
    )
    assert feasible(spreading(), cluster) == {"b1"}
    assert feasible(spreading(2), cluster) == {"a1", "a2", "b1"}
    assert feasible(spreading().labelled({"app": "other"}), cluster) == {"a1", "a2", "b1"}


def test_with_fewer_domains_than_asked_for_every_domain_is_taken_as_crowded() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), web("v", "a1"), web("w", "b1"))
    assert feasible(spreading(), cluster) == {"a1", "b1"}
    assert feasible(spreading(minDomains=3), cluster) == set()


def test_spread_counts_only_the_nodes_a_pod_may_choose() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), web("w", "a1"))
    bound_to_a = {"spec": {"nodeSelector": {"zone": "a"}}}
    assert feasible(spreading().but(bound_to_a), cluster) == {"a1"}
    assert feasible(spreading(nodeAffinityPolicy="Ignore").but(bound_to_a), cluster) == set()


def test_ending_and_foreign_pods_do_not_count_for_spread() -> None:
    ending = web("ending", "a1").deleted_at(NOW)
    foreign = web("foreign", "a1").in_namespace("elsewhere")
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), ending, foreign)
    assert feasible(spreading(), cluster) == {"a1", "b1"}


def test_a_preferred_spread_chooses_the_emptier_domain() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), web("w", "a1"))
    pod = spreading(whenUnsatisfiable="ScheduleAnyway")
    assert {chosen(pod, cluster, seed) for seed in range(10)} == {Found("b1")}


def test_a_nominated_pod_counts_for_spread() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"))
    cluster.promise(pod_info.measure(web("w", "").build()), "a1")
    assert feasible(spreading(), cluster) == {"b1"}


def near(kind: str, key: str = "zone", **more: JSON) -> PodBuilder:
    term: dict[str, JSON] = {
        "topologyKey": key,
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return a_pod("new").but({"spec": {"affinity": {kind: {REQUIRED: [term]}}}})


def test_affinity_between_pods() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), web("w", "a1"))
    assert feasible(near("podAffinity"), cluster) == {"a1", "a2"}
    assert feasible(near("podAntiAffinity"), cluster) == {"b1"}
    assert feasible(near("podAffinity", namespaces=["elsewhere"]), cluster) == set()
    assert feasible(near("podAffinity", namespaceSelector={}), cluster) == {"a1", "a2"}


def test_the_first_of_a_group_that_seeks_itself_may_start() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), a_node("bare"))
    member = near("podAffinity").labelled({"app": "web"})
    assert feasible(near("podAffinity"), cluster) == set()
    assert feasible(member, cluster) == {"a1", "b1"}
    cluster.seat(pod_info.measure(web("w", "a1").build()), "a1")
    assert feasible(member, cluster) == {"a1"}


def test_a_friend_that_is_only_nominated_is_not_there_yet() -> None:
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"))
    cluster.promise(pod_info.measure(web("w", "").build()), "a1")
    assert feasible(near("podAffinity"), cluster) == set()


def test_a_nominated_pod_keeps_away_those_it_shuns_if_a_seated_one_does() -> None:
    """kube-scheduler does not look at anti-affinity at all as long as only a nominated pod has any."""
    cluster = a_cluster(zoned("a1", "a"), zoned("b1", "b"), zoned("c1", "c"))
    cluster.promise(pod_info.measure(near("podAntiAffinity").build()), "a1")
    visitor = a_pod("visitor").labelled({"app": "web"})
    assert feasible(visitor, cluster) == {"a1", "b1", "c1"}
    recluse = near("podAntiAffinity").but({"metadata": {"name": "recluse"}}).build()
    cluster.seat(pod_info.measure(recluse), "b1")
    assert feasible(visitor, cluster) == {"c1"}


def test_the_nominated_node_comes_before_a_better_one() -> None:
    seated = a_pod("seated").requesting(cpu="1", memory="2Gi").on("n2")
    cluster = a_cluster(a_node("n1"), a_node("n2"), seated)
    nominated = a_pod("p").but({"status": {"nominatedNodeName": "n2"}})
    assert chosen(nominated, cluster) == Found("n2")


def test_seated_pods_keep_away_those_they_shun() -> None:
    recluse = near("podAntiAffinity").but({"metadata": {"name": "recluse"}}).on("a1")
    cluster = a_cluster(zoned("a1", "a"), zoned("a2", "a"), zoned("b1", "b"), recluse)
    assert feasible(a_pod("new").labelled({"app": "web"}), cluster) == {"b1"}
    assert feasible(a_pod("new"), cluster) == {"a1", "a2", "b1"}


def test_taints_that_would_rather_not_have_a_pod_are_avoided() -> None:
    cluster = a_cluster(a_node("n1").tainted("busy", "PreferNoSchedule"), a_node("n2"))
    assert {chosen(a_pod("p"), cluster, seed) for seed in range(10)} == {Found("n2")}
    both = {chosen(a_pod("p").tolerating("busy"), cluster, seed) for seed in range(20)}
    assert both == {Found("n1"), Found("n2")}


def test_preferred_node_affinity_decides_between_equals() -> None:
    cluster = a_cluster(zoned("n1", "a"), zoned("n2", "b"))
    wish: JSON = {
        "weight": 1,
        "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
    }
    pod = a_pod("p").but({"spec": {"affinity": {"nodeAffinity": {PREFERRED: [wish]}}}})
    assert {chosen(pod, cluster, seed) for seed in range(10)} == {Found("n2")}


def liking(side: str, weight: int = 1) -> PodBuilder:
    """A pod that would like to be near the pods of an application, or far from them."""
    term: JSON = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    wish: JSON = {"weight": weight, "podAffinityTerm": term}
    return a_pod("liking").but({"spec": {"affinity": {side: {PREFERRED: [wish]}}}})


@pytest.mark.parametrize(
    ("seated", "new", "node"),
    [
        pytest.param(a_pod("web"), liking("podAffinity"), "a", id="goes to those it likes"),
        pytest.param(a_pod("web"), liking("podAntiAffinity"), "b", id="avoids those it dislikes"),
        pytest.param(liking("podAffinity"), a_pod("web"), "a", id="goes to those who like it"),
        pytest.param(liking("podAntiAffinity"), a_pod("web"), "b", id="avoids who dislikes it"),
        pytest.param(near("podAffinity"), a_pod("web"), "a", id="goes to those who need it"),
    ],
)
def test_a_pod_of_an_application(seated: PodBuilder, new: PodBuilder, node: str) -> None:
    web = {"app": "web"}
    cluster = a_cluster(zoned("a", "a"), zoned("b", "b"), seated.labelled(web).on("a"))
    choices = {chosen(new.labelled(web), cluster, seed) for seed in range(10)}
    assert choices == {Found(node)}


def test_a_pod_that_asks_for_nothing_is_taken_to_need_a_little_when_nodes_are_compared() -> None:
    seated = [a_pod(f"p{i}").on("n1") for i in range(3)]
    cluster = a_cluster(a_node("n1"), a_node("n2"), *seated)
    assert {chosen(a_pod("p"), cluster, seed) for seed in range(10)} == {Found("n2")}


def test_emptier_and_more_balanced_nodes_are_chosen() -> None:
    cluster = a_cluster(
        a_node("n1"), a_node("n2"), a_pod("seated").requesting(cpu="1", memory="2Gi").on("n1")
    )
    pod = a_pod("p").requesting(cpu="1", memory="2Gi")
    assert {chosen(pod, cluster, seed) for seed in range(10)} == {Found("n2")}


def test_a_pod_pinned_to_names_says_how_many_nodes_were_not_named() -> None:
    cluster = a_cluster(a_node("n1").cordoned(), a_node("n2"), a_node("n3"))
    named: JSON = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    other: JSON = {"key": "metadata.name", "operator": "In", "values": ["n2"]}

    def pinned(*fields: JSON) -> PodBuilder:
        terms: JSON = {"nodeSelectorTerms": [{"matchFields": list(fields)}]}
        return a_pod("p").but({"spec": {"affinity": {"nodeAffinity": {REQUIRED: terms}}}})

    refused = chosen(pinned(named), cluster)
    assert isinstance(refused, Unschedulable)
    assert refused.message.startswith(
        "0/3 nodes are available: 1 node(s) were unschedulable,"
        " 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    torn = chosen(pinned(named, other), cluster)
    assert isinstance(torn, Unschedulable)
    assert torn.message.startswith("0/3 nodes are available: pod affinity terms conflict.")


def full(name: str, node: str, priority: int, cpu: str = "4") -> PodBuilder:
    return prioritized(a_pod(name).requesting(cpu=cpu), priority).on(node)


def started(pod: PodBuilder, minute: int) -> PodBuilder:
    at = (NOW + timedelta(minutes=minute)).isoformat()
    return pod.but({"status": {"startTime": at}})


@pytest.mark.parametrize(
    ("seated", "node", "victims"),
    [
        pytest.param(
            [full("a", "n1", 5), full("b", "n2", 3)], "n2", ["b"], id="the least important victim"
        ),
        pytest.param(
            [full("a", "n1", 3), full("b", "n2", 3, "2"), full("c", "n2", 3, "2")],
            "n1",
            ["a"],
            id="the fewest victims",
        ),
        pytest.param(
            [full("a", "n1", 3, "3"), full("b", "n1", 1, "1"), full("c", "n2", 4)],
            "n1",
            ["a"],
            id="nobody who may stay",
        ),
        pytest.param(
            [started(full("a", "n1", 3), 1), started(full("b", "n2", 3), 2)],
            "n2",
            ["b"],
            id="who has run for the shortest time",
        ),
    ],
)
def test_victims_are(seated: list[PodBuilder], node: str, victims: list[str]) -> None:
    cluster = a_cluster(a_node("n1"), a_node("n2"), *seated)
    for seed in range(5):
        answer = chosen(prioritized(a_pod("p").requesting(cpu="3"), 9), cluster, seed)
        assert isinstance(answer, Unschedulable)
        assert answer.nominated == node
        assert [victim.pod.metadata.name for victim in answer.victims] == victims


def test_a_pod_waits_for_the_victims_it_has_and_keeps_its_nomination() -> None:
    leaving = full("a", "n1", 1).deleted_at(NOW, 30)
    target: JSON = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    cluster = a_cluster(
        a_node("n1"),
        a_node("n2"),
        leaving.but({"status": {"conditions": [target]}}),
        full("b", "n2", 1),
    )
    nominated = {"status": {"nominatedNodeName": "n1"}}
    answer = chosen(prioritized(a_pod("p").requesting(cpu="3"), 9).but(nominated), cluster)
    assert isinstance(answer, Unschedulable)
    assert (answer.nominated, answer.victims) == ("n1", ())
    assert "not eligible due to a terminating pod on the nominated node." in answer.message


def test_removing_pods_does_not_help_where_a_node_is_too_small() -> None:
    cluster = a_cluster(a_node("n1").offering(cpu="2", memory="1Gi", pods="9"), full("a", "n1", 0))
    answer = chosen(prioritized(a_pod("p").requesting(cpu="3"), 9), cluster)
    assert isinstance(answer, Unschedulable)
    assert answer.victims == ()
    assert answer.message.endswith("1 Preemption is not helpful for scheduling.")


def test_of_many_nodes_enough_are_asked_and_each_can_be_the_one() -> None:
    cluster = a_cluster(*(a_node(f"n{i}") for i in range(300)))
    found = {chosen(a_pod("p"), cluster, seed) for seed in range(200)}
    assert len(found) > 100


def everybody(_: Tenant) -> bool:
    return True


def test_pauses_double_up_to_ten_seconds_and_a_change_ends_them() -> None:
    backlog, tenant, now = Backlog(), pod_info.measure(a_pod("p").build()), NOW
    backlog.add(tenant, now)
    pauses = []
    for _ in range(6):
        assert backlog.first() == tenant.key
        backlog.failed(tenant, now)
        assert backlog.first() is None
        ((key, due),) = backlog.stir(now, everybody)
        assert backlog.ripen(key, now) == due
        pauses.append((due - now).total_seconds())
        now = due
        assert backlog.ripen(key, now) is None
    assert pauses == [1, 2, 4, 8, 10, 10]
    backlog.failed(tenant, now)
    assert backlog.stir(now + LONGEST_PAUSE, everybody, social_only=True) == []
    assert backlog.first() is None
    backlog.add(tenant, now)
    assert backlog.first() == tenant.key
    backlog.forget(tenant.key)
    assert (backlog.first(), len(backlog)) == (None, 0)


def test_urgent_pods_are_first_and_equals_in_the_order_they_came() -> None:
    backlog = Backlog()
    for second, (name, priority) in enumerate((("a", 0), ("b", 5), ("c", 0), ("d", 5))):
        pod = prioritized(a_pod(name), priority).build()
        backlog.add(pod_info.measure(pod), NOW + timedelta(seconds=second))
    order = []
    while (key := backlog.first()) is not None:
        order.append(key.name)
        backlog.forget(key)
    assert order == ["b", "d", "a", "c"]
