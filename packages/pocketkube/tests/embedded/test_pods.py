"""Pods over HTTP: what is filled in, what is refused, and their special paths, through a server without sockets."""

from collections.abc import AsyncIterator
from copy import deepcopy
from datetime import UTC, datetime
import json
import random
from typing import Any

import pytest

from kubeloop.net.http import Request
from kubeloop.net.in_process import InProcessTransport
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.apiserver.server import ApiServer, Parts
from pocketkube.apiserver.serving import podpaths
from pocketkube.apiserver.serving.registry import Registry
from pocketkube.apiserver.storage import open_storage

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NOW = datetime(2026, 1, 31, 8, 30, tzinfo=UTC)
Object = dict[str, Any]


class Client:
    """Speaks JSON to a server."""

    def __init__(self, server: ApiServer) -> None:
        self.transport = InProcessTransport(server.handle, {"User-Agent": "tests"})

    async def send(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        async with await self.transport.send(Request(method, target, headers, data)) as response:
            answer = await response.read()
        if response.headers.get("Content-Type", "").startswith("text/plain"):
            return response.status, answer.decode()
        return response.status, json.loads(answer) if answer else None

    async def create(self, pod: Object) -> Object:
        code, made = await self.send("POST", PODS, pod)
        assert code == 201, made
        return dict(made)

    async def running(self, name: str = "p", **parts: Any) -> Object:
        """A pod on a node, started and ready."""
        made = await self.create(a_pod(name, nodeName="n1", **parts))
        began = {"running": {"startedAt": "2026-01-31T08:30:00Z"}}
        made["status"] |= {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {
                    "name": "a",
                    "image": "img:1",
                    "imageID": "",
                    "ready": True,
                    "restartCount": 0,
                    "state": began,
                    "resources": {},
                }
            ],
        }
        code, made = await self.send("PUT", f"{PODS}/{name}/status", made)
        assert code == 200, made
        return dict(made)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with open_storage(None) as storage:
        parts = Parts(registry=Registry(builtin()), specials=podpaths.SPECIALS)
        server = ApiServer(storage, now=lambda: NOW, rng=random.Random(1), parts=parts)
        await server.start()
        yield Client(server)
        await server.close()


def a_pod(name: str = "p", **spec: Any) -> Object:
    container = {"name": "a", "image": "img:1", **spec.pop("container", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [container], **spec},
    }


def a_binding(name: str = "p", **meta: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **meta},
        "target": {"kind": "Node", "name": "n1"},
    }


async def test_a_small_pod_is_completed(client: Client) -> None:
    made = await client.create(a_pod())
    assert made["spec"] == {
        "containers": [
            {
                "name": "a",
                "image": "img:1",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("resources", "service"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"example.com/gpu": "1"}}, "BestEffort"),
    ],
    ids=["nothing asked", "a request", "one limit", "both limits", "a device only"],
)
async def test_the_class_of_service_follows_from_amounts(
    client: Client, resources: Object, service: str
) -> None:
    made = await client.create(a_pod(container={"resources": resources}))
    assert made["status"]["qosClass"] == service


async def test_a_gated_pod_says_why_it_waits(client: Client) -> None:
    made = await client.create(a_pod(schedulingGates=[{"name": "g"}]))
    assert made["status"]["conditions"] == [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": None,
            "lastTransitionTime": "2026-01-31T08:30:00Z",
        }
    ]


