"""Objects that come in: read, completed and put under the name and namespace of the request.

`writing` and `patching` bring every object through here before they look at what is stored.
"""

from typing import Any

from korder.embedded.apiserver import fielderrors as fe
from korder.embedded.apiserver.fielderrors import quote
from korder.embedded.apiserver.refusal import Refused, bad_request, invalid
from korder.embedded.apiserver.serving import bodies
from korder.embedded.apiserver.serving.call import Call
from korder.embedded.apiserver.serving.options import WriteOptions

Object = dict[str, Any]

_LONGEST_MANAGER = 128


def read(call: Call, options: WriteOptions) -> Object:
    """Reads the body as an object of the resource; fields nobody knows are refused or warned of, as asked."""
    content_type = call.request.headers.get("Content-Type", "")
    obj, repeated = bodies.read(call.request.body, content_type, call.resource)
    if call.resource.custom:
        bodies.check_named(call.request.body, obj, call.resource)
    check_kind(call, obj)
    strict = [f'duplicate field "{path}"' for path in repeated]
    strict += [f'unknown field "{path}"' for path in understood(call, obj)]
    if strict:
        _tell(call, options, strict)
    return obj


def check_kind(call: Call, obj: Object) -> None:
    """Refuses an object of another kind or version, and writes kind and version into one that leaves them out."""
    resource = call.resource
    if not resource.custom and not obj.get("kind"):
        obj["kind"] = resource.kind
    kind = obj.setdefault("kind", resource.kind)
    version = obj.get("apiVersion") or resource.api_version
    obj["apiVersion"] = version
    if kind == resource.kind and version == resource.api_version:
        return
    if not resource.custom:
        raise _other_kind(call, kind, version)
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
        )
    meta = obj.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else ""
    cause = fe.invalid("kind", kind, f"must be {resource.kind}")
    raise invalid(kind, resource.group, name if isinstance(name, str) else "", [cause])


def _other_kind(call: Call, kind: str, version: str) -> Refused:
    resource = call.resource
    group, _, short = version.rpartition("/")
    if call.world.registry.by_kind(group, short, kind) is None:
        told = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
    else:
        internal = resource.group.partition(".")[0] or "core"
        told = f"converting ({short}.{kind}) to ({internal}.{resource.kind}): unknown conversion"
    return bad_request(
        f"{kind} in version {quote(short)} cannot be handled as a {resource.kind}: {told}"
    )


def one_owner_each(call: Call, obj: Object, when: str = "") -> None:
    """Takes out owner references that stand there twice, and tells of it."""
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Object] = []
    twice: list[Object] = []
    for owner in owners:
        (twice if owner in kept else kept).append(owner)
    if twice:
        obj["metadata"]["ownerReferences"] = kept
        uids = ", ".join(owner.get("uid", "") for owner in twice)
        call.warnings.append(
            f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
            f"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
        )


def understood(call: Call, obj: Object) -> list[str]:
    """Brings an object into the form in which it is kept; returns the paths nobody knows."""
    meta = obj.get("metadata")
    if meta is None:
        obj["metadata"] = {}
    elif not isinstance(meta, dict):
        field = "value" if call.resource.custom else f"struct field {call.resource.kind}.metadata"
        told = (
            f"json: cannot unmarshal {bodies.go_type(meta)} into Go {field} of type v1.ObjectMeta"
        )
        raise unhandled(call, told)
    forgets_owners = meta is not None and meta.get("managedFields") == []
    unknown = call.resource.strategy.read(obj)
    if forgets_owners and not call.resource.custom:
        obj["metadata"]["managedFields"] = []
    call.resource.strategy.default(obj)
    return unknown


def unhandled(call: Call, told: str) -> Refused:
    """The object cannot be made into one of the kind."""
    kind = call.resource.kind
    return bad_request(
        f"{kind} in version {quote(call.resource.version)} cannot be handled as a {kind}: {told}"
    )


def _tell(call: Call, options: WriteOptions, problems: list[str]) -> None:
    if options.validation == "Strict":
        raise unhandled(call, "strict decoding error: " + ", ".join(problems))
    if options.validation == "Warn":
        call.warnings += problems


def settle(call: Call, obj: Object) -> None:
    """Gives an object the namespace of the request, and refuses one that has another name or namespace."""
    meta, route = obj["metadata"], call.route
    namespace = route.namespace if call.resource.namespaced else ""
    found = meta.get("namespace", "")
    if found and namespace and found != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)


def check_name(call: Call, obj: Object) -> None:
    """Refuses an object whose name is not that of the path."""
    name, asked = obj["metadata"].get("name", ""), call.route.name
    if not name:
        raise bad_request(
            f"the name of the object ({asked} based on URL) was undeterminable: name must be provided"
        )
    if name != asked:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({asked})"
        )


def manager(call: Call, options: WriteOptions) -> str:
    """Who owns what is written: the field manager, or the client's name for itself."""
    if options.manager:
        return options.manager
    agent = call.request.headers.get("User-Agent", "").partition("/")[0]
    return "".join(filter(str.isprintable, agent))[:_LONGEST_MANAGER]
