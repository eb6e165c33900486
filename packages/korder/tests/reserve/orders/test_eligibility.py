"""Which nodes are eligible: the four rules of DaemonSet mode (S36, S37, rule 17)."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st
import pytest

from korder.api.reserve import TicketSpec
from korder.reserve.orders import assignments
from kubeloop.objects import codec, instant
from kubeloop.objects.meta import JSON
from kubeloop.testing.builders import NodeBuilder, a_node

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
ANY_NO_SCHEDULE: JSON = {"operator": "Exists", "effect": "NoSchedule"}


def judged(node: NodeBuilder, at: datetime = NOW, **spec: JSON) -> assignments.Verdict:
    wish = assignments.wish_of(codec.convert(dict(spec), TicketSpec))
    return assignments.judge(wish, node.build(), at)


def unready(since: datetime, status: str = "False", node: str = "n") -> NodeBuilder:
    ready: JSON = {"type": "Ready", "status": status, "lastTransitionTime": instant.render(since)}
    return a_node(node).but({"status": {"conditions": [ready]}})


@pytest.mark.parametrize(
    ("node", "spec", "why_not"),
    [
        pytest.param(a_node("n"), {}, "", id="a ready node"),
        pytest.param(a_node("n").not_ready(), {}, "is not ready", id="not ready"),
        pytest.param(
            a_node("n").but({"status": {"conditions": []}}), {}, "is not ready", id="not yet ready"
        ),
        pytest.param(a_node("n").cordoned(), {}, "is cordoned", id="cordoned"),
        pytest.param(
            a_node("n").cordoned(),
            {"tolerations": [{"operator": "Exists"}]},
            "is cordoned",
            id="cordoned, whatever is tolerated",
        ),
        pytest.param(
            a_node("n"),
            {"nodeSelector": {"disk": "ssd"}},
            "needs labels disk=ssd",
            id="wrong label",
        ),
        pytest.param(
            a_node("n").labelled({"disk": "ssd"}),
            {"nodeSelector": {"disk": "ssd"}},
            "",
            id="right label",
        ),
        pytest.param(a_node("n").tainted("gpu"), {}, "does not tolerate taint gpu", id="tainted"),
        pytest.param(
            a_node("n").tainted("gpu"), {"tolerations": [ANY_NO_SCHEDULE]}, "", id="tolerated"
        ),
        pytest.param(
            a_node("n").tainted("gpu", "NoExecute"),
            {"tolerations": [ANY_NO_SCHEDULE]},
            "does not tolerate",
            id="a toleration of NoSchedule does not cover NoExecute",
        ),
        pytest.param(
            a_node("n").tainted("gpu", "PreferNoSchedule"), {}, "", id="a taint that only prefers"
        ),
        pytest.param(
            a_node("n").tainted("node.kubernetes.io/not-ready", "NoExecute"),
            {},
            "",
            id="the taint of a node that is ready again",
        ),
        pytest.param(
            a_node("n").tainted("node.kubernetes.io/unschedulable"),
            {},
            "",
            id="the taint of a node that is open again",
        ),
        pytest.param(
            a_node("n"), {"nodeName": "m"}, "is bound to node m", id="another node's name"
        ),
        pytest.param(
            a_node("n"),
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                            ]
                        }
                    }
                }
            },
            "requires node affinity",
            id="affinity",
        ),
    ],
)
def test_a_node_is_eligible_or_it_is_reported_why_not(
    node: NodeBuilder, spec: dict[str, JSON], why_not: str
) -> None:
    """A node is eligible, or the reason is given (S37, rule 17)."""
    verdict = judged(node, **spec)
    assert verdict.takes == (not why_not)
    assert why_not in verdict.why_not


def test_a_node_keeps_its_ticket_for_forty_seconds_of_not_being_ready() -> None:
    verdict = judged(unready(NOW))
    assert not verdict.takes
    assert verdict.keeps(NOW + timedelta(seconds=39))
    assert not verdict.keeps(NOW + timedelta(seconds=40))


@pytest.mark.parametrize(
    ("toleration", "seconds"),
    [
        pytest.param(
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "tolerationSeconds": 300,
            },
            300,
            id="tolerated for longer",
        ),
        pytest.param({"operator": "Exists", "tolerationSeconds": 5}, 5, id="tolerated for less"),
        pytest.param({"operator": "Exists"}, 40, id="tolerated without a length"),
        pytest.param({"key": "gpu", "tolerationSeconds": 300}, 40, id="another taint"),
        pytest.param(
            {"operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 300},
            40,
            id="another effect",
        ),
    ],
)
def test_toleration_seconds_say_how_long_a_node_may_be_not_ready(
    toleration: JSON, seconds: int
) -> None:
    verdict = judged(unready(NOW, "Unknown"), tolerations=[toleration])
    assert verdict.until == NOW + timedelta(seconds=seconds)


def test_what_was_never_tolerated_by_number_is_not_tolerated() -> None:
    toleration: JSON = {"operator": "Exists", "tolerationSeconds": -(10**12)}
    assert not judged(unready(NOW), tolerations=[toleration]).keeps(NOW)


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_what_is_tolerated_beyond_all_calendars_is_tolerated_for_ever(seconds: int) -> None:
    toleration: JSON = {"operator": "Exists", "tolerationSeconds": seconds}
    assert judged(unready(NOW), tolerations=[toleration]).keeps(NOW + timedelta(days=100_000))
    taint: JSON = {"key": "ill", "effect": "NoExecute", "timeAdded": instant.render(NOW)}
    node = a_node("n").but({"spec": {"taints": [taint]}})
    assert judged(node, NOW + timedelta(days=100_000), tolerations=[toleration]).takes


def test_a_taint_that_is_tolerated_for_a_time() -> None:
    taint: JSON = {"key": "ill", "effect": "NoExecute", "timeAdded": instant.render(NOW)}
    node = a_node("n").but({"spec": {"taints": [taint]}})
    brief: JSON = {"key": "ill", "operator": "Exists", "tolerationSeconds": 60}
    verdict = judged(node, NOW + timedelta(seconds=59), tolerations=[brief])
    assert verdict.takes
    assert verdict.until == NOW + timedelta(seconds=60)
    over = judged(node, NOW + timedelta(seconds=60), tolerations=[brief])
    assert "only for a time" in over.why_not
    lasting: JSON = {"key": "ill", "operator": "Exists"}
    assert judged(node, NOW + timedelta(days=1), tolerations=[brief, lasting]).takes


def test_a_heartbeat_changes_nothing_that_matters() -> None:
    beat: JSON = {"type": "Ready", "status": "True", "lastHeartbeatTime": instant.render(NOW)}
    before, after = a_node("n"), a_node("n").but({"status": {"conditions": [beat]}})
    assert not assignments.relevant(before.build(), after.stored("", 7).build())


nodes = st.builds(
    lambda labels, taint, cordoned, ready: (
        a_node("n")
        .labelled(labels)
        .but(
            {
                "spec": {"unschedulable": cordoned, "taints": taint},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            }
        )
    ),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2),
    st.lists(
        st.fixed_dictionaries(
            {"key": st.sampled_from("gh"), "effect": st.sampled_from(["NoSchedule", "NoExecute"])}
        ),
        max_size=2,
    ),
    st.booleans(),
    st.sampled_from(["True", "False", "Unknown"]),
)


@given(old=nodes, new=nodes)
def test_what_is_not_relevant_never_changes_the_verdict(old: NodeBuilder, new: NodeBuilder) -> None:
    spec: dict[str, JSON] = {
        "nodeSelector": {"a": "x"},
        "tolerations": [{"key": "g", "operator": "Exists"}],
    }
    if not assignments.relevant(old.build(), new.build()):
        assert judged(old, **spec) == judged(new, **spec)
