"""What a webhook is sent and whether its answer is one: the envelope of both directions, checked as kube-apiserver does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from kubeloop.objects import codec
from kubeloop.objects.admission import AdmissionResponse
from kubeloop.objects.machinery import Status
from pocketkube.apiserver import fielderrors
from pocketkube.apiserver.admission import reviews
from pocketkube.apiserver.admission.attributes import Attributes
from pocketkube.apiserver.admission.webhooks.calls import CallFailed
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused

_GROUP = "admission.k8s.io"


class Hook(Protocol):
    """What has to be known of a webhook here."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """A usable answer."""

    allowed: bool
    status: Status | None
    patch: list[Any]
    warnings: Sequence[str]


def question(attributes: Attributes, target: Resource, hook: Hook, uid: str) -> Mapping[str, Any]:
    """Makes the review to send."""
    if not hook.version:
        raise CallFailed(
            "could not create admission objects: "
            "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        )
    request = {
        **reviews.request(attributes, target),
        "uid": uid,
        "object": reviews.as_version(attributes.object, attributes, target),
        "oldObject": reviews.as_version(attributes.old, attributes, target),
    }
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{hook.version}",
        "request": request,
    }


def verdict(answer: Any, uid: str, version: str, *, mutating: bool) -> Verdict:
    """Checks an answer.

    Raises:
        CallFailed: it is not one to this question, or says what it may not say.
    """
    response = answer.get("response") if isinstance(answer, dict) else None
    if response is None:
        raise _invalid("webhook response was absent")
    try:
        given = codec.convert({"uid": "", "allowed": False, **response}, AdmissionResponse)
    except (msgspec.ValidationError, TypeError) as error:
        raise CallFailed(f"failed to call webhook: {error}") from None
    if version == "v1":
        _check_envelope(answer, given, uid)
        _check_patch(given, mutating=mutating)
    patch = _patch(given) if mutating and given.allowed else []
    return Verdict(given.allowed, given.status, patch, given.warnings)


def refusal(hook: Hook, status: Status | None) -> Refused:
    """The denial of a webhook, told to the client."""
    status = status or Status()
    denied = f"admission webhook {fielderrors.quote(hook.name)} denied the request"
    why = status.message or status.reason
    return Refused(
        msgspec.structs.replace(
            status,
            api_version="v1",
            kind="Status",
            status="Failure" if status.status in ("", "Success") else status.status,
            code=max(status.code, 400),
            message=f"{denied}: {why}" if why else f"{denied} without explanation",
        )
    )


def _check_envelope(answer: Mapping[str, Any], given: AdmissionResponse, uid: str) -> None:
    if given.uid != uid:
        wanted, got = fielderrors.quote(uid), fielderrors.quote(given.uid)
        raise _invalid(f"expected response.uid={wanted}, got {got}")
    said = str(answer.get("apiVersion", "")), str(answer.get("kind", ""))
    if said != (f"{_GROUP}/v1", "AdmissionReview"):
        group_version, kind = said
        raise _invalid(
            f"expected webhook response of {_GROUP}/v1, Kind=AdmissionReview, "
            f"got {group_version or '/'}, Kind={kind}"
        )


def _check_patch(given: AdmissionResponse, *, mutating: bool) -> None:
    patch, kind = given.patch, given.patch_type
    if not mutating:
        if patch:
            raise _invalid("validating webhook may not return response.patch")
        if kind is not None:
            raise _invalid("validating webhook may not return response.patchType")
        return
    if patch and kind is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not patch and kind is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if kind == "":
        raise _invalid('webhook returned invalid response.patchType of ""')


def _patch(given: AdmissionResponse) -> list[Any]:
    if not given.patch:
        return []
    try:
        operations = msgspec.json.decode(given.patch)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallFailed(f"received undecodable patch in webhook response: {error}") from None
    if operations is not None and not isinstance(operations, list):
        raise CallFailed(
            "received undecodable patch in webhook response: json: cannot unmarshal "
            f"{_GO.get(type(operations), 'number')} into Go value of type jsonpatch.Patch"
        )
    if operations and given.patch_type not in (None, "JSONPatch"):
        raise CallFailed(f"unsupported patch type {fielderrors.quote(given.patch_type)}")
    return operations or []


def _invalid(why: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {why}")


_GO = {dict: "object", str: "string", bool: "bool"}
