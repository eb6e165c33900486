"""PodTopologyLabels: a pod learns zone and region of its node when it is bound.

The labels are put on the Binding; whoever carries it out merges the labels of the Binding into those of the pod.
"""

from pocketkube.apiserver.admission.attributes import Attributes, Plugin
from pocketkube.apiserver.admission.verdicts import CREATE, own, part, written
from pocketkube.apiserver.view import View

_LABELS = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


class PodTopologyLabels(Plugin):
    """Copies the labels of nodes."""

    resources = frozenset({"pods"})
    operations = frozenset({CREATE})

    def __init__(self, view: View) -> None:
        self._view = view

    async def mutate(self, attributes: Attributes) -> None:
        node = _node(attributes)
        found = self._view.get("nodes", "", node) if node else None
        if found is None:
            return
        labels = part(found["metadata"], "labels")
        copied = {name: labels[name] for name in _LABELS if name in labels}
        if copied:
            meta = own(written(attributes), "metadata")
            meta["labels"] = {**part(meta, "labels"), **copied}


def _node(attributes: Attributes) -> str:
    """The node a pod is being given to, if any."""
    obj = written(attributes)
    if attributes.resource.stored != "pods" or attributes.operation is not CREATE:
        return ""
    if attributes.subresource == "binding":
        target = part(obj, "target")
        return str(target.get("name", "")) if target.get("kind") == "Node" else ""
    return str(part(obj, "spec").get("nodeName") or "") if not attributes.subresource else ""
