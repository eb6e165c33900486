"""Objects are read along the types of Kubernetes, and refused in its words."""

from copy import deepcopy
from pathlib import Path
import runpy
from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.kinds.builtin import Builtin, Unreadable
from pocketkube.apiserver.types import reading, table
from pocketkube.apiserver.types.mismatch import Mismatch

SENT = runpy.run_path(str(Path(__file__).with_name("sent_objects.py")))
KINDS = sorted(table.kinds())
VERSIONS = {kind: api_version for api_version, kind in KINDS}


def read(kind: str, obj: Any) -> Any:
    reading.of_kind(VERSIONS[kind], kind)(obj)
    return obj


@pytest.mark.parametrize(("kind", "body", "message"), SENT["ROWS"])
def test_what_cannot_be_read_is_reported_as_go_tells_it(
    kind: str, body: Any, message: str | None
) -> None:
    try:
        unknown = reading.of_kind(VERSIONS[kind], kind)(deepcopy(body))
        said = SENT["unknown"](*unknown) if unknown else None
    except Mismatch as mismatch:
        said = str(mismatch)
    if said is not None and message is not None and message.startswith("strict"):
        assert sorted(said.split(", ")) == sorted(message.split(", "))
    else:
        assert said == message


@pytest.mark.parametrize(
    ("kind", "sent", "kept"),
    [
        pytest.param("ConfigMap", {"data": {}, "metadata": None}, {"metadata": {}}, id="empty"),
        pytest.param(
            "ConfigMap",
            {"data": {"a": None}, "immutable": False},
            {"data": {"a": ""}, "immutable": False, "metadata": {}},
            id="null in a map is the zero of its type, a pointer to false is kept",
        ),
        pytest.param(
            "Secret",
            {"data": {"a": "YW\nI=", "b": None, "c": [97]}, "immutable": None},
            {"data": {"a": "YWI=", "b": "", "c": "YQ=="}, "metadata": {}},
            id="bytes",
        ),
        pytest.param(
            "ResourceQuota",
            {"spec": {"hard": {"cpu": 0.5, "memory": "1024Mi", "pods": None, "x": "-"}}},
            {
                "metadata": {},
                "spec": {"hard": {"cpu": "500m", "memory": "1Gi", "pods": "0", "x": "0"}},
                "status": {},
            },
            id="quantities",
        ),
        pytest.param(
            "Role", {"rules": []}, {"metadata": {}, "rules": None}, id="an empty list is none"
        ),
        pytest.param(
            "Event",
            {
                "firstTimestamp": "0001-01-01T00:00:00Z",
                "lastTimestamp": "2024-01-01T01:00:00.5+01:00",
                "eventTime": "2024-01-01T00:00:00.123456Z",
                "involvedObject": {"kind": ""},
            },
            {
                "metadata": {},
                "firstTimestamp": None,
                "lastTimestamp": "2024-01-01T00:00:00Z",
                "eventTime": "2024-01-01T00:00:00.123456Z",
                "involvedObject": {},
                "source": {},
                "reportingComponent": "",
                "reportingInstance": "",
            },
            id="timestamps",
        ),
        pytest.param(
            "Service",
            {"spec": {"ports": [{"port": 80, "targetPort": "http"}, {"port": 81}]}},
            {
                "metadata": {},
                "spec": {
                    "ports": [{"port": 80, "targetPort": "http"}, {"port": 81, "targetPort": 0}]
                },
                "status": {"loadBalancer": {}},
            },
            id="numbers or texts",
        ),
        pytest.param(
            "Pod",
            {"spec": {"containers": [None], "volumes": [{"name": "v", "emptyDir": {}}]}},
            {
                "metadata": {},
                "spec": {
                    "containers": [{"name": "", "resources": {}}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
                "status": {},
            },
            id="structs are always there, pointers if they were sent",
        ),
    ],
)
def test_what_is_kept_is_what_go_would_write(kind: str, sent: Any, kept: Any) -> None:
    versions = {**VERSIONS, "Event": "v1"}
    assert reading.of_kind(versions[kind], kind)(sent) == []
    assert sent == kept


@pytest.mark.parametrize(("sent", "kept"), SENT["QUANTITIES"].items())
def test_a_quantity_is_written_as_go_writes_it(sent: str, kept: str) -> None:
    quota = read("ResourceQuota", {"spec": {"hard": {"a": sent}}})
    assert quota["spec"]["hard"] == {"a": kept}


def test_only_in_lists_of_resources_thousandths_are_the_least() -> None:
    volume = {"name": "v", "emptyDir": {"sizeLimit": "1n"}}
    assert read("Pod", {"spec": {"volumes": [volume]}})["spec"]["volumes"] == [volume]
    assert volume["emptyDir"] == {"sizeLimit": "1n"}


def test_schemas_in_definitions_are_read_too() -> None:
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {}}}]}}
    schema: Any = {
        "properties": {"a": {"maximum": 5.0, "items": {"type": "string"}, "unheard": 1}},
        "additionalProperties": False,
        "default": {"a": None},
        "type": "",
    }
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    assert reading.of_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")(crd) == [
        "spec.versions[0].schema.openAPIV3Schema.properties.a.unheard"
    ]
    assert schema == {
        "properties": {"a": {"maximum": 5, "items": {"type": "string"}}},
        "additionalProperties": False,
        "default": {"a": None},
    }


def test_a_schema_without_end_is_refused() -> None:
    schema: Any = {}
    for _ in range(5000):
        schema = {"properties": {"a": schema}}
    crd = {"spec": {"versions": [{"name": 1, "schema": {"openAPIV3Schema": schema}}]}}
    with pytest.raises(Mismatch, match="exceeded max depth"):
        read("CustomResourceDefinition", crd)


@pytest.mark.parametrize(("api_version", "kind"), KINDS)
def test_what_was_read_once_stays_as_it_is(api_version: str, kind: str) -> None:
    made = reading.zero(api_version, kind)()
    again = deepcopy(made)
    assert reading.of_kind(api_version, kind)(again) == []
    assert again == made


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "name", "template", "containers", "data"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(["metadata", "spec", "data"]), JSON))
def test_whatever_is_sent_is_read_or_refused(kind: tuple[str, str], body: Any) -> None:
    reader = reading.of_kind(*kind)
    try:
        reader(body)
    except Mismatch:
        return
    again = deepcopy(body)
    assert reader(again) == []
    assert again == body


def test_a_strategy_refuses_what_it_cannot_read() -> None:
    with pytest.raises(Unreadable) as refused:
        Builtin("apps/v1", "Deployment").read({"spec": {"replicas": "3"}})
    assert refused.value.status.code == 400
    assert refused.value.status.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: '
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


def test_a_strategy_knows_where_its_objects_are_written() -> None:
    pods = Builtin("v1", "Pod")
    assert pods.endpoint("status") is pods.endpoint("status")
    assert pods.endpoint("status").subresource == "status"


def test_every_type_leads_to_types_that_are_there() -> None:
    for api_version, kind in KINDS:
        table.members(table.kind(api_version, kind).name)
        reading.of_kind(api_version, kind)({})


def test_a_kind_of_another_version_is_unknown() -> None:
    with pytest.raises(table.UnknownType):
        table.kind("apps/v1beta1", "Deployment")
