"""Patches of all four kinds: JSON patch, merge patch, strategic merge patch and server-side apply.

What a real server calls an error of its own (500) because a patch does not fit, is the client's here (400). Each is a way to
make the wanted object from the stored one; `writing.change` does the rest, and begins again if somebody
else was faster.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from kubeloop.objects import patch as patches
from kubeloop.objects.machinery import StatusCause, StatusDetails
from pocketkube.apiserver import gotext, jsonpatch, refusal
from pocketkube.apiserver.fielderrors import invalid as invalid_field
from pocketkube.apiserver.managed_fields import apply as ownership, strategic
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.managed_fields.refusals import ApplyConflict, ApplyRefused
from pocketkube.apiserver.serving import bodies, incoming, options as opts, writing
from pocketkube.apiserver.serving.call import Answer, Call
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.types import reading

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
MOST_OPERATIONS = 10_000


async def patch(call: Call) -> Answer:
    """PATCH of an object or of its status."""
    check_media(call)
    if is_apply(call):
        return await _apply(call, opts.write(call.route, "PatchOptions", apply=True))
    options = opts.write(call.route, "PatchOptions")
    bodies.check_size(call.request.body)

    def make(live: Object | None) -> Object:
        if live is None:
            raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
        made = change_of(call)(live)
        wanted = _understood(call, options, made, partial(shown, call, made))
        incoming.settle(call, wanted)
        incoming.check_name(call, wanted)
        return writing.own(call, options, live, wanted)

    return await writing.change(call, options, make)


Changed = Callable[[Object], Any]


def is_apply(call: Call) -> bool:
    """Whether a configuration is applied."""
    return _media(call) == APPLY


def _media(call: Call) -> str:
    return call.request.headers.get("Content-Type", "").partition(";")[0]


def check_media(call: Call) -> None:
    """Refuses a patch of a kind that the resource does not take."""
    media = _media(call)
    if media not in (JSON_PATCH, MERGE, APPLY) and not (
        media == STRATEGIC and call.resource.strategy.strategic
    ):
        raise _unsupported(call)


def change_of(call: Call) -> Changed:
    """Reads a patch, which a server does only for an object that is there; what it makes of it may be no object any more.

    Raises:
        Refused: 400, 413.
    """
    media = _media(call)
    try:
        sent, _ = (bodies.decode_yaml if media == APPLY else bodies.decode_json)(call.request.body)
    except bodies.Unreadable as error:
        raise refusal.bad_request(
            f"error decoding patch: {error}" if media != STRATEGIC else str(error)
        ) from None
    if media == JSON_PATCH:
        return _operations(sent)
    if not isinstance(sent, dict):
        stated = f"json: cannot unmarshal {bodies.go_type(sent)} into Go value of type map[string]interface {{}}"
        raise refusal.bad_request(
            stated if media == STRATEGIC else f"error decoding patch: {stated}"
        )
    if media in (MERGE, APPLY):
        return lambda live: _by_name(patches.apply_merge(live, sent))
    structure = call.resource.strategy.endpoint(call.route.subresource).structure

    def merge(live: Object) -> Any:
        try:
            return strategic.patch(structure, live, sent)
        except strategic.StrategicRefused as error:
            raise refusal.bad_request(str(error)) from None

    return merge


def _unsupported(call: Call) -> refusal.Refused:
    if not call.resource.custom:
        stated = "415: Unsupported Media Type"
        return refusal.failure(415, "UnsupportedMediaType", stated, StatusDetails())
    known = f"{JSON_PATCH}, {MERGE}, {APPLY}"
    stated = (
        f"the body of the request was in an unknown format - accepted media types include: {known}"
    )
    return refusal.failure(415, "UnsupportedMediaType", stated)


def _operations(sent: Any) -> Changed:
    if not isinstance(sent, list):
        stated = f"json: cannot unmarshal {bodies.go_type(sent)} into Go value of type []handlers.jsonPatchOp"
        raise refusal.bad_request(f"error decoding patch: {stated}")
    if len(sent) > MOST_OPERATIONS:
        stated = (
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(sent)}"
        )
        raise refusal.failure(413, "RequestEntityTooLarge", f"Request entity too large: {stated}")

    for each in sent:
        _check_operation(each)

    def change(live: Object) -> Any:
        try:
            made = jsonpatch.apply(live, sent)
        except jsonpatch.NotApplicable:
            raise _unprocessable() from None
        for each in sent:
            for pointer in (each.get("path"), each.get("from")):
                made = _opened(made, (pointer or "").split("/")[1:])
        return made

    return change


def _by_name(value: Any) -> Any:
    """Objects with their members in the order in which a server writes those that it has opened to patch them.

    It reads them again afterwards, so of several faults the first by name is told.
    """
    if isinstance(value, dict):
        return {name: _by_name(value[name]) for name in sorted(value)}
    return list(map(_by_name, value)) if isinstance(value, list) else value


def _opened(value: Any, steps: list[str]) -> Any:
    """Like `_by_name`, but only for the objects on the way to a place."""
    if not steps or not isinstance(value, dict):
        return value
    name = steps[0].replace("~1", "/").replace("~0", "~")
    return {
        each: _opened(value[each], steps[1:]) if each == name else value[each]
        for each in sorted(value)
    }


def _check_operation(sent: Any) -> None:
    stated = ""
    if sent is not None and not isinstance(sent, dict):
        stated = f"{bodies.go_type(sent)} into Go value of type handlers.jsonPatchOp"
    for member in ("op", "path", "from"):
        value = sent.get(member) if isinstance(sent, dict) else None
        if value is not None and not isinstance(value, str):
            stated = stated or (
                f"{bodies.go_type(value)} into Go struct field jsonPatchOp.{member} of type string"
            )
    if stated:
        raise refusal.bad_request(f"error decoding patch: json: cannot unmarshal {stated}")


def _unprocessable() -> refusal.Refused:
    """A patch that does not fit; a server keeps to itself why."""
    stated = "the server rejected our request due to an error in our request"
    return refusal.failure(422, "Invalid", stated, StatusDetails())


def shown(call: Call, made: Any) -> str:
    """What is shown of a patch that is refused: a strategic one itself, of others what they would have made."""
    if _media(call) != STRATEGIC:
        return gotext.encoded(made)
    return gotext.printed(bodies.decode_json(call.request.body)[0])


def _understood(call: Call, options: WriteOptions, made: Any, shown: Callable[[], str]) -> Object:
    """Reads what a patch has made as if it had been sent; what is wrong is the patch's fault."""
    if not isinstance(made, dict):
        raise invalid(shown(), "not an object")
    obj: Object = bodies.reread(made)
    if _media(call) == STRATEGIC:
        obj |= {"kind": call.resource.kind, "apiVersion": call.resource.api_version}
    problem = bodies.header_problem(obj)
    if problem:
        raise invalid(shown(), problem)
    _check_named(call, options, obj, shown)
    _check_version(call, obj)
    try:
        incoming.check_kind(call, obj)
        unknown = incoming.understood(call, obj)
    except refusal.Refused as error:
        stated = _bare(error.status.message)
        converted = _media(call) == STRATEGIC
        raise invalid(shown(), _fault(call, made, stated) if converted else stated) from None
    tell_unknown(call, options, shown, unknown)
    return obj


