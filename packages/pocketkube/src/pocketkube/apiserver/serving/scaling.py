"""The `scale` of an object: its replicas as an object of their own, for every kind that has some.

A definition names the places of the numbers; workloads have them where workloads have them. A write of a scale is a write of the
object, so everything that holds for the object holds here.
"""

import copy
from functools import cache, partial
from typing import Any

from kubeloop.objects import codec, selector
from pocketkube.apiserver import fielderrors as fe, refusal
from pocketkube.apiserver.kinds.custom import CustomStrategy
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.managed_fields import apply as ownership, endpoints, fieldsets, scales
from pocketkube.apiserver.managed_fields.endpoints import Endpoint
from pocketkube.apiserver.schemas.structural import Scale
from pocketkube.apiserver.serving import (
    bodies,
    documents,
    incoming,
    options as opts,
    patching,
    writing,
)
from pocketkube.apiserver.serving.call import Answer, Call
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.types import reading
from pocketkube.apiserver.types.mismatch import Mismatch

Object = dict[str, Any]

_WORKLOAD = Scale(".spec.replicas", ".status.replicas")
_KIND, _GROUP = "Scale", "autoscaling"
_NOT_THERE = -(2**31)
_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


async def answer(call: Call) -> Answer:
    """GET, PUT or PATCH of a scale."""
    if call.route.verb == "get":
        return Answer(_existing(call.resource, _stored(call)))
    patched = call.route.verb == "patch"
    if patched:
        patching.check_media(call)
        bodies.check_size(call.request.body)
    applied = patched and patching.is_apply(call)
    options = opts.write(call.route, "PatchOptions" if patched else "UpdateOptions", apply=applied)
    sent = {} if patched else _checked(call, incoming.read_as(call, options, scales.SCALE, _KIND))

    def make(live: Object | None) -> Object:
        if live is None:
            raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
        scale = _owned(call, live)
        if applied:
            return _checked(call, _applied(call, options, scale))
        if patched:
            wanted = _checked(call, _patched(call, options, scale))
        else:
            wanted = {**sent, "metadata": dict(sent["metadata"])}
            writing.same_object(call, options, wanted, live)
        who = incoming.manager(call, options)
        return ownership.update(_endpoint(), scale, wanted, who, call.world.now())

    part = writing.Part(partial(_scale, call.resource), partial(_with_replicas, call))
    done = await writing.change(call, options, make, part=part)
    written = done.object or bodies.decode_json(done.value)[0]
    return Answer(_scale(call.resource, written))


@cache
def _endpoint() -> Endpoint:
    return endpoints.builtin(scales.SCALE, _KIND, "scale")


def _stored(call: Call) -> Object:
    record = call.world.storage.get(call.key)
    if record is None:
        raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
    return documents.known(call.resource, record)


def _owned(call: Call, live: Object) -> Object:
    """The scale of an object with the owners of its replicas; replicas that are not there are a number nobody would send."""
    scale = _scale(call.resource, live)
    if _at(live, _places(call.resource).spec_replicas) is None and call.resource.custom:
        scale["spec"] = {"replicas": _NOT_THERE}
    owners = scales.of_scale(live["metadata"].get("managedFields"), _ways(call))
    if owners:
        scale["metadata"]["managedFields"] = owners
    return scale


def _ways(call: Call) -> scales.Places:
    """Where the replicas are in all versions of the kind."""
    resource = call.resource
    if not resource.custom:
        return {resource.api_version: _way(_WORKLOAD)}
    versions = call.world.registry.added(resource.stored)
    return {
        each.api_version: _way(_places(each)) if each.subresource("scale") else None
        for each in versions
    }


def _way(places: Scale) -> fieldsets.Path:
    return tuple(map(fieldsets.member, _steps(places.spec_replicas)))


def _patched(call: Call, options: WriteOptions, scale: Object) -> Object:
    """The scale that a patch makes, read as if it had been sent."""
    made = patching.change_of(call)(scale)
    shown = patching.shown(call, made)
    if not isinstance(made, dict):
        raise patching.invalid(shown, "not an object")
    made = copy.deepcopy(made)
    stated = bodies.header_problem(made) or incoming.other_kind(made, scales.SCALE, _KIND)
    if stated:
        raise patching.invalid(shown, stated)
    try:
        unknown = _read(made)
    except Mismatch as mismatch:
        raise patching.invalid(shown, str(mismatch)) from None
    patching.tell_unknown(call, options, lambda: shown, unknown)
    return made


