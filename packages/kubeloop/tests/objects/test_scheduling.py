from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import codec, node_room, scheduling
from kubeloop.objects.core import Node, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration
from kubeloop.objects.meta import JSON
from kubeloop.objects.scheduling import Code, Mismatch

Body = dict[str, JSON]


def node(
    labels: Body | None = None, spec: Body | None = None, allocatable: Body | None = None
) -> Node:
    return codec.convert(
        {
            "metadata": {"name": "n1", "labels": labels or {}},
            "spec": spec or {},
            "status": {"allocatable": {"pods": 110, **(allocatable or {})}},
        },
        Node,
    )


def spec(body: Body) -> PodSpec:
    return codec.convert(body, PodSpec)


def expression(key: str, operator: str, *values: str) -> JSON:
    return {"key": key, "operator": operator, "values": list(values)}


def requiring(*terms: JSON) -> PodSpec:
    required: JSON = {"nodeSelectorTerms": list(terms)}
    return spec(
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    )


EXPRESSIONS: dict[str, tuple[JSON, bool]] = {
    "In with the label's value": (expression("zone", "In", "a", "b"), True),
    "In with other values": (expression("zone", "In", "b"), False),
    "In on a label that is missing": (expression("rack", "In", "a"), False),
    "In without values is malformed": (expression("zone", "In"), False),
    "NotIn with the label's value": (expression("zone", "NotIn", "a"), False),
    "NotIn with other values": (expression("zone", "NotIn", "b"), True),
    "NotIn on a label that is missing": (expression("rack", "NotIn", "a"), True),
    "NotIn without values is malformed": (expression("zone", "NotIn"), False),
    "Exists": (expression("zone", "Exists"), True),
    "Exists on a label that is missing": (expression("rack", "Exists"), False),
    "Exists with a value is malformed": (expression("zone", "Exists", "a"), False),
    "DoesNotExist": (expression("zone", "DoesNotExist"), False),
    "DoesNotExist on a label that is missing": (expression("rack", "DoesNotExist"), True),
    "Gt below the label": (expression("cores", "Gt", "15"), True),
    "Gt at the label": (expression("cores", "Gt", "16"), False),
    "Gt on a label that is missing": (expression("rack", "Gt", "1"), False),
    "Gt on a label that is no number": (expression("zone", "Gt", "1"), False),
    "Gt with words is malformed": (expression("cores", "Gt", "many"), False),
    "Gt with two values is malformed": (expression("cores", "Gt", "1", "2"), False),
    "Lt above the label": (expression("cores", "Lt", "17"), True),
    "Lt at the label": (expression("cores", "Lt", "16"), False),
    "an operator nobody knows": (expression("zone", "Near", "a"), False),
    "a key that is none": (expression("not a key", "DoesNotExist"), False),
}


