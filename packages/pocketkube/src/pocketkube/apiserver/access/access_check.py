"""The door of access: who asks, whether they may, and what those may hear who ask about it.

`serving` calls `enter` for every request before it does anything else, `issue` for the token of a service account, `answer` for
reviews and `guard` before a role or a binding is written. Everything answers at once; whoever is not let in hears `Refused`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from uuid import UUID

from pocketkube.apiserver.access import escalation, impersonation
from pocketkube.apiserver.access.accounts import Accounts
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.access.authentication import Authenticator
from pocketkube.apiserver.access.impersonation import Impersonation
from pocketkube.apiserver.access.issuing import Issuer
from pocketkube.apiserver.access.plain import Object
from pocketkube.apiserver.access.rbac import Rbac
from pocketkube.apiserver.access.reviews import Reviews
from pocketkube.apiserver.access.tokens import Signer
from pocketkube.apiserver.access.user import MASTERS, User
from pocketkube.apiserver.view import View

ADMIN = User("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a door has to know.

    Attributes:
        signing_key: A PEM private key on the curve P-256, for the tokens of service accounts.
        tokens: Further tokens and whose they are; `kubernetes-admin` is one user among them.
        issuer: Who the tokens of service accounts say has made them, and the audience they are for if none is wished.
        authority: The certificate that clients of this server have to trust; secrets with tokens tell it.
    """

    signing_key: bytes = field(repr=False)
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    issuer: str = "https://kubernetes.default.svc.cluster.local"
    authority: bytes = b""


class AccessCheck:
    """All of access for one server."""

    def __init__(
        self, view: View, settings: Settings, now: Callable[[], datetime], rng: Random
    ) -> None:
        self.issuer = settings.issuer
        self.signer = Signer(settings.signing_key)
        self.rbac = Rbac(view)
        accounts = Accounts(view, self.signer, settings.issuer, now)
        self._authenticator = Authenticator(settings.tokens, accounts, settings.issuer)
        self._impersonation = Impersonation(self.rbac)
        self._reviews = Reviews(self.rbac, self._authenticator, now)
        self._issuer = Issuer(view, self.signer, settings.issuer, now, lambda: _token_id(rng))

    def enter(self, headers: Mapping[str, str], action: Action) -> User:
        """Says as whom a request is carried out; a mapping with repeated keys (a multidict) may repeat headers.

        Raises:
            Refused: 401 nobody knows the token, 400 half an impersonation, 403 not allowed.
        """
        user = self._authenticator.authenticate(_authorization(headers))
        other = impersonation.wanted(headers)
        if other is not None:
            user = self._impersonation.act(user, other, action)
        self.rbac.authorize(user, action)
        return user

    def answer(self, plural: str, namespace: str, review: Object, user: User) -> Object:
        """Answers a review: the object with its status.

        Raises:
            Refused: the question is incomplete.
        """
        return self._reviews.answer(plural, namespace, review, user)

    def issue(self, namespace: str, name: str, request: Object) -> Object:
        """Answers a TokenRequest for a service account: the object with its token.

        Raises:
            Refused: there is no such account, or the request cannot be met.
        """
        return self._issuer.issue(namespace, name, request)

    def issue_endless(self, namespace: str, name: str, uid: str, secret: str) -> str:
        """A token of a service account for a secret to hold; it ends with the secret."""
        return self._issuer.issue_endless(namespace, name, uid, secret)

    def guard(self, user: User, plural: str, obj: Object, old: Object | None) -> None:
        """Lets nobody write a role with more than they have, nor bind one (`roles`, `clusterroles` and their bindings).

        Raises:
            Refused: 403, or 404 for a binding to a role that is not there.
        """
        escalation.guard(self.rbac, user, plural, obj, old)


def _authorization(headers: Mapping[str, str]) -> str:
    return headers.get("Authorization") or headers.get("authorization") or ""


def _token_id(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))
