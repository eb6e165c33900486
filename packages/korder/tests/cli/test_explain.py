"""`korder explain`: typed against a cluster, with what people get wrong."""

from collections.abc import Callable
import subprocess
from typing import Any

import pytest
import yaml

from korder.api.reserve import SCHEDULING_GATE
from korder.testing.builders import a_ticket, an_order
from kubeloop.testing.builders import Builder, a_pod

pytestmark = [pytest.mark.enable_socket, pytest.mark.xdist_group("cli")]

Korder = Callable[..., subprocess.CompletedProcess[str]]
NOWHERE = "kube-node-lease"
"""A namespace that other tests leave alone."""


def stated(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def put(here: Korder, *built: Builder[Any]) -> None:
    text = yaml.safe_dump_all([each.json for each in built])
    stated(here("apply", "-f", "-", stdin=text))


def test_a_pod_that_waits_is_reported_why(here: Korder) -> None:
    pod = a_pod("waits").in_namespace(NOWHERE).requesting(cpu="1").gated_by(SCHEDULING_GATE)
    put(here, pod.annotated({"korder.dev/required": "true", "korder.dev/order": "none"}))
    text = stated(here("explain", "pod", "waits", "-n", NOWHERE))
    assert text.startswith(
        "Pod waits: It waits (NoTicket): There is no order kube-node-lease/none."
    )
    assert "  - It needs cpu 1." in text.splitlines()
    stated(here("delete", "pod/waits", "-n", NOWHERE))


def test_a_pod_that_went_without_a_ticket_is_reported_what_its_event_said(here: Korder) -> None:
    pod = a_pod("went").in_namespace(NOWHERE).annotated({"korder.dev/order": "none"})
    put(here, pod)
    why = "FellBack: Scheduled without a ticket: There is no order kube-node-lease/none."
    while why not in stated(here("explain", "pod", "went", "-n", NOWHERE)):
        pass  # Events leave a little later.
    stated(here("delete", "pod/went", "-n", NOWHERE))


def test_orders_and_tickets_in_one_question(here: Korder) -> None:
    order = an_order("asked", 0).in_namespace(NOWHERE)
    later = (
        a_ticket("asked").in_namespace(NOWHERE).but({"spec": {"startTime": "2099-01-01T00:00:00Z"}})
    )
    put(here, order, later)
    text = stated(here("explain", "order/asked", "tkt/asked", "-n", NOWHERE))
    assert "Order asked: " in text
    assert "Ticket asked: It holds nothing yet" in text
    stated(here("delete", "order/asked", "ticket/asked", "-n", NOWHERE))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pod", "nobody"), 'korder: pods "nobody" not found'),
        (("pod",), "korder: say which pod: `korder explain pod NAME`"),
        (
            ("deploy", "web"),
            "korder: korder explains pods, orders, tickets, quotas and nodes, and nothing of a Deployment",
        ),
        (("oder", "x"), "korder: the server has no resource of the name 'oder'"),
    ],
    ids=["a name that is not there", "no name", "another kind", "a word with a mistake"],
)
def test_mistakes_end_in_one_sentence(here: Korder, words: tuple[str, ...], sentence: str) -> None:
    done = here("explain", *words)
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert len(done.stderr.splitlines()) == 1
