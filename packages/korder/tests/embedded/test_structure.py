"""What objects are made of: by the schema of a CRD and by our table."""

import pytest

from korder.install import crds
from pocketkube.apiserver.managed_fields import builtin, endpoints, fieldsets
from pocketkube.apiserver.managed_fields.structure import LEAF, Form, Node, of_schema
from pocketkube.apiserver.types import table

VERSIONS = {kind: api_version for api_version, kind in table.kinds()}


def at(node: Node, path: str) -> Node:
    for name in path.split("."):
        node = node.item if name == "*" else node.member(name)
    return node


@pytest.mark.parametrize(
    ("kind", "path", "keys", "merge_key"),
    [
        ("Pod", "spec.containers", {"name": ""}, "name"),
        (
            "Pod",
            "spec.containers.*.ports",
            {"containerPort": 0, "protocol": "TCP"},
            "containerPort",
        ),
        ("Deployment", "spec.template.spec.containers.*.env", {"name": ""}, "name"),
        ("CronJob", "spec.jobTemplate.spec.template.spec.volumes", {"name": ""}, "name"),
        ("Service", "spec.ports", {"port": 0, "protocol": "TCP"}, "port"),
        ("Node", "status.conditions", {"type": ""}, "type"),
        ("Secret", "metadata.ownerReferences", {"uid": ""}, "uid"),
        ("Secret", "metadata.finalizers", {}, ""),
        ("ServiceAccount", "secrets", {"name": None}, "name"),
        ("Pod", "spec.containers.*.resources.claims", {"name": ""}, None),
    ],
)
def test_lists_are_merged_by_their_keys(
    kind: str, path: str, keys: dict[str, object], merge_key: str | None
) -> None:
    node = at(builtin.find(VERSIONS[kind], kind), path)
    assert (node.form, dict(node.keys), node.merge_key) == (Form.LIST, keys, merge_key)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Pod", "spec.tolerations"),
        ("Pod", "spec.nodeSelector"),
        ("Pod", "spec.containers.*.args"),
        ("Node", "spec.taints"),
        ("Service", "spec.selector"),
        ("Deployment", "spec.selector"),
        ("Role", "rules"),
        ("LimitRange", "spec.limits"),
        ("ConfigMap", "immutable"),
    ],
)
def test_what_has_one_owner_is_a_leaf(kind: str, path: str) -> None:
    assert at(builtin.find(VERSIONS[kind], kind), path) is LEAF


def test_conditions_of_jobs_have_one_owner_but_are_patched_by_type() -> None:
    node = at(builtin.find("batch/v1", "Job"), "status.conditions")
    assert (node.form, node.merge_key) == (Form.LEAF, "type")


def test_what_is_taken_as_a_whole_elsewhere_may_be_merged_in_one_place() -> None:
    assert at(builtin.find("v1", "PersistentVolume"), "spec.claimRef").form is Form.MAP


def test_a_kind_we_do_not_know_is_none() -> None:
    with pytest.raises(table.UnknownType):
        builtin.find("v1", "Unheard")


def test_every_kind_of_the_table_has_a_structure() -> None:
    for api_version, kind in table.kinds():
        assert builtin.find(api_version, kind).form is Form.MAP


def test_nobody_adds_what_an_empty_object_has() -> None:
    assert builtin.empty("v1", "Pod") == {
        "metadata": {},
        "spec": {"containers": None},
        "status": {},
    }
    assert builtin.empty("coordination.k8s.io/v1", "Lease") == {"metadata": {}, "spec": {}}
    assert builtin.empty("v1", "ConfigMap") == {"metadata": {}}


def test_our_own_kinds_are_described_by_their_crds() -> None:
    for crd in crds.all_crds():
        version = crd["spec"]["versions"][0]  # type: ignore[index,call-overload]
        node = of_schema(version["schema"]["openAPIV3Schema"])  # type: ignore[index,call-overload,arg-type]
        assert at(node, "metadata.finalizers").form is Form.LIST
        assert at(node, "spec").form is Form.MAP


def test_a_schema_says_what_is_merged() -> None:
    node = of_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {
                        "either": {"x-kubernetes-int-or-string": True},
                        "inner": {"type": "object", "properties": {"a": {"type": "string"}}},
                        "pod": {"type": "object", "x-kubernetes-embedded-resource": True},
                        "free": {"type": "object", "additionalProperties": True},
                        "shut": {"type": "object", "additionalProperties": False, "properties": {}},
                    },
                }
            },
        }
    )
    assert at(node, "spec.either").form_of(1) is Form.LEAF
    assert at(node, "spec.either").form_of({}) is Form.MAP
    assert at(node, "spec.unknown").form_of({"a": 1}) is Form.MAP
    assert at(node, "spec.unknown").form_of(["a"]) is Form.LEAF
    assert not at(node, "spec").names("unknown")
    assert at(node, "spec").names("inner")
    assert not at(node, "spec.inner").names("b")
    assert at(node, "spec.pod.metadata.finalizers").form is Form.LIST
    assert not at(node, "spec.free").names("a")
    assert at(node, "spec.shut").names("a")
    assert node.names("b")


@pytest.mark.parametrize(
    ("kind", "subresource", "reset"),
    [
        ("Pod", "", [".status"]),
        ("Pod", "status", [".spec", ".metadata.deletionTimestamp", ".metadata.ownerReferences"]),
        ("Deployment", "status", [".spec", ".metadata.labels"]),
        ("Node", "status", [".spec"]),
        ("VolumeAttachment", "status", [".metadata", ".spec"]),
    ],
)
def test_an_endpoint_passes_over_what_it_does_not_change(
    kind: str, subresource: str, reset: list[str]
) -> None:
    endpoint = endpoints.builtin(VERSIONS[kind], kind, subresource)
    assert [fieldsets.describe(path) for path in endpoint.reset.paths()] == reset


def test_a_custom_kind_without_status_owns_its_status() -> None:
    schema = {"type": "object"}
    plain = endpoints.custom("test.dev/v1", "Thing", schema, has_status=False)
    status = endpoints.custom("test.dev/v1", "Thing", schema, "status", has_status=True)
    assert not plain.reset
    assert [*status.reset.paths()] == [("f:metadata",), ("f:spec",)]
