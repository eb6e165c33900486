"""Creating and replacing: the way of an object from the body of a request into storage.

Every change of something stored goes through `change`, whether a PUT, a patch or a special part asks for it: what is stored is
read, the wanted object is made from it, and if somebody else was faster everything begins again. A caller that names a
version finds it changed then, and hears of the conflict.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
import uuid

from msgspec.structs import replace

from kubeloop.objects import instant
from pocketkube.apiserver import gotext, refusal
from pocketkube.apiserver.access.action import Action
from pocketkube.apiserver.admission.attributes import Attributes, Operation
from pocketkube.apiserver.fielderrors import Cause, invalid as invalid_field, quote
from pocketkube.apiserver.kinds.definition import STORED as DEFINITIONS
from pocketkube.apiserver.managed_fields import apply as ownership, merging
from pocketkube.apiserver.serving import bodies, documents, incoming, options as opts
from pocketkube.apiserver.serving.call import ATTEMPTS, Answer, Call
from pocketkube.apiserver.serving.options import WriteOptions
from pocketkube.apiserver.storage import (
    AlreadyExists,
    Conflict,
    Create,
    Delete,
    Key,
    NotFound,
    Record,
    Unchanged,
    Update,
    Write,
)
from pocketkube.apiserver.view import decoded

Object = dict[str, Any]
Make = Callable[[Object | None], Object]
"""Makes the wanted object, owners of its fields included, from the stored one (not to be changed) or from nothing."""

_NAMES = 8
"""How many generated names are tried."""

_ADMITTED = " after mutating admission happens"
_NAME_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58
_SYSTEM = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "uid",
    "selfLink",
)


async def create(call: Call) -> Answer:
    """POST of an object."""
    options = opts.write(call.route, "CreateOptions")
    obj = incoming.read(call, options)
    for member in _SYSTEM:
        obj["metadata"].pop(member, None)
    incoming.settle(call, obj)
    incoming.one_owner_each(call, obj)
    obj = own(call, options, None, obj)
    return await create_object(call, options, obj)


def own(call: Call, options: WriteOptions, live: Object | None, obj: Object) -> Object:
    """Writes down who owns what after a write."""
    if obj["kind"] != call.resource.kind:
        obj["metadata"].pop("managedFields", None)
        return obj
    endpoint = call.resource.strategy.endpoint(call.route.subresource)
    who = incoming.manager(call, options)
    return ownership.update(endpoint, live, obj, who, call.world.now())


async def create_object(call: Call, options: WriteOptions, obj: Object) -> Answer:
    """Stores a new object that was read and has owners."""
    named, generated = obj["metadata"].get("name"), obj["metadata"].get("generateName", "")
    for attempt in range(ATTEMPTS):
        try:
            return await _create(call, options, obj)
        except AlreadyExists as error:
            if named or not generated or attempt >= _NAMES - 1:
                raise _exists(call, error.key.name, generated=bool(generated)) from None
            obj["metadata"].pop("name", None)
        except (Conflict, NotFound):
            if call.renew():
                incoming.understood(call, obj)
    raise _busy(call, call.route.name)


async def _create(call: Call, options: WriteOptions, obj: Object) -> Answer:
    strategy, ground = call.resource.strategy, _ground(call, obj)
    attributes = _attributes(call, options, obj, None)
    with call.world.chain.admission(attributes) as admission:
        await admission.mutate()
        made = attributes.object or obj
        incoming.one_owner_each(call, made, _ADMITTED)
        _complete(call, made)
        strategy.before_create(made)
        _refuse(call, made, strategy.check_create(made))
        attributes.object, attributes.name = made, made["metadata"]["name"]
        call.warnings += strategy.warnings(made)
        await admission.validate()
        call.warnings += attributes.warnings
        return await _store_new(call, options, made, [*attributes.alongside, *ground])


def _ground(call: Call, obj: Object) -> list[Write]:
    """What a new object stands on, its namespace and its definition: a create does not pass one of them on its way out."""
    storage, resource = call.world.storage, call.resource
    namespace = storage.get(Key("namespaces", "", call.route.namespace))
    found = [] if namespace is None else [namespace]
    if resource.custom:
        definition = storage.get(Key(DEFINITIONS, "", resource.stored))
        if definition is None:
            raise refusal.no_such_path()
        if "deletionTimestamp" in decoded(definition)["metadata"]:
            why = "create not allowed while custom resource definition is terminating"
            name = obj["metadata"].get("name", "")
            raise refusal.forbidden(resource.plural, resource.group, name, why)
        found.append(definition)
    return [Unchanged(each.key, each.version) for each in found]


def _complete(call: Call, obj: Object) -> None:
    """Gives a new object what only the server gives."""
    world, meta = call.world, obj["metadata"]
    meta["uid"] = str(uuid.UUID(int=world.rng.getrandbits(128), version=4))
    meta["creationTimestamp"] = instant.render(world.now())
    base = meta.get("generateName")
    if base and not meta.get("name"):
        ending = "".join(world.rng.choice(_NAME_CHARACTERS) for _ in range(5))
        meta["name"] = base[:_LONGEST_BASE] + ending


async def _store_new(
    call: Call, options: WriteOptions, obj: Object, alongside: list[Write]
) -> Answer:
    key = call.key_of(obj["metadata"]["name"])
    if call.resource.custom:
        obj = _written_out(obj)
    if options.dry_run:
        if call.world.storage.get(key) is not None:
            raise AlreadyExists(key)
        return Answer(obj, code=201)
    version = obj["metadata"].pop("resourceVersion", "")
    # A server stores what is no number at all: nobody looks at it again.
    if version.isascii() and version.isdecimal() and int(version):
        raise refusal.bad_request("resourceVersion should not be set on objects to be created")
    new = Create(key, documents.draft(call.resource, obj))
    record, *_ = await call.world.write(new, *alongside)
    return Answer(value=documents.whole(call.resource, record), code=201)


def _written_out(obj: Object) -> Object:
    """A custom object with its numbers as they are stored."""
    return {
        name: value if name == "metadata" else gotext.whole_numbers(value, bodies.EXACT)
        for name, value in obj.items()
    }


def _exists(call: Call, name: str, *, generated: bool) -> refusal.Refused:
    found = refusal.already_exists(call.resource.plural, call.resource.group, name)
    stated, details = found.status.message, found.status.details
    if generated and details is not None:
        details = replace(details, retry_after_seconds=1)
        stated += ", the server was not able to generate a unique name for the object"
    record = call.world.storage.get(call.key_of(name))
    if (
        record is not None
        and "deletionTimestamp" in documents.known(call.resource, record)["metadata"]
    ):
        stated = f"object is being deleted: {stated}"
    return refusal.Refused(replace(found.status, message=stated, details=details))


async def update(call: Call) -> Answer:
    """PUT of an object or of its status."""
    options = opts.write(call.route, "UpdateOptions")
    obj = incoming.read(call, options)
    incoming.settle(call, obj)
    incoming.check_name(call, obj)
    incoming.one_owner_each(call, obj)

    def make(live: Object | None) -> Object:
        wanted = {**obj, "metadata": dict(obj["metadata"])}
        same_object(call, options, wanted, live)
        return own(call, options, live, wanted)

    creates = call.resource.strategy.created_by_update and not call.route.subresource
    return await change(call, options, make, creates=creates)


def same_object(call: Call, options: WriteOptions, obj: Object, live: Object | None) -> None:
    """Refuses an object that names another id than that of what is stored."""
    wanted, found = obj["metadata"].get("uid"), live["metadata"].get("uid", "") if live else ""
    if wanted and wanted != found:
        root = "" if options.dry_run else "/registry"
        why = f"StorageError: invalid object, Code: 4, Key: {root}{_path(call)}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
        raise refusal.conflict(call.resource.plural, call.resource.group, call.route.name, why)


def _path(call: Call) -> str:
    where = (
        f"{call.resource.group}/{call.resource.plural}"
        if call.resource.custom
        else call.resource.plural
    )
    return f"/{where}/{call.key.path}"


class Part(NamedTuple):
    """A part of objects that is written as an object of another kind: what admission sees, and what is then stored.

    Attributes:
        show: The part of an object.
        put: An object, made from the stored one and its new part.
    """

    show: Callable[[Object], Object]
    put: Callable[[Object, Object], Object]


_WHOLE = Part(lambda obj: obj, lambda _, obj: obj)


async def change(
    call: Call, options: WriteOptions, make: Make, *, creates: bool = False, part: Part = _WHOLE
) -> Answer:
    """Replaces the stored object by what is made from it; creates it if it is not there and that is allowed."""
    for attempt in range(ATTEMPTS):
        async with call.world.locks.at(call.key, attempt):
            try:
                return await _change(call, options, make, part, creates=creates)
            except (Conflict, NotFound, AlreadyExists):
                call.renew()
    raise _busy(call, call.route.name)


async def _change(
    call: Call, options: WriteOptions, make: Make, part: Part, *, creates: bool
) -> Answer:
    record = call.world.storage.get(call.key)
    if record is not None:
        return await _replace(call, options, make, part, record)
    if not creates:
        raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
    return await _create_by_update(call, options, make)


async def _create_by_update(call: Call, options: WriteOptions, make: Make) -> Answer:
    route = call.route
    call.world.enter(
        call.request.headers,
        Action(
            "create", route.group, route.resource, route.subresource, route.namespace, route.name
        ),
    )
    obj = make(None)
    if obj["metadata"].get("uid"):
        why = f"uid mismatch: the provided object specified uid {obj['metadata']['uid']}, and no existing object was found"
        raise refusal.conflict(call.resource.plural, call.resource.group, route.name, why)
    _number(obj["metadata"].get("resourceVersion") or "0")
    for member in ("resourceVersion", "selfLink"):
        obj["metadata"].pop(member, None)
    return await create_object(call, options, obj)


async def _replace(
    call: Call, options: WriteOptions, make: Make, part: Part, record: Record
) -> Answer:
    rules = _rules(call)
    old = documents.known(call.resource, record)
    obj = make(old)
    attributes = _attributes(call, options, obj, part.show(old))
    with call.world.chain.admission(attributes) as admission:
        await admission.mutate()
        obj = part.put(old, attributes.object or obj)
        incoming.one_owner_each(call, obj, _ADMITTED)
        _check_version(call, obj, record)
        _carry_system_fields(obj["metadata"], old["metadata"])
        rules.before(obj, old)
        _refuse(call, obj, rules.check(obj, old))
        obj = ownership.keep_times(old, obj)
        attributes.object = part.show(obj)
        call.warnings += rules.warnings(obj, old)
        await admission.validate()
        call.warnings += attributes.warnings
        return await _store_changed(call, options, obj, record, attributes.alongside)


class _Rules(NamedTuple):
    """What an endpoint puts back and what it judges."""

    before: Callable[[Object, Object], None]
    check: Callable[[Object, Object], list[Cause]]
    warnings: Callable[[Object, Object], list[str]]


def _rules(call: Call) -> _Rules:
    strategy = call.resource.strategy
    match call.route.subresource:
        case "status":
            return _Rules(strategy.before_status, strategy.check_status, _no_warnings)
        case "finalize":
            return _Rules(strategy.before_finalize, strategy.check_finalize, _no_warnings)
        case "" | "scale":
            return _Rules(
                strategy.before_update, strategy.check_update, strategy.warnings_of_change
            )
        case part:
            before, check = partial(strategy.before_part, part), partial(strategy.check_part, part)
            return _Rules(before, check, _no_warnings)


def _no_warnings(obj: Object, old: Object) -> list[str]:
    del obj, old
    return []


def _check_version(call: Call, obj: Object, record: Record) -> None:
    sent = obj["metadata"].get("resourceVersion") or "0"
    plural, group, name = call.resource.plural, call.resource.group, call.route.name
    wanted = _number(sent)
    if sent == "0" and not call.resource.strategy.unconditional:
        cause = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
        raise refusal.invalid(plural, group, name, [cause])
    if wanted not in (0, record.version):
        raise refusal.changed(plural, group, name)
    obj["metadata"]["resourceVersion"] = str(record.version)


def _number(version: str) -> int:
    if not (version.isascii() and version.isdecimal()):
        raise refusal.bad_request(f"strconv.ParseUint: parsing {quote(version)}: invalid syntax")
    return int(version)


def _carry_system_fields(meta: Object, old: Object) -> None:
    """Puts back what nobody can change by an update."""
    for member in ("creationTimestamp", "deletionTimestamp"):
        if member in old:
            meta[member] = old[member]
    for member in ("uid", "deletionGracePeriodSeconds"):
        if not meta.get(member) and member in old:
            meta[member] = old[member]
    if "generation" in old:
        meta["generation"] = old["generation"]
    else:
        meta.pop("generation", None)
    meta.pop("selfLink", None)


async def _store_changed(
    call: Call, options: WriteOptions, obj: Object, record: Record, alongside: list[Write]
) -> Answer:
    if call.resource.custom:
        obj = _written_out(obj)
    gone = is_finished(call, obj)
    draft = documents.redraft(record) if gone else documents.draft(call.resource, obj)
    if not gone and _unchanged(call, obj, record):
        return Answer(value=documents.whole(call.resource, record))
    if options.dry_run:
        return Answer(obj)
    make = Delete if gone else Update
    written, *_ = await call.world.write(make(record.key, draft, record.version), *alongside)
    # An object that goes by an update is answered as it would have become, under the version it had; watches see what was stored.
    return Answer(obj) if gone else Answer(value=documents.whole(call.resource, written))


def _unchanged(call: Call, obj: Object, record: Record) -> bool:
    return merging.same(obj, documents.shared(call.resource, record))


def is_finished(call: Call, obj: Object) -> bool:
    """Whether an object that is being deleted waits for nobody any more."""
    meta = obj["metadata"]
    return (
        "deletionTimestamp" in meta
        and not call.resource.strategy.held(obj)
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )


def _attributes(call: Call, options: WriteOptions, obj: Object, old: Object | None) -> Attributes:
    creating = old is None
    return Attributes(
        Operation.CREATE if creating else Operation.UPDATE,
        call.resource,
        call.route.namespace,
        call.route.name or obj["metadata"].get("name", ""),
        call.user,
        obj,
        old,
        call.route.subresource,
        options.dry_run,
        options.shown("CreateOptions" if creating else "UpdateOptions"),
    )


def _refuse(call: Call, obj: Object, causes: list[Cause]) -> None:
    """Refuses what is wrong; the kind of a custom object is judged here, because a status may come under any."""
    kind = obj["kind"]
    if kind != call.resource.kind and call.route.subresource != "status":
        cause = invalid_field("kind", kind, f"must be {call.resource.kind}")
        raise refusal.invalid(kind, call.resource.group, obj["metadata"].get("name", ""), [cause])
    obj["kind"] = call.resource.kind
    if causes:
        name = obj["metadata"].get("name", "")
        raise refusal.invalid(call.resource.kind, call.resource.kept_group, name, causes)


def _busy(call: Call, name: str) -> refusal.Refused:
    return refusal.changed(call.resource.plural, call.resource.group, name)
