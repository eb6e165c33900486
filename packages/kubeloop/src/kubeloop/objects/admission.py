"""What an API server asks before it stores an object, and where it asks: reviews and webhook configurations.

`kubeloop.runtime.webhook` decodes a review, hands the request to a gate and answers with `reply`; it also keeps `caBundle` of the
configurations current. The objects under review stay JSON: a gate converts them to the type it judges.
"""

from collections.abc import Mapping

from kubeloop.objects.codec import Raw
from kubeloop.objects.machinery import Status, UserInfo
from kubeloop.objects.meta import Base, Kind, Object
from kubeloop.objects.selector import LabelSelector


class GroupVersionKind(Base):
    """The kind of the object under review."""

    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Base):
    """The resource the request went to."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Base):
    """A write that waits for an answer; `object` is None for deletes, `old_object` for creates."""

    uid: str
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = UserInfo()
    object: Raw = None
    old_object: Raw = None
    dry_run: bool | None = None
    options: Raw = None


class AdmissionResponse(Base):
    """The answer; `patch` is a JSON patch as bytes, with `patch_type` "JSONPatch"."""

    uid: str
    allowed: bool
    status: Status | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = {}


class AdmissionReview(Base):
    """The envelope of both directions."""

    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None


class ServiceReference(Base):
    """A service in front of the webhook."""

    namespace: str = ""
    name: str = ""
    path: str | None = None
    port: int | None = None


class WebhookClientConfig(Base):
    """How the API server reaches a webhook and whom it trusts there."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: bytes | None = None


class MatchCondition(Base):
    """A CEL expression that must hold for the webhook to be asked."""

    name: str = ""
    expression: str = ""


class Webhook(Base):
    """One webhook of a configuration, validating or mutating."""

    name: str = ""
    client_config: WebhookClientConfig = WebhookClientConfig()
    rules: tuple[Raw, ...] = ()
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    match_conditions: tuple[MatchCondition, ...] = ()
    side_effects: str | None = None
    timeout_seconds: int | None = None
    admission_review_versions: tuple[str, ...] = ()
    reinvocation_policy: str | None = None


class MutatingWebhookConfiguration(Object):
    """Webhooks that may change what is written."""

    webhooks: tuple[Webhook, ...] = ()


class ValidatingWebhookConfiguration(Object):
    """Webhooks that may refuse what is written."""

    webhooks: tuple[Webhook, ...] = ()


class ValidatingAdmissionPolicySpec(Base):
    """Which writes a policy looks at; the rest of it is the server's matter."""

    match_conditions: tuple[MatchCondition, ...] = ()


class ValidatingAdmissionPolicy(Object):
    """Demands that the API server itself checks."""

    spec: ValidatingAdmissionPolicySpec = ValidatingAdmissionPolicySpec()


MUTATING_WEBHOOK_CONFIGURATIONS: Kind[MutatingWebhookConfiguration] = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    MutatingWebhookConfiguration,
    namespaced=False,
)
VALIDATING_WEBHOOK_CONFIGURATIONS: Kind[ValidatingWebhookConfiguration] = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    ValidatingWebhookConfiguration,
    namespaced=False,
)
VALIDATING_ADMISSION_POLICIES: Kind[ValidatingAdmissionPolicy] = Kind(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    ValidatingAdmissionPolicy,
    namespaced=False,
)


def reply(response: AdmissionResponse) -> AdmissionReview:
    """Puts an answer into the envelope the API server expects."""
    return AdmissionReview(
        api_version="admission.k8s.io/v1", kind="AdmissionReview", response=response
    )
