"""Where korder is installed, and as whom its manager acts.

`korder install` makes one from its flags; `objects`, `rights`, `hooks` and `policies` write what belongs to it. The names of things are
those of the original, so that what its documents say about logs and rights stays true.
"""

from dataclasses import dataclass

from kubeloop.objects.meta import JSON

PRODUCT = "korder"
"""The source of Events, and how the names of metrics begin."""
NAMESPACE = "korder-system"
MANAGER = "korder-controller-manager"
"""The manager's Deployment and service account."""
WEBHOOK = "korder-webhook"
"""The Service in front of the webhooks, both configurations of them, and the Secret with their certificate."""
WEBHOOK_PORT = 9443
JUDGING = "korder-orders-and-tickets"
"""The policy on orders and tickets."""
LEASE = "korder-manager"
PART_OF = {"app.kubernetes.io/part-of": "korder"}
"""What all our objects are labelled with."""
SELECTOR = {"app.kubernetes.io/name": "korder", "control-plane": "controller-manager"}
"""What the manager's pods are found by."""


@dataclass(frozen=True, slots=True)
class Site:
    """One installation.

    Attributes:
        namespace: Where the manager lives, with its lease and certificate.
        image: The manager's image; empty if it runs somewhere else.
        user: As whom the manager writes; empty for its service account.
        webhook_url: Where its webhooks are served; empty for the Service.
        system_classes: Whether guardians may have a priority class of the system.
    """

    namespace: str = NAMESPACE
    image: str = ""
    user: str = ""
    webhook_url: str = ""
    system_classes: bool = False

    @property
    def manager_user(self) -> str:
        return self.user or f"system:serviceaccount:{self.namespace}:{MANAGER}"


def meta(name: str, namespace: str = "") -> dict[str, JSON]:
    """The metadata of an object of ours."""
    found: dict[str, JSON] = {"name": name, "labels": dict(PART_OF)}
    return {**found, "namespace": namespace} if namespace else found
