"""Kubernetes' CEL: the functions, the words of errors, and the door for admission."""

from pathlib import Path
import runpy

import pytest

from pocketkube.apiserver.schemas import cel, celsource
from pocketkube.apiserver.schemas.schemanodes import compile_node

TABLE = runpy.run_path(str(Path(__file__).parents[1] / "agreement" / "cel_expressions.py"))[
    "EXPRESSIONS"
]


@pytest.mark.parametrize("source", TABLE)
def test_an_expression_comes_to_what_a_server_makes_of_it(source: str) -> None:
    program = cel.compile_program(source, {})
    wanted = TABLE[source]
    if isinstance(wanted, bool):
        assert program.evaluate({}) is wanted
        return
    with pytest.raises(cel.EvaluationError) as raised:
        program.evaluate({})
    assert str(raised.value).startswith(str(wanted))


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("1 +", "Syntax error: mismatched input '<EOF>'"),
        ("nobody", "undeclared reference to 'nobody'"),
        ("'a' + 1", "found no matching overload for '_+_' applied to '(string, int)'"),
    ],
)
def test_a_wrong_text_is_refused_with_the_place(source: str, problem: str) -> None:
    with pytest.raises(cel.CompileError) as raised:
        cel.compile_program(source, {})
    assert str(raised.value).startswith("ERROR: <input>:1:")
    assert problem in str(raised.value)
    assert f" | {source}" in str(raised.value)


def test_an_unknown_field_is_found_when_the_rule_is_compiled() -> None:
    node = compile_node({"type": "object", "properties": {"a": {"type": "string"}}})
    with pytest.raises(cel.CompileError) as raised:
        cel.compile_program("self.a == '' || self.b == ''", {"self": "dyn"}, {"self": node})
    assert str(raised.value) == (
        "ERROR: <input>:1:21: undefined field 'b'\n"
        " | self.a == '' || self.b == ''\n"
        " | ....................^"
    )


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("namespace", "__namespace__"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("plain", "plain"),
        ("1st", ""),
        ("a b", ""),
    ],
)
def test_a_property_has_one_identifier(name: str, identifier: str) -> None:
    assert celsource.escape(name) == identifier


def test_match_conditions_see_the_request() -> None:
    condition = cel.compile_admission(
        "request.userInfo.username != 'system:node' && object.metadata.name.startsWith('a')"
    )
    values = {
        "object": {"metadata": {"name": "abc"}},
        "oldObject": None,
        "request": {"userInfo": {"username": "jo"}},
    }
    assert condition.evaluate(values) is True


def test_policy_expressions_see_parameters_and_variables() -> None:
    bound = {
        "object": {"spec": {"replicas": 5}},
        "params": {"most": 3},
        "variables": {"replicas": 5},
        "namespaceObject": {"metadata": {"labels": {"env": "test"}}},
    }
    source = "variables.replicas <= params.most || namespaceObject.metadata.labels['env'] == 'prod'"
    assert cel.compile_admission(source).evaluate(bound) is False


def test_a_mutation_is_written_with_object_literals() -> None:
    source = "Object{spec: Object.spec{replicas: object.spec.replicas + 1, names: ['x']}}"
    assert cel.compile_admission(source).evaluate({"object": {"spec": {"replicas": 2}}}) == {
        "spec": {"replicas": 3, "names": ["x"]}
    }


def test_a_json_patch_is_a_list_of_literals() -> None:
    source = (
        "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}]"
    )
    assert cel.compile_admission(source).evaluate({}) == [
        {"op": "add", "path": "/metadata/labels/a~1b", "value": "x"}
    ]


def test_one_binding_serves_many_programs() -> None:
    first, second = (cel.compile_admission(text) for text in ("object.a == 1", "object.a + 1"))
    bound = first.bind({"object": {"a": 1}})
    assert (first.run(bound), second.run(bound)) == (True, 2)
