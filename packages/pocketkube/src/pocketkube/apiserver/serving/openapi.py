"""OpenAPI of everything that is served: the third version by group, the second in one piece.

`server` makes one for each set of resources and asks it for paths below `/openapi`. Documents are made when somebody asks
and kept as bytes; the hashes in the index are of what the documents are made from, so that the index needs none of them.
There are no descriptions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
import hashlib
import json
from typing import Any

from pocketkube.apiserver import refusal
from pocketkube.apiserver.kinds.resource import Resource, Subresource
from pocketkube.apiserver.serving import openapipaths, openapiproto, openapiv2
from pocketkube.apiserver.serving.openapipaths import Names
from pocketkube.apiserver.types import schemas, table

_ROOT = "/openapi/v3"
_V2 = "/openapi/v2"
_PROTO_V2 = "application/com.github.proto-openapi.spec.v2"
_ALWAYS = ("meta/v1.Status", "meta/v1.DeleteOptions", "meta/v1.APIResourceList")
_INFO = {"title": "Kubernetes", "version": "1.36"}
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"


@dataclass(frozen=True, slots=True)
class Document:
    """An answer; its hash is its ETag."""

    body: bytes
    hash: str
    media: str = "application/json"


class OpenAPI:
    """The documents for some resources.

    Attributes:
        documents: What was made so far; handed to the next one as `earlier`, what did not change is taken over.
    """

    def __init__(
        self, resources: Iterable[Resource], earlier: Mapping[str, Document] | None = None
    ) -> None:
        self._groups: dict[str, list[Resource]] = {}
        for each in resources:
            self._groups.setdefault(openapipaths.prefix(each.api_version)[1:], []).append(each)
        self._hashes = {path: _fingerprint(group) for path, group in self._groups.items()}
        self.documents = {
            path: document
            for path, document in (earlier or {}).items()
            if self._hashes.get(path) == document.hash
        }

    def find(self, path: str, accept: str = "") -> Document | None:
        """Finds the document at a path; None if there is none.

        Raises:
            Refused: the client takes neither JSON nor, of the second version, Protocol Buffers (406).
        """
        if path == _V2:
            return self._second(accept)
        if path.rstrip("/") == _ROOT:
            return self._kept("", self._index)
        group = path.removeprefix(f"{_ROOT}/")
        if group not in self._groups:
            return None
        if not _takes(accept, "application/json"):
            raise refusal.failure(406, "NotAcceptable", "only application/json is served here")
        return self._kept(group, lambda: self._group(group))

    def _kept(self, key: str, make: Callable[[], Document]) -> Document:
        if key not in self.documents:
            self.documents[key] = make()
        return self.documents[key]

    def _index(self) -> Document:
        entries = {
            path: {"serverRelativeURL": f"{_ROOT}/{path}?hash={self._hashes[path]}"}
            for path in sorted(self._groups)
        }
        return _document({"paths": entries})

    def _group(self, path: str) -> Document:
        group = self._groups[path]
        document = {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": _paths(group),
            "components": {"schemas": _definitions(group, 3)},
        }
        return Document(json.dumps(document, separators=(",", ":")).encode(), self._hashes[path])

    def _second(self, accept: str) -> Document:
        if _takes(accept, "application/json"):
            return self._kept("v2", lambda: _document(self._swagger()))
        if not accept.startswith(_PROTO_V2):
            raise refusal.failure(406, "NotAcceptable", "only application/json is served here")
        return self._kept("v2.proto", self._proto)

    def _swagger(self) -> dict[str, Any]:
        paths: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        for group in self._groups.values():
            paths |= _paths(group)
            definitions |= _definitions(group, 2)
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": {path: openapiv2.item(each) for path, each in sorted(paths.items())},
            "definitions": dict(sorted(definitions.items())),
        }

    def _proto(self) -> Document:
        body = openapiproto.encode(self._swagger())
        return Document(body, _hash(body), f"{_PROTO_V2}.v1.0+protobuf")


def _document(content: Mapping[str, Any]) -> Document:
    body = json.dumps(content, separators=(",", ":")).encode()
    return Document(body, _hash(body))


def _hash(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _takes(accept: str, media: str) -> bool:
    wanted = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    return not accept or any(each in (media, "*/*", "application/*") for each in wanted)


def _fingerprint(group: Sequence[Resource]) -> str:
    made_from = [table.digest()]
    for each in group:
        facts = (each.api_version, each.kind, each.plural, each.namespaced, each.verbs)
        made_from.append(repr((facts, each.subresources, each.list_kind, each.strategy.strategic)))
        made_from.append(json.dumps(each.strategy.schema(), sort_keys=True))
    return _hash("\n".join(made_from).encode())


def _paths(group: Sequence[Resource]) -> dict[str, Any]:
    found = openapipaths.root(group[0].api_version)
    for each in group:
        found |= openapipaths.paths(each, _names(each))
    return dict(sorted(found.items()))


def _names(resource: Resource) -> Names:
    subresources = {each.name: _name_of_part(resource, each) for each in resource.subresources}
    list_kind = resource.list_kind or f"{resource.kind}List"
    if resource.strategy.schema() is None:
        return Names(
            _type_name(resource.api_version, resource.kind),
            _type_name(resource.api_version, list_kind),
            subresources,
        )
    package = _custom_package(resource)
    return Names(f"{package}.{resource.kind}", f"{package}.{list_kind}", subresources)


def _custom_package(resource: Resource) -> str:
    return ".".join((*reversed(resource.group.split(".")), resource.version))


def _name_of_part(resource: Resource, part: Subresource) -> str:
    if part.version:
        return _type_name(f"{part.group}/{part.version}" if part.group else part.version, part.kind)
    if resource.strategy.schema() is None:
        return _type_name(resource.api_version, part.kind)
    return f"{_custom_package(resource)}.{part.kind}"


def _type_name(api_version: str, kind: str) -> str:
    try:
        return schemas.openapi_name(table.kind(api_version, kind).name)
    except table.UnknownType:
        return openapipaths.STATUS


def _definitions(group: Sequence[Resource], version: int) -> dict[str, Any]:
    kinds = [*_ALWAYS]
    found: dict[str, Any] = {openapipaths.PATCH: {"type": "object"}}
    for each in group:
        if (schema := each.strategy.schema()) is not None:
            found |= _custom(each, schema, version)
            kinds += ("meta/v1.ObjectMeta", "meta/v1.ListMeta")
        kinds += _types_of(each)
    for name in schemas.closure(tuple(dict.fromkeys(kinds))):
        found[schemas.openapi_name(name)] = _kinded(name, version)
    return dict(sorted(found.items()))


def _types_of(resource: Resource) -> list[str]:
    own = resource.api_version
    wanted = [
        (f"{part.group}/{part.version}" if part.group else part.version or own, part.kind)
        for part in resource.subresources
    ]
    wanted += [(own, resource.kind), (own, resource.list_kind or f"{resource.kind}List")]
    known = set(table.kinds())
    return [table.kind(*each).name for each in wanted if each in known]


def _kinded(name: str, version: int) -> dict[str, Any]:
    """The definition of a type, with the kind it is, if it is one."""
    definition = schemas.definition(name, version)
    package, kind = table.package(name), name.rpartition(".")[2]
    if (package.api_version, kind) not in table.kinds():
        return definition
    group, _, group_version = package.api_version.rpartition("/")
    return definition | _is_kind(group, group_version, kind)


def _is_kind(group: str, version: str, kind: str) -> dict[str, Any]:
    kinds = [{"group": group, "kind": kind, "version": version}]
    return {"x-kubernetes-group-version-kind": kinds}


def _custom(resource: Resource, schema: Mapping[str, Any], version: int) -> dict[str, Any]:
    names = _names(resource)
    described = openapiv2.without_alternatives(schema) if version == 2 else dict(schema)
    if described.get("type") == "object":
        described["properties"] = {
            **described.get("properties", {}),
            **_TYPE_META,
            "metadata": schemas.ref(_OBJECT_META, version),
        }
    items = {"type": "array", "items": schemas.ref(names.kind, version)}
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {**_TYPE_META, "items": items, "metadata": schemas.ref(_LIST_META, version)},
    }
    list_kind = names.list_kind.rpartition(".")[2]
    return {
        names.kind: described | _is_kind(resource.group, resource.version, resource.kind),
        names.list_kind: listed | _is_kind(resource.group, resource.version, list_kind),
    }


_TYPE_META = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