def _applied(call: Call, options: WriteOptions, scale: Object) -> Object:
    _, made = patching.merged(call, options, _endpoint(), scale)
    return _readable(made)


def _read(scale: Object) -> list[str]:
    return reading.of_kind(scales.SCALE, _KIND)(scale)


def _readable(scale: Object) -> Object:
    """A scale in its form, whoever has made it of what was sent: apply or a webhook."""
    made = copy.deepcopy(scale)
    try:
        _read(made)
    except Mismatch as mismatch:
        raise refusal.bad_request(str(mismatch)) from None
    return made


def _checked(call: Call, scale: Object) -> Object:
    incoming.settle(call, scale)
    incoming.check_name(call, scale)
    return scale


def _with_replicas(call: Call, live: Object, scale: Object) -> Object:
    """The object with what a scale says: the replicas, who owns them, and the version it speaks of."""
    scale = _readable(scale)
    meta, name = scale["metadata"], call.route.name
    replicas = scale["spec"].get("replicas", 0)
    places = _places(call.resource)
    if replicas == _NOT_THERE:
        stated = f"the spec replicas field {fe.quote(places.spec_replicas)} cannot be empty"
        raise refusal.bad_request(stated)
    if replicas < 0 and not call.resource.custom:
        cause = fe.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise refusal.invalid(_KIND, _GROUP, name, [cause])
    uid, sent = live["metadata"]["uid"], meta.get("uid")
    if sent and sent != uid and not call.resource.custom:
        stated = f"Precondition failed: UID in precondition: {sent}, UID in object meta: {uid}"
        raise refusal.conflict(f"{call.resource.plural}/scale", call.resource.group, name, stated)
    obj = copy.deepcopy(live)
    if meta.get("resourceVersion"):
        obj["metadata"]["resourceVersion"] = meta["resourceVersion"]
    _give_owners(call, obj, meta.get("managedFields"))
    *way, last = _steps(places.spec_replicas)
    place = obj
    for step in way:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise refusal.bad_request(f"{step} is not an object")
    place[last] = replicas
    return obj


def _give_owners(call: Call, obj: Object, changed: Any) -> None:
    before = obj["metadata"].pop("managedFields", None)
    owners = scales.of_object(before, changed, _ways(call), call.resource.api_version)
    if owners:
        obj["metadata"]["managedFields"] = owners


def _places(resource: Resource) -> Scale:
    strategy = resource.strategy
    if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
        return strategy.scale
    return _WORKLOAD


def _existing(resource: Resource, obj: Object) -> Object:
    path = _places(resource).spec_replicas
    if _at(obj, path) is None and resource.custom:
        raise refusal.bad_request(f"the spec replicas field {fe.quote(path)} does not exist")
    return _scale(resource, obj)


def _scale(resource: Resource, obj: Object) -> Object:
    places = _places(resource)
    meta = {member: obj["metadata"][member] for member in _SHOWN if member in obj["metadata"]}
    replicas = _at(obj, places.spec_replicas)
    status: Object = {"replicas": _at(obj, places.status_replicas) or 0}
    chosen = _selector(resource, obj, places)
    if chosen:
        status["selector"] = chosen
    spec = {"replicas": replicas} if replicas else {}
    return {
        "kind": _KIND,
        "apiVersion": scales.SCALE,
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def _selector(resource: Resource, obj: Object, places: Scale) -> str:
    if resource.custom:
        found = _at(obj, places.label_selector) if places.label_selector else ""
        return found if isinstance(found, str) else ""
    given = (obj.get("spec") or {}).get("selector") or {}
    if resource.kind == "ReplicationController":
        return str(selector.from_labels(given))
    return str(selector.from_struct(codec.convert(given, selector.LabelSelector)))


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _at(obj: Any, path: str) -> Any:
    for step in _steps(path):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj
