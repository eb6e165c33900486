"""The tokens of service accounts: what they claim, and whether it is still true.

`authentication` asks whose token it is. Signatures are checked by `tokens`; here the account, and the pod, secret or node a token
is bound to, are looked up each time, so a token ends with them. A minute of grace covers clocks that differ, as it does in
a server. Secrets of the type `kubernetes.io/service-account-token` hold tokens of an older form without an end: they are
believed as long as the secret still holds them.
"""

from base64 import b64decode
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
import hmac
from typing import NamedTuple

from kubeloop.objects import instant
from pocketkube.apiserver.access.plain import Object, members, text, texts
from pocketkube.apiserver.access.rules import quoted
from pocketkube.apiserver.access.tokens import BadToken, Claims, Signer
from pocketkube.apiserver.access.user import AUTHENTICATED, User, account_groups, account_name
from pocketkube.apiserver.view import View

PRIVATE = "kubernetes.io"
LEGACY_ISSUER = "kubernetes/serviceaccount"
LEGACY = "kubernetes.io/serviceaccount/"
_LEEWAY = timedelta(minutes=1)
_EXTRA = "authentication.kubernetes.io/"
INVALIDATED = "service account token has been invalidated"


class Known(NamedTuple):
    """Whose token it is, and for which of the wanted audiences."""

    user: User
    audiences: tuple[str, ...]


class Accounts:
    """Reads the tokens of service accounts."""

    def __init__(
        self, view: View, signer: Signer, issuer: str, now: Callable[[], datetime]
    ) -> None:
        self._view = view
        self._signer = signer
        self._issuer = issuer
        self._now = now

    def whose(self, token: str, audiences: Sequence[str]) -> Known:
        """Whose token it is.

        Raises:
            BadToken: nobody's, or no longer, or not for these audiences.
        """
        claims = self._signer.read(token, self._issuer, LEGACY_ISSUER)
        meant = texts(claims, "aud") or [self._issuer]
        fitting = tuple(audience for audience in meant if audience in audiences)
        if not fitting:
            raise BadToken(
                f"token audiences {quoted(meant)} is invalid for the target audiences {quoted(audiences)}"
            )
        if claims["iss"] == LEGACY_ISSUER:
            return Known(self._legacy(claims, token), fitting)
        self._check_times(claims)
        return Known(self._bound(claims), fitting)

    def _check_times(self, claims: Claims) -> None:
        now = self._now().timestamp()
        grace = _LEEWAY.total_seconds()
        if now + grace < _seconds(claims, "nbf"):
            raise BadToken("service account token is not valid yet")
        if now - grace > _seconds(claims, "exp"):
            raise BadToken("service account token has expired")
        if now + grace < _seconds(claims, "iat"):
            raise BadToken("service account token is issued in the future")

    def _bound(self, claims: Claims) -> User:
        private = members(claims, PRIVATE)
        namespace = text(private, "namespace")
        account = members(private, "serviceaccount")
        self._check_account(namespace, account)
        for kind, plural, home in (("secret", "secrets", namespace), ("pod", "pods", namespace)):
            if kind in private:
                self._check_reference(kind, plural, home, members(private, kind))
        if "node" in private and "pod" not in private:
            self._check_reference("node", "nodes", "", members(private, "node"))
        return _user(namespace, account, claims, private)

    def _check_account(self, namespace: str, account: Object) -> None:
        name = text(account, "name")
        found = self._view.get("serviceaccounts", namespace, name)
        if found is None:
            raise BadToken(f'serviceaccounts "{name}" not found')
        uid = found["metadata"].get("uid", "")
        if uid != text(account, "uid"):
            raise BadToken(
                f"service account UID ({uid}) does not match claim ({text(account, 'uid')})"
            )
        if self._is_gone(found):
            raise BadToken(f"service account {namespace}/{name} has been deleted")

    def _check_reference(self, kind: str, plural: str, namespace: str, reference: Object) -> None:
        found = self._view.get(plural, namespace, text(reference, "name"))
        if found is None:
            raise BadToken(INVALIDATED)
        uid = found["metadata"].get("uid", "")
        if uid != text(reference, "uid"):
            raise BadToken(
                f"{kind} UID ({uid}) does not match service account {kind} ref claim ({text(reference, 'uid')})"
            )
        if self._is_gone(found):
            raise BadToken(INVALIDATED)

    def _is_gone(self, obj: Object) -> bool:
        deleted = text(obj["metadata"], "deletionTimestamp")
        return bool(deleted) and instant.parse(deleted) < self._now() - _LEEWAY

    def _legacy(self, claims: Claims, token: str) -> User:
        namespace, name, secret, uid = (
            text(claims, LEGACY + claim)
            for claim in ("namespace", "service-account.name", "secret.name", "service-account.uid")
        )
        if text(claims, "sub") != account_name(namespace, name):
            raise BadToken("sub claim is invalid")
        kept = self._view.get("secrets", namespace, secret)
        if kept is None or "deletionTimestamp" in kept["metadata"]:
            raise BadToken("Token has been invalidated")
        if not hmac.compare_digest(_kept_token(kept), token.encode()):
            raise BadToken("Token does not match server's copy")
        account = {"name": name, "uid": uid}
        self._check_account(namespace, account)
        return _user(namespace, account, {}, {})


def _user(namespace: str, account: Object, claims: Claims, private: Object) -> User:
    extra: dict[str, tuple[str, ...]] = {}
    if text(claims, "jti"):
        extra[f"{_EXTRA}credential-id"] = (f"JTI={text(claims, 'jti')}",)
    for kind in ("node", "pod"):
        reference = members(private, kind)
        for member in ("name", "uid"):
            if text(reference, member):
                extra[f"{_EXTRA}{kind}-{member}"] = (text(reference, member),)
    return User(
        account_name(namespace, text(account, "name")),
        (*account_groups(namespace), AUTHENTICATED),
        text(account, "uid"),
        extra,
    )


def _seconds(claims: Claims, claim: str) -> float:
    value = claims.get(claim)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadToken("service account token claims could not be validated")
    return value


def _kept_token(secret: Object) -> bytes:
    try:
        return b64decode(text(members(secret, "data"), "token"))
    except (ValueError, binascii.Error):
        return b""
