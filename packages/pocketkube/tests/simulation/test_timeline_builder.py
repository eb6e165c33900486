"""What a chronicle tells of a history: workloads, waits, nodes, use, and promises."""

from datetime import timedelta
from pathlib import Path
import runpy

import pytest

from kubeloop.objects.meta import JSON
from pocketkube.simulation.report import event_log, report, timeline_builder
from pocketkube.simulation.report.timeline import BUCKETS, State, Timeline, Violation
from pocketkube.simulation.report.workload_rows import Name

_HISTORY = runpy.run_path(str(Path(__file__).with_name("history.py")))
History, NO_ROOM, START, a_report, at = (
    _HISTORY[name] for name in ("History", "NO_ROOM", "START", "a_report", "at")
)

WEB = Name("Deployment", "default", "web")
REPORT = Name("Job", "default", "report")
TWO = {"parallelism": 2, "completions": 2}


def lines(stated: Timeline) -> list[str]:
    """The happenings, as seconds after the start, name and text."""
    return [
        f"{(each.at - stated.start).total_seconds():g} {each.name} {each.text}"
        for each in stated.happenings
    ]


def test_a_workload_that_gets_all_it_wants() -> None:
    history = History(WEB)
    history.after(5).deployment("web", 2)
    history.web(1)
    history.web(2)
    history.after(1).web(1, "node-1")
    history.after(1).web(2, "node-1")
    stated = history.stated()
    (web,) = stated.workloads
    assert (web.wanted_at, web.started_at, web.complete_at) == (at(5), at(6), at(7))
    assert (web.wanted, web.running, web.waiting, web.state) == (2, 2, 0, State.RUNNING)
    assert web.longest_wait is not None
    assert (web.longest_wait.pod, web.longest_wait.seconds) == ("web-2", 2.0)
    assert web.current_wait is None
    assert lines(stated) == ["5 default/web 2 pods wanted, all running after 2s"]
    assert stated.kept
    assert stated.verdict == "The promise was kept."


def test_a_workload_that_does_not_fit_says_since_when_and_why() -> None:
    history = History(WEB)
    history.after(2).deployment("web", 3)
    for number in (1, 2, 3):
        history.web(number)
    history.after(1).web(1, "node-1")
    history.web(2, why=f"{NO_ROOM}. preemption: 0/2 nodes are available: 2 No victims.")
    history.web(3, why=f"{NO_ROOM}.")
    stated = history.stated()
    (promise,) = stated.promises
    assert not promise.kept
    assert promise.text == f"wants 3, has 1 since 00:00:02: 2 wait: {NO_ROOM}"
    assert stated.verdict == f"Deployment default/web {promise.text}."
    assert not stated.kept
    (web,) = stated.workloads
    assert web.state is State.SHORT
    assert web.current_wait is not None
    assert (web.current_wait.pod, web.current_wait.why) == ("web-2", NO_ROOM)
    assert lines(stated) == [
        f"2 default/web 3 pods wanted, 2 of 3 still missing at the end: {NO_ROOM}"
    ]


def test_pods_that_are_lost_with_their_node_are_reported_with_how_long_they_were_missing() -> None:
    history = History(WEB)
    history.node("node-1")
    history.deployment("web", 1)
    history.web(1, "node-1")
    history.after(100).node("node-1", ready=False)
    history.pod("web-1", ("ReplicaSet", "web-1"), "node-1", "Unknown")
    history.after(300).web(2)
    history.after(60).web(2, "node-2")
    history.after(40).node("node-1")
    assert lines(history.stated())[2:] == [
        "100 node-1 lost",
        "100 default/web 1 of 1 pods missing for 6m",
        "500 node-1 returned",
    ]


def test_a_short_gap_is_not_talked_about() -> None:
    history = History(WEB)
    history.deployment("web", 1)
    history.web(1, "node-1")
    history.after(100).drop("pods", "web-1", by="nodes")
    history.web(2)
    history.after(9).web(2, "node-1")
    assert lines(history.stated()) == [
        "0 default/web 1 pod wanted, all running after less than a second"
    ]


