from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import codec, pod_requests, quantity, resources
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON
from kubeloop.objects.quantity import ZERO, Quantity

Requests = dict[str, JSON]


def container(requests: Requests, name: str = "c", **more: JSON) -> dict[str, JSON]:
    return {"name": name, "resources": {"requests": requests}, **more}


def sidecar(requests: Requests, name: str = "s") -> dict[str, JSON]:
    return container(requests, name, restartPolicy="Always")


def pod(spec: dict[str, JSON], status: dict[str, JSON] | None = None) -> Pod:
    return codec.convert({"spec": spec, "status": status or {}}, Pod)


def amounts(wire: Requests) -> dict[str, Quantity]:
    return resources.parse_list(wire)


CPU1: Requests = {"cpu": "1"}
CPU2: Requests = {"cpu": "2"}
CPU5: Requests = {"cpu": "5"}

SPECS: dict[str, tuple[dict[str, JSON], Requests]] = {
    "a pod without containers": ({}, {}),
    "containers run side by side": (
        {"containers": [container({"cpu": "500m", "memory": "1Gi"}), container(CPU1)]},
        {"cpu": "1500m", "memory": "1Gi"},
    ),
    "a bare number is an amount": ({"containers": [container({"cpu": 1.5})]}, {"cpu": "1500m"}),
    "a smaller init container needs nothing more": (
        {"initContainers": [container(CPU1)], "containers": [container(CPU2)]},
        CPU2,
    ),
    "the largest init container counts, not their sum": (
        {
            "initContainers": [container(CPU5), container(CPU2), container({"memory": "1Gi"})],
            "containers": [container(CPU2)],
        },
        {"cpu": "5", "memory": "1Gi"},
    ),
    "a sidecar runs beside the containers": (
        {"initContainers": [sidecar(CPU1)], "containers": [container(CPU2)]},
        {"cpu": "3"},
    ),
    "a sidecar runs beside the init containers after it": (
        {"initContainers": [sidecar(CPU1), container(CPU5)], "containers": [container(CPU2)]},
        {"cpu": "6"},
    ),
    "a sidecar does not run beside init containers before it": (
        {"initContainers": [container(CPU5), sidecar(CPU1)], "containers": [container(CPU2)]},
        CPU5,
    ),
    "sidecars add up one after the other": (
        {"initContainers": [sidecar(CPU1), sidecar(CPU2), container(CPU2)]},
        CPU5,
    ),
    "overhead comes on top": (
        {"containers": [container(CPU1)], "overhead": {"cpu": "250m", "memory": "64Mi"}},
        {"cpu": "1250m", "memory": "64Mi"},
    ),
    "the pod as a whole replaces its containers": (
        {
            "containers": [container({"cpu": "3", "nvidia.com/gpu": "1"})],
            "resources": {"requests": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"}},
        },
        {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": "1"},
    ),
    "other resources cannot be set for the whole pod": (
        {
            "containers": [container({"ephemeral-storage": "1Gi"})],
            "resources": {"requests": {"ephemeral-storage": "5Gi"}},
        },
        {"ephemeral-storage": "1Gi"},
    ),
    "limits on the whole pod change no request": (
        {"containers": [container(CPU1)], "resources": {"limits": CPU5}},
        CPU1,
    ),
    "overhead comes on top of the whole pod too": (
        {"resources": {"requests": CPU2}, "overhead": {"cpu": "1"}},
        {"cpu": "3"},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SPECS.values(), ids=SPECS)
def test_requests_are_the_most_that_is_needed_at_once(
    spec: dict[str, JSON], expected: Requests
) -> None:
    assert pod_requests.requests(pod(spec)) == {**amounts(expected), "pods": quantity.parse(1)}


def reported(name: str, in_force: JSON, promised: Requests) -> dict[str, JSON]:
    return {"name": name, "resources": in_force, "allocatedResources": promised}


def pending(reason: str) -> dict[str, JSON]:
    return {"type": "PodResizePending", "status": "True", "reason": reason}


WEB: dict[str, JSON] = {"containers": [container(CPU2)]}

RESIZES: dict[str, tuple[dict[str, JSON], dict[str, JSON], Requests]] = {
    "growing: what is wanted": (
        WEB,
        {"containerStatuses": [reported("c", {"requests": CPU1}, CPU1)]},
        CPU2,
    ),
    "shrinking: what is in force": (
        WEB,
        {"containerStatuses": [reported("c", {"requests": CPU5}, CPU2)]},
        CPU5,
    ),
    "promised already: what is promised": (
        WEB,
        {"containerStatuses": [reported("c", {"requests": CPU1}, CPU5)]},
        CPU5,
    ),
    "no word of resources: the spec": (
        WEB,
        {"containerStatuses": [{"name": "c", "allocatedResources": CPU5}]},
        CPU2,
    ),
    "another container's word: the spec": (
        WEB,
        {"containerStatuses": [reported("other", {"requests": CPU5}, CPU5)]},
        CPU2,
    ),
    "the wish is infeasible: it counts for nothing": (
        WEB,
        {
            "containerStatuses": [reported("c", {"requests": CPU1}, CPU1)],
            "conditions": [pending("Infeasible")],
        },
        CPU1,
    ),
    "the wish is only deferred: it counts": (
        WEB,
        {
            "containerStatuses": [reported("c", {"requests": CPU1}, CPU1)],
            "conditions": [pending("Deferred")],
            "resize": "Infeasible",
        },
        CPU2,
    ),
    "infeasible as servers before 1.33 say it": (
        WEB,
        {"containerStatuses": [reported("c", {"requests": CPU1}, {})], "resize": "Infeasible"},
        CPU1,
    ),
    "sidecars are resized as well": (
        {"initContainers": [sidecar(CPU1)]},
        {"initContainerStatuses": [reported("s", {"requests": CPU5}, {})]},
        CPU5,
    ),
    "an init container that ends is judged by its spec": (
        {"initContainers": [container(CPU1)]},
        {"initContainerStatuses": [reported("c", {"requests": CPU5}, CPU5)]},
        CPU1,
    ),
    "the whole pod shrinks": (
        {"resources": {"requests": CPU1}},
        {"resources": {"requests": CPU2}, "allocatedResources": CPU5},
        CPU5,
    ),
    "the whole pod cannot grow": (
        {"resources": {"requests": {"cpu": "5", "memory": "1Gi"}}},
        {"resources": {"requests": CPU2}, "conditions": [pending("Infeasible")]},
        {"cpu": "2", "memory": "0"},
    ),
}


@pytest.mark.parametrize(("spec", "status", "expected"), RESIZES.values(), ids=RESIZES)
def test_a_pod_under_resize_is_charged_with_the_most_it_may_hold(
    spec: dict[str, JSON], status: dict[str, JSON], expected: Requests
) -> None:
    assert pod_requests.requests(pod(spec, status)) == {
        **amounts(expected),
        "pods": quantity.parse(1),
    }


def bounded(limits: Requests, name: str = "c", **more: JSON) -> dict[str, JSON]:
    return {"name": name, "resources": {"limits": limits}, **more}


LIMITS: dict[str, tuple[dict[str, JSON], dict[str, JSON], Requests]] = {
    "requests are no limits": (WEB, {}, {}),
    "containers, sidecars and init containers as for requests": (
        {
            "containers": [bounded(CPU1)],
            "initContainers": [bounded(CPU2, restartPolicy="Always"), bounded({"memory": "1Gi"})],
        },
        {},
        {"cpu": "3", "memory": "1Gi"},
    ),
    "overhead comes on top of what is limited": (
        {
            "containers": [bounded({"cpu": "1", "nvidia.com/gpu": "0"})],
            "overhead": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
        },
        {},
        {"cpu": "2", "nvidia.com/gpu": "0"},
    ),
    "the whole pod replaces its containers": (
        {"containers": [bounded(CPU1)], "resources": {"limits": CPU5}},
        {},
        CPU5,
    ),
    "a limit in force is still a limit": (
        {"containers": [bounded(CPU1)]},
        {"containerStatuses": [reported("c", {"limits": CPU2}, {})]},
        CPU2,
    ),
    "an infeasible limit is none": (
        {"containers": [bounded(CPU5)]},
        {
            "containerStatuses": [reported("c", {"limits": CPU2}, {})],
            "conditions": [pending("Infeasible")],
        },
        CPU2,
    ),
    "of the whole pod nothing is reported": (
        {"resources": {"limits": CPU5}},
        {"resources": {"requests": CPU1}, "conditions": [pending("Infeasible")]},
        CPU5,
    ),
    "of the whole pod a limit is in force": (
        {"resources": {"limits": CPU5}},
        {"resources": {"limits": CPU2}, "conditions": [pending("Infeasible")]},
        CPU2,
    ),
}


@pytest.mark.parametrize(("spec", "status", "expected"), LIMITS.values(), ids=LIMITS)
def test_limits_follow_the_same_rules(
    spec: dict[str, JSON], status: dict[str, JSON], expected: Requests
) -> None:
    assert pod_requests.limits(pod(spec, status)) == amounts(expected)


def test_an_amount_no_server_accepts_is_refused_by_name() -> None:
    with pytest.raises(quantity.InvalidQuantity, match="cpu"):
        pod_requests.requests(pod({"containers": [container({"cpu": "lots"})]}))


lists = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
    st.sampled_from(["0", "1", "250m", "3", "1Gi"]),
)
init_containers = st.lists(
    st.builds(
        lambda requests, stays: sidecar(requests) if stays else container(requests),
        lists,
        st.booleans(),
    ),
    max_size=4,
)


@given(init_containers, st.lists(lists, max_size=3), lists)
def test_a_pod_needs_at_least_what_each_of_its_parts_needs(
    init: list[dict[str, JSON]], containers: list[Requests], overhead: Requests
) -> None:
    running: list[JSON] = [container(each) for each in containers]
    starting: list[JSON] = list(init)

    total = pod_requests.requests(
        pod({"initContainers": starting, "containers": running, "overhead": overhead})
    )

    parts = [pod_requests.requests(pod({"containers": [one]})) for one in (*starting, *running)]
    for part in (*parts, amounts(overhead)):
        assert all(total[name] >= amount for name, amount in part.items())


@given(init_containers, st.lists(lists, max_size=3), lists)
def test_one_more_container_or_sidecar_costs_exactly_its_requests_unless_init_needs_more(
    init: list[dict[str, JSON]], containers: list[Requests], extra: Requests
) -> None:
    running: list[JSON] = [container(each) for each in containers]
    before = pod_requests.requests(pod({"containers": running}))
    after = pod_requests.requests(pod({"containers": [*running, container(extra)]}))
    beside = pod_requests.requests(pod({"containers": running, "initContainers": [sidecar(extra)]}))
    with_init = pod_requests.requests(
        pod({"containers": [*running, container(extra)], "initContainers": [*init]})
    )

    assert after == beside == resources.add(before, amounts(extra))
    assert all(with_init.get(name, ZERO) >= amount for name, amount in after.items())
