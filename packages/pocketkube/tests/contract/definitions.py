"""Definitions of kinds for the contract: a small kind with every feature a test asks for."""

from functools import partial
import secrets
from typing import Any

from tests.contract.objects import Home, everywhere
from tests.contract.wire import Answer, Server

Object = dict[str, Any]

GROUP = "contract.example.com"

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def schema(spec: Object | None = None, **more: Any) -> Object:
    """A schema whose spec has these properties."""
    properties: Object = {"spec": {"type": "object", "properties": spec or {}, **more}}
    properties["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": properties}


def version(name: str = "v1", openapi: Object | None = None, **more: Any) -> Object:
    return {
        "name": name,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": openapi or schema({"text": TEXT, "number": NUMBER})},
        **more,
    }


def definition(names: "Names", *versions: Object, scope: str = "Namespaced", **more: Any) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{names.group}"},
        "spec": {
            "group": names.group,
            "scope": scope,
            "names": {
                "plural": names.plural,
                "singular": names.singular,
                "kind": names.kind,
                **more,
            },
            "versions": list(versions) or [version()],
        },
    }


class Names:
    """What a kind of the test's own is called.

    Kinds of all tests are in one group, because a real server takes two seconds for a new one.
    """

    def __init__(self, group: str = GROUP) -> None:
        self.group = group
        self.singular = f"widget{secrets.token_hex(4)}"
        self.plural = f"{self.singular}s"
        self.kind = self.singular.capitalize()
        self.definition = everywhere("customresourcedefinitions", f"{self.plural}.{group}")

    def invalid(self, name: str, rest: str) -> str:
        """The words of a refusal."""
        return f'{self.kind}.{self.group} "{name}" is invalid: {rest}'


class Kind(Names):
    """A kind that is served, and the paths of its objects."""

    def __init__(self, server: Server, home: Home, group: str = GROUP) -> None:
        super().__init__(group)
        self.server = server
        self.home = home

    def path(self, *rest: str, version: str = "v1") -> str:
        base = f"/apis/{self.group}/{version}/namespaces/{self.home.name}/{self.plural}"
        return "/".join((base, *rest))

    def everywhere(self, *rest: str, version: str = "v1") -> str:
        return "/".join((f"/apis/{self.group}/{version}/{self.plural}", *rest))

    def object(
        self, name: str, spec: Object | None = None, version: str = "v1", **more: Any
    ) -> Object:
        return {
            "apiVersion": f"{self.group}/{version}",
            "kind": self.kind,
            "metadata": {"name": name},
            "spec": spec or {},
            **more,
        }

    async def make(self, name: str, spec: Object | None = None, **more: Any) -> Answer:
        return await self.server.post(self.path(), self.object(name, spec, **more))


def conditions(found: Object) -> dict[str, str]:
    """The conditions of a definition."""
    return {each["type"]: each["status"] for each in found["status"].get("conditions") or []}


def established(answer: Answer) -> bool:
    return conditions(answer.json).get("Established") == "True"


async def defined(
    server: Server, home: Home, *versions: Object, group: str = GROUP, **more: Any
) -> Kind:
    """Makes a definition and waits until its objects can be made."""
    kind = Kind(server, home, group)
    body = definition(kind, *versions, **more)
    (await server.post(everywhere("customresourcedefinitions"), body)).ok(201)
    for each in versions or [version()]:
        if each["served"]:
            path = kind.everywhere(version=each["name"])
            await server.until(partial(server.get, path), lambda answer: answer.status == 200)
    await server.until(partial(server.get, kind.definition), established)
    return kind
