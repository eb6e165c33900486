"""What somebody wants to do, as authorization sees it.

`serving` makes one for each request, reviews make them from questions.
"""

from typing import NamedTuple


class Action(NamedTuple):
    """A verb on a resource, or on a path if it has one: `Action("get", path="/healthz")`.

    Attributes:
        verb: As RBAC knows it (`list`, `deletecollection`, `impersonate`); of a path the HTTP method in small letters.
        resource: The plural.
        namespace: Empty for what is asked of the whole cluster.
        name: Empty where no single object is meant.
        path: Given exactly for requests that are about no resource.
    """

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
