"""Tenants that stand in the way of others in a full cluster: by pods that vanish or stop slowly, by finalizers, by webhooks that fail.

`crowded` draws them by their sort, now and then.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random

from korder.api.reserve import GUARDIAN_NAME_PREFIX
from korder.reserve.scenarios.crowd_tenants import (
    HELD,
    NO_SCHEDULER,
    UNIT,
    Tenant,
    bursts,
    claim,
    claiming_pods,
    order,
)
from korder.reserve.scenarios.orders import Form
from pocketkube.nodes.machines import USUAL
from pocketkube.simulation.auditing.refusals import POLICY, REFUSES, WEBHOOK
from pocketkube.simulation.programs import SCHEDULER
from pocketkube.simulation.script import Apply, Crash, Delete, Manifest, Patch, SlowNode, Step
from pocketkube.simulation.workloads import objects

FOREIGN = "example.com/kept"
"""A finalizer of another controller."""
_HEAD = "admissionregistration.k8s.io/v1"
_RULES: list[Manifest] = [
    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
]
_NAME = "refusing"


def _in_namespaces(how: str) -> Manifest:
    return {"matchLabels": {REFUSES: how}}


SURROUNDINGS: tuple[Manifest, ...] = (
    {
        "apiVersion": _HEAD,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": _NAME},
        "webhooks": [
            {
                "name": "refusing.example.com",
                "clientConfig": {"service": {"namespace": "default", "name": "not-there"}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "rules": _RULES,
                "namespaceSelector": _in_namespaces(WEBHOOK),
            }
        ],
    },
    {
        "apiVersion": _HEAD,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": _NAME},
        "spec": {
            "matchConstraints": {
                "resourceRules": _RULES,
                "namespaceSelector": _in_namespaces(POLICY),
            },
            "validations": [{"expression": "false", "message": "pods stay as they are"}],
        },
    },
    {
        "apiVersion": _HEAD,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": _NAME},
        "spec": {"policyName": _NAME, "validationActions": ["Deny"]},
    },
)
"""What refuses changes of pods in namespaces that are labelled so: a webhook that is not there, and a policy."""


def _vanishing(rng: Random, who: Tenant) -> Iterator[Step]:
    """Pods that claim are deleted before they are bound; some could never be bound."""
    strategy = rng.choice(({}, {"type": "OneTime", "refreshPolicy": "Never"}))
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), strategy)
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            scheduler = rng.choice(("", NO_SCHEDULER, NO_SCHEDULER))
            pods = replace(claiming_pods(rng, who), scheduler=scheduler, restarts="Never", grace=0)
            name = f"{who.name}-c{number}-{index}"
            lasts = rng.uniform(0.1, 7) if scheduler else rng.uniform(0.02, 0.6)
            yield Step(at, Apply(objects.pod(name, who.where, pods)))
            yield Step(at + lasts, Delete("v1", "Pod", name, who.where))


def _slow(rng: Random, who: Tenant) -> Iterator[Step]:
    """Pods with a grace period of ten minutes, of which they need a part to stop; most tickets take their room back."""
    after_use = rng.choice(("Reserve", "Reserve", "Consume"))
    strategy = {"type": "OneTime", "refreshPolicy": "Never"}
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30, after_use=after_use), strategy)
    for name in who.nodes:
        yield Step(who.begins, SlowNode(name, 0.0, round(rng.uniform(30, 400), 3)))
        yield Step(who.ends + 20, SlowNode(name, USUAL.start, USUAL.stop))
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            pods = replace(claiming_pods(rng, who), grace=600, restarts="Never")
            name = f"{who.name}-c{number}-{index}"
            yield Step(at, Apply(objects.pod(name, who.where, pods)))
            yield Step(at + rng.uniform(5, 60), Delete("v1", "Pod", name, who.where))


def _fettered(rng: Random, who: Tenant) -> Iterator[Step]:
    """Guardians that the finalizer of another controller keeps for a while."""
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), {})
    for number in range(who.tickets):
        if rng.random() < 0.5:
            name = f"{GUARDIAN_NAME_PREFIX}{who.name}-{number}"
            at = rng.uniform(who.begins + HELD, who.ends - 120)
            until = at + rng.uniform(10, 90)
            for when, held in ((at, [FOREIGN]), (until, None)):
                yield Step(
                    when, Patch("v1", "Pod", name, {"metadata": {"finalizers": held}}, who.where)
                )
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", at)


def _refused(rng: Random, who: Tenant) -> Iterator[Step]:
    """For a while no pod of the namespace can be changed: a webhook does not answer, or a policy refuses it."""
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), {})
    begins = rng.uniform(who.begins + HELD, who.ends - 120)
    until, how = begins + rng.uniform(10, 90), rng.choice((WEBHOOK, POLICY))
    for at, label in ((begins, how), (until, None)):
        yield Step(
            at, Patch("v1", "Namespace", who.where, {"metadata": {"labels": {REFUSES: label}}})
        )
    for number in range(rng.randint(1, who.tickets)):
        at = rng.uniform(begins - 1, until)
        yield from claim(rng, who, f"{who.name}-r{number}", at)
    for number, at in enumerate(bursts(rng, who)):
        yield from claim(rng, who, f"{who.name}-c{number}", at)


def _silent(rng: Random, who: Tenant) -> Iterator[Step]:
    """The scheduler is away for a while just when pods claim."""
    yield from order(who, Form(cpu=UNIT, memory=UNIT, ttl=30), {})
    for number, at in enumerate(bursts(rng, who)):
        for index in range(rng.randint(1, who.tickets)):
            yield from claim(rng, who, f"{who.name}-c{number}-{index}", at)
        if rng.random() < 0.5:
            yield Step(at + rng.uniform(0.02, 0.3), Crash(SCHEDULER, round(rng.uniform(6, 40), 3)))


SORTS: Mapping[str, Callable[[Random, Tenant], Iterator[Step]]] = {
    "vanishing": _vanishing,
    "slow": _slow,
    "fettered": _fettered,
    "refused": _refused,
    "silent": _silent,
}
