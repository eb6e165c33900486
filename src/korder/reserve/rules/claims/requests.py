"""What a pod asks for, read from its annotations.

Admission asks `request_of` to refuse nonsense at the door, claims ask it to find tickets, `korder explain` to tell what is
sought. All forms of both korder states are understood. `ticket-claimed` and `ticket-node` are our answer, never a request:
they are not read here at all. `order` beside `ticket-request` narrows the search, because both can hold at once; two
annotations that name the order or the ticket twice are refused unless they say the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
import re

from korder.api import duration, selector
from korder.api.meta import Key
from korder.api.reserve import (
    FALLBACK_AFTER_ANNOTATION,
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    REQUIRED_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
)
from korder.api.selector import Selector

REQUEST_ANNOTATIONS = (
    REQUIRED_ANNOTATION,
    ORDER_ANNOTATION,
    ORDER_REQUEST_ANNOTATION,
    TICKET_REQUEST_ANNOTATION,
    FALLBACK_AFTER_ANNOTATION,
)
"""What is read; whoever has none of them asks for nothing."""

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_FORMS = "name:<ticket>, selector:<labels>, group:<group>, or the ticket's bare name"


class InvalidRequest(ValueError):
    """The annotations cannot be understood or contradict each other; its text is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a pod wants to have.

    Attributes:
        asks: Whether the pod wants a ticket at all.
        required: Whether it waits for one, however long.
        order: The order it must be of, with its namespace where that is not the pod's own.
        ticket: The ticket's name, if only one will do.
        labels: What labels the ticket must have.
        group: The ticket group it must be of.
        fallback_after: How long a pod that only prefers a ticket waits for one.
    """

    asks: bool = True
    required: bool = False
    order: Key | None = None
    ticket: str = ""
    labels: Selector = selector.EVERYTHING
    group: str = ""
    fallback_after: timedelta = timedelta()

    def namespace(self, own: str) -> str:
        """Where the tickets are that come into question, for a pod of the namespace `own`."""
        return self.order.namespace or own if self.order is not None else own


def request_of(annotations: Mapping[str, str]) -> Request:
    """Reads what a pod asks for.

    Raises:
        InvalidRequest: nobody could say what is wanted.
    """
    required = _required(annotations)
    order = _order(annotations)
    sought = annotations.get(TICKET_REQUEST_ANNOTATION)
    if sought is not None and ORDER_REQUEST_ANNOTATION in annotations:
        raise InvalidRequest(
            f"annotations {TICKET_REQUEST_ANNOTATION} and {ORDER_REQUEST_ANNOTATION} exclude each other: "
            f"use one of them, or {ORDER_ANNOTATION} to narrow {TICKET_REQUEST_ANNOTATION}"
        )
    ticket, labels, group = _ticket(sought) if sought is not None else ("", selector.EVERYTHING, "")
    wait = annotations.get(FALLBACK_AFTER_ANNOTATION)
    if wait is not None and required:
        raise InvalidRequest(
            f"annotation {FALLBACK_AFTER_ANNOTATION} must not be used together with {REQUIRED_ANNOTATION}=true: "
            "a pod that requires a ticket never falls back"
        )
    asks = required or order is not None or sought is not None or wait is not None
    return Request(asks, required, order, ticket, labels, group, _wait(wait))


def _required(annotations: Mapping[str, str]) -> bool:
    text = annotations.get(REQUIRED_ANNOTATION, "false")
    if text not in ("true", "false"):
        raise InvalidRequest(
            f"annotation {REQUIRED_ANNOTATION} must be true or false, not {text[:64]!r}"
        )
    return text == "true"


def _order(annotations: Mapping[str, str]) -> Key | None:
    names = (ORDER_ANNOTATION, ORDER_REQUEST_ANNOTATION)
    said = {name: _order_key(name, annotations[name]) for name in names if name in annotations}
    if len(set(said.values())) > 1:
        raise InvalidRequest(
            f"annotations {ORDER_ANNOTATION} and {ORDER_REQUEST_ANNOTATION} name different orders, "
            f"{said[ORDER_ANNOTATION]} and {said[ORDER_REQUEST_ANNOTATION]}: use one of them"
        )
    return next(iter(said.values()), None)


def _order_key(annotation: str, text: str) -> Key:
    namespace, slash, name = text.rpartition("/")
    if (slash and not _is_name(namespace, 63)) or not _is_name(name, 253):
        raise InvalidRequest(
            f"annotation {annotation} must be an order's name or namespace/name, not {text[:128]!r}"
        )
    return Key(namespace, name)


def _ticket(text: str) -> tuple[str, Selector, str]:
    """A ticket's name, labels or group, of which one is given."""
    form, colon, rest = text.partition(":")
    if not colon:
        form, rest = "name", text
    if form == "name" and _is_name(rest, 253):
        return rest, selector.EVERYTHING, ""
    if form == "group" and rest.strip() == rest and rest:
        return "", selector.EVERYTHING, rest
    if form == "selector" and rest.strip():
        try:
            return "", selector.parse(rest), ""
        except selector.InvalidSelector as error:
            raise InvalidRequest(f"annotation {TICKET_REQUEST_ANNOTATION}: {error}") from None
    raise InvalidRequest(
        f"annotation {TICKET_REQUEST_ANNOTATION} must be {_FORMS}, not {text[:128]!r}"
    )


def _wait(text: str | None) -> timedelta:
    if text is None:
        return timedelta()
    try:
        wait = duration.parse(text)
    except duration.InvalidDuration as error:
        raise InvalidRequest(f"annotation {FALLBACK_AFTER_ANNOTATION}: {error}") from None
    if wait.nanoseconds < 0:
        raise InvalidRequest(
            f"annotation {FALLBACK_AFTER_ANNOTATION} must not be negative, as {text[:64]!r} is"
        )
    return wait.timedelta


def _is_name(text: str, most: int) -> bool:
    return len(text) <= most and _NAME.fullmatch(text) is not None
