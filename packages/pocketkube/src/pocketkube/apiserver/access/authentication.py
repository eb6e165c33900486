"""Who asks: known tokens, tokens of service accounts, or nobody in particular.

The door asks with the headers of a request, a TokenReview with a token. Without a token a request is anonymous; with one that
proves nothing it is refused, because whoever shows a token wants to be more than that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pocketkube.apiserver import refusal
from pocketkube.apiserver.access.accounts import Accounts, Known
from pocketkube.apiserver.access.tokens import BadToken
from pocketkube.apiserver.access.user import ANONYMOUS, AUTHENTICATED, User


class Authenticator:
    """Knows tokens."""

    def __init__(self, tokens: Mapping[str, User], accounts: Accounts, audience: str) -> None:
        self._tokens = {token: _authenticated(user) for token, user in tokens.items()}
        """A dictionary compares texts only if their keyed hashes agree: how long a look-up takes tells nothing about a token."""
        self._accounts = accounts
        self._audiences = (audience,)

    def authenticate(self, authorization: str) -> User:
        """Who sends this `Authorization` header; the empty one means nobody.

        Raises:
            Refused: 401.
        """
        scheme, _, rest = authorization.strip().partition(" ")
        token = rest.partition(" ")[0]
        if scheme.lower() != "bearer" or not token:
            return ANONYMOUS
        try:
            return self.whose(token).user
        except BadToken:
            raise refusal.unauthorized() from None

    def whose(self, token: str, audiences: Sequence[str] = ()) -> Known:
        """Whose token it is, if it is meant for one of these audiences, or for this server.

        Raises:
            BadToken: nobody's.
        """
        wanted = audiences or self._audiences
        user = self._tokens.get(token)
        if user is None:
            return self._accounts.whose(token, wanted)
        fitting = tuple(audience for audience in self._audiences if audience in wanted)
        if not fitting:
            raise BadToken
        return Known(user, fitting)


def _authenticated(user: User) -> User:
    if AUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))
