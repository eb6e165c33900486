"""Patches of all four kinds: JSON patch, merge patch, strategic merge patch and server-side apply.

Each is a way to make the wanted object from the stored one; `writing.change` does the rest, and begins again if somebody
else was faster.
"""

from collections.abc import Callable
from typing import Any

from korder.api import patch as patches
from korder.api.machinery import StatusCause, StatusDetails
from korder.embedded.apiserver import jsonpatch, refusal
from korder.embedded.apiserver.fielderrors import invalid as invalid_field
from korder.embedded.apiserver.ownership import apply as ownership, strategic
from korder.embedded.apiserver.ownership.refusals import ApplyConflict, ApplyRefused
from korder.embedded.apiserver.serving import bodies, documents, incoming, options as opts, writing
from korder.embedded.apiserver.serving.call import Answer, Call
from korder.embedded.apiserver.serving.options import WriteOptions

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
MOST_OPERATIONS = 10_000


async def patch(call: Call) -> Answer:
    """PATCH of an object or of its status."""
    media = call.request.headers.get("Content-Type", "").partition(";")[0]
    known = (
        (JSON_PATCH, MERGE, STRATEGIC, APPLY)
        if call.resource.strategy.strategic
        else (JSON_PATCH, MERGE, APPLY)
    )
    if media not in known:
        told = f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
        raise refusal.failure(415, "UnsupportedMediaType", told)
    bodies.check_size(call.request.body)
    options = opts.write(call.route, "PatchOptions", apply=media == APPLY)
    if media == APPLY:
        return await _apply(call, options)
    change = _change(call, media)

    def make(live: Object | None) -> Object:
        if live is None:
            raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
        wanted = _understood(call, options, change(live))
        incoming.settle(call, wanted)
        incoming.check_name(call, wanted)
        return writing.own(call, options, live, wanted)

    return await writing.change(call, options, make)


Changed = Callable[[Object], Any]


def _change(call: Call, media: str) -> Changed:
    """Reads a patch; what it makes of an object may be no object any more."""
    try:
        sent, _ = bodies.decode_json(call.request.body)
    except bodies.Unreadable as error:
        raise refusal.bad_request(
            f"error decoding patch: {error}" if media != STRATEGIC else str(error)
        ) from None
    if media == JSON_PATCH:
        return _operations(sent)
    if not isinstance(sent, dict):
        told = f"json: cannot unmarshal {bodies.go_type(sent)} into Go value of type map[string]interface {{}}"
        raise refusal.bad_request(told if media == STRATEGIC else f"error decoding patch: {told}")
    if media == MERGE:
        return lambda live: patches.apply_merge(live, sent)
    structure = call.resource.strategy.endpoint(call.route.subresource).structure

    def merge(live: Object) -> Any:
        try:
            return strategic.patch(structure, live, sent)
        except strategic.StrategicRefused as error:
            raise refusal.failure(
                error.code, "InternalError" if error.code == 500 else "BadRequest", str(error)
            ) from None

    return merge


def _operations(sent: Any) -> Changed:
    if not isinstance(sent, list):
        told = f"json: cannot unmarshal {bodies.go_type(sent)} into Go value of type []handlers.jsonPatchOp"
        raise refusal.bad_request(f"error decoding patch: {told}")
    if len(sent) > MOST_OPERATIONS:
        told = (
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(sent)}"
        )
        raise refusal.failure(413, "RequestEntityTooLarge", f"Request entity too large: {told}")

    def change(live: Object) -> Any:
        try:
            return jsonpatch.apply(live, sent)
        except jsonpatch.NotApplicable as error:
            raise _unprocessable(str(error)) from None

    return change


def _unprocessable(told: str) -> refusal.Refused:
    return refusal.failure(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        StatusDetails(causes=(StatusCause(reason="UnexpectedServerResponse", message=told),)),
    )


def _understood(call: Call, options: WriteOptions, made: Any) -> Object:
    """Reads what a patch has made as if it had been sent; what is wrong is the patch's fault."""
    if not isinstance(made, dict):
        raise _invalid(made, "not an object")
    obj: Object = bodies.decode_json(documents.encode(made))[0]
    try:
        incoming.check_kind(call, obj)
        unknown = incoming.understood(call, obj)
    except refusal.Refused as error:
        raise _invalid(made, _bare(error.status.message)) from None
    if unknown:
        problems = [f'unknown field "{path}"' for path in unknown]
        if options.validation == "Strict":
            raise _invalid(made, "strict decoding error: " + ", ".join(problems))
        if options.validation == "Warn":
            call.warnings += problems
    return obj


def _bare(told: str) -> str:
    """What is wrong, without the words about the kind."""
    _, mark, rest = told.partition(" cannot be handled as a ")
    return rest.partition(": ")[2] if mark else told


def _invalid(made: Any, told: str) -> refusal.Refused:
    cause = invalid_field("patch", documents.encode(made).decode(), told)
    return refusal.invalid("", "", "", [cause])


async def _apply(call: Call, options: WriteOptions) -> Answer:
    try:
        applied, _ = bodies.decode_yaml(call.request.body)
    except bodies.Unreadable as error:
        raise refusal.bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(applied, dict):
        told = f"json: cannot unmarshal {bodies.go_type(applied)} into Go value of type map[string]interface {{}}"
        raise refusal.bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {told}"
        )
    endpoint = call.resource.strategy.endpoint(call.route.subresource)

    def make(live: Object | None) -> Object:
        try:
            merged = ownership.apply(
                endpoint,
                live,
                applied,
                options.manager,
                call.world.now(),
                force=bool(options.force),
            )
        except ApplyConflict as error:
            raise _conflict(error) from None
        except ApplyRefused as error:
            reason = "InternalError" if error.code == 500 else "BadRequest"
            raise refusal.failure(error.code, reason, str(error)) from None
        wanted = _applied(call, options, merged)
        if live is None:
            wanted["metadata"].setdefault("name", call.route.name)
        incoming.settle(call, wanted)
        incoming.check_name(call, wanted)
        return wanted

    creates = not call.route.subresource
    return await writing.change(call, options, make, creates=creates)


def _applied(call: Call, options: WriteOptions, merged: Object) -> Object:
    obj: Object = bodies.decode_json(documents.encode(merged))[0]
    incoming.check_kind(call, obj)
    unknown = incoming.understood(call, obj)
    if unknown and options.validation == "Strict":
        raise incoming.unhandled(
            call,
            "strict decoding error: " + ", ".join(f'unknown field "{each}"' for each in unknown),
        )
    if unknown and options.validation == "Warn":
        call.warnings += [f'unknown field "{each}"' for each in unknown]
    return obj


def _conflict(error: ApplyConflict) -> refusal.Refused:
    causes = tuple(
        StatusCause(reason="FieldManagerConflict", message=each.message, field=each.field)
        for each in error.causes
    )
    return refusal.failure(409, "Conflict", str(error), StatusDetails(causes=causes))
