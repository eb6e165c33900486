"""TaintNodesByCondition: a new node takes no pods until somebody has seen that it is ready."""

from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, concerns, items, own, written

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(Plugin):
    """Taints new nodes."""

    resources = frozenset({"nodes"})
    operations = frozenset({CREATE})

    async def mutate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "nodes", CREATE):
            return
        spec = own(written(attributes), "spec")
        taints = items(spec, "taints")
        if not any(NOT_READY.items() <= taint.items() for taint in taints):
            spec["taints"] = [*taints, dict(NOT_READY)]
