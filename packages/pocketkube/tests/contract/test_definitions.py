"""Definitions of kinds: how they come into force, what is refused, how they change and end."""

from tests.contract.definitions import (
    NUMBER,
    TEXT,
    Names,
    conditions,
    defined,
    definition,
    established,
    schema,
    version,
)
from tests.contract.objects import Home, everywhere, names, unique
from tests.contract.wire import Answer, Server

CRDS = everywhere("customresourcedefinitions")


CLEANING = 5.0
"""After so many seconds a real server looks again whether the objects of a definition have gone."""


async def test_a_definition_is_accepted_and_established(server: Server) -> None:
    kind = Names()
    short = f"{kind.singular}x"
    made = (await server.post(CRDS, definition(kind, shortNames=[short]))).ok(201)
    assert made["spec"]["names"]["listKind"] == f"{kind.kind}List"
    assert made["spec"]["conversion"] == {"strategy": "None"}
    found = (await server.until(lambda: server.get(kind.definition), established)).ok()
    assert conditions(found) == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["acceptedNames"] == {
        "plural": kind.plural,
        "singular": kind.singular,
        "shortNames": [short],
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
    }
    assert found["status"]["storedVersions"] == ["v1"]


async def test_a_kind_is_discovered(server: Server, home: Home) -> None:
    group = f"{unique('g')}.example.com"
    kind = await defined(server, home, group=group, shortNames=["wi"], categories=["all"])
    answer = await server.until(
        lambda: server.get(f"/apis/{group}/v1"), lambda answer: answer.status == 200
    )
    [found] = answer.ok()["resources"]
    found.pop("storageVersionHash", None)
    assert found == {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": True,
        "kind": kind.kind,
        "verbs": [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ],
        "shortNames": ["wi"],
        "categories": ["all"],
    }
    answer = await server.until(
        lambda: server.get("/apis"),
        lambda answer: group in {each["name"] for each in answer.json["groups"]},
    )
    groups = {each["name"]: each for each in answer.ok()["groups"]}
    assert groups[group]["preferredVersion"]["version"] == "v1"


async def test_a_schema_of_a_kind_is_published(server: Server, home: Home) -> None:
    group = f"{unique('g')}.example.com"
    kind = await defined(server, home, group=group)

    def published(answer: Answer) -> bool:
        return answer.status == 200 and bool(answer.json["components"]["schemas"])

    answer = await server.until(lambda: server.get(f"/openapi/v3/apis/{group}/v1"), published)
    reverse = ".".join(reversed(group.split(".")))
    found = answer.json["components"]["schemas"][f"{reverse}.v1.{kind.kind}"]
    assert found["properties"]["spec"]["properties"]["text"] == {"type": "string"}
    assert found["x-kubernetes-group-version-kind"] == [
        {"group": group, "kind": kind.kind, "version": "v1"}
    ]


async def test_a_name_must_be_plural_and_group(server: Server) -> None:
    body = definition(Names())
    body["metadata"]["name"] = "other"
    (await server.post(CRDS, body)).refused(
        422,
        "Invalid",
        'CustomResourceDefinition.apiextensions.k8s.io "other" is invalid: metadata.name: Invalid value: "other": must be '
        'spec.names.plural+"."+spec.group',
    )


async def test_one_version_is_stored(server: Server) -> None:
    body = definition(Names(), version("v1"), version("v2"))
    status = (await server.post(CRDS, body)).refused(422, "Invalid")
    assert "must have exactly one version marked as storage version" in status["message"]


async def test_a_schema_is_required(server: Server) -> None:
    body = definition(Names(), {"name": "v1", "served": True, "storage": True})
    status = (await server.post(CRDS, body)).refused(422, "Invalid")
    assert "spec.versions[0].schema.openAPIV3Schema: Required value" in (status["message"])


async def test_a_schema_must_be_structural(server: Server) -> None:
    body = definition(Names(), version(openapi=schema({"text": {}})))
    status = (await server.post(CRDS, body)).refused(422, "Invalid")
    assert (
        "spec.validation.openAPIV3Schema.properties[spec].properties[text].type: Required value: must not be "
        "empty for specified object fields" in status["message"]
    )


async def test_a_rule_must_compile(server: Server) -> None:
    rules = [{"rule": "self.nothing > 1"}]
    openapi = schema({"number": NUMBER}, **{"x-kubernetes-validations": rules})
    status = (await server.post(CRDS, definition(Names(), version(openapi=openapi)))).refused(
        422, "Invalid"
    )
    assert "compilation failed: ERROR: <input>:1:5: undefined field 'nothing'" in status["message"]


