"""Getting and listing.

A list joins stored bytes: nothing is decoded unless somebody selects or wants a table. Where a list goes on stands in its token,
as with a real server: the version of the first page and the last key, so that all pages show one moment.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from kubeloop.objects.machinery import StatusCause, StatusDetails
from kubeloop.objects.meta import ListMeta
from pocketkube.apiserver import refusal
from pocketkube.apiserver.serving import documents, gojson, selection
from pocketkube.apiserver.serving.call import Answer, Call
from pocketkube.apiserver.serving.selection import ListOptions
from pocketkube.apiserver.storage import Expired, Page, Record, TooNew

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct):
    """Where a list goes on."""

    v: str = ""
    rv: int = 0
    start: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list found."""

    records: Sequence[Record]
    version: int
    token: str = ""
    remaining: int | None = None


def get(call: Call) -> Answer:
    """GET of one object."""
    wanted = selection.version(call.route.first("resourceVersion"), "")
    if wanted > call.world.storage.version:
        raise too_new(wanted, call.world.storage.version)
    record = call.world.storage.get(call.key)
    if record is None:
        raise refusal.not_found(call.resource.plural, call.resource.group, call.route.name)
    return Answer(value=documents.whole(call.resource, record))


def find(call: Call, options: ListOptions) -> Listed:
    """The objects a list shows.

    Raises:
        Refused: 400 a token or a version is none, 410 it is compacted, 504 it is not reached yet.
    """
    at, after, asked = _start(call, options)
    try:
        return _collect(call, options, at, after, asked)
    except Expired:
        raise _expired(options, after) from None
    except TooNew as error:
        raise too_new(error.version, error.newest) from None


def _start(call: Call, options: ListOptions) -> tuple[int | None, str, int]:
    """At which version and behind which key a list begins, and which version it must have reached."""
    namespace = call.key_of("").namespace
    if options.token:
        token = _decoded(options.token)
        if options.version not in ("", "0"):
            raise refusal.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        prefix = f"{namespace}/" if namespace else ""
        return token.rv or None, prefix + token.start, 0
    wanted = selection.version(options.version)
    if options.match == selection.EXACT or (wanted and options.limit and not options.match):
        return wanted, "", wanted
    return None, "", wanted


def _collect(call: Call, options: ListOptions, at: int | None, after: str, asked: int) -> Listed:
    storage, resource = call.world.storage, call.resource
    if asked > storage.version:
        raise TooNew(asked, storage.version)
    namespace = call.key_of("").namespace
    limit = options.limit if options.limit > 0 and options.version != "0" else None
    if not options.token and options.selection.is_one(namespace):
        limit = None
    if options.selection.everything:
        page = storage.page(resource.stored, namespace, at=at, after=after, limit=limit)
        remaining = page.remaining if page.next else None
        return Listed(page.records, page.version, _token(page, page.next, namespace), remaining)
    page = storage.page(resource.stored, namespace, at=at, after=after)
    found: list[Record] = []
    for record in page.records:
        if len(found) == limit:
            # What follows need not be selected: a server does not look that far.
            return Listed(found, page.version, _token(page, found[-1].key.path, namespace))
        if options.selection.matches(record):
            found.append(record)
    return Listed(found, page.version)


def _token(page: Page, last: str, namespace: str) -> str:
    if not last:
        return ""
    return _encoded(page.version, last.removeprefix(f"{namespace}/") if namespace else last)


def _encoded(version: int, start: str) -> str:
    # The real server begins at the first key behind the last one, which is the key and a zero byte.
    token = {"v": "meta.k8s.io/v1", "rv": version, "start": start + "\0"}
    return base64.urlsafe_b64encode(documents.encode(token)).decode().rstrip("=")


def _decoded(text: str) -> _Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise _bad_token("illegal base64 data at input byte 0") from None
    try:
        token = msgspec.json.decode(raw, type=_Token)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _bad_token(gojson.problem(raw.decode("latin-1"))) from None
    if token.v != "meta.k8s.io/v1":
        stated = (
            f"continue key is not valid: server does not recognize this encoded version {token.v}"
        )
        raise refusal.bad_request(f"invalid continue token: {stated}")
    if not token.start:
        stated = "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
        raise refusal.bad_request(f"invalid continue token: {stated}")
    if ".." in token.start.split("/") or token.start.startswith("/"):
        raise _bad_token(token.start)
    token.start = token.start.removesuffix("\0")
    return token


def _bad_token(stated: str) -> refusal.Refused:
    return refusal.bad_request(f"invalid continue token: continue key is not valid: {stated}")


def _expired(options: ListOptions, after: str) -> refusal.Refused:
    if not options.token:
        stated = "The resourceVersion for the provided list is too old."
        return refusal.failure(410, "Expired", stated)
    refused = refusal.failure(410, "Expired", _TOO_OLD)
    token = ListMeta(continue_token=_encoded(0, after.rpartition("/")[2]))
    return refusal.Refused(replace(refused.status, metadata=token))


def too_new(wanted: int, newest: int) -> refusal.Refused:
    """The version was not reached yet."""
    cause = StatusCause(reason="ResourceVersionTooLarge", message="Too large resource version")
    return refusal.failure(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {newest}",
        StatusDetails(causes=(cause,), retry_after_seconds=1),
    )


def collection(call: Call, listed: Listed) -> bytes:
    """A list as JSON."""
    resource = call.resource
    meta: dict[str, object] = {"resourceVersion": str(listed.version)}
    if listed.token or (resource.custom and not call.form.kind):
        meta["continue"] = listed.token
    if listed.remaining:
        meta["remainingItemCount"] = listed.remaining
    kind = resource.list_kind or f"{resource.kind}List"
    start = documents.encode({"kind": kind, "apiVersion": resource.api_version, "metadata": meta})
    items = b",".join([documents.item(resource, record) for record in listed.records])
    return b"".join((start[:-1], b',"items":[', items, b"]}\n"))
