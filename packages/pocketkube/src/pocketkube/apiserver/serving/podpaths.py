"""Paths of pods with rules of their own: `binding`, `eviction` and `log`, as verbs of this room.

`assembly` registers `SPECIALS`. The rules are pure and stand in `kinds`; here objects are read, admitted and written.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kubeloop.net.server import Reply
from kubeloop.objects import instant
from pocketkube.apiserver import refusal, view
from pocketkube.apiserver.admission.attributes import Attributes, Operation
from pocketkube.apiserver.kinds import evictions, podlogs, podparts
from pocketkube.apiserver.serving import deleteoptions, deleting, incoming, options as opts
from pocketkube.apiserver.serving.call import ATTEMPTS, Answer, Call, Special
from pocketkube.apiserver.serving.deleteoptions import DeleteOptions
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.storage import Conflict, Key, NotFound, Record, Update, Write

Object = dict[str, Any]

_PODS, _BUDGETS = "pods", "poddisruptionbudgets.policy"
_DONE: Final[Object] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


async def bind(call: Call) -> Answer:
    """POST of a Binding: the pod gets its node."""
    options = opts.write(call.route, "CreateOptions")
    binding = incoming.read_as(call, options, "v1", "Binding")
    name = call.route.name or str((binding.get("metadata") or {}).get("name") or "")
    podparts.check_binding(name, binding)
    admitted = await _admit(call, options, name, binding)

    def change(pod: Object) -> tuple[Write, ...]:
        podparts.bind(pod, admitted, instant.render(call.world.now()))
        return ()

    await _change(call, options, name, change)
    return Answer(dict(_DONE), code=201)


async def evict(call: Call) -> Answer:
    """POST of an Eviction: the pod goes, if its budget allows it."""
    options = opts.write(call.route, "CreateOptions")
    eviction = incoming.read_as(call, options, "policy/v1", "Eviction")
    name = call.route.name
    if (eviction.get("metadata") or {}).get("name") != name:
        raise refusal.bad_request("name in URL does not match name in Eviction object")
    wanted = deleteoptions.checked(eviction.get("deleteOptions") or {})
    dry_run = options.dry_run or wanted.dry_run
    await _admit(call, options, name, eviction)

    def change(pod: Object) -> tuple[Write, ...]:
        now = instant.render(call.world.now())
        writes = () if evictions.needs_no_budget(pod) else _charge(call, pod, now)
        _check_identity(pod, wanted)
        evictions.mark(pod, now)
        return writes

    pod = await _change(call, WriteOptions(dry_run), name, change)
    # Only the pod whose budget was charged, never a new one of the same name.
    going = replace(wanted, uid=pod["metadata"]["uid"], version=None, dry_run=dry_run)
    await deleting.remove(call, going, name, admitted=True)
    return Answer(dict(_DONE), code=201)


async def log(call: Call) -> Reply:
    """GET of what a container has written."""
    query, name = call.route.query, call.route.name
    wish = podlogs.Wish(
        container=call.route.first("container"),
        previous=opts.boolean(query, "previous") or False,
        timestamps=opts.boolean(query, "timestamps") or False,
        tail=opts.integer(query, "tailLines"),
        limit=opts.integer(query, "limitBytes"),
        since=opts.integer(query, "sinceSeconds"),
        since_time=call.route.first("sinceTime") or None,
    )
    podlogs.check(name, wish)
    text = podlogs.text(view.decoded(_record(call, name)), wish)
    if text is None:
        return Reply(204)
    return Reply(200, text.encode(), {"Content-Type": "text/plain"})


async def _admit(call: Call, options: WriteOptions, name: str, obj: Object) -> Object:
    """What admission makes of a binding or an eviction; the old path of bindings is a resource of its own."""
    part = call.resource.subresource(call.route.subresource) or call.resource
    version = f"{part.group}/{part.version}" if part.group else part.version or "v1"
    meta = {**(obj.get("metadata") or {}), "namespace": call.route.namespace}
    attributes = Attributes(
        Operation.CREATE,
        call.resource,
        call.route.namespace,
        name,
        call.user,
        {**obj, "apiVersion": version, "kind": part.kind, "metadata": meta},
        None,
        call.route.subresource,
        options.dry_run,
        options.shown("CreateOptions"),
    )
    with call.world.chain.admission(attributes) as admission:
        await admission.mutate()
        await admission.validate()
    call.warnings += attributes.warnings
    return attributes.object or obj


def _record(call: Call, name: str) -> Record:
    record = call.world.storage.get(Key(_PODS, call.route.namespace, name))
    if record is None:
        raise refusal.not_found(_PODS, "", name)
    return record


async def _change(
    call: Call,
    options: WriteOptions,
    name: str,
    change: Callable[[Object], tuple[Write, ...]],
) -> Object:
    """Writes a changed pod, and with it what `change` wants written, or nothing of all; returns the pod."""
    for _ in range(ATTEMPTS):
        record = _record(call, name)
        pod = view.fresh(record)
        alongside = change(pod)
        if options.dry_run:
            return pod
        try:
            await call.world.write(Update(record.key, view.draft(pod), record.version), *alongside)
        except (Conflict, NotFound):
            continue
        return pod
    raise refusal.changed(_PODS, "", name)


def _charge(call: Call, pod: Object, now: str) -> tuple[Write, ...]:
    namespace, storage = call.route.namespace, call.world.storage
    budget = evictions.budget_of(pod, call.world.view.all(_BUDGETS, namespace))
    if budget is None or evictions.is_free(pod, budget):
        return ()
    charged = evictions.charge(budget, pod["metadata"]["name"], now)
    record = storage.get(Key(_BUDGETS, namespace, budget["metadata"]["name"]))
    if record is None or view.decoded(record) is not budget:
        raise refusal.changed("poddisruptionbudgets", "policy", budget["metadata"]["name"])
    return (Update(record.key, view.draft(charged), record.version),)


def _check_identity(pod: Object, wanted: DeleteOptions) -> None:
    meta = pod["metadata"]
    if wanted.uid and wanted.uid != meta["uid"]:
        why = f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({meta['uid']}). The object might have been deleted and then recreated"
        raise refusal.conflict("Pod", "", meta["name"], why)
    if wanted.version and wanted.version != meta["resourceVersion"]:
        why = f"the ResourceVersion in the precondition ({wanted.version}) does not match the ResourceVersion in record ({meta['resourceVersion']}). The object might have been modified"
        raise refusal.conflict("Pod", "", meta["name"], why)


SPECIALS: Final[Mapping[tuple[str, str, str], Special]] = {
    (_PODS, "binding", "create"): bind,
    ("bindings", "", "create"): bind,
    (_PODS, "eviction", "create"): evict,
    (_PODS, "log", "get"): log,
}
