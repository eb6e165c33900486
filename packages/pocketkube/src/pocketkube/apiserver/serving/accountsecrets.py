"""Secrets of the type `kubernetes.io/service-account-token`: filled with a token without an end, and gone with their account.

A real cluster has a controller for it, which holds the key that signs tokens; here only the server has it. It is done before the
write of the secret, or the deletion of the account, is answered. `assembly` registers both followers.
"""

from base64 import b64encode
from typing import Any

from pocketkube.apiserver.access.access_check import AccessCheck
from pocketkube.apiserver.managed_fields import apply as ownership, endpoints
from pocketkube.apiserver.serving.call import ATTEMPTS, World
from pocketkube.apiserver.storage import Conflict, Delete, Key, NotFound, Record, Update
from pocketkube.apiserver.view import decoded, draft, fresh

TYPE = "kubernetes.io/service-account-token"
SECRETS, ACCOUNTS = "secrets", "serviceaccounts"
MANAGER = "kube-controller-manager"
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"

Object = dict[str, Any]


class AccountSecrets:
    """Follows the writes of secrets and service accounts; its own writes it does not follow."""

    def __init__(self, world: World, access_checker: AccessCheck, authority: bytes) -> None:
        self._world = world
        self._access_check = access_checker
        self._authority = authority
        self._endpoint = endpoints.builtin("v1", "Secret")

    async def settle(self) -> None:
        """Fills or removes what was written before the server ended and was not followed."""
        for record in self._world.storage.page(SECRETS).records:
            await self.follow(record.key)

    async def follow(self, key: Key) -> None:
        """Fills a secret that was written, or removes it if its account is not there."""
        for _ in range(ATTEMPTS):
            record = self._world.storage.get(key)
            if record is None or decoded(record).get("type") != TYPE:
                return
            try:
                await self._settle(record)
            except (Conflict, NotFound):
                continue
            return

    async def follow_account(self, key: Key) -> None:
        """Removes the secrets of an account that is gone."""
        if self._world.storage.get(key) is not None:
            return
        for record in self._world.storage.page(SECRETS, key.namespace).records:
            if _annotations(decoded(record)).get(_NAME) == key.name:
                await self.follow(record.key)

    async def _settle(self, record: Record) -> None:
        secret = decoded(record)
        account = self._account(record.key.namespace, _annotations(secret))
        if account is None:
            if not secret["metadata"].get("finalizers"):
                await self._world.storage.write(Delete(record.key, draft(secret), record.version))
            return
        wanted = self._filled(record, account)
        if wanted == secret:
            return
        owned = ownership.update(self._endpoint, secret, wanted, MANAGER, self._world.now())
        await self._world.storage.write(Update(record.key, draft(owned), record.version))

    def _account(self, namespace: str, annotations: Object) -> Object | None:
        found = self._world.view.get(ACCOUNTS, namespace, annotations.get(_NAME, ""))
        if (
            found is None
            or annotations.get(_UID, found["metadata"]["uid"]) != found["metadata"]["uid"]
        ):
            return None
        return found

    def _filled(self, record: Record, account: Object) -> Object:
        secret, key = fresh(record), record.key
        uid = account["metadata"]["uid"]
        meta, data = secret["metadata"], dict(secret.get("data") or {})
        meta["annotations"] = {**_annotations(secret), _UID: uid}
        if self._authority:
            data["ca.crt"] = _encoded(self._authority)
        data["namespace"] = _encoded(key.namespace.encode())
        if not data.get("token"):
            token = self._access_check.issue_endless(
                key.namespace, _annotations(secret)[_NAME], uid, key.name
            )
            data["token"] = _encoded(token.encode())
        return {**secret, "data": data}


def _annotations(secret: Object) -> Object:
    found: Object = secret["metadata"].get("annotations") or {}
    return found


def _encoded(raw: bytes) -> str:
    return b64encode(raw).decode()
