import msgspec

from kubeloop.objects import admission, codec
from kubeloop.objects.machinery import Status
from kubeloop.objects.meta import JSON


def test_a_delete_arrives_with_the_old_object_only() -> None:
    body: JSON = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": "status",
            "name": "p",
            "namespace": "shop",
            "operation": "DELETE",
            "userInfo": {"username": "eve", "groups": ["dev"], "extra": {"scope": ["a"]}},
            "object": None,
            "oldObject": {"metadata": {"name": "p", "labels": None}},
            "dryRun": True,
            "options": None,
        },
    }

    request = codec.decode(msgspec.json.encode(body), admission.AdmissionReview).request

    assert request is not None
    assert request.object is None
    assert request.old_object == {"metadata": {"name": "p", "labels": None}}
    assert request.resource == admission.GroupVersionResource(version="v1", resource="pods")
    assert (request.sub_resource, request.dry_run) == ("status", True)
    assert request.user_info.extra == {"scope": ("a",)}


def test_a_refusal_says_no_in_as_many_words() -> None:
    refusal = admission.AdmissionResponse(
        uid="u1", allowed=False, status=Status(code=403, message="spec.replicas: too many")
    )

    assert msgspec.to_builtins(admission.reply(refusal)) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u1",
            "allowed": False,
            "status": {"code": 403, "message": "spec.replicas: too many"},
        },
    }


def test_a_patch_travels_as_base64() -> None:
    answer = admission.AdmissionResponse(
        uid="u1", allowed=True, patch=b"[]", patch_type="JSONPatch", warnings=("old field",)
    )

    assert msgspec.json.decode(msgspec.json.encode(answer)) == {
        "uid": "u1",
        "allowed": True,
        "patch": "W10=",
        "patchType": "JSONPatch",
        "warnings": ["old field"],
    }


def test_a_configuration_shows_whom_the_server_trusts() -> None:
    body: JSON = {
        "webhooks": [
            {
                "name": "tickets.korder.dev",
                "clientConfig": {"service": {"name": "korder", "port": 443}, "caBundle": "Y2E="},
                "rules": [{"operations": ["CREATE"]}],
                "namespaceSelector": {},
                "matchConditions": [{"name": "asks", "expression": "true"}],
                "sideEffects": "None",
            }
        ]
    }

    mutating = codec.convert(body, admission.MutatingWebhookConfiguration)
    validating = codec.convert(body, admission.ValidatingWebhookConfiguration)

    for (webhook,) in (mutating.webhooks, validating.webhooks):
        assert webhook.client_config.ca_bundle == b"ca"
        assert webhook.client_config.service is not None
        assert webhook.client_config.service.port == 443
        assert webhook.rules == ({"operations": ["CREATE"]},)


def test_configurations_belong_to_the_cluster() -> None:
    mutating = admission.MUTATING_WEBHOOK_CONFIGURATIONS
    validating = admission.VALIDATING_WEBHOOK_CONFIGURATIONS

    assert not mutating.namespaced
    assert not validating.namespaced
    assert mutating.api_version == validating.api_version == "admissionregistration.k8s.io/v1"
    assert mutating.plural == "mutatingwebhookconfigurations"
    assert validating.plural == "validatingwebhookconfigurations"
