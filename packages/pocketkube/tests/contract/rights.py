"""Roles and bindings for the contract: rights of a user of the test's own."""

from typing import Any

from tests.contract.objects import Home, simple, unique
from tests.contract.wire import Answer, Server

RBAC = "rbac.authorization.k8s.io/v1"


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {
        "verbs": verbs.split(),
        "apiGroups": [group],
        "resources": resources.split(),
        **more,
    }


class Rights:
    """Gives rights to a user of the test's own."""

    def __init__(self, server: Server, home: Home) -> None:
        self.server = server
        self.home = home
        self.user = unique("user")

    async def grant(self, *rules: dict[str, Any], name: str = "role") -> None:
        role = simple(RBAC, "Role", name, rules=list(rules))
        (await self.server.post(self.home("roles"), role)).ok(201)
        binding = simple(
            RBAC,
            "RoleBinding",
            name,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            subjects=[{"kind": "User", "name": self.user, "apiGroup": "rbac.authorization.k8s.io"}],
        )
        (await self.server.post(self.home("rolebindings"), binding)).ok(201)
        await self.server.until(self.ask(name), lambda answer: answer.status != 403)

    def ask(self, marker: str) -> Any:
        """Roles come into force a little later; the newest binding allows reading config maps as a sign."""
        return lambda: self.server.get(self.home("configmaps"), user=self.user)

    async def get(self, path: str, **query: Any) -> Answer:
        return await self.server.get(path, user=self.user, **query)


SIGN = rule("list", "configmaps")