def _check_version(call: Call, obj: Object) -> None:
    """Refuses a custom object that a patch has given another version."""
    resource, version = call.resource, obj["apiVersion"]
    readable = resource.custom and not call.route.subresource and version.count("/") < 2
    if not readable or version == resource.api_version:
        return
    stated = {"kind": (obj["kind"], resource.kind), "apiVersion": (version, resource.api_version)}
    causes = [
        invalid_field(member, said, f"must be {wanted}")
        for member, (said, wanted) in stated.items()
        if said != wanted
    ]
    raise refusal.invalid(obj["kind"], version.rpartition("/")[0], call.route.name, causes)


def tell_unknown(
    call: Call, options: WriteOptions, shown: Callable[[], str], unknown: list[str]
) -> None:
    """Refuses members that nobody knows, or warns of them, as asked."""
    problems = [f'unknown field "{path}"' for path in unknown]
    if problems and options.validation == "Strict":
        raise invalid(shown(), "strict decoding error: " + ", ".join(problems))
    if options.validation == "Warn":
        call.warnings += problems


def _check_named(call: Call, options: WriteOptions, obj: Object, shown: Callable[[], str]) -> None:
    """Refuses what a patch has left without its version, and a custom object without its kind."""
    if call.resource.custom:
        if not obj.get("kind"):
            raise invalid(shown(), f"Object 'Kind' is missing in '{shown()}'")
        if not obj.get("apiVersion"):
            stated = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
            raise refusal.bad_request(f"Internal error occurred: {stated}")
    elif not obj.get("apiVersion"):
        # A server takes it for an object that has nothing but a kind and a version.
        tell_unknown(call, options, shown, sorted(obj.keys() - {"kind", "apiVersion"}))
        incoming.check_name(call, {"metadata": {}})


