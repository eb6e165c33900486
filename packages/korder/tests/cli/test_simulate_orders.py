"""`korder simulate` plays orders: "will Friday fit?", with the orders that would wait, since when, and why."""

from collections.abc import Callable
from pathlib import Path
import re
import subprocess

import pytest

from pocketkube.simulation.report import report

pytestmark = [pytest.mark.slow]

Korder = Callable[..., subprocess.CompletedProcess[str]]

FRIDAY = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: friday}
spec:
  replicas: 3
  strategy: {type: Scheduled, schedule: "10 0 * * *", leadTime: 5m, refreshPolicy: Never}
  template: {spec: {duration: 15m, resources: {requests: {cpu: "2"}}}}
"""
SPARE = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: spare}
spec:
  replicas: 2
  template: {spec: {resources: {requests: {cpu: "1"}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {korder.dev/required: "true", korder.dev/order: spare}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
"""
QUOTA = """
apiVersion: core.korder.dev/v1alpha1
kind: Quota
metadata: {name: limit}
spec: {enforcement: Wait, hard: {tickets: 2}}
"""
TRAINING = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: training}
spec:
  replicas: 8
  minAvailable: 8
  template: {spec: {resources: {requests: {cpu: "2"}}}}
"""
POOL = """
apiVersion: core.korder.dev/v1alpha1
kind: Order
metadata: {name: pool}
spec:
  replicas: 2
  strategy: {type: Recurring, schedule: "0 */3 * * *"}
  template: {spec: {duration: 30m, resources: {requests: {cpu: "1"}}}}