def test_scaling_is_a_new_promise() -> None:
    history = History(WEB)
    history.deployment("web", 1)
    history.web(1, "node-1")
    history.after(60).deployment("web", 2)
    history.web(2, why=NO_ROOM)
    history.after(600).deployment("web", 1)
    history.drop("pods", "web-2", by="controllers")
    stated = history.stated()
    assert stated.kept
    assert lines(stated)[1:] == [
        "60 default/web scaled from 1 to 2, not complete before the next change",
        "660 default/web scaled from 2 to 1, all running after less than a second",
    ]


def test_a_deleted_workload_promises_nothing_any_more() -> None:
    history = History(WEB)
    history.deployment("web", 1)
    history.web(1, why=NO_ROOM)
    history.after(60).drop("deployments.apps", "web")
    stated = history.stated()
    assert stated.promises[0].text == "was deleted at 00:01:00"
    assert stated.kept
    assert stated.workloads[0].spans[-1].end == at(60)
    assert stated.workloads[0].state is State.WAITING


def test_a_workload_that_was_never_made_is_a_broken_promise() -> None:
    stated = History(WEB).stated()
    assert stated.verdict == "Deployment default/web was never made."


def test_several_broken_promises_are_counted() -> None:
    stated = History(WEB, REPORT, Name("Pod", "default", "one")).stated()
    assert stated.verdict == (
        "Deployment default/web was never made, and 2 more promises were not kept."
    )


def test_a_controller_that_cannot_make_pods_is_the_reason() -> None:
    history = History(WEB)
    history.deployment("web", 1)
    trouble = 'pods "web-1-x" is forbidden: no PriorityClass with name urgent was found'
    failure = {"type": "ReplicaFailure", "status": "True", "message": trouble}
    history.workload("Deployment", "web", {"replicas": 1}, {"conditions": [failure]})
    assert history.stated().promises[0].text == f"wants 1, has 0 since 00:00:00: {trouble}"


@pytest.mark.parametrize(
    ("spec", "status", "kept", "text"),
    [
        pytest.param(
            TWO,
            {"succeeded": 2, "conditions": [{"type": "Complete", "status": "True"}]},
            True,
            "is complete",
            id="a job that is complete",
        ),
        pytest.param(
            TWO,
            {"conditions": [{"type": "Failed", "status": "True", "message": "too often"}]},
            False,
            "failed: too often",
            id="a job that gave up",
        ),
        pytest.param({**TWO, "suspend": True}, {}, True, "is not meant to run", id="suspended"),
        pytest.param(
            TWO,
            {"succeeded": 1},
            False,
            "is not complete, 1 of 2 done: wants 1, has 0 since 00:00:00",
            id="a job that is half done",
        ),
    ],
)
def test_a_job_promises_to_complete(
    spec: dict[str, JSON], status: dict[str, JSON], kept: bool, text: str
) -> None:
    history = History(REPORT)
    history.workload("Job", "report", spec, status)
    (promise,) = history.stated().promises
    assert (promise.kept, promise.text) == (kept, text)


def test_a_job_that_runs_is_not_a_job_that_is_complete() -> None:
    history = History(REPORT)
    history.workload("Job", "report", {"parallelism": 1, "completions": 1})
    history.pod("report-x", ("Job", "report"), "node-1")
    assert history.stated().promises[0].text == "is not complete, 0 of 1 done: wants 1, has 1"


def test_the_end_of_a_job_is_reported() -> None:
    history = History(REPORT)
    history.workload("Job", "report", {"parallelism": 1, "completions": 1})
    history.pod("report-x", ("Job", "report"), "node-1")
    history.after(600).pod("report-x", ("Job", "report"), "node-1", "Succeeded")
    done = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    history.workload("Job", "report", {"parallelism": 1, "completions": 1}, done)
    stated = history.stated()
    assert lines(stated)[-1] == "600 default/report complete after 10m"
    assert stated.workloads[0].ended_at == at(600)
    assert stated.workloads[0].pods.succeeded == 1


def test_a_daemon_set_wants_as_many_pods_as_its_controller_counts() -> None:
    history = History(Name("DaemonSet", "default", "agent"))
    history.workload("DaemonSet", "agent", {})
    counted = {"observedGeneration": 1, "desiredNumberScheduled": 2}
    history.workload("DaemonSet", "agent", {}, counted)
    history.pod("agent-1", ("DaemonSet", "agent"), "node-1")
    assert history.stated().promises[0].text == "wants 2, has 1 since 00:00:00"


