"""DefaultTolerationSeconds: pods stay five minutes on a node that is lost, unless they say otherwise."""

from typing import Any

from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, UPDATE, concerns, items, own, written

_SECONDS = 300
_TAINTS = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


class DefaultTolerationSeconds(Plugin):
    """Adds the two tolerations."""

    resources = frozenset({"pods"})
    operations = frozenset({CREATE, UPDATE})

    async def mutate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "pods", CREATE, UPDATE):
            return
        spec = own(written(attributes), "spec")
        given = items(spec, "tolerations")
        missing = [_tolerating(key) for key in _TAINTS if not _is_tolerated(key, given)]
        if missing:
            spec["tolerations"] = [*given, *missing]


def _is_tolerated(key: str, tolerations: list[dict[str, Any]]) -> bool:
    return any(
        each.get("key", "") in ("", key) and each.get("effect", "") in ("", "NoExecute")
        for each in tolerations
    )


def _tolerating(key: str) -> dict[str, Any]:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _SECONDS,
    }
