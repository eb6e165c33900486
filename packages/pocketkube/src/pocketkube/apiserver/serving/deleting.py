"""Deleting: at once, after a grace, or when the last finalizer is gone.

A deletion that has to wait is a write like any other: it sets the time, the grace and the finalizers of the garbage collector. What
completes it is an update that takes the last finalizer away (`writing`), or another deletion with less patience.
"""

import asyncio
from datetime import timedelta
from typing import Any

from kubeloop.objects import instant
from pocketkube.apiserver import refusal
from pocketkube.apiserver.admission.attributes import Attributes, Operation
from pocketkube.apiserver.serving import deleteoptions, documents, reading, selection
from pocketkube.apiserver.serving.call import ATTEMPTS, Answer, Call
from pocketkube.apiserver.serving.deleteoptions import DeleteOptions
from pocketkube.apiserver.storage import Conflict, Delete, NotFound, Record, Update

Object = dict[str, Any]

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


async def delete(call: Call) -> Answer:
    """DELETE of one object."""
    options = deleteoptions.read(call)
    return await remove(call, options, call.route.name)


async def collection(call: Call) -> bytes:
    """DELETE of all objects that are selected; answers with the list of them."""
    options = deleteoptions.read(call)
    listed = reading.find(call, selection.read(call.route, call.resource))
    for record in listed.records:
        try:
            await remove(call, options, record.key.name, record.key.namespace)
        except refusal.Refused as error:
            if error.status.code != 404:
                raise
        # Storage without a file never waits; others have their turn between two deletions.
        await asyncio.sleep(0)
    return reading.collection(call, listed)


async def remove(
    call: Call,
    options: DeleteOptions,
    name: str,
    namespace: str | None = None,
    *,
    admitted: bool = False,
) -> Answer:
    """Deletes one object as far as it can be deleted now; `admitted` if what is asked for was admitted as something else."""
    key = call.key_of(name)
    if namespace is not None:
        key = key._replace(namespace=namespace)
    for attempt in range(ATTEMPTS):
        async with call.world.locks.at(key, attempt):
            record = call.world.storage.get(key)
            if record is None:
                raise refusal.not_found(call.resource.plural, call.resource.group, name)
            try:
                return await _remove(call, options, record, admitted=admitted)
            except (Conflict, NotFound):
                continue
    raise refusal.changed(call.resource.plural, call.resource.group, name)


async def _remove(call: Call, options: DeleteOptions, record: Record, *, admitted: bool) -> Answer:
    old = documents.shared(call.resource, record)
    _preconditions(call, options, record, old["metadata"])
    meta = dict(old["metadata"])
    obj = {**old, "metadata": meta}
    if _waits_already(call, options, old):
        return _reported(call, record)
    if not admitted:
        await _admit(call, options, record, old)
    graceful = _set_grace(call, options, obj)
    finalizers = _finalizers(call, options, meta)
    if finalizers != (meta.get("finalizers") or []):
        _set(meta, "finalizers", finalizers)
    held = _hold(call, obj, graceful=graceful)
    if held or (graceful and meta["deletionGracePeriodSeconds"]):
        return await _keep(call, options, obj, record)
    if not options.dry_run:
        draft = documents.draft(call.resource, obj if graceful else old)
        if graceful:
            # Those who watch are told of the grace that has ended before the object goes.
            (record,) = await call.world.write(Update(record.key, draft, record.version))
        (record,) = await call.world.write(Delete(record.key, draft, record.version))
        obj["metadata"]["resourceVersion"] = str(record.version)
    return _gone(call, record, obj)


def _hold(call: Call, obj: Object, *, graceful: bool) -> bool:
    """Marks an object that something keeps; False if nothing does."""
    meta, strategy = obj["metadata"], call.resource.strategy
    begins = "deletionTimestamp" not in meta
    if strategy.held(obj):
        meta.setdefault("deletionTimestamp", instant.render(call.world.now()))
    elif not meta.get("finalizers"):
        return False
    elif not graceful:
        _mark(call, meta)
    if begins:
        strategy.condemn(obj)
    return True


