"""Rules and roles of Kubernetes, as domains and the installation write them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubeloop.objects.meta import JSON

GROUP = "rbac.authorization.k8s.io"
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")

Rule = dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rbac:
    """The permissions that a domain needs, and the roles that it offers.

    Attributes:
        cluster: Rules of the manager for the whole cluster.
        namespaces: Rules of the manager in one namespace, by its name.
        roles: Roles for users.
    """

    cluster: Sequence[Rule] = ()
    namespaces: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    roles: Sequence[dict[str, JSON]] = ()


def may(verbs: Sequence[str], group: str, *resources: str, names: Sequence[str] = ()) -> Rule:
    """A rule: these verbs on these resources, or on those of these names."""
    rule: Rule = {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
    return {**rule, "resourceNames": list(names)} if names else rule


def role(kind: str, metadata: dict[str, JSON], rules: Sequence[Rule]) -> dict[str, JSON]:
    """A Role or ClusterRole."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": list(rules),
    }
