"""New tokens for service accounts: the answer to a TokenRequest.

`serving` calls it through the door for `serviceaccounts/<name>/token`; the tokens are read again by `accounts`. Time and the id of
a token are handed in as functions.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from kubeloop.objects import instant
from pocketkube.apiserver import fielderrors, refusal
from pocketkube.apiserver.access.accounts import LEGACY, LEGACY_ISSUER, PRIVATE
from pocketkube.apiserver.access.plain import Object, members, text, texts
from pocketkube.apiserver.access.tokens import Signer
from pocketkube.apiserver.access.user import account_name
from pocketkube.apiserver.view import View

GROUP = "authentication.k8s.io"
KIND = "TokenRequest"
DEFAULT_SECONDS = 3600
SHORTEST = 600
LONGEST = 2**32
_WARNED_AFTER = 3607
"""What the admission of pods asks for: such tokens of pods live a year, for clients that never read them again."""
_EXTENDED = 365 * 24 * 3600
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


class Issuer:
    """Makes tokens."""

    def __init__(
        self,
        view: View,
        signer: Signer,
        issuer: str,
        now: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._view = view
        self._signer = signer
        self._issuer = issuer
        self._now = now
        self._new_id = new_id

    def issue(self, namespace: str, name: str, request: Object) -> Object:
        """Answers a request for a token of a service account.

        Raises:
            Refused: there is no such account or bound object, they are others than meant, or the time is out of bounds.
        """
        meta, spec = members(request, "metadata"), members(request, "spec")
        account = self._account(namespace, name, meta)
        uid = account["metadata"].get("uid", "")
        seconds = _lifetime(spec)
        audiences = texts(spec, "audiences") or [self._issuer]
        reference = spec.get("boundObjectRef")
        references = self._references(namespace, name, reference)
        now = self._now()
        private: Object = {"namespace": namespace} | references
        private["serviceaccount"] = {"name": name, "uid": uid}
        lives = seconds
        if "pod" in references and seconds == _WARNED_AFTER and audiences == [self._issuer]:
            lives = _EXTENDED
            private["warnafter"] = int(now.timestamp()) + seconds
        status = {
            "token": self._token(namespace, name, audiences, lives, private),
            "expirationTimestamp": instant.render(now + timedelta(seconds=seconds)),
        }
        stated = {"name": name, "namespace": namespace, "uid": uid}
        return {
            "kind": KIND,
            "apiVersion": f"{GROUP}/v1",
            "metadata": {**meta, **stated, "creationTimestamp": instant.render(now)},
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": reference,
            },
            "status": status,
        }

    def issue_endless(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """A token that is good as long as the secret that holds it."""
        return self._signer.sign(
            {
                "iss": LEGACY_ISSUER,
                f"{LEGACY}namespace": namespace,
                f"{LEGACY}secret.name": secret,
                f"{LEGACY}service-account.name": name,
                f"{LEGACY}service-account.uid": uid,
                "sub": account_name(namespace, name),
            }
        )

    def _token(
        self, namespace: str, name: str, audiences: list[str], seconds: int, private: Object
    ) -> str:
        now = int(self._now().timestamp())
        claims = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "iss": self._issuer,
            "jti": self._new_id(),
            PRIVATE: dict(sorted(private.items())),
            "nbf": now,
            "sub": account_name(namespace, name),
        }
        return self._signer.sign(claims)

    def _account(self, namespace: str, name: str, meta: Object) -> Object:
        for member, right, what in (("name", name, "name"), ("namespace", namespace, "namespace")):
            given = text(meta, member)
            if given and given != right:
                why = f"must match the service account {what} if specified"
                cause = fielderrors.invalid(f"metadata.{member}", given, why)
                raise refusal.invalid(KIND, GROUP, name, [cause])
        account = self._view.get("serviceaccounts", namespace, name)
        if account is None:
            raise refusal.not_found("serviceaccounts", "", name)
        uid, given = account["metadata"].get("uid", ""), text(meta, "uid")
        if given and given != uid:
            why = f"the UID in the token request ({given}) does not match the UID of the service account ({uid})"
            raise refusal.conflict(KIND, GROUP, name, why)
        return account

    def _references(self, namespace: str, account: str, reference: Any) -> Object:
        """The claims about the object a token is bound to: it, and of a pod also its node."""
        if not isinstance(reference, dict):
            return {}
        kind, version, name = (text(reference, m) for m in ("kind", "apiVersion", "name"))
        group = version.rpartition("/")[0]
        if group or kind not in _BINDABLE:
            shown = version if "/" in version else f"/{version}"
            raise refusal.bad_request(f"cannot bind token to object of type {shown}, Kind={kind}")
        plural = _BINDABLE[kind]
        found = self._view.get(plural, "" if kind == "Node" else namespace, name)
        if found is None:
            raise refusal.not_found(plural, "", name)
        claims = self._pod_claims(found, account) if kind == "Pod" else {}
        uid, given = found["metadata"].get("uid", ""), text(reference, "uid")
        if given and given != uid:
            why = (
                f"the UID in the bound object reference ({given}) does not match the UID in record."
                " The object might have been deleted and then recreated"
            )
            raise refusal.conflict(kind, "", name, why)
        return {kind.lower(): {"name": name, "uid": uid}, **claims}

    def _pod_claims(self, pod: Object, account: str) -> Object:
        spec = members(pod, "spec")
        if text(spec, "serviceAccountName") != account:
            raise refusal.bad_request(
                f"cannot bind token for serviceaccount {fielderrors.quote(account)}"
                " to pod running with different serviceaccount name."
            )
        place = text(spec, "nodeName")
        if not place:
            return {}
        node = self._view.get("nodes", "", place)
        if node is None:
            return {"node": {"name": place}}
        return {"node": {"name": place, "uid": node["metadata"].get("uid", "")}}


def _lifetime(spec: Object) -> int:
    seconds = spec.get("expirationSeconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        return DEFAULT_SECONDS
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return seconds
    cause = fielderrors.invalid("spec.expirationSeconds", seconds, why)
    raise refusal.invalid(KIND, GROUP, "", [cause])
