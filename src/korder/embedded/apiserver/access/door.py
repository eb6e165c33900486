"""The door of access: who asks, whether they may, and what those may hear who ask about it.

`serving` calls `enter` for every request before it does anything else, `issue` for the token of a service account, `answer` for
reviews and `guard` before a role or a binding is written. Everything answers at once; whoever is not let in hears `Refused`.
"""

from collections.abc import Mapping
from typing import Any

from korder.embedded.apiserver.access.action import Action
from korder.embedded.apiserver.access.user import User

Object = dict[str, Any]


class Door:
    """All of access for one server."""

    def enter(self, headers: Mapping[str, str], action: Action) -> User:
        """Says as whom a request is carried out; a mapping with repeated keys (a multidict) may repeat headers.

        Raises:
            Refused: 401 nobody knows the token, 400 half an impersonation, 403 not allowed.
        """
        raise NotImplementedError

    def answer(self, plural: str, namespace: str, review: Object, user: User) -> Object:
        """Answers a review: the object with its status."""
        raise NotImplementedError

    def issue(self, namespace: str, name: str, request: Object) -> Object:
        """Answers a TokenRequest for a service account: the object with its token."""
        raise NotImplementedError

    def guard(self, user: User, plural: str, obj: Object, old: Object | None) -> None:
        """Lets nobody write a role with more than they have, nor bind one (`roles`, `clusterroles` and their bindings)."""
        raise NotImplementedError
