"""Pod security: levels by the labels of a namespace, enforced, warned about, or left alone."""

from typing import Any

import pytest
from tests.contract.objects import Home, merged, pod, simple, template
from tests.contract.wire import Server

LABEL = "pod-security.kubernetes.io"
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


async def levels(server: Server, home: Home, **modes: str) -> None:
    labels = {f"{LABEL}/{mode.replace('_', '-')}": level for mode, level in modes.items()}
    path = f"/api/v1/namespaces/{home.name}"
    (await server.patch(path, {"metadata": {"labels": labels}})).ok()


def privileged(name: str) -> dict[str, Any]:
    body = pod(name)
    body["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    return body


async def test_without_a_label_everything_is_allowed(server: Server, home: Home) -> None:
    (await server.post(home("pods"), privileged("a"))).ok(201)


async def at_last(server: Server, home: Home, body: dict[str, Any]) -> dict[str, Any]:
    """A real server may need a moment to see the labels."""
    answer = await server.until(
        lambda: server.post(home("pods"), body, dryRun="All"), lambda answer: answer.status == 403
    )
    return answer.refused(403, "Forbidden")


async def test_baseline_refuses_privileges(server: Server, home: Home) -> None:
    await levels(server, home, enforce="baseline")
    status = await at_last(server, home, privileged("a"))
    assert status["message"] == (
        'pods "a" is forbidden: violates PodSecurity "baseline:latest": privileged (container "main" must not set '
        "securityContext.privileged=true)"
    )


async def test_baseline_refuses_the_host(server: Server, home: Home) -> None:
    await levels(server, home, enforce="baseline")
    body = pod("a", hostNetwork=True, volumes=[{"name": "h", "hostPath": {"path": "/"}}])
    status = await at_last(server, home, body)
    assert status["message"] == (
        'pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true), hostPath '
        'volumes (volume "h")'
    )


async def test_baseline_allows_an_ordinary_pod(server: Server, home: Home) -> None:
    await levels(server, home, enforce="baseline")
    await at_last(server, home, privileged("a"))
    (await server.post(home("pods"), pod("a"))).ok(201)


async def test_restricted_lists_all_that_is_missing(server: Server, home: Home) -> None:
    await levels(server, home, enforce="restricted")
    status = await at_last(server, home, pod("a"))
    assert status["message"] == (
        'pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container '
        '"main" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "main" must '
        'set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "main" must set '
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "main" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    )


async def test_restricted_allows_what_is_careful(server: Server, home: Home) -> None:
    await levels(server, home, enforce="restricted")
    await at_last(server, home, pod("a"))
    body = pod("a")
    body["spec"]["containers"][0]["securityContext"] = RESTRICTED
    (await server.post(home("pods"), body)).ok(201)


async def test_a_warning_is_only_a_warning(server: Server, home: Home) -> None:
    await levels(server, home, warn="baseline")
    answer = await server.until(
        lambda: server.post(home("pods"), privileged("a"), dryRun="All"),
        lambda answer: bool(answer.warnings),
    )
    answer.ok(201)
    assert answer.warnings == [
        (
            'would violate PodSecurity "baseline:latest": privileged (container "main" must not set '
            "securityContext.privileged=true)"
        )
    ]


async def test_a_workload_is_warned_about_its_template(server: Server, home: Home) -> None:
    await levels(server, home, warn="baseline", enforce="baseline")
    pods = merged(template(), {})
    pods["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    body = simple(
        "apps/v1",
        "Deployment",
        "a",
        spec={"selector": {"matchLabels": {"app": "a"}}, "template": pods},
    )
    answer = await server.until(
        lambda: server.post(home("deployments"), body, dryRun="All"),
        lambda answer: bool(answer.warnings),
    )
    answer.ok(201)
    assert answer.warnings[0].startswith('would violate PodSecurity "baseline:latest": privileged')


async def test_a_level_nobody_knows_is_refused(server: Server, home: Home) -> None:
    change = {"metadata": {"labels": {f"{LABEL}/enforce": "strong"}}}
    answer = await server.patch(f"/api/v1/namespaces/{home.name}", change)
    answer.refused(
        422,
        "Invalid",
        f'Namespace "{home.name}" is invalid: metadata.labels[{LABEL}/enforce]: Invalid value: "strong": must be one of '
        "privileged, baseline, restricted",
    )


async def test_a_tighter_level_warns_about_pods_that_are_there(server: Server, home: Home) -> None:
    (await server.post(home("pods"), privileged("a"))).ok(201)
    change = {"metadata": {"labels": {f"{LABEL}/enforce": "baseline"}}}
    answer = await server.until(
        lambda: server.patch(f"/api/v1/namespaces/{home.name}", change, dryRun="All"),
        lambda answer: bool(answer.warnings),
    )
    assert answer.warnings == [
        f'existing pods in namespace "{home.name}" violate the new PodSecurity enforce level "baseline:latest"',
        "a: privileged",
    ]


@pytest.mark.parametrize("change", [{"metadata": {"labels": {"x": "y"}}}], ids=["a label"])
async def test_harmless_updates_of_bad_pods_are_allowed(
    server: Server, home: Home, change: dict[str, Any]
) -> None:
    (await server.post(home("pods"), privileged("a"))).ok(201)
    await levels(server, home, enforce="baseline")
    await at_last(server, home, privileged("b"))
    (await server.patch(home("pods", "a"), change)).ok(200)
