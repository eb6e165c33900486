"""Namespaces in which no pod can be changed for a while: a webhook of theirs does not answer, or a policy refuses it.

Workloads label such a namespace, and the label is what makes the server refuse. Invariants ask here, because what must be written on
pods of such a namespace is late through no fault of ours; other namespaces must not be.
"""

from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Key
from pocketkube.simulation.auditing.view import View

REFUSES = "simulation.korder.dev/refuses-pods"
"""The label of a namespace whose pods cannot be changed; its value says by what."""
WEBHOOK, POLICY = "webhook", "policy"


def is_refusing(namespace: str, view: View) -> bool:
    """Whether pods of a namespace cannot be changed; kinds that are read must include namespaces."""
    found = view.of(NAMESPACES).get(Key("", namespace))
    return found is not None and REFUSES in found.metadata.labels