@pytest.mark.parametrize(("required", "matches"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_looks_at_a_label(required: JSON, matches: bool) -> None:
    here = node(labels={"zone": "a", "cores": "16"})

    verdict = scheduling.affinity_mismatch(requiring({"matchExpressions": [required]}), here)

    assert (verdict is None) is matches


FIELDS: dict[str, tuple[JSON, bool]] = {
    "In with the node's name": (expression("metadata.name", "In", "n1"), True),
    "In with another name": (expression("metadata.name", "In", "n2"), False),
    "NotIn with another name": (expression("metadata.name", "NotIn", "n2"), True),
    "NotIn with the node's name": (expression("metadata.name", "NotIn", "n1"), False),
    "In with two names is malformed": (expression("metadata.name", "In", "n1", "n2"), False),
    "NotIn without names is malformed": (expression("metadata.name", "NotIn"), False),
    "other operators do not exist": (expression("metadata.name", "Exists"), False),
    "another field is empty": (expression("metadata.uid", "In", "u"), False),
    "a path that is none": (expression("", "NotIn", "n2"), False),
}


@pytest.mark.parametrize(("required", "matches"), FIELDS.values(), ids=FIELDS)
def test_a_field_requirement_looks_at_the_name(required: JSON, matches: bool) -> None:
    verdict = scheduling.affinity_mismatch(requiring({"matchFields": [required]}), node())

    assert (verdict is None) is matches


ZONE_A = expression("zone", "In", "a")
ZONE_B = expression("zone", "In", "b")
N1 = expression("metadata.name", "In", "n1")
N2 = expression("metadata.name", "In", "n2")
BAD = expression("zone", "Near", "a")

AFFINITIES: dict[str, tuple[PodSpec, bool]] = {
    "no affinity": (spec({}), True),
    "no node affinity": (spec({"affinity": {}}), True),
    "nothing required": (spec({"affinity": {"nodeAffinity": {}}}), True),
    "no terms match nothing": (requiring(), False),
    "an empty term matches nothing": (requiring({}), False),
    "an empty term beside one that holds": (requiring({}, {"matchExpressions": [ZONE_A]}), True),
    "one of two terms": (
        requiring({"matchExpressions": [ZONE_B]}, {"matchExpressions": [ZONE_A]}),
        True,
    ),
    "none of two terms": (
        requiring({"matchExpressions": [ZONE_B]}, {"matchFields": [N2]}),
        False,
    ),
    "all of a term": (
        requiring({"matchExpressions": [ZONE_A, expression("disk", "Exists")]}),
        True,
    ),
    "half of a term": (requiring({"matchExpressions": [ZONE_A, ZONE_B]}), False),
    "labels and name": (requiring({"matchExpressions": [ZONE_A], "matchFields": [N1]}), True),
    "labels but another name": (
        requiring({"matchExpressions": [ZONE_A], "matchFields": [N2]}),
        False,
    ),
    "name but other labels": (
        requiring({"matchExpressions": [ZONE_B], "matchFields": [N1]}),
        False,
    ),
    "a malformed term does not spoil the others": (
        requiring({"matchExpressions": [BAD]}, {"matchExpressions": [ZONE_A]}),
        True,
    ),
    "a malformed requirement spoils its term": (
        requiring({"matchExpressions": [ZONE_A, BAD]}),
        False,
    ),
}


@pytest.mark.parametrize(("wanting", "matches"), AFFINITIES.values(), ids=AFFINITIES)
def test_terms_are_alternatives_and_requirements_are_not(wanting: PodSpec, matches: bool) -> None:
    here = node(labels={"zone": "a", "disk": "ssd"})

    assert (scheduling.affinity_mismatch(wanting, here) is None) is matches


SELECTORS: dict[str, tuple[Body, bool]] = {
    "nothing asked": ({}, True),
    "a label the node has": ({"zone": "a"}, True),
    "another value": ({"zone": "b"}, False),
    "a label the node lacks": ({"rack": ""}, False),
    "one of two": ({"zone": "a", "rack": "1"}, False),
}


@pytest.mark.parametrize(("wanted", "matches"), SELECTORS.values(), ids=SELECTORS)
def test_a_node_selector_wants_all_its_labels(wanted: Body, matches: bool) -> None:
    verdict = scheduling.selector_mismatch(
        spec({"nodeSelector": wanted}), node(labels={"zone": "a"})
    )

    assert (verdict is None) is matches


GPU = Taint(key="gpu", value="yes", effect="NoSchedule")

TOLERATIONS: dict[str, tuple[Body, bool]] = {
    "the same key, value and effect": (
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
        True,
    ),
    "an empty operator means Equal": ({"key": "gpu", "value": "yes"}, True),
    "another value": ({"key": "gpu", "operator": "Equal", "value": "no"}, False),
    "no value": ({"key": "gpu", "operator": "Equal"}, False),
    "Exists does not look at values": ({"key": "gpu", "operator": "Exists"}, True),
    "another key": ({"key": "cpu", "operator": "Exists"}, False),
    "an empty effect covers all effects": (
        {"key": "gpu", "operator": "Exists", "effect": ""},
        True,
    ),
    "another effect": ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    "Exists without a key covers everything": ({"operator": "Exists"}, True),
    "Exists without a key, for another effect": (
        {"operator": "Exists", "effect": "NoExecute"},
        False,
    ),
    "Gt is off": ({"key": "gpu", "operator": "Gt", "value": "yes"}, False),
    "Lt is off": ({"key": "gpu", "operator": "Lt", "value": "yes"}, False),
}


@pytest.mark.parametrize(("toleration", "covers"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_a_toleration_covers_a_taint(toleration: Body, covers: bool) -> None:
    assert scheduling.tolerates(codec.convert(toleration, Toleration), GPU) is covers


def test_numbers_in_tolerations_are_not_compared() -> None:
    sla = Taint(key="sla", value="99", effect="NoSchedule")

    assert not scheduling.tolerates(Toleration(key="sla", operator="Gt", value="95"), sla)
    assert not scheduling.tolerates(Toleration(key="sla", operator="Lt", value="100"), sla)


EFFECTS = {"NoSchedule": True, "NoExecute": True, "PreferNoSchedule": False, "Unheard": False}


@pytest.mark.parametrize(("effect", "excludes"), EFFECTS.items(), ids=EFFECTS)
def test_only_two_effects_keep_pods_away(effect: str, excludes: bool) -> None:
    here = node(spec={"taints": [{"key": "k", "effect": effect}]})

    assert (scheduling.tainted(spec({}), here) is not None) is excludes


def test_every_taint_has_to_be_tolerated() -> None:
    here = node(
        spec={
            "taints": [
                {"key": "gpu", "effect": "NoSchedule"},
                {"key": "spot", "value": "yes", "effect": "NoExecute"},
            ]
        }
    )
    half = spec({"tolerations": [{"key": "gpu", "operator": "Exists"}]})
    whole = spec({"tolerations": [{"key": "spot", "value": "yes"}, {"key": "gpu"}]})

    assert scheduling.tainted(half, here) == Mismatch(
        Code.TAINTED, "does not tolerate taint spot=yes:NoExecute of node n1"
    )
    assert scheduling.tainted(whole, here) is None


def test_taints_that_are_judged_elsewhere_can_be_left_out() -> None:
    here = node(spec={"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]})

    assert scheduling.tainted(spec({}), here) is not None
    assert scheduling.tainted(spec({}), here, ignoring={"node.kubernetes.io/not-ready"}) is None


CORDON_TOLERATED: Body = {
    "tolerations": [
        {
            "key": "node.kubernetes.io/unschedulable",
            "operator": "Exists",
            "effect": "NoSchedule",
        }
    ]
}


@pytest.mark.parametrize(
    ("unschedulable", "wanting", "refused"),
    [(False, {}, False), (True, {}, True), (True, CORDON_TOLERATED, False)],
    ids=["an open node", "a cordoned node", "a pod that does not mind"],
)
def test_a_cordoned_node_takes_only_pods_that_tolerate_it(
    unschedulable: bool, wanting: Body, refused: bool
) -> None:
    verdict = scheduling.cordoned(spec(wanting), node(spec={"unschedulable": unschedulable}))

    assert (verdict is not None) is refused


@pytest.mark.parametrize(
    ("bound_to", "refused"),
    [("", False), ("n1", False), ("n2", True)],
    ids=["free", "here", "there"],
)
def test_a_bound_pod_belongs_to_its_node(bound_to: str, refused: bool) -> None:
    verdict = scheduling.wrong_node(spec({"nodeName": bound_to}), node())

    assert (verdict is not None) is refused


def pod(body: Body) -> Pod:
    return codec.convert({"spec": body}, Pod)


def asking(requests: Body, ports: list[JSON] | None = None) -> Body:
    return {"containers": [{"resources": {"requests": requests}, "ports": ports or []}]}


HTTP: list[JSON] = [{"hostPort": 80}]

WORDS: dict[str, tuple[Body, Mismatch]] = {
    "too little cpu": (
        asking({"cpu": "2"}),
        Mismatch(Code.NO_ROOM, "needs cpu 2, node n1 has 1500m free"),
    ),
    "no memory left": (
        asking({"memory": "1Gi"}),
        Mismatch(Code.NO_ROOM, "needs memory 1Gi, node n1 has nothing free"),
    ),
    "no such device": (
        asking({"nvidia.com/gpu": 1}),
        Mismatch(Code.NO_ROOM, "needs nvidia.com/gpu 1, node n1 has none"),
    ),
    "a port that is taken": (
        asking({}, HTTP),
        Mismatch(Code.PORT_TAKEN, "needs host port TCP 0.0.0.0:80, which is taken on node n1"),
    ),
    "bound elsewhere": (
        {"nodeName": "n2"},
        Mismatch(Code.WRONG_NODE, "is bound to node n2, not n1"),
    ),
    "labels": (
        {"nodeSelector": {"zone": "b", "disk": "ssd"}},
        Mismatch(Code.SELECTOR, "needs labels zone=b, disk=ssd, which node n1 lacks"),
    ),
    "affinity": (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [ZONE_B], "matchFields": [N2]},
                            {"matchFields": [N2]},
                            {},
                        ]
                    }
                }
            }
        },
        Mismatch(
            Code.AFFINITY,
            "requires node affinity zone in (b),metadata.name=n2 or metadata.name=n2 "
            "or a term that matches no node, which node n1 does not meet",
        ),
    ),
    "affinity without terms": (
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
        Mismatch(
            Code.AFFINITY, "requires node affinity to no node at all, which node n1 does not meet"
        ),
    ),
}


