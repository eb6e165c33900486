"""Webhook configurations, compiled: what one webhook wants to see and how it is to be treated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pocketkube.apiserver.admission import matching
from pocketkube.apiserver.admission.compiled import Compiled, Whole
from pocketkube.apiserver.admission.expressions import Compiler, Conditions
from pocketkube.apiserver.admission.matching import Equivalents, Index, Scope
from pocketkube.apiserver.admission.webhooks import calls
from pocketkube.apiserver.admission.webhooks.calls import Place
from pocketkube.apiserver.view import View

MUTATING = f"mutatingwebhookconfigurations.{matching.GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{matching.GROUP}"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration.

    Attributes:
        key: Unlike the name, it is unique.
        version: The version of reviews it understands; empty if there is none that we speak.
    """

    key: str
    name: str
    scope: Scope
    conditions: Conditions
    place: Place
    ignore_failures: bool
    seconds: int
    side_effects: str
    version: str
    reinvoked: bool


def hooks(view: View, resource: str, equivalents: Equivalents) -> Whole[Index[Webhook]]:
    """All webhooks of a resource, in the order in which they are asked."""
    configurations = Compiled(view, resource, _webhooks)

    def make() -> Index[Webhook]:
        found = [webhook for webhooks in configurations.all() for webhook in webhooks]
        return Index([(webhook.scope, webhook) for webhook in found], equivalents)

    return Whole(make, configurations)


def _webhooks(configuration: Mapping[str, Any]) -> list[Webhook]:
    name = (configuration.get("metadata") or {}).get("name", "")
    return [
        _webhook(f"{name}/{each.get('name')}/{place}", each)
        for place, each in enumerate(configuration.get("webhooks") or ())
    ]


def _webhook(key: str, written: Mapping[str, Any]) -> Webhook:
    versions = [each for each in written.get("admissionReviewVersions") or () if each in _SPOKEN]
    return Webhook(
        key,
        str(written.get("name", "")),
        matching.scope(written),
        Conditions(written.get("matchConditions") or (), Compiler(variables=False)),
        calls.place(written.get("clientConfig") or {}),
        written.get("failurePolicy") == "Ignore",
        int(written.get("timeoutSeconds") or 10),
        str(written.get("sideEffects") or ""),
        versions[0] if versions else "",
        written.get("reinvocationPolicy") == "IfNeeded",
    )


_SPOKEN = frozenset({"v1", "v1beta1"})