def _bare(stated: str) -> str:
    """What is wrong, without the words about the kind."""
    _, mark, rest = stated.partition(" cannot be handled as a ")
    return rest.partition(": ")[2] if mark else stated


def _fault(call: Call, made: Object, stated: str) -> str:
    """What is wrong in the order of a converter, which does not meet faults in the order of the text."""
    if call.resource.custom:
        return stated
    return reading.converter(call.resource.api_version, call.resource.kind)(made) or stated


def invalid(shown: str, stated: str) -> refusal.Refused:
    """What a patch has made is no object of the kind."""
    cause = invalid_field("patch", shown, stated)
    return refusal.invalid("", "", "", [cause])


async def _apply(call: Call, options: WriteOptions) -> Answer:
    bodies.check_size(call.request.body)
    endpoint = call.resource.strategy.endpoint(call.route.subresource)

    def make(live: Object | None) -> Object:
        wanted = _applied(call, options, *merged(call, options, endpoint, live))
        incoming.settle(call, wanted)
        incoming.check_name(call, wanted)
        return wanted

    creates = not call.route.subresource
    return await writing.change(call, options, make, creates=creates)


def merged(
    call: Call, options: WriteOptions, endpoint: Endpoint, live: Object | None
) -> tuple[Object, Object]:
    """The configuration that is applied, and what it makes of an object."""
    applied, now = _configuration(call), call.world.now()
    try:
        made = ownership.apply(
            endpoint, live, applied, options.manager, now, force=bool(options.force)
        )
    except ApplyConflict as error:
        raise _conflict(error) from None
    except ApplyRefused as error:
        raise refusal.bad_request(str(error)) from None
    return applied, made


def _configuration(call: Call) -> Object:
    """Reads what is applied."""
    try:
        applied, _ = bodies.decode_yaml(call.request.body)
    except bodies.Unreadable as error:
        raise refusal.bad_request(
            f"error decoding YAML: error converting YAML to JSON: {error}"
        ) from None
    if not isinstance(applied, dict):
        stated = f"json: cannot unmarshal {bodies.go_type(applied)} into Go value of type map[string]interface {{}}"
        raise refusal.bad_request(
            f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {stated}"
        )
    return applied


def _applied(call: Call, options: WriteOptions, applied: Object, merged: Object) -> Object:
    obj: Object = bodies.reread(merged)
    incoming.check_kind(call, obj)
    try:
        unknown = incoming.understood(call, obj, applied=True)
    except refusal.Refused as error:
        stated = _fault(call, merged, _bare(error.status.message))
        raise _unconvertible(call, applied, stated) from None
    if unknown and options.validation == "Strict":
        raise incoming.unhandled(
            call,
            "strict decoding error: " + ", ".join(f'unknown field "{each}"' for each in unknown),
        )
    if unknown and options.validation == "Warn":
        call.warnings += [f'unknown field "{each}"' for each in unknown]
    return obj


def _unconvertible(call: Call, applied: Object, stated: str) -> refusal.Refused:
    """What was applied does not fit into the kind; a real server calls that its own error (500)."""
    resource = call.resource
    kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    meta = applied.get("metadata") or {}
    place = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
    return refusal.bad_request(
        f"failed to convert new object ({place}; {kind}) to proper version: "
        f"unable to convert unstructured object to {kind}: {stated}"
    )


def _conflict(error: ApplyConflict) -> refusal.Refused:
    causes = tuple(
        StatusCause(reason="FieldManagerConflict", message=each.message, field=each.field)
        for each in error.causes
    )
    return refusal.failure(409, "Conflict", str(error), StatusDetails(causes=causes))