@pytest.mark.parametrize(("wanting", "reason"), WORDS.values(), ids=WORDS)
def test_the_one_thing_that_is_wrong_is_reported_in_plain_words(
    wanting: Body, reason: Mismatch
) -> None:
    here = node(labels={"zone": "a"}, allocatable={"cpu": "2", "memory": "1Gi"})
    room = node_room.room_of(here, [pod(asking({"cpu": "500m", "memory": "1Gi"}, HTTP))])

    assert scheduling.why_not(pod(wanting), here, room) == (reason,)


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    here = node(
        spec={"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
        allocatable={"pods": 1},
    )
    room = node_room.room_of(here, [pod(asking({}, HTTP))])
    hopeless: Body = {**asking({"cpu": 1}, HTTP), "nodeName": "n2", "nodeSelector": {"a": "b"}}

    reasons = scheduling.why_not(pod(hopeless), here, room)

    assert [reason.code for reason in reasons] == [
        Code.WRONG_NODE,
        Code.CORDONED,
        Code.TAINTED,
        Code.SELECTOR,
        Code.NO_ROOM,
        Code.NO_ROOM,
        Code.PORT_TAKEN,
    ]
    messages = {reason.message for reason in reasons}
    assert {"node n1 is cordoned", "node n1 takes no more than 1 pods"} <= messages
    assert "does not tolerate taint k:NoSchedule of node n1" in messages


def test_a_pod_that_suits_gets_no_reason() -> None:
    here = node(labels={"zone": "a"}, allocatable={"cpu": "2"})
    wanting: Body = {**asking({"cpu": "2"}), "nodeSelector": {"zone": "a"}}

    assert scheduling.why_not(pod(wanting), here, node_room.room_of(here)) == ()


def test_a_preference_asks_the_same_question_as_a_requirement() -> None:
    term = codec.convert({"matchExpressions": [ZONE_A]}, NodeSelectorTerm)

    assert scheduling.term_matches(term, node(labels={"zone": "a"}))
    assert not scheduling.term_matches(term, node(labels={"zone": "b"}))


labels = st.dictionaries(
    st.sampled_from(["zone", "disk", "cores"]), st.sampled_from(["a", "b", "5"])
)
expressions = st.one_of(
    st.builds(
        lambda key, operator, values: expression(key, operator, *values),
        st.sampled_from(["zone", "disk", "cores"]),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(["a", "b", "5"]), min_size=1),
    ),
    st.builds(
        expression,
        st.sampled_from(["zone", "disk", "cores"]),
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)
OPPOSITE = {"In": "NotIn", "NotIn": "In", "Exists": "DoesNotExist", "DoesNotExist": "Exists"}


@given(labels, expressions)
def test_an_expression_and_its_opposite_never_agree(here: Body, wanted: Body) -> None:
    opposite: Body = {**wanted, "operator": OPPOSITE[str(wanted["operator"])]}

    verdicts = [
        scheduling.affinity_mismatch(requiring({"matchExpressions": [each]}), node(labels=here))
        for each in (wanted, opposite)
    ]

    assert (verdicts[0] is None) is not (verdicts[1] is None)


@given(labels, st.lists(expressions, min_size=1, max_size=3))
def test_one_term_is_all_its_expressions_and_many_terms_are_any(
    here: Body, wanted: list[JSON]
) -> None:
    place = node(labels=here)
    each = [
        scheduling.affinity_mismatch(requiring({"matchExpressions": [one]}), place) is None
        for one in wanted
    ]
    together = scheduling.affinity_mismatch(requiring({"matchExpressions": wanted}), place)
    alternatives: list[JSON] = [{"matchExpressions": [one]} for one in wanted]
    apart = scheduling.affinity_mismatch(requiring(*alternatives), place)

    assert (together is None) is all(each)
    assert (apart is None) is any(each)


@given(labels, labels)
def test_a_node_selector_is_an_affinity_to_each_of_its_labels(here: Body, wanted: Body) -> None:
    place = node(labels=here)
    as_affinity = requiring(
        {
            "matchExpressions": [
                expression("zone", "NotIn", "nowhere"),
                *(expression(key, "In", str(value)) for key, value in wanted.items()),
            ]
        }
    )

    by_selector = scheduling.selector_mismatch(spec({"nodeSelector": wanted}), place)
    by_affinity = scheduling.affinity_mismatch(as_affinity, place)

    assert (by_selector is None) is (by_affinity is None)


@given(st.lists(st.sampled_from(["gpu", "spot", "own"]), max_size=3))
def test_a_pod_that_tolerates_everything_is_kept_away_by_nothing(keys: list[str]) -> None:
    here = node(
        spec={
            "unschedulable": True,
            "taints": [{"key": key, "effect": "NoExecute"} for key in keys],
        }
    )

    assert scheduling.unsuited(spec({"tolerations": [{"operator": "Exists"}]}), here) == ()
