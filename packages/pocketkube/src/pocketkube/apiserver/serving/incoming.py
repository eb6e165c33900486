"""Objects that come in: read, completed and put under the name and namespace of the request.

`writing` and `patching` bring every object through here before they look at what is stored.
"""

from typing import Any

from pocketkube.apiserver.fielderrors import quote
from pocketkube.apiserver.refusal import Refused, bad_request
from pocketkube.apiserver.serving import bodies
from pocketkube.apiserver.serving.call import Call
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.types.mismatch import Mismatch
from pocketkube.apiserver.types.reading import of_kind

Object = dict[str, Any]

_LONGEST_MANAGER = 128


def read(call: Call, options: WriteOptions) -> Object:
    """Reads the body as an object of the resource; fields nobody knows are refused or warned of, as asked."""
    content_type = call.request.headers.get("Content-Type", "")
    obj, repeated = bodies.read(call.request.body, content_type, call.resource)
    if call.resource.custom:
        lenient = options.validation == "Ignore"
        bodies.check_named(call.request.body, obj, call.resource, lenient=lenient)
    check_kind(call, obj)
    strict = [f'duplicate field "{path}"' for path in repeated]
    strict += [f'unknown field "{path}"' for path in understood(call, obj)]
    if strict:
        _tell(call, options, strict)
    return obj


def read_as(call: Call, options: WriteOptions, api_version: str, kind: str) -> Object:
    """Reads a body of another kind than the resource's, such as a Binding."""
    content_type = call.request.headers.get("Content-Type", "")
    try:
        obj, repeated = bodies.read(call.request.body, content_type, call.resource, kind)
    except Refused as error:
        if call.resource.custom and error.status.code == 400:
            raise _unreadable(call, api_version, kind, "") from None
        raise
    if stated := other_kind(obj, api_version, kind):
        version = obj.get("apiVersion") or api_version
        raise _unreadable(call, version, kind, stated, obj.get("kind") or kind)
    try:
        unknown = of_kind(api_version, kind)(obj)
    except Mismatch as mismatch:
        raise _unreadable(call, api_version, kind, str(mismatch)) from None
    strict = [f'duplicate field "{path}"' for path in repeated]
    strict += [f'unknown field "{path}"' for path in unknown]
    if strict and options.validation == "Strict":
        stated = "strict decoding error: " + ", ".join(strict)
        raise _unreadable(call, api_version, kind, stated)
    if options.validation == "Warn":
        call.warnings += strict
    return obj


def other_kind(obj: Object, api_version: str, kind: str) -> str:
    """What is said of an object that is not of the one kind that can come here; empty if it is."""
    said = obj.get("kind") or kind, obj.get("apiVersion") or api_version
    return "" if said == (kind, api_version) else _unregistered(*said)


def _unregistered(kind: str, api_version: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'


def _unreadable(call: Call, api_version: str, kind: str, stated: str, said: str = "") -> Refused:
    if call.resource.custom:
        # The part of a server that serves custom kinds knows no other kinds to speak of.
        return bad_request(
            f'no kind is registered for the type v1.{kind} in scheme "pkg/runtime/scheme.go:111"'
        )
    version = quote(api_version.rpartition("/")[2])
    return bad_request(
        f"{said or kind} in version {version} cannot be handled as a {kind}: {stated}"
    )


def check_kind(call: Call, obj: Object) -> None:
    """Refuses an object of another kind or version, and writes kind and version into one that leaves them out.

    A custom object of another kind is refused later, see `writing`.
    """
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
        raise bodies.other_version(version, resource)


def _other_kind(call: Call, kind: str, version: str) -> Refused:
    resource = call.resource
    group, _, short = version.rpartition("/")
    if call.world.registry.by_kind(group, short, kind) is None:
        stated = _unregistered(kind, version)
    else:
        internal = resource.group.partition(".")[0] or "core"
        stated = f"converting ({short}.{kind}) to ({internal}.{resource.kind}): unknown conversion"
    return bad_request(
        f"{kind} in version {quote(short)} cannot be handled as a {resource.kind}: {stated}"
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


def understood(call: Call, obj: Object, *, applied: bool = False) -> list[str]:
    """Brings an object into the form in which it is kept; returns the paths nobody knows."""
    meta, strategy = obj.get("metadata"), call.resource.strategy
    if meta is None:
        obj["metadata"] = {}
    elif call.resource.custom and not isinstance(meta, dict):
        stated = (
            f"json: cannot unmarshal {bodies.go_type(meta)} into Go value of type v1.ObjectMeta"
        )
        raise unhandled(call, stated)
    forgets_owners = isinstance(meta, dict) and meta.get("managedFields") == []
    unknown = strategy.read_applied(obj) if applied else strategy.read(obj)
    if forgets_owners and not call.resource.custom:
        obj["metadata"]["managedFields"] = []
    strategy.default(obj)
    # What is unknown in an object of another kind nobody tells: it is refused for its kind.
    return unknown if obj.get("kind", call.resource.kind) == call.resource.kind else []


def unhandled(call: Call, stated: str) -> Refused:
    """The object cannot be made into one of the kind."""
    kind = call.resource.kind
    return bad_request(
        f"{kind} in version {quote(call.resource.version)} cannot be handled as a {kind}: {stated}"
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