@pytest.mark.parametrize(
    ("pod", "stated"),
    [
        (a_pod(containers=[]), "spec.containers: Required value"),
        (
            a_pod(container={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            a_pod(container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            a_pod(restartPolicy="Sometimes"),
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            a_pod(tolerations=[{"operator": "Equal"}]),
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
        (
            a_pod(schedulingGates=[{"name": "g"}], nodeName="n1"),
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ),
    ],
    ids=[
        "no container",
        "too much asked",
        "no such volume",
        "policy",
        "toleration",
        "gate and node",
    ],
)
async def test_a_bad_pod_is_refused_in_the_words_of_a_server(
    client: Client, pod: Object, stated: str
) -> None:
    code, status = await client.send("POST", PODS, pod)
    assert (code, status["message"]) == (422, f'Pod "p" is invalid: {stated}')


@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], {"a": None}, [[{}]], True])
@pytest.mark.parametrize(
    "member", ["containers", "volumes", "affinity", "tolerations", "resources"]
)
async def test_junk_is_refused_and_breaks_nothing(client: Client, member: str, junk: Any) -> None:
    code, _ = await client.send("POST", PODS, a_pod(**{member: junk}))
    assert code in (201, 400, 422)


async def test_an_image_may_change_and_counts(client: Client) -> None:
    made = await client.create(a_pod())
    made["spec"]["containers"][0]["image"] = "img:2"
    code, changed = await client.send("PUT", f"{PODS}/p", made)
    assert (code, changed["metadata"]["generation"]) == (200, 2)


async def test_other_changes_are_refused_with_what_changed(client: Client) -> None:
    made = await client.create(a_pod())
    made["spec"]["nodeName"] = "n1"
    code, status = await client.send("PUT", f"{PODS}/p", made)
    assert code == 422
    cause = status["details"]["causes"][0]
    assert (cause["field"], cause["reason"]) == ("spec", "FieldValueForbidden")
    first, *lines = cause["message"].splitlines()
    assert first.startswith("Forbidden: pod updates may not change fields other than `spec.co")
    assert lines[:2] == ["@@ -42,7 +42,7 @@", '  "NodeSelector": null,']
    assert [line for line in lines if line[0] in "+-"] == [
        '- "NodeName": "",',
        '+ "NodeName": "n1",',
    ]


GATED = [{"name": "g1"}, {"name": "g2"}]
TERMS = "nodeSelectorTerms"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
FIRST = {"key": "a", "operator": "In", "values": ["b"]}


def wanting(*expressions: Object) -> Object:
    terms = {TERMS: [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {REQUIRED: terms}}


@pytest.mark.parametrize(
    ("first", "then", "code"),
    [
        ({"schedulingGates": GATED}, {"schedulingGates": GATED[1:]}, 200),
        ({"schedulingGates": GATED}, {"schedulingGates": []}, 200),
        ({"schedulingGates": GATED[:1]}, {"schedulingGates": GATED}, 422),
        ({}, {"schedulingGates": GATED}, 422),
        ({"schedulingGates": GATED}, {"nodeSelector": {"a": "b"}}, 200),
        ({}, {"nodeSelector": {"a": "b"}}, 422),
        ({"schedulingGates": GATED, "nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "c"}}, 422),
        ({"schedulingGates": GATED}, {"affinity": wanting(FIRST)}, 200),
        (
            {"schedulingGates": GATED, "affinity": wanting(FIRST)},
            {"affinity": wanting(FIRST, {"key": "c", "operator": "Exists"})},
            200,
        ),
        (
            {"schedulingGates": GATED, "affinity": wanting(FIRST)},
            {"affinity": wanting({"key": "c", "operator": "Exists"})},
            422,
        ),
        ({}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, 200),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, {"tolerations": []}, 422),
        ({}, {"activeDeadlineSeconds": 5}, 200),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 6}, 422),
        ({}, {"terminationGracePeriodSeconds": 1}, 422),
        ({}, {"priority": 7}, 422),
    ],
    ids=[
        "one gate less", "all gates gone", "one gate more", "first gates", "pickier while gated", "pickier",
        "another label while gated", "wanted nodes while gated", "more wishes while gated",
        "other wishes while gated", "one toleration more", "one toleration less", "a deadline",
        "a later deadline", "less patience", "a priority",
    ],
)  # fmt: skip
async def test_a_pod_changes_only_in_allowed_directions(
    client: Client, first: Object, then: Object, code: int
) -> None:
    made = await client.create(a_pod(**first))
    made["spec"] |= then
    assert (await client.send("PUT", f"{PODS}/p", made))[0] == code


async def test_a_binding_places_a_pod_once(client: Client) -> None:
    await client.create(a_pod())
    sent = a_binding(annotations={"by": "me"}, labels={"zone": "z"})
    assert (await client.send("POST", f"{PODS}/p/binding", sent))[0] == 201
    _, pod = await client.send("GET", f"{PODS}/p")
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["metadata"]["annotations"] == {"by": "me"}
    assert pod["metadata"]["labels"] == {"app": "a", "zone": "z"}
    assert pod["metadata"]["generation"] == 1
    assert [(one["type"], one["status"]) for one in pod["status"]["conditions"]] == [
        ("PodScheduled", "True")
    ]
    code, status = await client.send("POST", f"{PODS}/p/binding", a_binding())
    assert (code, status["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"',
    )


@pytest.mark.parametrize(
    ("pod", "binding", "code", "stated"),
    [
        (a_pod(schedulingGates=GATED), a_binding(), 409, "has non-empty .spec.schedulingGates"),
        (a_pod(), a_binding(uid="other"), 409, "UID in precondition: other"),
        (a_pod(), a_binding("q"), 400, "name in URL does not match name in Binding object"),
        (a_pod(), {**a_binding(), "target": {}}, 400, "target.name: Required value"),
        (a_pod(), {**a_binding(), "target": [1]}, 400, "cannot unmarshal array"),
    ],
    ids=["gated", "another pod of this name", "another name", "no node", "junk"],
)
async def test_a_binding_can_be_refused(
    client: Client, pod: Object, binding: Object, code: int, stated: str
) -> None:
    await client.create(pod)
    found, status = await client.send("POST", f"{PODS}/p/binding", binding)
    assert (found, stated in status["message"]) == (code, True), status


async def test_a_dry_binding_places_nothing(client: Client) -> None:
    await client.create(a_pod())
    assert (await client.send("POST", f"{PODS}/p/binding?dryRun=All", a_binding()))[0] == 201
    _, pod = await client.send("GET", f"{PODS}/p")
    assert "nodeName" not in pod["spec"]


async def a_budget(client: Client, allowed: int, **status: Any) -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }
    _, made = await client.send("POST", BUDGETS, budget)
    made["status"] = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
        **status,
    }
    code, _ = await client.send("PUT", f"{BUDGETS}/b/status", made)
    assert code == 200


