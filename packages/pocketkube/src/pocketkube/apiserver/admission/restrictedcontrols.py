"""The controls that the level `restricted` adds: what a hardened pod says of itself."""

from pocketkube.apiserver.admission.baselinecontrols import added
from pocketkube.apiserver.admission.podcontrols import Pod, Violation, many, quoted, setters_of, who
from pocketkube.apiserver.admission.verdicts import items, part


def privilege_escalation(pod: Pod) -> Violation | None:
    """Nobody may gain privileges."""
    bad = [
        name
        for name, _, context in pod.containers()
        if context.get("allowPrivilegeEscalation") is not False
    ]
    detail = f"{who(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if bad else None


def few_capabilities(pod: Pod) -> Violation | None:
    """All capabilities are dropped but the one for low ports."""
    keeping = [
        name
        for name, _, context in pod.containers()
        if "ALL" not in items(part(context, "capabilities"), "drop")
    ]
    drop = 'must set securityContext.capabilities.drop=["ALL"]'
    extra = added(pod, frozenset({"NET_BIND_SERVICE"}))
    details = [*([f"{who(keeping)} {drop}"] if keeping else []), *([extra] if extra else [])]
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


_PLAIN_VOLUMES = frozenset(
    [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ]
)
_OTHER_VOLUMES = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
]


def volume_types(pod: Pod) -> Violation | None:
    """Only volumes that come from the cluster."""
    bad, kinds = [], set()
    for volume in items(pod.spec, "volumes"):
        present = {member for member, value in volume.items() if value is not None}
        if not present & _PLAIN_VOLUMES:
            bad.append(volume.get("name", ""))
            kinds.add(next((kind for kind in _OTHER_VOLUMES if kind in present), "unknown"))
    use, word = many("uses", len(bad), "use"), many("restricted volume type", len(kinds))
    detail = f"{who(bad, 'volume')} {use} {word} {quoted(sorted(kinds))}"
    return Violation("restricted volume types", detail) if bad else None


def not_root(pod: Pod) -> Violation | None:
    """Containers must not run as root."""
    wish = pod.context.get("runAsNonRoot")
    each = [(name, context.get("runAsNonRoot")) for name, _, context in pod.containers()]
    setters = setters_of([name for name, own in each if own is False], pod=wish is False)
    silent = [name for name, own in each if own is None and not wish]
    detail = f"pod or {who(silent)} must set securityContext.runAsNonRoot=true" if silent else ""
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
    return Violation("runAsNonRoot != true", detail) if detail else None


def user_zero(pod: Pod) -> Violation | None:
    """Nor may they ask for the number of root."""
    bad = [name for name, _, context in pod.containers() if context.get("runAsUser") == 0]
    setters = setters_of(bad, pod=pod.context.get("runAsUser") == 0)
    detail = f"{' and '.join(setters)} must not set runAsUser=0"
    return Violation("runAsUser=0", detail) if setters else None
