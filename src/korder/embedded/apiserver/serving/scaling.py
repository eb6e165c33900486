"""The `scale` of an object: its replicas as an object of their own, for every kind that has some.

A definition names the places of the numbers; workloads have them where workloads have them. A write of a scale is a write of the
object, so everything that holds for the object holds here.
"""

import copy
from typing import Any

from korder.api import codec, selector
from korder.embedded.apiserver import fielderrors as fe, refusal
from korder.embedded.apiserver.kinds.custom import CustomStrategy
from korder.embedded.apiserver.kinds.resource import Resource
from korder.embedded.apiserver.schemas.structural import Scale
from korder.embedded.apiserver.serving import (
    bodies,
    documents,
    incoming,
    options as opts,
    patching,
    writing,
)
from korder.embedded.apiserver.serving.call import Answer, Call
from korder.embedded.apiserver.types import reading
from korder.embedded.apiserver.types.mismatch import Mismatch

Object = dict[str, Any]

_WORKLOAD = Scale(".spec.replicas", ".status.replicas")
_API_VERSION, _KIND, _GROUP = "autoscaling/v1", "Scale", "autoscaling"
_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


async def answer(call: Call) -> Answer:
    """GET, PUT or PATCH of a scale."""
    if call.route.verb == "get":
        return Answer(_scale(call.resource, _stored(call)))
    patched = call.route.verb == "patch"
    if patched:
        patching.check_media(call)
        bodies.check_size(call.request.body)
    options = opts.write(
        call.route, "PatchOptions" if patched else "UpdateOptions", apply=patching.is_apply(call)
    )
    sent = {} if patched else incoming.read_as(call, options, _API_VERSION, _KIND)

    def make(live: Object | None) -> Object:
        if live is None:
            raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
        wanted = sent
        if patched:
            wanted = _patched(call, _scale(call.resource, live))
        return writing.own(call, options, live, _with_replicas(call, live, wanted))

    done = await writing.change(call, options, make)
    written = done.object or bodies.decode_json(done.value)[0]
    return Answer(_scale(call.resource, written))


def _stored(call: Call) -> Object:
    record = call.world.storage.get(call.key)
    if record is None:
        raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
    return documents.known(call.resource, record)


def _patched(call: Call, scale: Object) -> Object:
    """The scale that a patch makes, read as if it had been sent."""
    made = patching.change_of(call)(scale)
    shown = patching.shown(call, made)
    if not isinstance(made, dict):
        raise patching.invalid(shown, "not an object")
    try:
        reading.of_kind(_API_VERSION, _KIND)(made)
    except Mismatch as mismatch:
        raise patching.invalid(shown, str(mismatch)) from None
    return made


def _with_replicas(call: Call, live: Object, scale: Object) -> Object:
    """The object with the replicas of a scale, if that speaks of this object and version."""
    meta, name = scale.get("metadata") or {}, call.route.name
    if meta.get("name") != name:
        raise refusal.bad_request(
            f"the name of the object ({meta.get('name', '')}) does not match the name on the URL ({name})"
        )
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and not call.resource.custom:
        cause = fe.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise refusal.invalid(_KIND, _GROUP, name, [cause])
    obj = copy.deepcopy(live)
    version = meta.get("resourceVersion")
    obj["metadata"]["resourceVersion"] = version or live["metadata"]["resourceVersion"]
    *way, last = _steps(_places(call.resource).spec_replicas)
    place = obj
    for step in way:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise refusal.bad_request(f"{step} is not an object")
    place[last] = replicas
    return obj


def _places(resource: Resource) -> Scale:
    strategy = resource.strategy
    if isinstance(strategy, CustomStrategy) and strategy.scale is not None:
        return strategy.scale
    return _WORKLOAD


def _scale(resource: Resource, obj: Object) -> Object:
    places = _places(resource)
    meta = {member: obj["metadata"][member] for member in _SHOWN if member in obj["metadata"]}
    replicas = _at(obj, places.spec_replicas)
    if replicas is None and resource.custom:
        told = f"the spec replicas field {fe.quote(places.spec_replicas)} does not exist"
        raise refusal.bad_request(told)
    status: Object = {"replicas": _at(obj, places.status_replicas) or 0}
    chosen = _selector(resource, obj, places)
    if chosen:
        status["selector"] = chosen
    spec = {"replicas": replicas} if replicas else {}
    return {
        "kind": _KIND,
        "apiVersion": _API_VERSION,
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
