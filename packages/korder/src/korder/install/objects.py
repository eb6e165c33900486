"""Everything `korder install` puts into a cluster beside the CRDs, in the order in which it has to come.

`korder.cli.install` applies it and `korder.cli.uninstall` takes it away, last first; the embedded cluster takes `essentials`. A Deployment is part of it
only if there is an image: a manager may also run elsewhere.
"""

from enum import StrEnum

from korder.domains import DOMAINS
from korder.install.rbac import rights
from korder.install_config import LEASE, MANAGER, SELECTOR, WEBHOOK, WEBHOOK_PORT, Site, meta
from kubeloop.objects.meta import JSON

REPLICAS = 2


class Admission(StrEnum):
    """By which of its two means an API server marks pods and refuses nonsense."""

    WEBHOOK = "webhook"
    POLICY = "policy"


def objects(place: Site, admission: Admission) -> tuple[dict[str, JSON], ...]:
    """An installation, without the CRDs."""
    webhook = admission is Admission.WEBHOOK
    served = (_service(place),) if webhook and not place.webhook_url else ()
    manager = (_deployment(place, admission),) if place.image else ()
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(place.namespace)},
        *domain_objects(place),
        *rights(place),
        *served,
        *manager,
        *admission_objects(place, admission),
        *guards(place),
    )


def admission_objects(place: Site, admission: Admission) -> tuple[dict[str, JSON], ...]:
    """What makes an API server mark and refuse."""
    return _webhooks(place) if admission is Admission.WEBHOOK else _policies(place)


def replaced(place: Site, admission: Admission) -> tuple[dict[str, JSON], ...]:
    """What only the other means of admission needs, callers before who is called."""
    if admission is Admission.WEBHOOK:
        return _policies(place)
    return (*_webhooks(place), _service(place))


def domain_objects(place: Site) -> tuple[dict[str, JSON], ...]:
    """What domains need beside their kinds."""
    return tuple(body for domain in DOMAINS for body in domain.objects(place))


def guards(place: Site) -> tuple[dict[str, JSON], ...]:
    """Policies that restrict the manager; servers without ValidatingAdmissionPolicy go without."""
    return tuple(body for domain in DOMAINS for body in domain.guards(place))


def _webhooks(place: Site) -> tuple[dict[str, JSON], ...]:
    return tuple(body for domain in DOMAINS for body in domain.webhooks(place))


def _policies(place: Site) -> tuple[dict[str, JSON], ...]:
    return tuple(body for domain in DOMAINS for body in domain.policies(place))


def kept_by_managers(place: Site) -> tuple[dict[str, JSON], ...]:
    """What managers write for themselves where they live, by name: the authority of their webhooks, and who leads."""
    return (
        {"apiVersion": "v1", "kind": "Secret", "metadata": meta(WEBHOOK, place.namespace)},
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": meta(LEASE, place.namespace),
        },
    )


def _service(place: Site) -> dict[str, JSON]:
    port: JSON = {"name": "webhook", "port": 443, "targetPort": "webhook"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta(WEBHOOK, place.namespace),
        "spec": {"selector": dict(SELECTOR), "ports": [port]},
    }


def _deployment(place: Site, admission: Admission) -> dict[str, JSON]:
    metadata = meta(MANAGER, place.namespace)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": dict(SELECTOR)},
            "template": {
                "metadata": {"labels": dict(SELECTOR)},
                "spec": _manager(place, admission),
            },
        },
    }


def _manager(place: Site, admission: Admission) -> dict[str, JSON]:
    """The manager's pod: one that also a namespace with restricted pod security takes."""
    return {
        "serviceAccountName": MANAGER,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 30,
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": dict(SELECTOR)},
            }
        ],
        "containers": [_container(place, admission)],
    }


def _container(place: Site, admission: Admission) -> dict[str, JSON]:
    # It says what is served: who is there already must start anew when that changes.
    served = f"--admission={admission}"
    arguments: list[JSON] = ["manager", "--leader-elect", "--log-format=json", served]
    if place.system_classes:
        arguments.append("--allow-system-classes")
    return {
        "name": "manager",
        "image": place.image,
        "command": ["korder"],
        "args": arguments,
        "ports": [
            {"name": "webhook", "containerPort": WEBHOOK_PORT},
            {"name": "metrics", "containerPort": 8080},
            {"name": "probes", "containerPort": 8081},
        ],
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/readyz"),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str) -> dict[str, JSON]:
    return {"httpGet": {"path": path, "port": "probes"}, "periodSeconds": 10}