def an_eviction(**options: Any) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p"},
        "deleteOptions": options,
    }


async def test_an_eviction_takes_from_the_budget_and_leaves_time(client: Client) -> None:
    await client.running()
    await a_budget(client, 1)
    code, _ = await client.send("POST", f"{PODS}/p/eviction", an_eviction(gracePeriodSeconds=5))
    assert code == 201
    _, pod = await client.send("GET", f"{PODS}/p")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 5
    assert pod["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    _, budget = await client.send("GET", f"{BUDGETS}/b")
    assert budget["status"]["disruptionsAllowed"] == 0
    assert budget["status"]["disruptedPods"] == {"p": "2026-01-31T08:30:00Z"}


async def test_an_exhausted_budget_refuses_with_its_reason(client: Client) -> None:
    await client.running()
    await a_budget(client, 0)
    code, status = await client.send("POST", f"{PODS}/p/eviction", an_eviction())
    assert (code, status["reason"]) == (429, "TooManyRequests")
    assert status["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 1 healthy pods and has 1 currently",
        }
    ]
    assert "deletionTimestamp" not in (await client.send("GET", f"{PODS}/p"))[1]["metadata"]


async def test_a_budget_nobody_has_counted_yet_asks_for_patience(client: Client) -> None:
    await client.running()
    await a_budget(client, 1, observedGeneration=0)
    code, status = await client.send("POST", f"{PODS}/p/eviction", an_eviction())
    assert (code, status["details"]["retryAfterSeconds"]) == (429, 10)


async def test_a_pod_that_waits_goes_without_a_budget(client: Client) -> None:
    await client.create(a_pod())
    await a_budget(client, 0)
    assert (await client.send("POST", f"{PODS}/p/eviction", an_eviction()))[0] == 201
    assert (await client.send("GET", f"{PODS}/p"))[0] == 404


async def test_an_eviction_of_another_pod_of_this_name_is_refused(client: Client) -> None:
    await client.running()
    wanted = an_eviction(preconditions={"uid": "other"})
    code, status = await client.send("POST", f"{PODS}/p/eviction", wanted)
    assert (code, status["reason"]) == (409, "Conflict")