def test_bare_pods_are_grouped_by_name() -> None:
    history = History(seconds=100)
    for number in (1, 2, 3):
        history.pod(f"burst-{number}", node="node-1")
    history.pod("other", node="node-1")
    stated = history.stated()
    assert [(each.name, each.running) for each in stated.workloads] == [
        ("burst-*", 3),
        ("other", 1),
    ]


def test_a_bare_pod_that_is_lost_is_a_broken_promise_and_one_that_a_user_deletes_is_not() -> None:
    one, two = Name("Pod", "default", "one"), Name("Pod", "default", "two")
    history = History(one, two)
    history.pod("one", node="node-1")
    history.pod("two", node="node-1")
    history.after(10).pod("one", node="node-1", deleted=True, by="controllers")
    history.drop("pods", "one", by="nodes")
    history.pod("two", node="node-1", deleted=True, by="user")
    history.drop("pods", "two", by="nodes")
    stated = history.stated()
    assert [(each.name, each.kept) for each in stated.promises] == [("one", False), ("two", True)]
    assert "10 default/one one was lost" in lines(stated)


def test_pods_of_an_owner_of_an_unknown_kind_are_reported_under_its_name() -> None:
    history = History()
    history.pod("guard", ("ReplicaSet", "nobody-has-seen-it"), "node-1")
    (line,) = history.stated().workloads
    assert (line.kind, line.name) == ("ReplicaSet", "nobody-has-seen-it")


def test_nodes_to_which_the_same_happens_at_once_are_one_line() -> None:
    history = History()
    for number in range(1, 101):
        history.node(f"node-{number}")
    history.after(60).node("node-7", cordoned=True)
    history.after(60).node("node-7")
    history.after(60).drop("nodes", "node-7", namespace="", by="user")
    assert lines(history.stated()) == [
        "0 node-1 … node-100 joined (100 nodes)",
        "60 node-7 cordoned",
        "120 node-7 uncordoned",
        "180 node-7 removed",
    ]


def test_the_use_of_the_cluster_is_averaged_over_parts_of_the_run() -> None:
    history = History(seconds=3000)
    history.node("node-1")
    history.node("node-2")
    history.pod("one")
    history.after(5).pod("one", node="node-1")
    history.after(1000).node("node-1", ready=False)
    use = history.stated().use
    cpu, memory, pods = use.series
    assert use.bucket_seconds == 10
    assert [cpu.resource, memory.resource, pods.resource] == ["cpu", "memory", "pods"]
    assert cpu.requested[:2] == (0.5, 1.0)
    assert cpu.peak[0] == 1.0
    assert cpu.allocatable[:2] == (8.0, 8.0)
    assert cpu.allocatable[100] == 6.0
    assert (cpu.allocatable[-1], cpu.requested[-1]) == (4.0, 0.0)
    assert memory.requested[1] == 2**30
    assert use.waiting[:2] == (1, 0)


@pytest.mark.parametrize(
    ("seconds", "parts"), [(1, 1), (10, 10), (3600, 300), (86_400, 300), (86_401, 299)]
)
def test_a_run_has_at_most_so_many_parts(seconds: int, parts: int) -> None:
    use = History(seconds=seconds).stated().use
    assert len(use.waiting) == parts <= BUCKETS
    assert use.bucket_seconds * parts >= seconds


def test_a_bar_shows_the_state_that_lasted_longest_in_each_part() -> None:
    history = History(seconds=3000)
    history.deployment("web", 1)
    history.web(1)
    history.after(4).web(1, "node-1")
    history.after(1000).pod("web-1", ("ReplicaSet", "web-1"), "node-1", "Unknown")
    history.after(8).web(1, "node-1")
    (web,) = history.stated().workloads
    assert [(span.start, span.end, span.state) for span in web.spans] == [
        (at(0), at(1000), State.RUNNING),
        (at(1000), at(1010), State.WAITING),
        (at(1010), at(3000), State.RUNNING),
    ]


def test_an_invariant_that_was_broken_is_the_verdict() -> None:
    seen = Violation(at=START, invariant="node room", text="node-1 is overbooked")
    stated = History().chronicle.tell(at(10), [seen])
    assert not stated.kept
    assert stated.verdict == "The run broke node room: node-1 is overbooked"
    assert stated.end == at(10)
    assert len(stated.use.waiting) == len(stated.use.series[0].peak) == 1


