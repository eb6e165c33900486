"""The base of the strategies of all kinds of Kubernetes: their objects are read along the types that the table describes.

`catalogue` makes one for each kind, or one of a subclass where a kind has rules of its own.
"""

from functools import cache

from pocketkube.apiserver import refusal
from pocketkube.apiserver.kinds.strategy import Object, Strategy
from pocketkube.apiserver.managed_fields import endpoints
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.types import reading
from pocketkube.apiserver.types.mismatch import Mismatch


class Unreadable(refusal.Refused):
    """A member has the wrong type; `why` is the bare sentence, which answers to patches wrap in other words."""

    def __init__(self, api_version: str, kind: str, why: str) -> None:
        message = f'{kind} in version "{api_version.rpartition("/")[2]}" cannot be handled as a {kind}: {why}'
        super().__init__(refusal.bad_request(message).status)
        self.why = why


class Builtin(Strategy):
    """A kind of Kubernetes of which nothing is known but its type."""

    def __init__(self, api_version: str, kind: str) -> None:
        self.api_version = api_version
        self.kind = kind
        self._read = reading.of_kind(api_version, kind)

    def endpoint(self, subresource: str = "") -> Endpoint:
        return _endpoint(self.api_version, self.kind, subresource)

    def read(self, obj: Object) -> list[str]:
        try:
            return self._read(obj)
        except Mismatch as mismatch:
            raise Unreadable(self.api_version, self.kind, str(mismatch)) from None


@cache
def _endpoint(api_version: str, kind: str, subresource: str) -> Endpoint:
    return endpoints.builtin(api_version, kind, subresource)
