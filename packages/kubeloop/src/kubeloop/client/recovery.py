"""What became of a write whose answer was lost, and what a refusal means after that."""

from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Protocol, cast

import msgspec

from kubeloop.client.bodies import Preconditions
from kubeloop.client.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    KubeError,
    NotFound,
    UnknownOutcome,
)
from kubeloop.objects import quantity
from kubeloop.objects.meta import JSON, Object, ObjectMeta


def contains(found: JSON, sent: JSON) -> bool:
    """Says whether `found` has everything that `sent` says; an empty or null member may be absent."""
    match sent:
        case dict():
            return isinstance(found, dict) and all(
                contains(found[name], value) if name in found else not value
                for name, value in sent.items()
            )
        case list():
            return isinstance(found, list) and _in_order(found, sent)
        case None:
            return not found
        case _:
            return found == sent or _same_quantity(found, sent)


def _in_order(found: list[JSON], sent: list[JSON]) -> bool:
    rest = chain(found)
    return all(any(contains(candidate, item) for candidate in rest) for item in sent)


def _same_quantity(found: JSON, sent: JSON) -> bool:
    if not isinstance(found, str) or not isinstance(sent, str | int | float):
        return False
    try:
        return quantity.parse(found) == quantity.parse(str(sent))
    except ValueError:
        return False


GONE = b'{"kind":"Status","apiVersion":"v1","status":"Success"}'
"""What a server answers when a deleted object is no more."""

Look = Callable[[], Awaitable[bytes]]
"""Reads the object that the write was about."""


class Recovery(Protocol):
    """The fate of one write."""

    async def settle(self) -> bytes | None:
        """After a lost answer: the result if it can be known, None to send again, `UnknownOutcome` otherwise."""

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:
        """After a refusal: raises, unless an earlier try whose answer was lost explains it (`in_doubt`)."""


class Never:
    """For writes that must not happen twice and cannot be recognised afterwards."""

    async def settle(self) -> bytes | None:
        raise _nobody_knows()

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:  # noqa: ARG002
        raise error


class Repeat(Never):
    """For writes that say the same however often they are said."""

    async def settle(self) -> bytes | None:
        return None


class Creation(msgspec.Struct, frozen=True):
    """For objects with a name of their own: the one that is found counts if it contains what was sent."""

    look: Look
    sent: JSON

    async def settle(self) -> bytes | None:
        found = await _find(self.look)
        if found is None or self._is_ours(found):
            return found
        raise AlreadyExists("another object has taken the name", code=409, reason="AlreadyExists")

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:
        if in_doubt and isinstance(error, AlreadyExists):
            found = await _find(self.look)
            if found is not None and self._is_ours(found):
                return found
        raise error

    def _is_ours(self, found: bytes) -> bool:
        # A server that keeps status apart drops it from a create.
        return contains(msgspec.json.decode(found), _content(self.sent, "status"))


class Conditional(msgspec.Struct, frozen=True):
    """For writes with a precondition: a conflict after a lost answer may be our own success."""

    look: Look
    sent: JSON

    async def settle(self) -> bytes | None:
        return None

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:
        if isinstance(error, Invalid) and any(
            cause.field == "metadata.uid" for cause in error.causes
        ):
            # To a server a merge patch with another UID is an attempt to change it; to us the object is another one.
            error = _conflict()
        if not (in_doubt and isinstance(error, Conflict)):
            raise error
        found = await _find(self.look)
        if found is not None and contains(msgspec.json.decode(found), _content(self.sent)):
            return found
        raise UnknownOutcome(f"the answer was lost, and since then: {error}") from error


class Operations(msgspec.Struct, frozen=True):
    """For JSON patches, whose failed `test` looks to the server like any other bad request."""

    look: Look
    preconditions: Preconditions

    async def settle(self) -> bytes | None:
        if self.preconditions.resource_version:
            return None
        raise _nobody_knows()

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:
        if not isinstance(error, Invalid) or error.causes or not self.preconditions:
            raise error
        found = await _find(self.look)
        if found is None or not _meets(found, self.preconditions):
            if in_doubt:
                raise UnknownOutcome("the answer was lost, and the object has changed") from error
            raise _conflict() from error
        raise error


class Removal(msgspec.Struct, frozen=True):
    """For deletes: with a UID they can be repeated, without one they might hit a successor."""

    look: Look
    uid: str
    grace_seconds: int | None = None

    async def settle(self) -> bytes | None:
        if self.uid:
            return None
        fate = await self._fate()
        if fate is None:
            raise _nobody_knows()
        return fate

    async def refused(self, error: ApiError, *, in_doubt: bool) -> bytes:
        if in_doubt and isinstance(error, NotFound):
            return GONE
        if in_doubt and isinstance(error, Conflict):
            fate = await self._fate()
            if fate is not None:
                return fate
        raise error

    async def _fate(self) -> bytes | None:
        found = await _find(self.look)
        if found is None:
            return GONE
        metadata = msgspec.json.decode(found, type=Object).metadata
        if self.uid and metadata.uid != self.uid:
            return GONE
        return found if self._is_going(metadata) else None

    def _is_going(self, metadata: ObjectMeta) -> bool:
        """Whether as much was begun as we asked for: a mark with more grace was left by somebody else."""
        if not metadata.deletion_timestamp:
            return False
        return self.grace_seconds is None or self.grace_seconds >= (
            metadata.deletion_grace_period_seconds or 0
        )


async def _find(look: Look) -> bytes | None:
    try:
        return await look()
    except NotFound:
        return None
    except KubeError as error:
        raise UnknownOutcome(f"the answer was lost, and reading failed: {error}") from error


def _meets(found: bytes, preconditions: Preconditions) -> bool:
    metadata = msgspec.json.decode(found, type=Object).metadata
    return preconditions.uid in ("", metadata.uid) and preconditions.resource_version in (
        "",
        metadata.resource_version,
    )


def _nobody_knows() -> UnknownOutcome:
    return UnknownOutcome(
        "nobody knows whether the request was carried out, and it cannot be repeated safely"
    )


def _conflict() -> Conflict:
    return Conflict("the object is no longer the one that was read", code=409, reason="Conflict")


def _content(sent: JSON, *without: str) -> JSON:
    """Leaves out of an object what says how it was addressed, and in which version it was expected."""
    body = dict(cast("dict[str, JSON]", sent))
    for name in ("apiVersion", "kind", *without):
        body.pop(name, None)
    metadata = dict(cast("dict[str, JSON]", body.get("metadata") or {}))
    metadata.pop("resourceVersion", None)
    return {**body, "metadata": metadata}
