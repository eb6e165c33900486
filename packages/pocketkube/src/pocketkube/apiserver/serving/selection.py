"""Which objects of a resource are meant: label selectors, field selectors and the options of lists and watches.

`reading`, `watching` and `deleting` read their options here. Labels and selectable fields of a stored object are worked out once for each of its
versions, and only if somebody selects.
"""

from dataclasses import dataclass

import msgspec

from kubeloop.objects import field_selector as field_selectors, selector as label_selectors
from pocketkube.apiserver import fielderrors as fe
from pocketkube.apiserver.fielderrors import Cause, quote
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import bad_request, invalid
from pocketkube.apiserver.serving import documents, options as opts, selectorwords
from pocketkube.apiserver.serving.routing import Route
from pocketkube.apiserver.storage import Record
from pocketkube.apiserver.view import facts

EXACT, NOT_OLDER = "Exact", "NotOlderThan"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a label selector, a field selector or a name leave of a resource."""

    resource: Resource
    labels: label_selectors.Selector
    fields: field_selectors.FieldSelector

    @property
    def everything(self) -> bool:
        return not self.labels.requirements and not self.fields.terms

    def is_one(self, namespace: str) -> bool:
        """Whether the fields name a single object; `namespace` is that of the request."""
        exact = {term.path for term in self.fields.terms if term.equal}
        known = bool(namespace) or not self.resource.namespaced or "metadata.namespace" in exact
        return known and "metadata.name" in exact

    def matches(self, record: Record) -> bool:
        value, notes = documents.present(self.resource, record), facts(record)
        if notes.labels is None or notes.fields is None:
            obj = msgspec.json.decode(value)
            notes.labels = obj["metadata"].get("labels") or {}
            notes.fields = dict(self.resource.strategy.fields(obj))
        return self.labels.matches(notes.labels) and self.fields.matches(notes.fields)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list, a watch or the deletion of a collection."""

    selection: Selection
    version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    timeout: int | None = None
    bookmarks: bool = False
    initial: bool | None = None


def read(route: Route, resource: Resource) -> ListOptions:
    """Reads ListOptions.

    Raises:
        Refused: 400, 422.
    """
    query = route.query
    if not query and not route.by_name:
        return ListOptions(
            Selection(resource, label_selectors.EVERYTHING, field_selectors.FieldSelector())
        )
    timeout, limit = opts.integer(query, "timeoutSeconds"), opts.integer(query, "limit")
    found = ListOptions(
        _parsed(route, resource),
        route.first("resourceVersion"),
        route.first("resourceVersionMatch"),
        limit or 0,
        route.first("continue"),
        timeout,
        bool(opts.boolean(query, "allowWatchBookmarks")),
        opts.boolean(query, "sendInitialEvents"),
    )
    causes = _watch_causes(found) if route.verb == "watch" else _list_causes(found)
    if causes:
        raise invalid("ListOptions", opts.META, "", causes)
    _check_fields(found.selection)
    return found


def selection(route: Route, resource: Resource) -> Selection:
    """Reads the selectors of a query."""
    found = _parsed(route, resource)
    _check_fields(found)
    return found


def _parsed(route: Route, resource: Resource) -> Selection:
    try:
        labels = label_selectors.parse(route.first("labelSelector"))
    except label_selectors.InvalidSelector:
        stated = selectorwords.label_problem(route.first("labelSelector"))
        raise bad_request(stated) from None
    try:
        fields = field_selectors.parse(route.first("fieldSelector"))
    except ValueError:
        stated = selectorwords.field_problem(route.first("fieldSelector"))
        raise bad_request(stated) from None
    if route.by_name:
        # An old way to watch one object names it in the path.
        fields = fields.and_(field_selectors.of(field_selectors.Term("metadata.name", route.name)))
    return Selection(resource, labels, fields)


def _check_fields(found: Selection) -> None:
    strategy = found.resource.strategy
    for term in found.fields.terms:
        if term.path not in strategy.selectable:
            raise bad_request(strategy.unselectable(term.path))


def _list_causes(found: ListOptions) -> list[Cause]:
    causes = []
    if found.initial is not None:
        causes.append(fe.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if found.match:
        causes += _match_causes(found)
    return causes


def _match_causes(found: ListOptions) -> list[Cause]:
    field, causes = "resourceVersionMatch", []
    if not found.version:
        causes.append(
            fe.forbidden(
                field, "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        )
    if found.token:
        causes.append(
            fe.forbidden(field, "resourceVersionMatch is forbidden when continue is provided")
        )
    if found.match not in (EXACT, NOT_OLDER):
        causes.append(fe.not_supported(field, found.match, (EXACT, NOT_OLDER, "")))
    if found.match == EXACT and found.version == "0":
        stated = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(fe.forbidden(field, stated))
    return causes


def _watch_causes(found: ListOptions) -> list[Cause]:
    field, causes = "resourceVersionMatch", []
    if found.initial is None and found.match:
        stated = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(fe.forbidden(field, stated))
    elif found.initial is not None and found.match != NOT_OLDER:
        stated = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"
        causes.append(fe.forbidden(field, stated))
    if found.token and (found.match or found.version in ("", "0")):
        stated = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(fe.forbidden(field, stated))
    if found.match not in ("", NOT_OLDER):
        causes.append(fe.not_supported(field, found.match, (NOT_OLDER,)))
    return causes


def version(text: str, stated: str = "invalid resource version: ") -> int:
    """Reads a resourceVersion; 0 if there is none. A server begins its refusal of a list or get as `stated` says."""
    if not text:
        return 0
    if not text.isascii() or not text.isdecimal():
        why = f"strconv.ParseUint: parsing {quote(text)}: invalid syntax"
        cause = fe.invalid("resourceVersion", text, why)
        raise bad_request(f"{stated}resourceVersion: {cause.message}")
    return int(text)
