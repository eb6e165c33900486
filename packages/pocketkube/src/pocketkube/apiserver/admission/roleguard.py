"""Lets nobody give away more than they have: roles and bindings are held against what their writer may do.

A real server asks this in the storage of these kinds: of the object as webhooks left it, before it is checked.
"""

from collections.abc import Callable

from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Object, Operation, Plugin

GROUP = "rbac.authorization.k8s.io"

Guard = Callable[[User, str, Object, Object | None], None]
"""Refuses a writer of a role or binding (plural, new, old)."""


class RoleGuard(Plugin):
    """Asks access about every write of RBAC objects."""

    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def complete(self, attributes: Attributes) -> None:
        if attributes.resource.group == GROUP and attributes.object is not None:
            plural = attributes.resource.plural
            self._guard(attributes.user, plural, attributes.object, attributes.old)
