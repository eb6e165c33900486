"""Volumes of a pod and where containers mount them.

Sources that every cluster has are checked in full; of those that belong to one vendor only the members that must not be
missing. `checks` calls this for the volumes, `containers` for the mounts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kubeloop.objects import quantity
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import naming
from pocketkube.apiserver.kinds.podspec import files

Values = Mapping[str, Any]
Check = files.Check

_HOST_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_ACCESS: Final = "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"


def check(
    field: str, volumes: Sequence[Values], pod: str, *, of_pod: bool
) -> tuple[list[Cause], dict[str, Values]]:
    """What is wrong with the volumes, and the good ones by name.

    Args:
        field: Where they stand.
        volumes: The volumes.
        pod: The pod's name, if it is known already.
        of_pod: Whether this is a pod and not a template.
    """
    good: dict[str, Values] = {}
    causes: list[Cause] = []
    created = {f"{pod}-{one.get('name', '')}" for one in volumes if pod and one.get("ephemeral")}
    for at, volume in enumerate(volumes):
        name = volume.get("name", "")
        wrong = list(_check_source(f"{field}[{at}]", volume, pod, of_pod=of_pod))
        if name:
            wrong += naming.named(f"{field}[{at}].name", name, naming.dns_label)
        else:
            wrong.append(fielderrors.required(f"{field}[{at}].name"))
        if name in good:
            wrong.append(fielderrors.duplicate(f"{field}[{at}].name", name))
        if not wrong:
            good[name] = volume
        causes += wrong
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in created:
            said = "must not reference a PVC that gets created for an ephemeral volume"
            where = f"{field}[{at}].persistentVolumeClaim.claimName"
            causes.append(fielderrors.invalid(where, claim, said))
    return causes, good


def _check_source(field: str, volume: Values, pod: str, *, of_pod: bool) -> Iterator[Cause]:
    given = [kind for kind in _SOURCES if volume.get(kind) is not None]
    if not given:
        yield fielderrors.required(field, "must specify a volume type")
    for number, kind in enumerate(given):
        if number:
            yield fielderrors.forbidden(f"{field}.{_REPORTED.get(kind, kind)}", files.ONE_TYPE)
            continue
        yield from _SOURCES[kind](f"{field}.{_CALLED.get(kind, kind)}", volume[kind])
        if kind == "ephemeral" and pod and volume.get("name"):
            name = f"{pod}-{volume['name']}"
            for said in naming.dns_subdomain(name):
                stated = f'PVC name "{name}": {said}'
                yield fielderrors.invalid(f"{field}.name", volume["name"], stated)
        if kind == "image" and of_pod and not volume[kind].get("reference"):
            yield fielderrors.required(f"{field}.image.reference")


_CALLED: Final = {"gcePersistentDisk": "persistentDisk"}
_REPORTED: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Names that a server has only in some of its sentences."""


def _needs_one(where: str, said: str, *members: str) -> Check:
    def check_members(field: str, source: Values) -> Iterator[Cause]:
        if not any(source.get(member) for member in members):
            yield fielderrors.required(f"{field}{where}", said)

    return check_members


def _check_empty(field: str, source: Values) -> Iterator[Cause]:
    limit = source.get("sizeLimit")
    if limit is not None and quantity.parse(limit) < quantity.ZERO:
        said = "SizeLimit field must be a valid resource quantity"
        yield fielderrors.forbidden(f"{field}.sizeLimit", said)


def _check_host(field: str, source: Values) -> Iterator[Cause]:
    path = source.get("path", "")
    if not path:
        yield fielderrors.required(f"{field}.path")
        return
    yield from files.no_steps_back(f"{field}.path", path)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_TYPES:
        yield fielderrors.not_supported(f"{field}.type", kind, _HOST_TYPES)


def _check_git(field: str, source: Values) -> Iterator[Cause]:
    yield from files.needs("repository")(field, source)
    yield from files.below(f"{field}.directory", source.get("directory", ""))


def _check_nfs(field: str, source: Values) -> Iterator[Cause]:
    yield from files.needs("server", "path")(field, source)
    if not source.get("path", "").startswith("/"):
        yield fielderrors.invalid(
            f"{field}.path", source.get("path", ""), "must be an absolute path"
        )