BOTH = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("amounts", "stated"),
    [
        ({"requests": {"cpu": "1500m"}, "limits": {"cpu": "2"}}, ""),
        ({"requests": {"cpu": "1"}}, "resource limits cannot be removed"),
        (
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            "Pod QOS Class may not change as a result of resizing",
        ),
        (
            {
                "requests": {"cpu": "1", "ephemeral-storage": "1Gi"},
                "limits": {"cpu": "2"},
            },
            "only cpu and memory resources are mutable",
        ),
    ],
    ids=["more processor", "no limit any more", "another class", "storage"],
)
async def test_amounts_change_in_place(client: Client, amounts: Object, stated: str) -> None:
    made = await client.running(container={"resources": BOTH})
    made["spec"]["containers"][0] |= {"resources": amounts, "image": "ignored:1"}
    code, found = await client.send("PUT", f"{PODS}/p/resize", made)
    if stated:
        assert (code, stated in found["message"]) == (422, True), found
        return
    assert (code, found["metadata"]["generation"]) == (200, 2)
    assert found["spec"]["containers"][0]["image"] == "img:1"
    assert found["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1500m"}


async def test_containers_for_debugging_come_and_stay(client: Client) -> None:
    made = await client.running()
    made["spec"]["ephemeralContainers"] = [{"name": "d", "image": "sh:1"}]
    made["spec"]["priority"] = 9
    code, made = await client.send("PUT", f"{PODS}/p/ephemeralcontainers", made)
    assert (code, "priority" in made["spec"]) == (200, False), made
    changed = deepcopy(made)
    changed["spec"]["ephemeralContainers"][0]["image"] = "sh:2"
    code, status = await client.send("PUT", f"{PODS}/p/ephemeralcontainers", changed)
    assert (code, '"d" may not be changed\n@@' in status["message"]) == (422, True)
    made["spec"]["ephemeralContainers"] = []
    code, status = await client.send("PUT", f"{PODS}/p/ephemeralcontainers", made)
    assert (code, '"d" may not be removed' in status["message"]) == (422, True)


@pytest.mark.parametrize("part", ["resize", "ephemeralcontainers"])
async def test_parts_of_a_pod_can_be_read_and_patched(client: Client, part: str) -> None:
    made = await client.running(container={"resources": BOTH})
    assert await client.send("GET", f"{PODS}/p/{part}") == (200, made)
    added = {"ephemeralContainers": [{"name": "d", "image": "sh:1"}]}
    resized = {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1500m"}}}]}
    patch = {"spec": resized if part == "resize" else added}
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    request = Request("PATCH", f"{PODS}/p/{part}", headers, json.dumps(patch).encode())
    async with await client.transport.send(request) as response:
        changed = json.loads(await response.read())
    assert (response.status, changed["metadata"]["generation"]) == (200, 2), changed


async def test_a_running_pod_has_a_log(client: Client) -> None:
    await client.running()
    line = "container a of pod p started from image img:1\n"
    assert await client.send("GET", f"{PODS}/p/log") == (200, line)
    stamped = f"2026-01-31T08:30:00Z {line}"
    assert await client.send("GET", f"{PODS}/p/log?timestamps=true") == (200, stamped)
    assert (await client.send("GET", f"{PODS}/p/log?tailLines=0"))[1] == ""


@pytest.mark.parametrize(
    ("query", "code", "stated"),
    [
        ("container=zz", 400, "container zz is not valid for pod p"),
        ("previous=true", 400, 'previous terminated container "a" in pod "p" not found'),
        ("tailLines=-1", 422, "tailLines: Invalid value: -1"),
        ("tailLines=x", 400, "invalid syntax"),
    ],
    ids=["no such container", "nothing before", "fewer than no lines", "no number"],
)
async def test_a_log_can_be_refused(client: Client, query: str, code: int, stated: str) -> None:
    await client.running()
    found, status = await client.send("GET", f"{PODS}/p/log?{query}")
    assert (found, stated in status["message"]) == (code, True), status


async def test_a_pod_that_has_not_begun_has_no_log(client: Client) -> None:
    await client.create(a_pod())
    assert (await client.send("GET", f"{PODS}/p/log"))[0] == 204
    await client.send("POST", f"{PODS}/p/binding", a_binding())
    code, status = await client.send("GET", f"{PODS}/p/log")
    assert (code, status["message"]) == (400, 'container "a" in pod "p" is not available')


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("spec.nodeName=n1", ["on"]),
        ("spec.nodeName=", ["off"]),
        ("status.phase=Pending", ["off"]),
        ("status.phase!=Pending,spec.restartPolicy=Always", ["on"]),
        ("spec.schedulerName=default-scheduler,metadata.name=off", ["off"]),
        ("spec.hostNetwork=false", ["off", "on"]),
    ],
)
async def test_pods_are_selected_by_fields(client: Client, selector: str, found: list[str]) -> None:
    await client.create(a_pod("off"))
    await client.running("on")
    _, listed = await client.send("GET", f"{PODS}?fieldSelector={selector}")
    assert [item["metadata"]["name"] for item in listed["items"]] == found


