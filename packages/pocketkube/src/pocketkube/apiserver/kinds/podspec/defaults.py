"""What a server fills into the spec of a pod, and of a template of pods.

`pods` and the workloads call these. A template is given less than a pod: requests that follow from limits, ports of the
host and links to services are decided when the pod is made, not before.
"""

from collections.abc import Callable, Iterator
import re
from typing import Any, Final

from kubeloop.objects import quantity
from pocketkube.apiserver.kinds.podspec import resources

Object = dict[str, Any]

CONTAINERS: Final = "initContainers", "containers", "ephemeralContainers"
PROBES: Final = "livenessProbe", "readinessProbe", "startupProbe"
_MILLI: Final = 10**6

# A tag follows the last colon after the last slash; what the rest looks like matters only for images nobody can pull.
_UNTAGGED: Final = re.compile(
    r"(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
)


def of_pod(spec: Object) -> None:
    """Completes the spec of a pod."""
    for container in (*_items(spec, "containers"), *_items(spec, "initContainers")):
        limits = resources.of(container, "limits")
        if limits:
            requests = container["resources"].setdefault("requests", {})
            for name, amount in limits.items():
                requests.setdefault(name, amount)
    _of_whole_pod(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in (*_items(spec, "containers"), *_items(spec, "initContainers")):
            for port in _items(container, "ports"):
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
    of_template(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def of_template(spec: Object) -> None:
    """Completes the spec inside of a template."""
    _fill(
        spec,
        dnsPolicy="ClusterFirst",
        restartPolicy="Always",
        schedulerName="default-scheduler",
        terminationGracePeriodSeconds=30,
    )
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.pop("schedulingGroup", None)
    for volume in _items(spec, "volumes"):
        _of_volume(volume)
    for kind in CONTAINERS:
        for container in _items(spec, kind):
            _of_container(container)
    rounded(spec, "overhead")
    if spec.get("resources"):
        rounded(spec["resources"], "limits", "requests")


def rounded(holder: Object, *members: str) -> None:
    """Rounds amounts up to thousandths, which is as fine as a server counts."""
    for member in members:
        amounts = holder.get(member) or {}
        for name, text in amounts.items():
            amount = quantity.parse(text)
            if amount.nano % _MILLI:
                amounts[name] = str(
                    quantity.Quantity(-(-amount.nano // _MILLI) * _MILLI, amount.format)
                )


def _of_whole_pod(spec: Object) -> None:
    """What the pod as a whole may use, once a part of that is said."""
    whole = spec.get("resources")
    if not whole or not (whole.get("limits") or whole.get("requests")):
        return
    requests = whole.get("requests") or {}
    limits = dict(whole.get("limits") or {})
    for name, amount in resources.together(spec, "limits").items():
        if resources.is_huge_pages(name) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        whole["limits"] = limits
    else:
        return
    requests = dict(requests)
    for name, amount in resources.together(spec, "requests").items():
        if name in resources.OF_POD:
            requests.setdefault(name, str(amount))
    for name, text in limits.items():
        if name in resources.OF_POD or resources.is_huge_pages(name):
            requests.setdefault(name, text)
    if requests:
        whole["requests"] = requests


def pull_policy(image: str) -> str:
    """An image without a tag, and the one that moves, are pulled each time."""
    name, _, digest = image.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    if not _UNTAGGED.fullmatch(head):
        return "IfNotPresent"
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _drop_unserved(container: Object) -> None:
    """Takes out what the real server does not serve either, as long as a feature is young."""
    hooks = container.get("lifecycle")
    if hooks and hooks.pop("stopSignal", None) is not None and not hooks:
        del container["lifecycle"]


def _of_container(container: Object) -> None:
    _drop_unserved(container)
    _fill(
        container,
        imagePullPolicy=pull_policy(container.get("image") or ""),
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
    )
    for port in _items(container, "ports"):
        _fill(port, protocol="TCP")
    for variable in _items(container, "env"):
        source = variable.get("valueFrom") or {}
        _fill_if(source.get("fieldRef"), apiVersion="v1")
        _fill_missing(source.get("fileKeyRef"), optional=False)
    if container.get("resources"):
        rounded(container["resources"], "limits", "requests")
    for probe in (each for each in map(container.get, PROBES) if each is not None):
        _fill(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
        _fill_if(probe.get("httpGet"), path="/", scheme="HTTP")
        _fill_missing(probe.get("grpc"), service="")
    for handler in ("postStart", "preStop"):
        hook = (container.get("lifecycle") or {}).get(handler) or {}
        _fill_if(hook.get("httpGet"), path="/", scheme="HTTP")


def _of_volume(volume: Object) -> None:
    sources = [member for member in volume if member != "name" and volume[member] is not None]
    if not sources:
        volume["emptyDir"] = {}
    for member in sources:
        fill = _VOLUMES.get(member)
        if fill is not None:
            fill(volume[member])


def _of_projected(source: Object) -> None:
    _fill_missing(source, defaultMode=420)
    for one in _items(source, "sources"):
        one.pop("clusterTrustBundle", None)
        _of_items(one.get("downwardAPI") or {})
        _fill_missing(one.get("serviceAccountToken"), expirationSeconds=3600)


def _of_downward(source: Object) -> None:
    _fill_missing(source, defaultMode=420)
    _of_items(source)


def _of_items(source: Object) -> None:
    for item in _items(source, "items"):
        _fill_if(item.get("fieldRef"), apiVersion="v1")


def _of_claim(source: Object) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        of_claim_spec(template.setdefault("spec", {}))


def of_claim_spec(spec: Object) -> None:
    """What a claim of a volume gets, wherever it stands."""
    _fill_missing(spec, volumeMode="Filesystem")
    rounded(spec.get("resources") or {}, "limits", "requests")


def _of_image(source: Object) -> None:
    _fill(source, pullPolicy=pull_policy(source.get("reference") or ""))


_VOLUMES: Final[dict[str, Callable[[Object], None]]] = {
    "hostPath": lambda source: _fill_missing(source, type=""),
    "secret": lambda source: _fill_missing(source, defaultMode=420),
    "configMap": lambda source: _fill_missing(source, defaultMode=420),
    "downwardAPI": _of_downward,
    "projected": _of_projected,
    "ephemeral": _of_claim,
    "image": _of_image,
    "iscsi": lambda source: _fill(source, iscsiInterface="default"),
    "rbd": lambda source: _fill(source, pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": lambda source: _fill_missing(
        source, cachingMode="ReadWrite", fsType="ext4", readOnly=False, kind="Shared"
    ),
    "scaleIO": lambda source: _fill(source, storageMode="ThinProvisioned", fsType="xfs"),
}


def _items(holder: Object, member: str) -> Iterator[Object]:
    return (item for item in holder.get(member) or ())


def _fill(holder: Object, **values: Any) -> None:
    """Sets what is missing or empty, except a number that was written down."""
    for name, value in values.items():
        given = holder.get(name)
        if given is None or given == "" or (given == 0 and name in _NEVER_ZERO):
            holder[name] = value


_NEVER_ZERO: Final = frozenset(
    {"timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}
)
"""Numbers for which Go knows no difference between zero and nothing."""


def _fill_if(holder: Object | None, **values: Any) -> None:
    if holder is not None:
        _fill(holder, **values)


def _fill_missing(holder: Object | None, **values: Any) -> None:
    """Sets what is missing; an empty text that was written down stays."""
    if holder is not None:
        for name, value in values.items():
            if holder.get(name) is None:
                holder[name] = value
