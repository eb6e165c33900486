"""Services, config maps and secrets."""

import base64
from typing import Any

from tests.contract.objects import Home, config_map, simple
from tests.contract.wire import Server


def service(name: str, **spec: Any) -> dict[str, Any]:
    return simple("v1", "Service", name, spec={"ports": [{"port": 80}], **spec})


async def test_a_service_gets_an_address_and_defaults(server: Server, home: Home) -> None:
    spec = (await server.post(home("services"), service("a"))).ok(201)["spec"]
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert spec["clusterIP"].count(".") == 3
    assert {key: value for key, value in spec.items() if not key.startswith("clusterIP")} == {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }


async def test_a_headless_service_has_no_address(server: Server, home: Home) -> None:
    spec = (await server.post(home("services"), service("a", clusterIP="None"))).ok(201)["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


async def test_addresses_are_given_once(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a"))).ok(201)
    taken = made["spec"]["clusterIP"]
    answer = await server.post(home("services"), service("b", clusterIP=taken))
    status = answer.refused(422, "Invalid")
    assert status["message"] == (
        f'Service "b" is invalid: spec.clusterIPs: Invalid value: ["{taken}"]: failed to allocate IP {taken}: '
        "provided IP is already allocated"
    )


async def test_the_address_of_a_service_stays(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a"))).ok(201)
    answer = await server.patch(home("services", "a"), {"spec": {"clusterIP": "10.96.0.77"}})
    status = answer.refused(422, "Invalid")
    assert "may not change once set" in status["message"]
    changed = (await server.put(home("services", "a"), service("a", selector={"x": "y"}))).ok()
    assert changed["spec"]["clusterIP"] == made["spec"]["clusterIP"]


async def test_a_node_port_service_gets_ports(server: Server, home: Home) -> None:
    made = (await server.post(home("services"), service("a", type="NodePort"))).ok(201)
    assert 30000 <= made["spec"]["ports"][0]["nodePort"] <= 32767
    assert made["spec"]["externalTrafficPolicy"] == "Cluster"


async def test_several_ports_need_names(server: Server, home: Home) -> None:
    answer = await server.post(home("services"), service("a", ports=[{"port": 80}, {"port": 81}]))
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert [(each["reason"], each["field"]) for each in causes] == [
        ("FieldValueRequired", "spec.ports[0].name"),
        ("FieldValueRequired", "spec.ports[1].name"),
    ]


async def test_a_service_without_ports_is_refused(server: Server, home: Home) -> None:
    (await server.post(home("services"), service("a", ports=[]))).refused(
        422, "Invalid", 'Service "a" is invalid: spec.ports: Required value'
    )


async def test_an_external_name_has_no_address(server: Server, home: Home) -> None:
    body = simple(
        "v1", "Service", "a", spec={"type": "ExternalName", "externalName": "x.example.com"}
    )
    assert "clusterIP" not in (await server.post(home("services"), body)).ok(201)["spec"]


async def test_an_immutable_config_map_stays(server: Server, home: Home) -> None:
    body = {**config_map("a", {"k": "v"}), "immutable": True}
    (await server.post(home("configmaps"), body)).ok(201)
    (await server.patch(home("configmaps", "a"), {"data": {"k": "w"}})).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
    (await server.patch(home("configmaps", "a"), {"immutable": None})).refused(
        422,
        "Invalid",
        'ConfigMap "a" is invalid: immutable: Forbidden: field is immutable when `immutable` is set',
    )
    (await server.patch(home("configmaps", "a"), {"metadata": {"labels": {"x": "y"}}})).ok(200)


async def test_a_key_is_text_or_binary_but_not_both(server: Server, home: Home) -> None:
    body = {**config_map("a", {"k": "v"}), "binaryData": {"k": "AAAA"}}
    status = (await server.post(home("configmaps"), body)).refused(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "data[k]"


async def test_binary_data_must_be_base64(server: Server, home: Home) -> None:
    body = {**config_map("a"), "binaryData": {"k": "not base64!"}}
    status = (await server.post(home("configmaps"), body)).refused(400, "BadRequest")
    assert status["message"].endswith("illegal base64 data at input byte 3")


async def test_a_secret_is_opaque_by_default(server: Server, home: Home) -> None:
    assert (await server.post(home("secrets"), simple("v1", "Secret", "a"))).ok(201)[
        "type"
    ] == "Opaque"


async def test_the_text_of_a_secret_is_encoded(server: Server, home: Home) -> None:
    body = simple("v1", "Secret", "a", stringData={"k": "text"}, data={"l": "bGw="})
    made = (await server.post(home("secrets"), body)).ok(201)
    assert made["data"] == {"k": base64.b64encode(b"text").decode(), "l": "bGw="}
    assert "stringData" not in made


async def test_the_type_of_a_secret_stays(server: Server, home: Home) -> None:
    (await server.post(home("secrets"), simple("v1", "Secret", "a"))).ok(201)
    answer = await server.patch(home("secrets", "a"), {"type": "other"})
    answer.refused(
        422, "Invalid", 'Secret "a" is invalid: type: Invalid value: "other": field is immutable'
    )


async def test_a_tls_secret_needs_its_keys(server: Server, home: Home) -> None:
    answer = await server.post(
        home("secrets"), simple("v1", "Secret", "a", type="kubernetes.io/tls", data={})
    )
    causes = answer.refused(422, "Invalid")["details"]["causes"]
    assert [each["field"] for each in causes] == ["data[tls.crt]", "data[tls.key]"]


async def test_an_immutable_secret_stays(server: Server, home: Home) -> None:
    (await server.post(home("secrets"), simple("v1", "Secret", "a", immutable=True))).ok(201)
    (await server.patch(home("secrets", "a"), {"data": {"k": "AAAA"}})).refused(
        422,
        "Invalid",
        'Secret "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
