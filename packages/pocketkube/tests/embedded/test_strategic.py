"""Strategic merge patch: lists by merge key, directives, order."""

from copy import deepcopy
from typing import Any

from hypothesis import given, strategies as st
import pytest

from pocketkube.apiserver.managed_fields import builtin, strategic
from pocketkube.apiserver.managed_fields.strategic import StrategicRefused

POD = builtin.find("v1", "Pod")
CONFIG_MAP = builtin.find("v1", "ConfigMap")


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def named(names: str, **members: Any) -> list[Any]:
    return [{"name": name, **members} for name in names]


def replacing(**members: Any) -> dict[str, Any]:
    return {"$patch": "replace", **members}


def deleting(**members: Any) -> dict[str, Any]:
    return {"$patch": "delete", **members}


@pytest.mark.parametrize(
    ("live", "patch", "expected"),
    [
        pytest.param(
            pod(containers=[{"name": "a", "image": "x", "tty": True}]),
            pod(containers=[{"name": "a", "image": "y"}]),
            pod(containers=[{"name": "a", "image": "y", "tty": True}]),
            id="an item is merged by its key",
        ),
        pytest.param(
            pod(containers=named("ab")),
            pod(containers=named("c")),
            pod(containers=named("cab")),
            id="a new item stands first",
        ),
        pytest.param(
            pod(containers=named("ab")),
            pod(containers=[deleting(name="a")]),
            pod(containers=named("b")),
            id="an item is deleted",
        ),
        pytest.param(
            pod(containers=named("ab")),
            pod(containers=[{"name": "c"}, replacing()]),
            pod(containers=named("c")),
            id="a list is replaced",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a"}]),
            pod(tolerations=[{"key": "b"}]),
            pod(tolerations=[{"key": "b"}]),
            id="a list without a merge key is replaced",
        ),
        pytest.param(
            pod(nodeSelector={"a": "x"}),
            pod(nodeSelector={"b": "y"}),
            pod(nodeSelector={"a": "x", "b": "y"}),
            id="an object with one owner is merged all the same",
        ),
        pytest.param(
            pod(containers=[{"name": "a", "ports": [{"containerPort": 1, "protocol": "UDP"}]}]),
            pod(containers=[{"name": "a", "ports": [{"containerPort": 1, "hostPort": 2}]}]),
            pod(
                containers=[
                    {
                        "name": "a",
                        "ports": [{"containerPort": 1, "protocol": "UDP", "hostPort": 2}],
                    }
                ]
            ),
            id="ports go by their number alone",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "x", "b": "y"}}},
            {"metadata": {"labels": {"a": None, "c": None}}},
            {"metadata": {"labels": {"b": "y"}}},
            id="null removes",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "x"}}},
            {"metadata": {"labels": replacing(b="y")}},
            {"metadata": {"labels": {"b": "y"}}},
            id="an object is replaced",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "x"}}},
            {"metadata": {"labels": deleting()}},
            {"metadata": {"labels": {}}},
            id="an object is emptied",
        ),
        pytest.param(
            {"metadata": {}},
            {"metadata": {"labels": {"a": None, "b": "y"}, "annotations": deleting()}},
            {"metadata": {"labels": {"b": "y"}}},
            id="directives and nulls that meet nothing leave nothing",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["b", "c"]}},
            {"metadata": {"finalizers": ["a", "b", "c"]}},
            id="a set of texts grows",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}},
            {"metadata": {"finalizers": ["b"]}},
            id="texts are deleted from a set",
        ),
        pytest.param(
            pod(containers=named("abc")),
            pod(**{"$setElementOrder/containers": named("ca")}),
            pod(containers=named("bca")),
            id="only the order changes",
        ),
        pytest.param(
            pod(containers=named("ab")),
            pod(containers=named("c"), **{"$setElementOrder/containers": named("bca")}),
            pod(containers=named("bca")),
            id="the order of everything is laid down",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}]),
            pod(
                volumes=[
                    {"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}
                ]
            ),
            pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]),
            id="only the keys to retain stay",
        ),
        pytest.param(
            {"spec": {"selector": {"matchLabels": {"a": "x"}}}},
            {"spec": {"selector": {"matchLabels": {"b": "y"}}}},
            {"spec": {"selector": {"matchLabels": {"b": "y"}}}},
            id="the selector of a disruption budget is replaced",
        ),
    ],
)
def test_a_patch_is_laid_over_the_object(live: Any, patch: Any, expected: Any) -> None:
    structure = (
        POD
        if "selector" not in live.get("spec", {})
        else builtin.find("policy/v1", "PodDisruptionBudget")
    )
    before, sent = deepcopy(live), deepcopy(patch)
    assert strategic.patch(structure, live, patch) == expected
    assert (live, patch) == (before, sent)


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            {"data": {"$patch": "x", "a": "1"}},
            500,
            "unknown patch type: x in map: map[$patch:x a:1]",
            id="an unknown directive",
        ),
        pytest.param(
            {"metadata": {"ownerReferences": [{"name": "x"}]}},
            500,
            "map: map[name:x] does not contain declared merge key: uid",
            id="no merge key",
        ),
        pytest.param(
            {"metadata": {"ownerReferences": [{"$patch": "merge", "uid": "u"}]}},
            500,
            "merging lists cannot yet be specified in the patch",
            id="an item that says merge",
        ),
        pytest.param(
            {"data": {"$retainKeys": ["b"], "a": "x"}},
            400,
            "invalid patch format of retainKeys",
            id="more than is retained",
        ),
        pytest.param(
            {"metadata": {"$setElementOrder/finalizers": 1}},
            500,
            "expected a []interface {}, but received a int64",
            id="a number as the order",
        ),
        pytest.param(
            {"metadata": {"$setElementOrder": []}},
            400,
            "invalid patch format of setElementOrder list",
            id="an order of nothing",
        ),
        pytest.param(
            {"metadata": {"$deleteFromPrimitiveList": []}},
            400,
            "invalid patch format of primitive list",
            id="a deletion from nothing",
        ),
        pytest.param(
            {"metadata": {"finalizers": [["a"]]}},
            500,
            "list element types are not identical: [[f] [[a]]]",
            id="a list among texts",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["b"], "$setElementOrder/finalizers": ["a"]}},
            500,
            "The order in patch list:\n[b]\n doesn't match $setElementOrder list:\n[a]\n",
            id="an order without the item",
        ),
        pytest.param(
            {
                "metadata": {
                    "ownerReferences": [{"uid": "v"}, {"$patch": "replace"}],
                    "$setElementOrder/ownerReferences": [{"uid": "v"}],
                }
            },
            500,
            "The order in patch list:\n[map[uid:v] map[$patch:replace]]\n"
            " doesn't match $setElementOrder list:\n[map[uid:v]]\n",
            id="a directive behind the last item of the order",
        ),
    ],
)
def test_a_bad_patch_is_refused_in_the_words_of_the_real_server(
    patch: Any, code: int, message: str
) -> None:
    live: dict[str, Any] = {
        "metadata": {"finalizers": ["f"], "ownerReferences": [{"uid": "v"}]},
        "data": {"a": "x"},
    }
    with pytest.raises(StrategicRefused) as refused:
        strategic.patch(CONFIG_MAP, live, patch)
    assert (refused.value.code, str(refused.value)) == (code, message)


