"""`korder simulate` as a person types it: manifests in, what happened when out, and an exit code that can be built on."""

from collections.abc import Callable
import json
from pathlib import Path
import subprocess

import pytest

from pocketkube.simulation.report import report
from pocketkube.simulation.report.report import Report

pytestmark = [pytest.mark.slow]

Korder = Callable[..., subprocess.CompletedProcess[str]]

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
"""
SHORT = ("--nodes", "2", "--for", "10m")
LONGER = ("--nodes", "2", "--for", "20m")
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  completions: 2
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}
"""


def stated(done: subprocess.CompletedProcess[str]) -> Report:
    return report.decode(done.stdout.encode())


def test_manifests_that_fit_are_kept(quick: Korder) -> None:
    done = quick("simulate", "-f", "-", *SHORT, stdin=WEB)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "2026-01-01T00:00:00Z, 10m: 1 manifest on 2 nodes, seed 1"
    assert "00:00:00  Node node-1 … node-2: joined (2 nodes)" in lines
    assert lines[-1] == "kept: The promise was kept."
    assert max(map(len, lines)) <= 100


def test_manifests_that_do_not_fit_are_reported_with_the_reason(quick: Korder) -> None:
    done = quick("simulate", "-f", "-", *SHORT, "--node-shape", "cpu=1", "-o", "json", stdin=WEB)
    assert done.returncode == 1
    (promise,) = stated(done).timeline.promises
    assert promise.text == (
        "wants 3, has 2 since 00:00:00: 1 waits: 0/2 nodes are available: 2 Insufficient cpu"
    )


def test_all_forms_can_be_had_at_once(quick: Korder, tmp_path: Path) -> None:
    forms = [f"-o{form}={tmp_path / form}" for form in ("text", "json", "html")]
    done = quick("simulate", "-f", "-", *SHORT, *forms, stdin=WEB)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "text").read_text().endswith("kept: The promise was kept.\n")
    assert json.loads((tmp_path / "json").read_text())["timeline"]["kept"] is True
    assert (tmp_path / "html").read_text().startswith("<!doctype html>")


def test_a_recorded_run_can_be_played_again(quick: Korder, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    first = quick(
        "simulate",
        "-f",
        "-",
        *LONGER,
        "--faults",
        "5%",
        "-ojson",
        "--journal",
        str(journal),
        stdin=WEB,
    )
    assert first.returncode == 0, first.stderr
    assert stated(first).run.strikes > 0
    again = quick("simulate", "--replay", str(journal), "-ojson")
    assert again.stdout == first.stdout
    lines = journal.read_text().splitlines()
    lines[100] += " and more"
    journal.write_text("\n".join(lines) + "\n")
    other = quick("simulate", "--replay", str(journal), "-ojson")
    assert other.returncode == 1
    assert "the replay went another way: line 101 was" in other.stderr


def test_a_span_of_real_time(quick: Korder) -> None:
    span = ("--from", "2026-03-29T00:30:00+01:00", "--to", "2026-03-29T00:00:00Z")
    done = quick("simulate", "-f", "-", "--nodes", "2", *span, "-ojson", stdin=WEB)
    timeline = stated(done).timeline
    assert timeline.start.isoformat() == "2026-03-28T23:30:00+00:00"
    assert (timeline.end - timeline.start).total_seconds() == 1800
    assert timeline.workloads[0].wanted_at >= timeline.start


def test_now_is_written_out_in_the_command_that_plays_it_again(quick: Korder) -> None:
    done = quick("simulate", "-f", "-", *SHORT, "--from", "now", "-ojson", stdin=WEB)
    command = stated(done).run.command
    assert " now" not in command
    assert f"--from {stated(done).timeline.start:%Y-%m-%dT%H:%M:%SZ}" in command


@pytest.mark.enable_socket
def test_the_shape_of_a_cluster_that_runs(here: Korder) -> None:
    done = here("simulate", "-f", "-", "--like-cluster", "--for", "10m", "-ojson", stdin=WEB)
    assert done.returncode == 0, done.stderr
    assert stated(done).run.nodes == 2


@pytest.mark.parametrize(
    ("takes", "code", "text"),
    [
        pytest.param("2m", 0, "is complete", id="jobs that end in time"),
        pytest.param("7m", 1, "is not complete, 1 of 2 done: wants 1, has 1", id="a long job"),
    ],
)
def test_jobs_take_as_long_as_is_said(quick: Korder, takes: str, code: int, text: str) -> None:
    done = quick("simulate", "-f", "-", *SHORT, "--jobs-take", takes, "-ojson", stdin=JOB)
    assert done.returncode == code, done.stderr
    assert stated(done).timeline.promises[0].text == text


def test_made_up_users_promise_nothing_but_that_the_cluster_is_sound(quick: Korder) -> None:
    done = quick("simulate", "--workload", "10", *LONGER, "--faults", "2%", "-ojson")
    assert done.returncode == 0, done.stderr
    timeline = stated(done).timeline
    assert timeline.verdict == "Nothing was promised, and no invariant was broken."
    assert sum(each.pods.started for each in timeline.workloads) > 5
