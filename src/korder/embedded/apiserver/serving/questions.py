"""Reviews and token requests: creates that store nothing and are answered by access.

`assembly` registers them as special parts of their resources.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from korder.embedded.apiserver.access.user import User
from korder.embedded.apiserver.kinds.resource import Resource
from korder.embedded.apiserver.serving import bodies, incoming, options
from korder.embedded.apiserver.serving.call import Answer, Call, Special

Object = dict[str, Any]
_TOKEN = "token"  # noqa: S105  the name of a subresource


class Oracle(Protocol):
    """Who knows the answers; `access.Door` does."""

    def answer(self, plural: str, namespace: str, review: Object, user: User) -> Object: ...

    def issue(self, namespace: str, name: str, request: Object) -> Object: ...


def specials(
    resources: tuple[Resource, ...], oracle: Oracle
) -> Mapping[tuple[str, str, str], Special]:
    """The special parts for all reviews among the resources, and for the tokens of service accounts."""

    async def review(call: Call) -> Answer:
        asked = incoming.read(call, options.write(call.route, "CreateOptions"))
        incoming.settle(call, asked)
        plural, namespace = call.resource.plural, call.route.namespace
        return Answer(oracle.answer(plural, namespace, asked, call.user), code=201)

    async def token(call: Call) -> Answer:
        content_type = call.request.headers.get("Content-Type", "")
        asked, _ = bodies.read(call.request.body, content_type, call.resource, "TokenRequest")
        return Answer(oracle.issue(call.route.namespace, call.route.name, asked), code=201)

    questions: dict[tuple[str, str, str], Special] = {
        (each.stored, "", "create"): review for each in resources if each.virtual
    }
    return {**questions, ("serviceaccounts", _TOKEN, "create"): token}