LETTERS = st.sampled_from("abcd")
PLAIN_PODS = st.fixed_dictionaries(
    {},
    optional={
        "containers": st.dictionaries(LETTERS, LETTERS, max_size=4).map(
            lambda found: [{"name": name, "image": image} for name, image in found.items()]
        ),
        "nodeSelector": st.dictionaries(LETTERS, LETTERS),
        "tolerations": st.lists(LETTERS.map(lambda key: {"key": key}), max_size=2),
    },
).map(lambda spec: {"spec": spec})


@given(PLAIN_PODS, PLAIN_PODS)
def test_patching_twice_is_patching_once(live: Any, patch: Any) -> None:
    once = strategic.patch(POD, live, patch)
    assert strategic.patch(POD, once, patch) == once


@given(PLAIN_PODS)
def test_an_object_patched_with_itself_or_with_nothing_stays(live: Any) -> None:
    assert strategic.patch(POD, live, live) == live
    assert strategic.patch(POD, live, {}) == live


@given(PLAIN_PODS, st.permutations("abcd"))
def test_an_order_keeps_all_items(live: Any, order: list[str]) -> None:
    patch = {"spec": {"$setElementOrder/containers": named("".join(order))}}
    before = live["spec"].get("containers", [])
    after = strategic.patch(POD, live, patch)["spec"].get("containers", [])
    assert after == sorted(before, key=lambda item: order.index(item["name"]))