def _check_claim(field: str, source: Values) -> Iterator[Cause]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield fielderrors.required(f"{field}.volumeClaimTemplate")
        return
    where = f"{field}.volumeClaimTemplate"
    meta = template.get("metadata") or {}
    yield from naming.annotations(f"{where}.metadata.annotations", meta.get("annotations"))
    yield from naming.labels(f"{where}.metadata.labels", meta.get("labels"))
    for member in meta:
        if member not in ("annotations", "labels") and meta[member]:
            yield fielderrors.forbidden(f"{where}.metadata.{member}", "cannot be set")
    yield from check_claim_spec(f"{where}.spec", template.get("spec") or {})


def check_claim_spec(field: str, spec: Values) -> Iterator[Cause]:
    """What a claim of a volume must say, inside of a pod or a StatefulSet."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield fielderrors.required(f"{field}.accessModes", "at least 1 access mode is required")
    yield from naming.selector(f"{field}.selector", spec.get("selector"))
    for mode in modes:
        if mode not in _ACCESS:
            yield fielderrors.not_supported(f"{field}.accessModes", mode, _ACCESS)
    if "ReadWriteOncePod" in modes and set(modes) & set(_ACCESS[:3]):
        said = "may not use ReadWriteOncePod with other access modes"
        yield fielderrors.forbidden(f"{field}.accessModes", said)
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if amount is None:
        yield fielderrors.required(f"{field}.resources[storage]")
    elif quantity.parse(amount) <= quantity.ZERO:
        yield fielderrors.invalid(
            f"{field}.resources[storage]", amount, "must be greater than zero"
        )
    if spec.get("storageClassName"):
        yield from naming.named(
            f"{field}.storageClassName", spec["storageClassName"], naming.dns_subdomain
        )
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        yield fielderrors.not_supported(f"{field}.volumeMode", mode, ("Block", "Filesystem"))


def _check_csi(field: str, source: Values) -> Iterator[Cause]:
    driver = source.get("driver", "")
    if not driver:
        yield fielderrors.required(f"{field}.driver")
    for said in naming.dns_subdomain(driver.lower()) if driver else ():
        yield fielderrors.invalid(f"{field}.driver", driver, said)
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        if secret.get("name"):
            yield from naming.named(f"{field}.name", secret["name"], naming.dns_subdomain)
        else:
            yield fielderrors.required(f"{field}.nodePublishSecretRef.name")


def _check_image(field: str, source: Values) -> Iterator[Cause]:
    policy = source.get("pullPolicy", "")
    if policy not in ("Always", "IfNotPresent", "Never"):
        yield fielderrors.not_supported(
            f"{field}.pullPolicy", policy, ("Always", "IfNotPresent", "Never")
        )


_SOURCES: Final[dict[str, Check]] = {
    "emptyDir": _check_empty,
    "hostPath": _check_host,
    "gitRepo": _check_git,
    "gcePersistentDisk": files.needs("pdName"),
    "awsElasticBlockStore": files.needs("volumeID"),
    "secret": files.check_keys("secretName"),
    "nfs": _check_nfs,
    "iscsi": files.needs("targetPortal", "iqn"),
    "glusterfs": files.needs("endpoints", "path"),
    "flocker": _needs_one(
        "", "one of datasetName and datasetUUID is required", "datasetName", "datasetUUID"
    ),
    "persistentVolumeClaim": files.needs("claimName"),
    "rbd": files.needs("monitors", "image"),
    "cinder": files.needs("volumeID"),
    "cephfs": files.needs("monitors"),
    "quobyte": files.needs("registry", "volume"),
    "downwardAPI": files.check_downward,
    "fc": _needs_one(
        ".targetWWNs",
        "must specify either targetWWNs or wwids, but not both",
        "targetWWNs",
        "wwids",
    ),
    "flexVolume": files.needs("driver"),
    "configMap": files.check_keys("name"),
    "azureFile": files.needs("secretName", "shareName"),
    "vsphereVolume": files.needs("volumePath"),
    "photonPersistentDisk": files.needs("pdID"),
    "portworxVolume": files.needs("volumeID"),
    "azureDisk": files.needs("diskName", "diskURI"),
    "storageos": files.needs("volumeName"),
    "projected": files.check_projected,
    "scaleIO": files.needs("gateway", "system", "volumeName"),
    "csi": _check_csi,
    "ephemeral": _check_claim,
    "image": _check_image,
}
