"""Objects in the form a client asked for: themselves, their metadata alone, or a table of them.

`server` and `watching` call it with JSON bytes. Rows of tables come from the printer of the resource; to print many takes long, so
others get their turn between portions of them.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from pocketkube.apiserver.refusal import bad_request, failure
from pocketkube.apiserver.serving import documents
from pocketkube.apiserver.serving.call import Call
from pocketkube.apiserver.serving.negotiation import not_acceptable

Object = dict[str, Any]

_PARTIAL, _PARTIALS, _TABLE = "PartialObjectMetadata", "PartialObjectMetadataList", "Table"
_INCLUDES = ("None", "Metadata", "Object")
_PORTION = 500
"""Rows that are printed in one go."""


def one(call: Call, body: bytes) -> bytes:
    """One object, as JSON."""
    form = call.form
    if not form.kind:
        return body
    obj = msgspec.json.decode(body)
    if obj.get("kind") == "Status":
        return body
    if form.kind == _PARTIAL:
        return documents.encode(_partial(call, obj))
    if form.kind == _TABLE:
        meta = obj.get("metadata", {})
        rows = _rows(call, [obj])
        return documents.encode(
            _table(call, rows, {"resourceVersion": meta.get("resourceVersion", "")})
        )
    stated = f"you requested {form.kind}, but the requested object is not a list ({_go_type(call)})"
    raise failure(406, "NotAcceptable", stated)


def _go_type(call: Call) -> str:
    if call.resource.custom:
        return "*unstructured.Unstructured"
    return f"*{call.resource.group.partition('.')[0] or 'core'}.{call.resource.kind}"


async def many(call: Call, body: bytes) -> bytes:
    """A list, as JSON."""
    form = call.form
    if not form.kind:
        return body
    found = msgspec.json.decode(body)
    items: list[Object] = found["items"]
    if form.kind == _TABLE:
        rows = _rows(call, items[:_PORTION])
        for start in range(_PORTION, len(items), _PORTION):
            await asyncio.sleep(0)
            rows += _rows(call, items[start : start + _PORTION])
        return documents.encode(_table(call, rows, found["metadata"]))
    if form.kind == _PARTIALS:
        return documents.encode(
            {
                "kind": _PARTIALS,
                "apiVersion": f"meta.k8s.io/{form.version}",
                "metadata": found["metadata"],
                "items": [_partial(call, item) for item in items],
            }
        )
    raise not_acceptable()


def event(call: Call, value: bytes, *, first: bool) -> bytes:
    """The object of an event; the columns of a table are told once, with the first."""
    if not call.form.kind:
        return value
    obj = msgspec.json.decode(value)
    if call.form.kind != _TABLE:
        return documents.encode(_partial(call, obj))
    meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
    table = _table(call, _rows(call, [obj]), meta)
    if not first:
        table["columnDefinitions"] = None
    return documents.encode(table)


def _partial(call: Call, obj: Object) -> Object:
    return {
        "kind": _PARTIAL,
        "apiVersion": f"meta.k8s.io/{call.form.version}",
        "metadata": obj["metadata"],
    }


def _rows(call: Call, objects: Sequence[Object]) -> list[Object]:
    include = call.route.first("includeObject") or "Metadata"
    if include not in _INCLUDES:
        raise bad_request(f"unrecognized includeObject value: {include!r}")
    printer, now = call.resource.printer, call.world.now()
    found: list[Object] = []
    for obj in objects:
        row: Object = {"cells": printer.cells(obj, now)}
        conditions = printer.conditions(obj)
        if conditions:
            row["conditions"] = conditions
        if include == "Object":
            whole = {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
            row["object"] = {**whole, **obj}
        elif include == "Metadata":
            row["object"] = _partial(call, obj)
        else:
            row["object"] = None
        found.append(row)
    return found


def _table(call: Call, rows: list[Object], meta: Object) -> Object:
    return {
        "kind": _TABLE,
        "apiVersion": f"meta.k8s.io/{call.form.version}",
        "metadata": meta,
        "columnDefinitions": [column.definition() for column in call.resource.printer.columns],
        "rows": rows,
    }