async def test_a_scope_nobody_knows_is_refused(server: Server) -> None:
    answer = await server.post(CRDS, definition(Names(), scope="Planet"))
    status = answer.refused(422, "Invalid")
    assert (
        'spec.scope: Unsupported value: "Planet": supported values: "Cluster", "Namespaced"'
        in status["message"]
    )


async def test_names_that_are_taken_are_not_accepted(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    other = Names()
    (await server.post(CRDS, definition(other, kind=kind.kind))).ok(201)
    found = await server.until(
        lambda: server.get(other.definition),
        lambda answer: conditions(answer.json).get("NamesAccepted") == "False",
    )
    [conflict] = [
        each for each in found.ok()["status"]["conditions"] if each["type"] == "NamesAccepted"
    ]
    assert conflict["reason"] in ("KindConflict", "ListKindConflict")
    assert f'"{kind.kind}' in conflict["message"]
    assert (await server.get(f"/apis/{other.group}/v1/{other.plural}")).status == 404


async def test_the_scope_of_a_kind_stays(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    answer = await server.patch(kind.definition, {"spec": {"scope": "Cluster"}})
    status = answer.refused(422, "Invalid")
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in status["message"]


async def test_a_schema_can_change(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a", {"text": "x", "size": 1})).ok(201)
    wider = {"spec": {"versions": [version(openapi=schema({"text": TEXT, "size": NUMBER}))]}}
    changed = (await server.patch(kind.definition, wider)).ok()
    assert changed["metadata"]["generation"] == 2
    answer = await server.until(
        lambda: server.patch(kind.path("a"), {"spec": {"size": 5}}),
        lambda answer: "size" in answer.json.get("spec", {}),
    )
    assert answer.ok()["spec"] == {"text": "x", "size": 5}


async def test_a_version_that_is_not_served_is_not_found(server: Server, home: Home) -> None:
    old = {**version("v1alpha1"), "served": False, "storage": False}
    kind = await defined(server, home, version(), old)
    assert (await server.get(kind.path(version="v1alpha1"))).status == 404


async def test_a_stored_version_cannot_be_removed(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    answer = await server.patch(kind.definition, {"spec": {"versions": [version("v2")]}})
    status = answer.refused(422, "Invalid")
    assert (
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version'
        in status["message"]
    )


async def test_objects_go_with_their_definition(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    (await kind.make("a")).ok(201)
    marked = (await server.delete(kind.definition)).ok(200)
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await server.until(lambda: server.get(kind.definition), lambda answer: answer.status == 404)
    await server.until(lambda: server.get(kind.path()), lambda answer: answer.status == 404)


async def test_a_definition_waits_for_finalizers_of_its_objects(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    body = kind.object("a")
    body["metadata"]["finalizers"] = ["x.io/wait"]
    (await server.post(kind.path(), body)).ok(201)
    (await server.delete(kind.definition)).ok()
    found = await server.until(
        lambda: server.get(kind.path("a")),
        lambda answer: "deletionTimestamp" in answer.json["metadata"],
    )
    assert found.ok()["metadata"]["finalizers"] == ["x.io/wait"]
    assert conditions((await server.get(kind.definition)).ok())["Terminating"] == "True"
    (await server.patch(kind.path("a"), {"metadata": {"finalizers": None}})).ok()
    await server.until(
        lambda: server.get(kind.definition),
        lambda answer: answer.status == 404,
        patience=3 * CLEANING,
    )


async def test_groups_of_kubernetes_need_approval(server: Server) -> None:
    body = definition(Names("things.k8s.io"))
    status = (await server.post(CRDS, body)).refused(422, "Invalid")
    assert (
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval"
        in status["message"]
    )


async def test_definitions_are_listed(server: Server, home: Home) -> None:
    kind = await defined(server, home)
    found = names((await server.get(CRDS)).ok())
    assert f"{kind.plural}.{kind.group}" in found
    assert found == sorted(found)


async def test_a_bad_printer_column_is_refused(server: Server) -> None:
    column = {"name": "X", "type": "colour", "jsonPath": ".spec.text"}
    body = definition(Names(), version(additionalPrinterColumns=[column]))
    status = (await server.post(CRDS, body)).refused(422, "Invalid")
    assert "spec.versions[0].additionalPrinterColumns[0].type: Unsupported value" in status[
        "message"
    ] or ("spec.additionalPrinterColumns[0].type" in status["message"])


async def test_a_kind_without_a_namespace_lives_at_the_root(server: Server, home: Home) -> None:
    kind = await defined(server, home, scope="Cluster")
    made = (await server.post(kind.everywhere(), kind.object("a"))).ok(201)
    assert "namespace" not in made["metadata"]
    assert (await server.get(kind.path("a"))).status == 404
