"""Admission reviews: the question of an API server as a value, and a verdict as its answer.

Pure. `webhook.handler` decodes with it, asks a gate and encodes what the gate said; domains make verdicts with `allow` and
`deny`. A refusal that concerns a field names it twice, in the message for people and as a cause for programs, and both
reach the caller of the API server unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from kubeloop.objects import admission, codec
from kubeloop.objects.admission import AdmissionRequest, AdmissionResponse, AdmissionReview
from kubeloop.objects.machinery import Status, StatusCause, StatusDetails
from kubeloop.objects.meta import JSON

VERSION = "admission.k8s.io/v1"


class Malformed(Exception):
    """The body is not a review that we can answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate says: leave, perhaps with changes, or a refusal with its reason."""

    allowed: bool
    patch: tuple[JSON, ...] = ()
    warnings: tuple[str, ...] = ()
    code: int = 0
    reason: str = ""
    message: str = ""
    field: str = ""


def allow(*, patch: Sequence[JSON] = (), warnings: Sequence[str] = ()) -> Verdict:
    """Lets the write pass, changed by the operations of a JSON patch."""
    return Verdict(allowed=True, patch=tuple(patch), warnings=tuple(warnings))


def deny(
    message: str,
    *,
    field: str = "",
    code: int = 403,
    reason: str = "Forbidden",
    warnings: Sequence[str] = (),
) -> Verdict:
    """Refuses the write; `field` is the path of what is wrong, for instance `spec.replicas`."""
    return Verdict(
        allowed=False,
        code=code,
        reason=reason,
        message=message,
        field=field,
        warnings=tuple(warnings),
    )


def failed(problem: str) -> Verdict:
    """Refuses the write because we could not judge it."""
    return deny(problem, code=500, reason="InternalError")


def decode(body: bytes) -> AdmissionRequest:
    """Reads the request out of a review; raises `Malformed` with a sentence for whoever sent it."""
    try:
        review = codec.decode(body, AdmissionReview)
    except msgspec.MsgspecError as error:
        raise Malformed(f"the body is not an AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (VERSION, "AdmissionReview"):
        found = f"{review.kind or 'something'} of {review.api_version or 'no version'}"
        raise Malformed(f"expected an AdmissionReview of {VERSION}, got {found}")
    if review.request is None:
        raise Malformed("the AdmissionReview has no request")
    if not review.request.uid:
        raise Malformed("the request of the AdmissionReview has no uid")
    return review.request


def encode(uid: str, verdict: Verdict) -> bytes:
    """Writes the review that answers the request with this UID."""
    return msgspec.json.encode(admission.reply(_response(uid, verdict)))


def _response(uid: str, verdict: Verdict) -> AdmissionResponse:
    if not verdict.allowed:
        return AdmissionResponse(
            uid=uid, allowed=False, status=_status(verdict), warnings=verdict.warnings
        )
    return AdmissionResponse(
        uid=uid,
        allowed=True,
        patch=msgspec.json.encode(verdict.patch) if verdict.patch else None,
        patch_type="JSONPatch" if verdict.patch else None,
        warnings=verdict.warnings,
    )


def _status(verdict: Verdict) -> Status:
    field, message = verdict.field, verdict.message
    cause = StatusCause(reason="FieldValueInvalid", message=message, field=field)
    return Status(
        status="Failure",
        code=verdict.code,
        reason=verdict.reason,
        message=f"{field}: {message}" if field else message,
        details=StatusDetails(causes=(cause,)) if field else None,
    )
