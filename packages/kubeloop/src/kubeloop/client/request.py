"""Requests to an API server, built without sending them.

`kubeloop.client.client` and `kubeloop.client.watch` send what is made here; tests and an embedded server's router can read the same tables.
Preconditions travel in the three ways the API knows: in the options of a delete, in the metadata of an object or merge
patch, and as leading `test` operations of a JSON patch, because that dialect has no other place for them.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar
from urllib.parse import quote

import msgspec

from kubeloop.client import bodies
from kubeloop.client.bodies import ANY, Preconditions
from kubeloop.net.http import Request
from kubeloop.objects.meta import JSON, HasMetadata, Key, Kind
from kubeloop.objects.plan import Body, PatchType

T = TypeVar("T", bound=HasMetadata)

Query = Mapping[str, str | int | bool]

ACCEPT_JSON = {"Accept": "application/json"}


class Propagation(StrEnum):
    """What happens to the children of a deleted object."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class FieldValidation(StrEnum):
    """What the server does with fields it does not know."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


class Selection(msgspec.Struct, frozen=True):
    """Which objects of a kind: an empty namespace means all of them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""


class Page(msgspec.Struct, frozen=True):
    """Which part of a list, and how fresh; the defaults ask for all of it as it is now."""

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    resource_version_match: str = ""


class Options(msgspec.Struct, frozen=True):
    """What all writes can say; `force` is for apply only and takes fields from other managers."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation | None = None
    force: bool = False


class Deletion(msgspec.Struct, frozen=True):
    """How to delete."""

    preconditions: Preconditions = ANY
    grace_seconds: int | None = None
    propagation: Propagation | None = None
    dry_run: bool = False


PLAIN = Options()
AT_ONCE = Deletion()


def get(kind: Kind[T], key: Key, subresource: str = "", resource_version: str = "") -> Request:
    """Reads one object or a subresource of it."""
    return _read(_object_path(kind, key, subresource), {"resourceVersion": resource_version})


def list_page(kind: Kind[T], selection: Selection, page: Page) -> Request:
    """Reads one page of a list."""
    query: Query = {
        **_selectors(selection),
        "limit": page.limit,
        "continue": page.continue_token,
        "resourceVersion": page.resource_version,
        "resourceVersionMatch": page.resource_version_match,
    }
    return _read(_collection_path(kind, selection.namespace), query)


def watch(
    kind: Kind[T],
    selection: Selection,
    *,
    resource_version: str = "",
    timeout_seconds: int = 0,
    initial_events: bool = False,
) -> Request:
    """Follows changes after `resource_version`, or streams the present state first if `initial_events`."""
    query: Query = {
        "watch": True,
        **_selectors(selection),
        "allowWatchBookmarks": True,
        "resourceVersion": resource_version,
        "timeoutSeconds": timeout_seconds,
        "sendInitialEvents": initial_events,
        "resourceVersionMatch": "NotOlderThan" if initial_events else "",
    }
    return _read(_collection_path(kind, selection.namespace), query)


def create(kind: Kind[T], body: Body, namespace: str = "", options: Options = PLAIN) -> Request:
    """Makes an object; its namespace may be said in the body instead."""
    content = bodies.named(body, kind)
    path = _collection_path(
        kind, namespace or bodies.metadata(content, "namespace"), must_be_one=True
    )
    return _write("POST", path, content, _options(options))


def replace(kind: Kind[T], body: Body, subresource: str = "", options: Options = PLAIN) -> Request:
    """Puts a whole object in the place of the one it names; a resourceVersion in it is a precondition."""
    content = bodies.named(body, kind, subresource)
    key = Key(bodies.metadata(content, "namespace"), bodies.metadata(content, "name"))
    return _write("PUT", _object_path(kind, key, subresource), content, _options(options))


def patch(
    kind: Kind[T],
    key: Key,
    body: Body | JSON,
    type: PatchType,  # noqa: A002  the word the API uses
    *,
    subresource: str = "",
    preconditions: Preconditions = ANY,
    options: Options = PLAIN,
) -> Request:
    """Changes an object or a subresource of it."""
    content = bodies.plain(body)
    if type is PatchType.APPLY:
        content = bodies.addressed(bodies.named(body, kind, subresource), key)
    query = dict(_options(options))
    if type is PatchType.APPLY and options.force:
        query["force"] = True
    return _write(
        "PATCH",
        _object_path(kind, key, subresource),
        bodies.conditional(content, type, preconditions),
        query,
        media_type=type,
    )


def post(
    kind: Kind[T],
    key: Key,
    subresource: str,
    body: Body,
    options: Options = PLAIN,
) -> Request:
    """Asks for an action through a subresource: binding, eviction, token."""
    content = bodies.addressed(bodies.named(body, kind, subresource), key)
    return _write("POST", _object_path(kind, key, subresource), content, _options(options))


def delete(kind: Kind[T], key: Key, deletion: Deletion = AT_ONCE) -> Request:
    """Removes one object."""
    return _write("DELETE", _object_path(kind, key), _delete_options(deletion), {})


def delete_collection(kind: Kind[T], selection: Selection, deletion: Deletion = AT_ONCE) -> Request:
    """Removes all objects that are selected, in one namespace for namespaced kinds."""
    path = _collection_path(kind, selection.namespace, must_be_one=True)
    return _write("DELETE", path, _delete_options(deletion), _selectors(selection))


def _collection_path(kind: Kind[T], namespace: str, *, must_be_one: bool = False) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    if not kind.namespaced:
        return f"{root}/{kind.plural}"
    if namespace:
        return f"{root}/namespaces/{_quoted(namespace)}/{kind.plural}"
    if must_be_one:
        raise ValueError(f"{kind} live in namespaces, and none is given")
    return f"{root}/{kind.plural}"


def _object_path(kind: Kind[T], key: Key, subresource: str = "") -> str:
    if not key.name:
        raise ValueError(f"the name of one of {kind} is missing")
    collection = _collection_path(kind, key.namespace, must_be_one=True)
    return "/".join(filter(None, (collection, _quoted(key.name), subresource)))


def _target(path: str, query: Query) -> str:
    words = [
        f"{name}={'true' if value is True else _quoted(str(value))}"
        for name, value in query.items()
        if value
    ]
    return f"{path}?{'&'.join(words)}" if words else path


@lru_cache(maxsize=1024)
def _quoted(word: str) -> str:
    return quote(word, safe="")


def _read(path: str, query: Query) -> Request:
    return Request("GET", _target(path, query), ACCEPT_JSON)


def _write(
    method: str, path: str, content: object, query: Query, media_type: str = "application/json"
) -> Request:
    headers = {**ACCEPT_JSON, "Content-Type": str(media_type)}
    return Request(method, _target(path, query), headers, msgspec.json.encode(content))


def _selectors(selection: Selection) -> Query:
    return {"labelSelector": selection.labels, "fieldSelector": selection.fields}


def _options(options: Options) -> Query:
    return {
        "dryRun": "All" if options.dry_run else "",
        "fieldManager": options.field_manager,
        "fieldValidation": options.field_validation or "",
    }


def _delete_options(deletion: Deletion) -> Mapping[str, JSON]:
    content: dict[str, JSON] = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if deletion.preconditions:
        content["preconditions"] = deletion.preconditions.fields()
    if deletion.grace_seconds is not None:
        content["gracePeriodSeconds"] = deletion.grace_seconds
    if deletion.propagation is not None:
        content["propagationPolicy"] = str(deletion.propagation)
    if deletion.dry_run:
        content["dryRun"] = ["All"]
    return content
