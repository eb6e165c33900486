"""Unknown and repeated fields: ignored, warned about or refused, as the client asks."""

from tests.contract.objects import Home, config_map, merged, pod, workload
from tests.contract.wire import STRATEGIC_PATCH, Server

TWICE = b'{"metadata": {"name": "a"}, "data": {"k": "v"}, "data": {"k": "w"}}'


async def test_an_unknown_field_is_dropped_with_a_warning_by_default(
    server: Server, home: Home
) -> None:
    answer = await server.post(home("configmaps"), {**config_map("a"), "dta": {}})
    assert "dta" not in answer.ok(201)
    assert answer.headers["Warning"] == '299 - "unknown field \\"dta\\""'


async def test_unknown_fields_can_be_ignored(server: Server, home: Home) -> None:
    body = {**config_map("a"), "dta": {}}
    answer = await server.post(home("configmaps"), body, fieldValidation="Ignore")
    assert "dta" not in answer.ok(201)
    assert "Warning" not in answer.headers


async def test_unknown_fields_can_be_refused(server: Server, home: Home) -> None:
    body = {**config_map("a"), "dta": {}}
    answer = await server.post(home("configmaps"), body, fieldValidation="Strict")
    answer.refused(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
    )
    assert (await server.get(home("configmaps", "a"))).status == 404


async def test_deep_unknown_fields_are_named_with_their_path(server: Server, home: Home) -> None:
    body = merged(pod("a"), {"spec": {"contaners": [], "securityContext": {"runAsUsr": 1}}})
    body["spec"]["containers"][0]["img"] = "x"
    answer = await server.post(home("pods"), body, fieldValidation="Strict")
    answer.refused(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].img", '
        'unknown field "spec.contaners", unknown field "spec.securityContext.runAsUsr"',
    )


async def test_repeated_fields_are_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), TWICE, fieldValidation="Strict")
    answer.refused(
        400,
        "BadRequest",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data"',
    )


async def test_the_last_of_repeated_fields_counts(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), TWICE)
    assert answer.ok(201)["data"] == {"k": "w"}
    assert answer.warnings == ['duplicate field "data"']


async def test_case_matters(server: Server, home: Home) -> None:
    answer = await server.post(
        home("configmaps"), {**config_map("a"), "Data": {"k": "v"}}, fieldValidation="Strict"
    )
    status = answer.refused(400, "BadRequest")
    assert status["message"].endswith('unknown field "Data"')


async def test_a_level_nobody_knows_is_refused(server: Server, home: Home) -> None:
    answer = await server.post(home("configmaps"), config_map("a"), fieldValidation="Loose")
    answer.refused(
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": supported values: "", '
        '"Ignore", "Strict", "Warn"',
    )


async def test_an_update_is_checked_as_well(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    body = {**config_map("a"), "dta": {}}
    answer = await server.put(home("configmaps", "a"), body, fieldValidation="Strict")
    assert 'unknown field "dta"' in answer.refused(400, "BadRequest")["message"]


async def test_a_merge_patch_is_checked_as_well(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    answer = await server.patch(home("configmaps", "a"), {"dta": {}}, fieldValidation="Strict")
    status = answer.refused(422, "Invalid")
    assert 'strict decoding error: unknown field "dta"' in status["message"]


async def test_a_strategic_patch_is_checked_as_well(server: Server, home: Home) -> None:
    (await server.post(home("deployments"), workload("Deployment", "a"))).ok()
    answer = await server.patch(
        home("deployments", "a"), {"spec": {"nope": 1}}, STRATEGIC_PATCH, fieldValidation="Strict"
    )
    assert 'unknown field "spec.nope"' in answer.refused(422, "Invalid")["message"]


async def test_an_apply_is_always_strict_about_types(server: Server, home: Home) -> None:
    answer = await server.apply(home("configmaps", "a"), {**config_map("a"), "dta": {}})
    answer.fails(
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dta: field not declared in schema"
    )


async def test_a_dropped_field_of_a_patch_is_warned_about(server: Server, home: Home) -> None:
    (await server.post(home("configmaps"), config_map("a"))).ok()
    answer = await server.patch(home("configmaps", "a"), {"dta": {}})
    answer.ok()
    assert answer.headers["Warning"] == '299 - "unknown field \\"dta\\""'
