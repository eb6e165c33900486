"""Events, which are served by two groups with different names for the same members. They are kept as `v1` has them.

`v1` hardly looks at events without an `eventTime`; `events.k8s.io` is strict. Both judge the `v1` form, so that causes
name its members, as a real server's do.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from typing import Any, Final

from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause
from pocketkube.apiserver.kinds import names, naming, objectmeta
from pocketkube.apiserver.kinds.plain import Plain
from pocketkube.apiserver.kinds.strategy import Causes, Object

_REFERENCE: Final = (
    "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
)  # fmt: skip
_SERVED: Final = {
    "eventTime": "eventTime",
    "series": "series",
    "reportingController": "reportingComponent",
    "reportingInstance": "reportingInstance",
    "action": "action",
    "reason": "reason",
    "regarding": "involvedObject",
    "related": "related",
    "note": "message",
    "type": "type",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""What `events.k8s.io` calls its members, in its order, and what `v1` does."""

_STORED: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "type", "eventTime", "series", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip
_ALWAYS_SERVED: Final[Object] = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_ALWAYS_STORED: Final[Object] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_FIXED: Final = tuple(member for member in _STORED if member != "series")
_GO_NAMES: Final = {"reportingComponent": "reportingController"}


class Events(Plain):
    """Events as `v1` has them."""

    name_rule = staticmethod(names.path_segment)
    qualified_finalizers = False
    orphans = "unsupported"
    more_selectable: tuple[str, ...] = (
        *(f"involvedObject.{member}" for member in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    )

    def check(self, obj: Object) -> Iterable[Cause]:
        return _sound(obj, "reportingComponent")

    def fields(self, obj: Object) -> Mapping[str, str]:
        involved, meta = obj.get("involvedObject") or {}, obj["metadata"]
        reporter = obj.get("reportingComponent", "")
        found = {
            "metadata.name": meta.get("name", ""),
            "metadata.namespace": meta.get("namespace", ""),
            "reason": obj.get("reason", ""),
            "type": obj.get("type", ""),
            "source": (obj.get("source") or {}).get("component", "") or reporter,
            "reportingComponent": reporter,
            "reportingController": reporter,
        }
        for member in _REFERENCE:
            found[f"involvedObject.{member}"] = involved.get(member, "")
            found[f"regarding.{member}"] = involved.get(member, "")
        return found


class NewEvents(Events):
    """Events as `events.k8s.io` has them."""

    name_rule = staticmethod(names.subdomain)
    qualified_finalizers = True
    converts = True
    more_selectable: tuple[str, ...] = (
        *(f"regarding.{member}" for member in _REFERENCE),
        "reason",
        "reportingController",
        "type",
    )

    def outward(self, obj: Object) -> None:
        members = {new: obj.pop(old) for new, old in _SERVED.items() if old in obj}
        obj["apiVersion"] = self.api_version
        obj.update(members)
        _complete(obj, _SERVED, _ALWAYS_SERVED)

    def inward(self, obj: Object) -> None:
        members = {old: obj.pop(new) for new, old in _SERVED.items() if new in obj}
        obj["apiVersion"] = "v1"
        obj.update(members)
        _complete(obj, _STORED, _ALWAYS_STORED)

    def check(self, obj: Object) -> Iterator[Cause]:
        event = self._stored(obj)
        yield from _sound(event, "reportingController")
        yield from _series(event)
        if not event["eventTime"]:
            yield fe.required("eventTime")
        if event.get("type") not in ("Normal", "Warning"):
            yield fe.invalid("type", "", f"has invalid value: {event.get('type', '')}")
        for member in ("firstTimestamp", "lastTimestamp", "count", "source"):
            if event.get(member):
                yield fe.invalid(member, "", "needs to be unset")

    def check_change(self, obj: Object, old: Object) -> Causes:
        event, before = self._stored(obj), self._stored(old)
        found = list(_sound(event, "reportingController"))
        if event.get("series") != before.get("series"):
            found += _series(event)
        for member in _FIXED:
            if (event.get(member) or None) != (before.get(member) or None):
                found.append(objectmeta.immutable(_GO_NAMES.get(member, member), event.get(member)))
        return found

    def _stored(self, obj: Object) -> Object:
        event = dict(obj)
        self.inward(event)
        return event


def _complete(obj: Object, order: Iterable[str], always: Mapping[str, Any]) -> None:
    """Puts the members into their order, with those that are always written."""
    found = {member: obj.pop(member) for member in order if member in obj}
    for member in order:
        if found.get(member):
            obj[member] = found[member]
        elif member in always:
            obj[member] = copy(always[member])


def _sound(event: Object, reporter: str) -> Iterator[Cause]:
    """What holds for events of both groups."""
    namespace = event["metadata"].get("namespace", "")
    involved = (event.get("involvedObject") or {}).get("namespace", "")
    mismatch = fe.invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if not event.get("eventTime"):
        if namespace not in ((involved,) if involved else ("", "default")):
            yield mismatch
    else:
        if not involved and namespace not in ("default", "kube-system"):
            yield mismatch
        yield from _complete_report(event, reporter)
    yield from naming.named("namespace", namespace, naming.dns_subdomain)


def _complete_report(event: Object, reporter: str) -> Iterator[Cause]:
    name = event.get("reportingComponent") or ""
    if not name:
        yield fe.required(reporter)
    yield from naming.named(reporter, name, naming.label_key)
    for member in ("reportingInstance", "action", "reason"):
        text = event.get(member) or ""
        if not text:
            yield fe.required(member)
        yield from _bounded(member, text, 128)
    yield from _bounded("message", event.get("message") or "", 1024)


def _bounded(member: str, text: str, most: int) -> Iterator[Cause]:
    if len(text.encode()) > most:
        yield fe.invalid(member, "", f"can have at most {most} characters")


def _series(event: Object) -> Iterator[Cause]:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield fe.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield fe.required("series.lastObservedTime")