@pytest.mark.parametrize(
    ("asked", "left"),
    [("", 30), ("?gracePeriodSeconds=5", 5), ("?gracePeriodSeconds=0", None)],
    ids=["its own patience", "what was asked for", "none"],
)
async def test_a_running_pod_goes_with_grace(client: Client, asked: str, left: int | None) -> None:
    await client.running()
    await client.send("DELETE", f"{PODS}/p{asked}")
    code, pod = await client.send("GET", f"{PODS}/p")
    if left is None:
        assert code == 404
    else:
        assert pod["metadata"]["deletionGracePeriodSeconds"] == left


async def test_a_pod_without_a_node_goes_at_once(client: Client) -> None:
    await client.create(a_pod())
    await client.send("DELETE", f"{PODS}/p")
    assert (await client.send("GET", f"{PODS}/p"))[0] == 404


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_goes_at_once(client: Client, phase: str) -> None:
    made = await client.running()
    made["status"]["phase"] = phase
    await client.send("PUT", f"{PODS}/p/status", made)
    await client.send("DELETE", f"{PODS}/p")
    assert (await client.send("GET", f"{PODS}/p"))[0] == 404


async def test_a_term_that_matches_nothing_cannot_begin_to_match(client: Client) -> None:
    made = await client.create(a_pod(schedulingGates=GATED, affinity=wanting()))
    made["spec"]["affinity"] = wanting(FIRST)
    code, status = await client.send("PUT", f"{PODS}/p", made)
    assert (code, "only additions are allowed" in status["message"]) == (422, True)


async def test_the_status_keeps_its_class_and_ends_stay_ends(client: Client) -> None:
    made = await client.running(restartPolicy="Never")
    container = made["status"]["containerStatuses"][0]
    container["state"] = {"terminated": {"exitCode": 1}}
    made["status"].pop("qosClass")
    made["spec"]["priority"] = 7
    code, made = await client.send("PUT", f"{PODS}/p/status", made)
    assert (code, made["status"]["qosClass"], "priority" in made["spec"]) == (
        200,
        "BestEffort",
        False,
    )
    made["status"]["containerStatuses"][0]["state"] = {"running": {}}
    code, status = await client.send("PUT", f"{PODS}/p/status", made)
    assert (code, "may not be transitioned to non-terminated state" in status["message"]) == (
        422,
        True,
    )


async def test_odd_but_allowed_things_are_warned_of_when_a_pod_is_new(client: Client) -> None:
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    request = Request(
        "POST",
        PODS,
        {"Content-Type": "application/json"},
        json.dumps(a_pod("p.q", container={"env": twice})).encode(),
    )
    async with await client.transport.send(request) as response:
        made = json.loads(await response.read())
    warned = response.headers["Warning"]
    assert "metadata.name: this is used in the Pod's hostname" in warned
    assert 'spec.containers[0].env[1]: hides previous definition of \\"A\\"' in warned
    made["metadata"]["labels"]["more"] = "x"
    again = Request("PUT", f"{PODS}/p.q", request.headers, json.dumps(made).encode())
    async with await client.transport.send(again) as response:
        await response.read()
    assert (response.status, "Warning" in response.headers) == (200, False)