"""
SHORT = ("--for", "30m", "-o", "json")


def test_orders_that_fit_are_kept_and_pods_get_their_tickets(quick: Korder) -> None:
    done = quick("simulate", "-f", "-", "--nodes", "2", *SHORT, stdin=f"{FRIDAY}---{SPARE}")
    assert (done.returncode, done.stderr) == (0, "")
    stated = report.decode(done.stdout.encode()).timeline
    assert {each.name: each.text for each in stated.promises} == {
        "friday": "wants no tickets",
        "spare": "has all 4 tickets held",
        "web": "has all 2 pods running",
    }


def test_a_friday_that_does_not_fit_is_reported_with_since_when_and_why(quick: Korder) -> None:
    node = ("--nodes", "1", "--node-shape", "cpu=5")
    done = quick("simulate", "-f", "-", *node, *SHORT, stdin=FRIDAY)
    assert done.returncode == 1
    stated = report.decode(done.stdout.encode()).timeline
    (promise,) = stated.promises
    assert promise.text == (
        "had a ticket that never held anything: 0/1 nodes are available: 1 Insufficient cpu"
    )
    (missing,) = [each for each in stated.happenings if each.bad]
    assert missing.text.startswith("3 tickets wanted, 1 of 3 tickets missing for 20m: 0/1 nodes")
    assert stated.workloads[0].complete_at is None


@pytest.mark.parametrize("manifest", [TRAINING, TRAINING.replace("  minAvailable: 8\n", "")])
def test_an_order_that_never_gets_all_its_tickets_is_never_complete(
    quick: Korder, manifest: str
) -> None:
    done = quick("simulate", "-f", "-", "--nodes", "1", *SHORT, stdin=manifest)
    assert done.returncode == 1
    stated = report.decode(done.stdout.encode()).timeline
    (training,) = stated.workloads
    assert (training.complete_at, training.wanted, training.running) == (None, 8, 4)
    (text,) = [each.text for each in stated.happenings if each.kind == "Order"]
    assert text == (
        "8 tickets wanted, 4 of 8 still missing at the end: "
        "0/1 nodes are available: 1 Insufficient cpu"
    )


def test_tickets_that_wait_are_reported_beside_the_pods_that_do(quick: Korder) -> None:
    short = ("--nodes", "1", "--for", "30m")
    done = quick("simulate", "-f", "-", *short, stdin=f"{TRAINING}---{SPARE}")
    waiting = [line.split()[:5] for line in done.stdout.splitlines() if line.startswith("waiting")]
    assert waiting == [
        ["waiting", "2", "pods", "at", "most"],
        ["waiting", "6", "tickets", "at", "most"],
    ]


def test_every_window_is_complete_only_with_all_its_tickets(quick: Korder) -> None:
    """Also at its start, when the tickets that held room ahead of it become due one after the other."""
    done = quick("simulate", "-f", "-", "--nodes", "1", *SHORT, stdin=FRIDAY)
    assert (done.returncode, done.stderr) == (0, "")
    stated = report.decode(done.stdout.encode()).timeline
    assert [each.text for each in stated.happenings if each.kind == "Order"] == [
        "3 tickets wanted, all held after less than a second"
    ]
    (friday,) = stated.workloads
    assert friday.started_at is not None
    assert friday.complete_at is not None
    assert friday.complete_at > friday.started_at


def test_a_pool_that_is_empty_between_its_terms_is_not_kept(quick: Korder) -> None:
    """Its duration is shorter than the time between two firings."""
    done = quick("simulate", "-f", "-", "--for", "3h10m", "-o", "json", stdin=POOL)
    assert (done.returncode, done.stderr) == (1, "")
    stated = report.decode(done.stdout.encode()).timeline
    (promise,) = stated.promises
    assert promise.text.startswith("had 2 of 2 tickets missing for 149m since 00:30:01: ")
    assert [each.text.partition(":")[0] for each in stated.happenings if each.bad] == [
        "2 of 2 tickets missing for 149m"
    ]


def test_an_order_that_fills_its_quota_is_kept(quick: Korder) -> None:
    """What the manager has charged is its own to make, as in a cluster."""
    manifests = f"{QUOTA}---{SPARE.partition('---')[0]}"
    done = quick("simulate", "-f", "-", "--nodes", "1", *SHORT, stdin=manifests)
    assert (done.returncode, done.stderr) == (0, "")
    (promise,) = report.decode(done.stdout.encode()).timeline.promises
    assert promise.text == "has all 2 tickets held"


def test_an_order_that_a_quota_cuts_short_is_not_kept(quick: Korder) -> None:
    """What cannot be made is missing as well as what has no room."""
    spare = SPARE.partition("---")[0].replace("replicas: 2", "replicas: 3")
    done = quick("simulate", "-f", "-", "--nodes", "1", *SHORT, stdin=f"{QUOTA}---{spare}")
    assert done.returncode == 1
    (promise,) = report.decode(done.stdout.encode()).timeline.promises
    assert promise.text.startswith("wants 3, has 2 since ")
    assert promise.text.endswith("quota limit: tickets used 2 of 2, requested 1")


def test_an_order_of_all_or_nothing_that_a_quota_cuts_short_is_not_kept(quick: Korder) -> None:
    """It says that it is closed, and of the quota only that it makes no progress."""
    done = quick("simulate", "-f", "-", "--nodes", "2", *SHORT, stdin=f"{QUOTA}---{TRAINING}")
    assert done.returncode == 1
    stated = report.decode(done.stdout.encode()).timeline
    assert stated.workloads[0].complete_at is None
    assert stated.promises[0].text.startswith("wants 8, has 2 since ")
    assert stated.promises[0].text.endswith("quota limit: tickets used 2 of 2, requested 1")


def test_a_friday_that_a_quota_cuts_short_is_reported_after_it_is_over(quick: Korder) -> None:
    done = quick("simulate", "-f", "-", "--nodes", "2", *SHORT, stdin=f"{QUOTA}---{FRIDAY}")
    assert done.returncode == 1
    (promise,) = report.decode(done.stdout.encode()).timeline.promises
    assert promise.text.startswith("had a ticket that never held anything: ")
    assert promise.text.endswith("quota limit: tickets used 2 of 2, requested 1")


def test_a_pod_that_asks_where_nobody_has_ordered_waits_and_says_so(quick: Korder) -> None:
    alone = SPARE.partition("---")[2]
    done = quick("simulate", "-f", "-", "--nodes", "1", *SHORT, stdin=alone)
    assert done.returncode == 1
    (promise,) = report.decode(done.stdout.encode()).timeline.promises
    assert promise.text.endswith("There is no order default/spare")


def test_everything_that_the_tasks_show_comes_true(quick: Korder) -> None:
    """The manifests of docs/tasks.md, all at once: every order is held and every pod runs."""
    page = (Path(__file__).parents[4] / "docs" / "tasks.md").read_text()
    shown = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    done = quick("simulate", "-f", "-", "--nodes", "6", *SHORT, stdin="---\n".join(shown))
    stated = report.decode(done.stdout.encode()).timeline
    promises = [each for each in shown if "kind: Quota" not in each]
    assert (done.returncode, stated.verdict) == (0, f"All {len(promises)} promises were kept.")
