"""Why a request was not carried out: an exception that carries the Status to answer with, and a maker for each reason.

Everything above storage raises `Refused`; `serving` turns it into an answer at one place. The sentences are those of
kube-apiserver, because people search for them and clients compare them.
"""

from collections.abc import Sequence

from kubeloop.objects.machinery import Status, StatusCause, StatusDetails
from pocketkube.apiserver import fielderrors


class Refused(Exception):
    """The request is answered with `status`; nothing was written. `warnings` are told along with it."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status
        self.warnings: Sequence[str] = ()


def failure(code: int, reason: str, message: str, details: StatusDetails | None = None) -> Refused:
    """Makes a refusal of any reason."""
    return Refused(
        Status(
            api_version="v1",
            kind="Status",
            status="Failure",
            code=code,
            reason=reason,
            message=message,
            details=details,
        )
    )


def bad_request(message: str) -> Refused:
    """The request cannot be understood."""
    return failure(400, "BadRequest", message)


def unauthorized() -> Refused:
    """Nobody knows who asks."""
    return failure(401, "Unauthorized", "Unauthorized")


def forbidden(plural: str, group: str, name: str, why: str) -> Refused:
    """Who asks may not, or a rule of admission says no."""
    qualified = f"{plural}.{group}" if group else plural
    details = StatusDetails(name=name, group=group, kind=plural)
    what = f"{qualified} {fielderrors.quote(name)}" if name else qualified
    stated = f"{what} is forbidden: {why}" if plural else f"forbidden: {why}"
    return failure(403, "Forbidden", stated, details)


def no_such_path() -> Refused:
    """There is no such resource."""
    return failure(
        404, "NotFound", "the server could not find the requested resource", StatusDetails()
    )


def not_found(plural: str, group: str, name: str) -> Refused:
    """There is no such object."""
    return _about(404, "NotFound", plural, group, name, "not found")


def already_exists(plural: str, group: str, name: str) -> Refused:
    """The name is taken."""
    return _about(409, "AlreadyExists", plural, group, name, "already exists")


def conflict(plural: str, group: str, name: str, why: str) -> Refused:
    """The object is not what the writer thinks it is."""
    qualified = f"{plural}.{group}" if group else plural
    return failure(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on {qualified} "{name}": {why}',
        StatusDetails(name=name, group=group, kind=plural),
    )


def changed(plural: str, group: str, name: str) -> Refused:
    """Somebody else wrote the object since it was read."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(plural, group, name, why)


def invalid(kind: str, group: str, name: str, causes: Sequence[StatusCause]) -> Refused:
    """The object breaks rules of its kind."""
    return Refused(fielderrors.invalid_status(kind, group, name, causes))


def method_not_allowed() -> Refused:
    """The resource has no such verb."""
    stated = "the server does not allow this method on the requested resource"
    return failure(405, "MethodNotAllowed", stated, StatusDetails())


def internal(message: str) -> Refused:
    """Somebody the server asked failed, such as a webhook."""
    details = StatusDetails(causes=(StatusCause(message=message),))
    return failure(500, "InternalError", f"Internal error occurred: {message}", details)


def _about(code: int, reason: str, plural: str, group: str, name: str, what: str) -> Refused:
    qualified = f"{plural}.{group}" if group else plural
    details = StatusDetails(name=name, group=group, kind=plural)
    return failure(code, reason, f'{qualified} "{name}" {what}', details)