def _waits_already(call: Call, options: DeleteOptions, obj: Object) -> bool:
    """Whether the object is on its way, held by its kind or for a grace that this deletion does not shorten."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta:
        return False
    if call.resource.strategy.held(obj):
        return True
    grace = meta.get("deletionGracePeriodSeconds")
    if not grace:
        return False
    asked = options.grace
    return asked is None or (1 if asked < 0 else asked) >= grace


async def _admit(call: Call, options: DeleteOptions, record: Record, old: Object) -> None:
    attributes = Attributes(
        Operation.DELETE,
        call.resource,
        record.key.namespace or call.route.namespace,
        call.route.name,  # none for a whole collection, whose objects are admitted one by one
        call.user,
        None,
        old,
        dry_run=options.dry_run,
        options=options.shown,
    )
    with call.world.chain.admission(attributes) as admission:
        await admission.mutate()
        await admission.validate()
    call.warnings += attributes.warnings


def _preconditions(call: Call, options: DeleteOptions, record: Record, meta: Object) -> None:
    kind, group, name = call.resource.kind, call.resource.group, record.key.name
    uid, version = meta.get("uid", ""), str(record.version)
    if call.resource.stored == "namespaces":
        for what, wanted, found in (
            ("UID", options.uid, uid),
            ("ResourceVersion", options.version, version),
        ):
            if wanted not in (None, found):
                stated = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                raise refusal.conflict(call.resource.plural, group, name, stated)
    if options.uid is not None and options.uid != uid:
        stated = f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        raise refusal.conflict(kind, group, name, stated)
    if options.version is not None and options.version != version:
        stated = f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        raise refusal.conflict(kind, group, name, stated)


def _set_grace(call: Call, options: DeleteOptions, obj: Object) -> bool:
    """Gives the object its time; False for kinds that go at once."""
    meta, now = obj["metadata"], call.world.now()
    asked = 1 if options.grace is not None and options.grace < 0 else options.grace
    if "deletionTimestamp" in meta:
        running = meta.get("deletionGracePeriodSeconds")
        if not running or asked is None:
            return False
        due = instant.parse(meta["deletionTimestamp"]) + timedelta(seconds=asked - running)
        if due < now:
            due, asked = now, 1 if asked else 0
        meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = instant.render(due), asked
        return True
    grace = call.resource.strategy.grace(obj, asked)
    if grace is None:
        return False
    meta["deletionTimestamp"] = instant.render(now + timedelta(seconds=grace))
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1
    return True


def _mark(call: Call, meta: Object) -> None:
    """Says that an object without a grace is being deleted."""
    now = call.world.now()
    if "deletionTimestamp" not in meta and meta.get("generation"):
        meta["generation"] += 1
    if "deletionTimestamp" not in meta or instant.parse(meta["deletionTimestamp"]) > now:
        meta["deletionTimestamp"] = instant.render(now)
    meta["deletionGracePeriodSeconds"] = 0


def _finalizers(call: Call, options: DeleteOptions, meta: Object) -> list[str]:
    """The finalizers with those of the garbage collector as the deletion wants them."""
    there: list[str] = meta.get("finalizers") or []
    usual = call.resource.strategy.orphans
    kept = [each for each in there if each not in (ORPHAN, FOREGROUND)]
    if usual == "unsupported":
        return kept
    wanted = _wanted(options)
    if wanted is None:
        wanted = next((each for each in there if each in (ORPHAN, FOREGROUND)), usual)
    return [*kept, wanted] if wanted else kept


def _wanted(options: DeleteOptions) -> str | None:
    """The finalizer that the options ask for: "" for none, None if they do not say."""
    if options.orphan is not None:
        return ORPHAN if options.orphan else ""
    if options.policy is not None:
        return {"Orphan": ORPHAN, "Foreground": FOREGROUND}.get(options.policy, "")
    return None


def _set(meta: Object, member: str, value: list[str]) -> None:
    if value:
        meta[member] = value
    else:
        meta.pop(member, None)


async def _keep(call: Call, options: DeleteOptions, obj: Object, record: Record) -> Answer:
    draft = documents.draft(call.resource, obj)
    if documents.unchanged(record, draft):
        return _reported(call, record)
    if options.dry_run:
        return Answer(obj)
    (written,) = await call.world.write(Update(record.key, draft, record.version))
    return Answer(value=documents.whole(call.resource, written))


def _reported(call: Call, record: Record) -> Answer:
    return Answer(value=documents.whole(call.resource, record))


def _gone(call: Call, record: Record, obj: Object) -> Answer:
    resource = call.resource
    if resource.returns_deleted:
        return Answer(obj)
    details = {
        "name": record.key.name,
        **({"group": resource.group} if resource.group else {}),
        "kind": resource.plural,
        "uid": obj["metadata"].get("uid", ""),
    }
    return Answer(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
    )
