"""The operations of a resource as OpenAPI tells them.

`openapi` puts them into its documents. kubectl looks up here what a server can do: whether a PATCH takes strategic merge
patches, and whether it takes `fieldValidation`, without which it would check objects by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pocketkube.apiserver.kinds.resource import Resource, Subresource

Operation = dict[str, Any]
Paths = dict[str, dict[str, Any]]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
STATUS, DELETE_OPTIONS, PATCH, API_RESOURCES = (
    f"{_META}{name}" for name in ("Status", "DeleteOptions", "Patch", "APIResourceList")
)
_REF = "#/components/schemas/"
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_NOT_STRATEGIC = tuple(each for each in _PATCHES if "strategic" not in each)
_WRITE = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_SELECT = (
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
)
_LIST = (("allowWatchBookmarks", "boolean"), *_SELECT, ("watch", "boolean"))
_DELETE = (
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)
_QUERIES = {
    "list": _LIST,
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, ("force", "boolean")),
    "delete": _DELETE,
    "deletecollection": (*_DELETE, *_SELECT),
}
_CODES = {"post": ("200", "201", "202"), "put": ("200", "201"), "patch": ("200", "201")}

# Verb, method, action and the word of the operation's id.
_COLLECTION = (
    ("list", "get", "list", "list"),
    ("create", "post", "post", "create"),
    ("deletecollection", "delete", "deletecollection", "deleteCollection"),
)
_ITEM = (
    ("get", "get", "get", "read"),
    ("update", "put", "put", "replace"),
    ("delete", "delete", "delete", "delete"),
    ("patch", "patch", "patch", "patch"),
)
_SUBRESOURCE = (("create", "post", "post", "create"), *_ITEM)


@dataclass(frozen=True, slots=True)
class Names:
    """What a resource and its list are called in OpenAPI; its subresources by their name."""

    kind: str
    list_kind: str
    subresources: dict[str, str]


def paths(resource: Resource, names: Names) -> Paths:
    """All operations of a resource."""
    return {path: operations for path, operations in _paths(resource, names) if operations}


def root(api_version: str) -> Paths:
    """The operation that lists the resources of a version."""
    words = _words(api_version)
    operation = {
        "tags": [_tag(api_version)],
        "operationId": f"get{words}APIResources",
        "responses": _responses("", API_RESOURCES),
    }
    return {f"{prefix(api_version)}/": {"get": operation}}


def prefix(api_version: str) -> str:
    """Where a version is served."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _paths(resource: Resource, names: Names) -> Iterator[tuple[str, dict[str, Any]]]:
    base = prefix(resource.api_version)
    collection = f"{base}/{resource.plural}"
    parameters = [_parameter("pretty", "string")]
    named = [_parameter("name", "string", "path")]
    if resource.namespaced:
        if "list" in resource.verbs:
            everywhere = _operation(resource, names, ("list", "get", "list", "list"))
            everywhere["operationId"] = (
                f"list{_words(resource.api_version)}{resource.kind}ForAllNamespaces"
            )
            yield collection, {"get": everywhere, "parameters": parameters}
        collection = f"{base}/namespaces/{{namespace}}/{resource.plural}"
        parameters = [_parameter("namespace", "string", "path"), *parameters]
    yield collection, _operations(resource, names, _COLLECTION, parameters)
    item = f"{collection}/{{name}}"
    yield item, _operations(resource, names, _ITEM, [*named, *parameters])
    for sub in resource.subresources:
        yield f"{item}/{sub.name}", _of_subresource(resource, sub, names, [*named, *parameters])


def _operations(
    resource: Resource, names: Names, verbs: tuple[tuple[str, str, str, str], ...], parameters: Any
) -> dict[str, Any]:
    found: dict[str, Any] = {
        each[1]: _operation(resource, names, each) for each in verbs if each[0] in resource.verbs
    }
    return found | {"parameters": parameters} if found else {}


def _of_subresource(
    resource: Resource, sub: Subresource, names: Names, parameters: Any
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in _SUBRESOURCE:
        if each[0] in sub.verbs:
            own = Names(names.subresources[sub.name], "", {})
            operation = _operation(resource, own, each)
            operation["operationId"] += sub.name[0].upper() + sub.name[1:]
            group, version = (
                (sub.group, sub.version) if sub.version else (resource.group, resource.version)
            )
            operation["x-kubernetes-group-version-kind"] = _kind(group, version, sub.kind)
            found[each[1]] = operation
    return found | {"parameters": parameters} if found else {}


def _operation(resource: Resource, names: Names, how: tuple[str, str, str, str]) -> Operation:
    _, _, action, word = how
    scope = "Namespaced" if resource.namespaced else ""
    operation: Operation = {
        "tags": [_tag(resource.api_version)],
        "operationId": _id(word, resource.api_version, f"{scope}{resource.kind}"),
    }
    if action in _QUERIES:
        operation["parameters"] = [_parameter(*each) for each in _QUERIES[action]]
    if content := _sent(resource, action, names.kind):
        operation["requestBody"] = {"content": content, "required": not action.startswith("delete")}
    answered = {
        "list": names.list_kind,
        "delete": STATUS,
        "deletecollection": STATUS,
    }.get(action, names.kind)
    operation["responses"] = _responses(action, answered)
    operation["x-kubernetes-action"] = action
    operation["x-kubernetes-group-version-kind"] = _kind(
        resource.group, resource.version, resource.kind
    )
    return operation


def _sent(resource: Resource, action: str, kind: str) -> dict[str, Any]:
    if action == "patch":
        kinds = _PATCHES if resource.strategy.strategic else _NOT_STRATEGIC
        return {each: _schema(PATCH) for each in kinds}
    if action in ("post", "put"):
        return {"*/*": _schema(kind)}
    return {"*/*": _schema(DELETE_OPTIONS)} if action.startswith("delete") else {}


def _responses(action: str, name: str) -> dict[str, Any]:
    content = {each: _schema(name) for each in ("application/json", "application/yaml")}
    codes = _CODES.get(action, ("200",))
    answers: dict[str, Any] = {code: {"description": "", "content": content} for code in codes}
    return answers | {"401": {"description": "Unauthorized"}}


def _schema(name: str) -> dict[str, Any]:
    return {"schema": {"$ref": _REF + name}}


def _parameter(name: str, type_: str, where: str = "query") -> dict[str, Any]:
    parameter = {"name": name, "in": where, "schema": {"type": type_, "uniqueItems": True}}
    return parameter | {"required": True} if where == "path" else parameter


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}


def _id(word: str, api_version: str, what: str) -> str:
    verb, collection = ("delete", "Collection") if word == "deleteCollection" else (word, "")
    return f"{verb}{_words(api_version)}{collection}{what}"


def _words(api_version: str) -> str:
    return "".join(part[0].upper() + part[1:] for part in _parts(api_version))


def _tag(api_version: str) -> str:
    *group, version = _parts(api_version)
    words = group[0] + "".join(part[0].upper() + part[1:] for part in group[1:])
    return f"{words}_{version}"


def _parts(api_version: str) -> list[str]:
    group, _, version = api_version.rpartition("/")
    return [*(group or "core").removesuffix(".k8s.io").split("."), version]