def test_what_was_not_promised_does_not_make_a_run_fail() -> None:
    history = History()
    history.deployment("web", 1)
    history.web(1, why=NO_ROOM)
    stated = history.stated()
    assert stated.kept
    assert stated.verdict == "Nothing was promised, and no invariant was broken."
    assert len(stated.happenings) == 1


def test_the_json_form_can_be_read_again() -> None:
    history = History(WEB)
    history.deployment("web", 2)
    history.web(1, why=NO_ROOM)
    reported = a_report(history.stated())
    assert report.decode(report.encode(reported)) == reported


def test_memory_and_result_stay_small_however_many_workloads_come_and_go() -> None:
    history = History(seconds=86_400)
    for number in range(1500):
        name = f"job-{number}"
        history.after(10).workload("Job", name, {"completions": 1})
        history.pod(f"{name}-x", ("Job", name), why=NO_ROOM)
        history.after(12).pod(f"{name}-x", ("Job", name), "node-1")
        history.after(1).pod(f"{name}-x", ("Job", name), "node-1", "Succeeded")
        history.drop("jobs.batch", name)
        history.drop("pods", f"{name}-x", by="controllers")
    stated = history.stated()
    assert len(stated.workloads) == timeline_builder.MOST_WORKLOADS
    (folded,) = stated.folded
    assert (folded.kind, folded.count, folded.pods) == ("Job", 500, 500)
    assert folded.longest_wait_seconds == 12
    assert len(stated.happenings) == event_log.MOST
    assert stated.happenings_left_out == 500
    assert stated.happenings[-1].at > stated.happenings[0].at + timedelta(hours=6)
    assert len(report.encode(a_report(stated))) < 1_500_000


def test_a_run_over_days_says_the_day() -> None:
    history = History(WEB, seconds=200_000)
    history.after(90_000).deployment("web", 1)
    assert history.stated().promises[0].text == "wants 1, has 0 since Jan 06 01:00:00"


def test_a_rollout_that_is_stuck_is_not_complete_though_enough_pods_run() -> None:
    history = History(WEB)
    history.deployment("web", 2)
    history.web(1, "node-1")
    history.web(2, "node-1")
    history.after(600).web(3, why=NO_ROOM)
    (promise,) = history.stated().promises
    assert promise.text == f"wants 2, has 2 since 00:10:00: 1 waits: {NO_ROOM}"
    assert not promise.kept


def test_a_pod_that_goes_from_a_lost_node_frees_no_room_that_counts() -> None:
    history = History(seconds=100)
    for name in ("node-1", "node-2"):
        history.node(name)
        history.pod(f"on-{name}", node=name)
    history.after(10).node("node-1", ready=False)
    history.after(10).drop("pods", "on-node-1", by="controllers")
    history.after(10).node("node-1")
    cpu = history.stated().use.series[0]
    assert [cpu.requested[second] for second in (5, 15, 25, 35)] == [2.0, 1.0, 1.0, 1.0]


def test_of_a_long_gap_is_reported_how_many_were_missing_for_most_of_it() -> None:
    history = History(WEB)
    history.deployment("web", 3)
    for number in (1, 2, 3):
        history.web(number, "node-1")
    history.after(60)
    for number in (1, 2, 3):
        history.drop("pods", f"web-{number}", by="nodes")
    history.after(1).web(4, "node-1")
    history.web(5, "node-1")
    history.after(600).web(6, "node-1")
    assert lines(history.stated())[-1] == "60 default/web 1 of 3 pods missing for 10m"


def test_who_deletes_a_namespace_means_its_pods() -> None:
    history = History(Name("Pod", "default", "one"))
    history.pod("one", node="node-1")
    history.after(10).namespace("default", ending=True)
    history.pod("one", node="node-1", deleted=True, by="controllers")
    history.drop("pods", "one", by="nodes")
    stated = history.stated()
    assert stated.promises[0].text == "was deleted at 00:00:10"
    assert stated.workloads[0].state is State.IDLE
    assert stated.workloads[0].spans[-1].end == at(10)


def test_a_pod_that_nobody_promised_is_reported_as_lost_and_then_not_missed() -> None:
    history = History()
    history.pod("one", node="node-1")
    history.after(10).drop("pods", "one", by="nodes")
    stated = history.stated()
    assert lines(stated) == ["10 default/one one was lost"]
    assert stated.workloads[0].deleted_at == at(10)
