"""ServiceAccount: every pod runs as somebody, with that somebody's token, certificate and pull secrets mounted.

A new namespace gets its `default` account from a controller a moment after it was made, so that one is waited for.
"""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

from pocketkube.apiserver.admission.attributes import Attributes, Object, Plugin
from pocketkube.apiserver.admission.verdicts import (
    CREATE,
    UPDATE,
    concerns,
    containers,
    denied,
    items,
    own,
    part,
    written,
)
from pocketkube.apiserver.view import View

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CERTIFICATE = "kube-root-ca.crt"
_VOLUME = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_DEFAULT = "default"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_TRIES = 10


class ServiceAccount(Plugin):
    """Gives pods their account."""

    resources = frozenset({"pods"})
    operations = frozenset({CREATE, UPDATE})

    def __init__(self, view: View, rng: Random) -> None:
        self._view = view
        self._rng = rng

    async def mutate(self, attributes: Attributes) -> None:
        if not concerns(attributes, "pods", CREATE):
            return
        pod = written(attributes)
        spec = own(pod, "spec")
        if not _is_mirror(pod):
            name = spec.get("serviceAccountName") or _DEFAULT
            spec["serviceAccountName"] = spec["serviceAccount"] = name
            account = await self._account(attributes, name)
            if _mounts_token(account, spec):
                self._mount(spec)
            if not items(spec, "imagePullSecrets") and items(account, "imagePullSecrets"):
                spec["imagePullSecrets"] = [dict(each) for each in account["imagePullSecrets"]]
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        if concerns(attributes, "pods", CREATE):
            await self._check_pod(attributes)
        elif (
            attributes.resource.stored == "pods"
            and attributes.subresource == "ephemeralcontainers"
            and attributes.operation is UPDATE
        ):
            spec = part(written(attributes), "spec")
            account = await self._named(attributes, spec)
            if _enforces(account):
                _limit(
                    attributes,
                    account,
                    _secrets_of(spec, "ephemeralContainers", "ephemeral container"),
                )

    async def _check_pod(self, attributes: Attributes) -> None:
        pod = written(attributes)
        spec = part(pod, "spec")
        if _is_mirror(pod):
            _check_mirror(attributes, spec)
            return
        account = await self._named(attributes, spec)
        if _enforces(account):
            _limit(attributes, account, _references(spec))
            _limit_pulls(attributes, account, spec)

    async def _named(self, attributes: Attributes, spec: Object) -> Object:
        name = spec.get("serviceAccountName")
        if not name:
            pod = part(written(attributes), "metadata").get("name", "")
            why = f"no service account specified for pod {attributes.namespace}/{pod}"
            raise denied(attributes, why)
        return await self._account(attributes, name)

    async def _account(self, attributes: Attributes, name: str) -> Object:
        pause = (self._rng.randrange(100) + 100) / 1000 if name == _DEFAULT else 0
        for attempt in range(_TRIES if name == _DEFAULT else 1):
            found = self._view.get("serviceaccounts", attributes.namespace, name)
            if found is not None:
                return found
            if pause and attempt < _TRIES - 1:
                await asyncio.sleep(pause)
        where = f"{attributes.namespace}/{name}"
        why = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise denied(attributes, why)

    def _mount(self, spec: Object) -> None:
        names = (each.get("name", "") for each in items(spec, "volumes"))
        given = next((name for name in names if name.startswith(_VOLUME)), None)
        volume = given or _VOLUME + "".join(self._rng.choices(_LETTERS, k=5))
        needed = False
        for container in containers(spec):
            mounts = items(container, "volumeMounts")
            if not any(mount.get("mountPath") == MOUNT_PATH for mount in mounts):
                mount = {"name": volume, "readOnly": True, "mountPath": MOUNT_PATH}
                container["volumeMounts"] = [*mounts, mount]
                needed = True
        if needed and given is None:
            spec["volumes"] = [*items(spec, "volumes"), _token_volume(volume)]


def _token_volume(name: str) -> Object:
    token = {"expirationSeconds": 3607, "path": "token"}
    certificate = {"name": ROOT_CERTIFICATE, "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": token},
                {"configMap": certificate},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
            ],
            "defaultMode": 420,
        },
    }


def _mounts_token(account: Object, spec: Object) -> bool:
    """The pod's wish goes before the account's."""
    for wish in (spec, account):
        if wish.get("automountServiceAccountToken") is not None:
            return bool(wish["automountServiceAccountToken"])
    return True


def _is_mirror(pod: Object) -> bool:
    return _MIRROR in part(part(pod, "metadata"), "annotations")


def _enforces(account: Object) -> bool:
    return part(part(account, "metadata"), "annotations").get(_ENFORCED) in _TRUE


def _check_mirror(attributes: Attributes, spec: Object) -> None:
    if spec.get("serviceAccountName"):
        raise denied(attributes, "a mirror pod may not reference service accounts")
    if items(spec, "imagePullSecrets") or any(True for _ in _references(spec)):
        raise denied(attributes, "a mirror pod may not reference secrets")
    sources = [
        source
        for volume in items(spec, "volumes")
        for source in items(part(volume, "projected"), "sources")
    ]
    if any(source.get("secret") for source in sources):
        raise denied(attributes, "a mirror pod may not reference secrets")
    if any(source.get("serviceAccountToken") for source in sources):
        why = "a mirror pod may not use ServiceAccountToken volume projections"
        raise denied(attributes, why)


def _references(spec: Object) -> Iterator[tuple[str, str]]:
    """Every secret a pod names, and where it does."""
    for volume in items(spec, "volumes"):
        secret = volume.get("secret")
        if secret is not None:
            yield "volume with", secret.get("secretName", "")
    yield from _secrets_of(spec, "initContainers", "init container")
    yield from _secrets_of(spec, "containers", "container")


def _secrets_of(spec: Object, member: str, word: str) -> Iterator[tuple[str, str]]:
    for container in items(spec, member):
        name = container.get("name", "")
        for variable in items(container, "env"):
            ref: Any = part(variable, "valueFrom").get("secretKeyRef")
            if ref is not None:
                where = f"{word} {name} with envVar {variable.get('name', '')} referencing"
                yield where, ref.get("name", "")
        for source in items(container, "envFrom"):
            if source.get("secretRef") is not None:
                yield f"{word} {name} with envFrom referencing", source["secretRef"].get("name", "")


def _limit(attributes: Attributes, account: Object, named: Iterator[tuple[str, str]]) -> None:
    allowed = {each.get("name", "") for each in items(account, "secrets")}
    for where, secret in named:
        if secret not in allowed:
            raise denied(
                attributes,
                f'{where} secret.secretName="{secret}" is not allowed because service account '
                f"{account['metadata']['name']} does not reference that secret",
            )


def _limit_pulls(attributes: Attributes, account: Object, spec: Object) -> None:
    allowed = {each.get("name", "") for each in items(account, "imagePullSecrets")}
    for index, each in enumerate(items(spec, "imagePullSecrets")):
        if each.get("name", "") not in allowed:
            raise denied(
                attributes,
                f'imagePullSecrets[{index}].name="{each.get("name", "")}" is not allowed because service '
                f"account {account['metadata']['name']} does not reference that imagePullSecret",
            )
