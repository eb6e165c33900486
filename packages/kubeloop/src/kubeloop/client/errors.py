"""Everything that can go wrong on the wire to an API server, as one tree.

```
KubeError
├── ApiError                the server answered no; the class follows its reason, or the HTTP code if it gave none
│   ├── BadRequest Unauthorized NotFound MethodNotAllowed NotAcceptable
│   ├── Forbidden ── NamespaceEnds                   403, with a cause that tells why nothing new may be made
│   ├── AlreadyExists Conflict                       both are 409: only the reason tells them apart
│   ├── Gone ── Expired                              410: read again from the beginning
│   ├── RequestEntityTooLarge UnsupportedMediaType Invalid TooManyRequests
│   ├── InternalError ── WebhookFailed               500, because admission could not ask somebody who must be asked
│   └── ServerTimeout ServiceUnavailable Timeout
├── Unreached               no connection: nothing has happened
├── Interrupted             a stream broke off or fell silent: nothing has happened, it can be resumed
├── UnknownOutcome          a write was sent and its answer lost: it may have happened
├── DeadlineExceeded        no answer in time to a call that changes nothing
├── Undecodable             an answer that is not what its kind says
├── Fenced                  the guard held the request back: nothing has happened
└── ConfigError             we do not know how to reach the server
```

`kubeloop.client.client` and `kubeloop.client.watch` raise them; callers decide by class, people read the message.
"""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from kubeloop.objects import codec
from kubeloop.objects.machinery import Status, StatusCause, StatusDetails


class KubeError(Exception):
    """Base of the tree."""


class ConfigError(KubeError):
    """One sentence: which file or setting, what is wrong with it, what to do."""


class Unreached(KubeError):
    """No connection could be made; the server has not seen the request."""


class Interrupted(KubeError):
    """A stream ended before its time; what it had told so far is true."""


class UnknownOutcome(KubeError):
    """A write was sent and no answer came; whether it happened could not be found out."""


class DeadlineExceeded(KubeError):
    """The time for this call is over; nothing was changed by it."""


class Undecodable(KubeError):
    """The server sent something that does not fit the type we know for it."""


class Fenced(KubeError):
    """The guard did not let the request out; nothing was sent."""


class ApiError(KubeError):
    """The server's refusal."""

    def __init__(
        self,
        message: str,
        *,
        code: int,
        reason: str = "",
        details: StatusDetails | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.details = details or StatusDetails()
        self.retry_after = retry_after

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The single mistakes, with their fields, where the server names them."""
        return self.details.causes


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the server does not know who we are."""


class Forbidden(ApiError):
    """403: the server knows us and says no; also what admission says."""


class NamespaceEnds(Forbidden):
    """403: the namespace is being deleted, and nothing new may be made in it."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class MethodNotAllowed(ApiError):
    """405: this kind does not offer this verb."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in a form we read."""


class AlreadyExists(ApiError):
    """409: the name is taken."""


class Conflict(ApiError):
    """409: the object is no longer what the request says it is."""


class Gone(ApiError):
    """410: what was asked for existed and does not any more."""


class Expired(Gone):
    """410: the resource version or continue token is too old."""


class RequestEntityTooLarge(ApiError):
    """413: the body is too big."""


class UnsupportedMediaType(ApiError):
    """415: the server does not read this kind of body, for instance this patch type."""


class Invalid(ApiError):
    """422: fields are wrong; `causes` says which."""


class TooManyRequests(ApiError):
    """429: come again later; also an eviction that a disruption budget forbids."""


class InternalError(ApiError):
    """500: the server, its storage or a webhook failed."""


class WebhookFailed(InternalError):
    """500: a webhook of the cluster that must be asked could not be; nothing was written, and nobody knows how long that lasts."""


class ServerTimeout(ApiError):
    """500: the server could not do it in time and asks for another try."""


class ServiceUnavailable(ApiError):
    """503: the server, or an extension behind it, is not there at the moment."""


class Timeout(ApiError):
    """504: the server gave up waiting, perhaps for its storage."""


_BY_REASON: Mapping[str, type[ApiError]] = {
    kind.__name__: kind
    for kind in (
        *(BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable),
        *(AlreadyExists, Conflict, Gone, Expired, RequestEntityTooLarge, UnsupportedMediaType),
        *(Invalid, TooManyRequests, InternalError, ServerTimeout, ServiceUnavailable, Timeout),
    )
}

_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: Timeout,
}

_NAMESPACE_ENDS = "NamespaceTerminating"
_WEBHOOK_FAILED = "failed calling webhook"
_EXCERPT = 200
"""Characters of a body in plain text that are worth showing."""


def from_response(code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Makes the error that an answer with this HTTP code stands for."""
    return from_status(_read_status(code, body), code=code, retry_after=_retry_after(headers))


def from_status(status: Status, *, code: int = 0, retry_after: float | None = None) -> ApiError:
    """Makes the error that a Status stands for; watches carry it inside a stream that began with 200."""
    code = code or status.code
    kind = _BY_REASON.get(status.reason) or _BY_CODE.get(code, ApiError)
    causes = status.details.causes if status.details is not None else ()
    if kind is Forbidden and any(cause.reason == _NAMESPACE_ENDS for cause in causes):
        kind = NamespaceEnds
    if kind is InternalError and any(_WEBHOOK_FAILED in cause.message for cause in causes):
        kind = WebhookFailed
    if retry_after is None and status.details and status.details.retry_after_seconds > 0:
        retry_after = float(status.details.retry_after_seconds)
    return kind(
        _message(status, code),
        code=code,
        reason=status.reason,
        details=status.details,
        retry_after=retry_after,
    )


def _read_status(code: int, body: bytes) -> Status:
    try:
        status = codec.decode(body, Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # Proxies and the outermost layers of a server answer in plain text.
        text = body.decode(errors="replace").strip()[:_EXCERPT]
        return Status(message=f"{_phrase(code)}: {text}" if text else "")
    return status if status.kind == "Status" else Status()


def _message(status: Status, code: int) -> str:
    if code == HTTPStatus.UNAUTHORIZED:
        stated = "" if status.message in ("", "Unauthorized") else f": {status.message}"
        return f"the server does not accept our credentials (wrong or expired){stated}"
    return status.message or _phrase(code)


def _phrase(code: int) -> str:
    try:
        return f"the server answered {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"the server answered {code}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Reads the header in its form of seconds; API servers do not use dates."""
    stated = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    return float(stated) if stated.isdecimal() else None
