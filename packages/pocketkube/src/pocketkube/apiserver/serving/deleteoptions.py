"""How a deletion is meant: DeleteOptions from a body, from the query, or from inside an eviction, read and refused as Kubernetes does.

`deleting` and `podpaths` ask; nothing is deleted here.
"""

from typing import Any

import msgspec

from pocketkube.apiserver import fielderrors as fe, refusal
from pocketkube.apiserver.serving import bodies, options as opts
from pocketkube.apiserver.serving.call import Call
from pocketkube.apiserver.serving.negotiation import JSON, YAML
from pocketkube.apiserver.types import protobuf

Object = dict[str, Any]

_POLICIES = ("Foreground", "Background", "Orphan")


class DeleteOptions(msgspec.Struct, frozen=True):
    """How a deletion is meant."""

    grace: int | None = None
    policy: str | None = None
    orphan: bool | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False
    shown: Object = {}


def read(call: Call) -> DeleteOptions:
    """Reads DeleteOptions from the body, or from the query if there is none.

    Raises:
        Refused: 400, 415, 422.
    """
    body, route = call.request.body, call.route
    bodies.check_size(body)
    if body:
        return checked(_from_body(call, body))
    given: Object = {}
    if "dryRun" in route.query:
        given["dryRun"] = list(route.query["dryRun"])
    if (grace := opts.integer(route.query, "gracePeriodSeconds")) is not None:
        given["gracePeriodSeconds"] = grace
    if (orphan := opts.boolean(route.query, "orphanDependents")) is not None:
        given["orphanDependents"] = orphan
    if route.first("propagationPolicy"):
        given["propagationPolicy"] = route.first("propagationPolicy")
    return checked(given)


def _from_body(call: Call, body: bytes) -> Object:
    media = bodies.media_type(call.request.headers.get("Content-Type", ""))
    try:
        given = _decoded(media, body)
    except (protobuf.NoEnvelope, protobuf.NotOfKind) as problem:
        raise refusal.bad_request(str(problem)) from None
    except bodies.Unreadable as error:
        raise refusal.bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(given, dict):
        stated = (
            f"json: cannot unmarshal {bodies.go_type(given)} into Go value of type {bodies.HEADER}"
        )
        raise refusal.bad_request(f"couldn't get version/kind; json parse error: {stated}")
    if given.get("kind", "DeleteOptions") != "DeleteOptions":
        stated = f'no kind "{given["kind"]}" is registered for version "{given.get("apiVersion", "")}" in scheme "pkg/runtime/scheme.go:111"'
        raise refusal.bad_request(stated)
    return {key: value for key, value in given.items() if value is not None}


def _decoded(media: str, body: bytes) -> Any:
    if media == protobuf.MEDIA_TYPE:
        return protobuf.decode(body, "v1", "DeleteOptions")
    if media not in (JSON, YAML):
        raise bodies.unsupported()
    return (bodies.decode_json if media == JSON else bodies.decode_yaml)(body)[0]


_TYPES: dict[str, tuple[type, str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "orphanDependents": (bool, "bool"),
    "dryRun": (list, "[]string"),
    "preconditions": (dict, "v1.Preconditions"),
}


def checked(given: Object) -> DeleteOptions:
    """DeleteOptions as they were sent, here or inside of an eviction.

    Raises:
        Refused: 400, 422.
    """
    for member, (kind, name) in _TYPES.items():
        value = given.get(member)
        right = value is None or (
            isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        )
        if not right:
            stated = f"json: cannot unmarshal {bodies.go_type(value)} into Go struct field DeleteOptions.{member} of type {name}"
            raise refusal.bad_request(stated)
    conditions = given.get("preconditions") or {}
    for member in ("uid", "resourceVersion"):
        if not isinstance(conditions.get(member, ""), str | None):
            stated = f"json: cannot unmarshal {bodies.go_type(conditions[member])} into Go struct field Preconditions.preconditions.{member} of type string"
            raise refusal.bad_request(stated)
    _refuse(given)
    return DeleteOptions(
        given.get("gracePeriodSeconds"),
        given.get("propagationPolicy"),
        given.get("orphanDependents"),
        conditions.get("uid"),
        conditions.get("resourceVersion"),
        bool(given.get("dryRun")),
        {**given, "kind": "DeleteOptions", "apiVersion": f"{opts.META}/v1"},
    )


def _refuse(given: Object) -> None:
    policy, causes = given.get("propagationPolicy"), []
    if policy is not None and "orphanDependents" in given:
        stated = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(fe.invalid("propagationPolicy", policy, stated))
    if policy is not None and policy not in _POLICIES:
        causes.append(fe.not_supported("propagationPolicy", policy, [*_POLICIES, "nil"]))
    causes += opts.dry_runs(
        [each if isinstance(each, str) else "" for each in given.get("dryRun") or ()]
    )
    if causes:
        raise refusal.invalid("DeleteOptions", opts.META, "", causes)
