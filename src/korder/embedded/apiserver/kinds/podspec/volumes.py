"""Volumes of a pod and where containers mount them.

Sources that every cluster has are checked in full; of those that belong to one vendor only the members that must not be
missing. `checks` calls this for the volumes, `containers` for the mounts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from korder.api import quantity
from korder.embedded.apiserver import fielderrors
from korder.embedded.apiserver.fielderrors import Cause
from korder.embedded.apiserver.kinds import naming
from korder.embedded.apiserver.kinds.podspec import environment

Values = Mapping[str, Any]
Check = Callable[[str, Values], Iterator[Cause]]

_ONE_TYPE: Final = "may not specify more than 1 volume type"
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_ACCESS: Final = "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"
_PROJECTIONS: Final = (
    "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate",
)  # fmt: skip


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
            yield fielderrors.forbidden(f"{field}.{_TOLD.get(kind, kind)}", _ONE_TYPE)
            continue
        yield from _SOURCES[kind](f"{field}.{_CALLED.get(kind, kind)}", volume[kind])
        if kind == "ephemeral" and pod and volume.get("name"):
            name = f"{pod}-{volume['name']}"
            for said in naming.dns_subdomain(name):
                told = f'PVC name "{name}": {said}'
                yield fielderrors.invalid(f"{field}.name", volume["name"], told)
        if kind == "image" and of_pod and not volume[kind].get("reference"):
            yield fielderrors.required(f"{field}.image.reference")


_CALLED: Final = {"gcePersistentDisk": "persistentDisk"}
_TOLD: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Names that a server has only in some of its sentences."""


def _needs(*members: str) -> Check:
    def check_members(field: str, source: Values) -> Iterator[Cause]:
        for member in members:
            if not source.get(member):
                yield fielderrors.required(f"{field}.{member}")

    return check_members


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
    yield from _no_steps_back(f"{field}.path", path)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_TYPES:
        yield fielderrors.not_supported(f"{field}.type", kind, _HOST_TYPES)


def _check_git(field: str, source: Values) -> Iterator[Cause]:
    yield from _needs("repository")(field, source)
    yield from below(f"{field}.directory", source.get("directory", ""))


def _check_keys(named: str) -> Check:
    def check_files(field: str, source: Values) -> Iterator[Cause]:
        yield from _needs(named)(field, source)
        yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
        for at, item in enumerate(source.get("items") or ()):
            yield from _check_key(f"{field}.items[{at}]", item)

    return check_files


def _check_key(field: str, item: Values) -> Iterator[Cause]:
    yield from _needs("key", "path")(field, item)
    yield from _inside(f"{field}.path", item.get("path", ""))
    yield from _check_mode(f"{field}.mode", item.get("mode"))


def _check_mode(field: str, mode: int | None) -> Iterator[Cause]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield fielderrors.invalid(field, mode, _MODE)


def _check_nfs(field: str, source: Values) -> Iterator[Cause]:
    yield from _needs("server", "path")(field, source)
    if not source.get("path", "").startswith("/"):
        yield fielderrors.invalid(
            f"{field}.path", source.get("path", ""), "must be an absolute path"
        )


def _check_downward(field: str, source: Values) -> Iterator[Cause]:
    yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
    for item in source.get("items") or ():
        yield from _check_file(field, item)


def _check_file(field: str, item: Values) -> Iterator[Cause]:
    yield from _needs("path")(field, item)
    yield from _inside(f"{field}.path", item.get("path", ""))
    ref, amount = item.get("fieldRef"), item.get("resourceFieldRef")
    if ref is not None:
        yield from environment.check_field(f"{field}.fieldRef", ref, environment.IN_FILES)
        if amount is not None:
            said = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield fielderrors.invalid(field, "resource", said)
    elif amount is not None:
        yield from environment.check_amount(f"{field}.resourceFieldRef", amount, of_volume=True)
    else:
        yield fielderrors.required(field, "one of fieldRef and resourceFieldRef is required")
    yield from _check_mode(f"{field}.mode", item.get("mode"))


def _check_projected(field: str, source: Values) -> Iterator[Cause]:
    yield from _check_mode(f"{field}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for at, one in enumerate(source.get("sources") or ()):
        where = f"{field}.sources[{at}]"
        given = [kind for kind in _PROJECTIONS if one.get(kind) is not None]
        for kind in given:
            yield from _check_projection(field, f"{where}.{kind}", kind, one[kind])
            yield from _check_taken(field, kind, one[kind], taken)
        if len(given) > 1:
            yield fielderrors.forbidden(where, f"{_ONE_TYPE} per source")


def _check_projection(field: str, where: str, kind: str, source: Values) -> Iterator[Cause]:
    if kind in ("secret", "configMap"):
        yield from _needs("name")(where, source)
        for at, item in enumerate(source.get("items") or ()):
            yield from _check_key(f"{where}.items[{at}]", item)
    elif kind == "downwardAPI":
        for item in source.get("items") or ():
            yield from _check_file(where, item)
    elif kind == "serviceAccountToken":
        yield from _check_token(field, where, source)
    elif not source.get("path") and kind == "clusterTrustBundle":
        yield fielderrors.required(f"{where}.path")


def _check_token(field: str, where: str, source: Values) -> Iterator[Cause]:
    seconds = source.get("expirationSeconds", 0)
    if seconds < 600:
        said = "may not specify a duration less than 10 minutes"
        yield fielderrors.invalid(f"{where}.expirationSeconds", seconds, said)
    if seconds > 2**32:
        said = "may not specify a duration larger than 2^32 seconds"
        yield fielderrors.invalid(f"{where}.expirationSeconds", seconds, said)
    if source.get("path"):
        yield from _inside(f"{field}.path", source["path"])
    else:
        yield fielderrors.required(f"{field}.path")


def _check_taken(field: str, kind: str, source: Values, taken: set[str]) -> Iterator[Cause]:
    for item in source.get("items") or ():
        path = item.get("path", "")
        if path and path in taken:
            told = path if kind == "downwardAPI" else source.get("name", "")
            yield fielderrors.invalid(field, told, "conflicting duplicate paths")
        taken.add(path)


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
    "gcePersistentDisk": _needs("pdName"),
    "awsElasticBlockStore": _needs("volumeID"),
    "secret": _check_keys("secretName"),
    "nfs": _check_nfs,
    "iscsi": _needs("targetPortal", "iqn"),
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _needs_one(
        "", "one of datasetName and datasetUUID is required", "datasetName", "datasetUUID"
    ),
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _needs("registry", "volume"),
    "downwardAPI": _check_downward,
    "fc": _needs_one(
        ".targetWWNs",
        "must specify either targetWWNs or wwids, but not both",
        "targetWWNs",
        "wwids",
    ),
    "flexVolume": _needs("driver"),
    "configMap": _check_keys("name"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _needs("diskName", "diskURI"),
    "storageos": _needs("volumeName"),
    "projected": _check_projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _check_csi,
    "ephemeral": _check_claim,
    "image": _check_image,
}


def below(field: str, path: str) -> Iterator[Cause]:
    """A path that stays below where it begins."""
    if path.startswith("/"):
        yield fielderrors.invalid(field, path, "must be a relative path")
    yield from _no_steps_back(field, path)


def _inside(field: str, path: str) -> Iterator[Cause]:
    yield from below(field, path)
    if path.startswith("..") and not path.startswith("../"):
        yield fielderrors.invalid(field, path, "must not start with '..'")


def _no_steps_back(field: str, path: str) -> Iterator[Cause]:
    if ".." in path.split("/"):
        yield fielderrors.invalid(field, path, "must not contain '..'")
