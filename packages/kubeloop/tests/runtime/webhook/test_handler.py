"""One review over HTTP: what a gate sees, what the API server gets, what is measured."""

import asyncio
from datetime import timedelta
import json

from prometheus_client import CollectorRegistry
import pytest

from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from kubeloop.objects.admission import AdmissionRequest
from kubeloop.objects.meta import JSON
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.webhook import handler, review
from kubeloop.runtime.webhook.handler import AdmissionHandler, HandlerMetrics
from kubeloop.runtime.webhook.review import Verdict

JSON_BODY = {"Content-Type": "application/json"}


def a_review(**request: JSON) -> bytes:
    return json.dumps(
        {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {"uid": "u-1", "operation": "CREATE", **request},
        }
    ).encode()


class Bench:
    """A gate mounted for a test, with its metrics."""

    def __init__(self, asked: AdmissionHandler) -> None:
        self.registry = CollectorRegistry()
        self.clock = VirtualClock()
        self._handler = handler.mount("pods", asked, HandlerMetrics(self.registry), self.clock)

    async def ask(self, body: bytes | None = None, target: str = "/gate?timeout=10s") -> Reply:
        return await self._handler(Request("POST", target, JSON_BODY, body or a_review()))

    async def send(self, request: Request) -> Reply:
        return await self._handler(request)

    def count(self, operation: str, result: str) -> float | None:
        labels = {"webhook": "pods", "operation": operation, "result": result}
        return self.registry.get_sample_value("kubeloop_webhook_duration_seconds_count", labels)

    def seconds(self, operation: str, result: str) -> float | None:
        labels = {"webhook": "pods", "operation": operation, "result": result}
        return self.registry.get_sample_value("kubeloop_webhook_duration_seconds_sum", labels)

    def errors(self, operation: str, error_type: str) -> float | None:
        labels = {"webhook": "pods", "operation": operation, "error_type": error_type}
        return self.registry.get_sample_value("kubeloop_webhook_errors_total", labels)


def response(reply: Reply) -> dict[str, JSON]:
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    found: dict[str, JSON] = json.loads(reply.body)["response"]
    assert found["uid"] == "u-1"
    return found


async def test_a_pure_gate_is_asked_and_its_verdict_sent() -> None:
    bench = Bench(lambda request: review.deny(f"not {request.name}"))

    answer = response(await bench.ask(a_review(name="this one")))

    assert answer["allowed"] is False
    assert "not this one" in json.dumps(answer["status"])
    assert bench.count("CREATE", "denied") == 1


async def test_an_asynchronous_gate_is_waited_for_and_timed() -> None:
    async def thoughtful(_: AdmissionRequest) -> Verdict:
        await asyncio.sleep(2)
        return review.allow()

    bench = Bench(thoughtful)

    assert response(await bench.ask())["allowed"] is True
    assert bench.seconds("CREATE", "allowed") == pytest.approx(2)


async def test_a_gate_sees_whether_it_is_only_a_dry_run() -> None:
    seen: list[bool | None] = []

    def gate_that_looks(request: AdmissionRequest) -> Verdict:
        seen.append(request.dry_run)
        return review.allow()

    bench = Bench(gate_that_looks)
    await bench.ask(a_review(dryRun=True))
    await bench.ask(a_review(dryRun=False))

    assert seen == [True, False]


async def test_a_gate_that_raises_refuses_with_500_and_says_why() -> None:
    def broken(_: AdmissionRequest) -> Verdict:
        raise LookupError("no such quota")

    bench = Bench(broken)

    answer = response(await bench.ask())

    assert answer["allowed"] is False
    assert answer["status"] == {
        "status": "Failure",
        "code": 500,
        "reason": "InternalError",
        "message": "pods could not judge the request: LookupError: no such quota",
    }
    assert bench.errors("CREATE", "LookupError") == 1
    assert bench.count("CREATE", "error") == 1


async def test_a_verdict_that_cannot_be_written_is_a_failure_like_any_other() -> None:
    bench = Bench(lambda _: review.allow(patch=[{"value": object()}]))  # type: ignore[dict-item]

    assert response(await bench.ask())["allowed"] is False
    assert bench.errors("CREATE", "TypeError") == 1


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        pytest.param("/gate?timeout=10s", 10, id="as told"),
        pytest.param("/gate?timeout=1m", 30, id="never longer than API servers wait"),
        pytest.param("/gate", 30, id="as long as API servers wait at most"),
    ],
)
async def test_a_gate_that_takes_too_long_is_given_up(target: str, seconds: float) -> None:
    left: list[float] = []

    async def endless(_: AdmissionRequest) -> Verdict:
        try:
            await asyncio.Event().wait()
        finally:
            left.append(bench.clock.monotonic())
        return review.allow()

    bench = Bench(endless)
    reply = await bench.ask(target=target)

    assert (reply.status, reply.body) == (504, f"not judged within {seconds} seconds\n".encode())
    assert left == [seconds]
    assert bench.errors("CREATE", "TimeoutError") == 1


async def test_a_gates_own_timeout_is_a_failure_of_the_gate_not_of_the_deadline() -> None:
    async def impatient(_: AdmissionRequest) -> Verdict:
        async with asyncio.timeout(1):
            await asyncio.Event().wait()
        return review.allow()

    answer = response(await Bench(impatient).ask())

    assert answer["allowed"] is False


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        pytest.param(Request("GET", "/gate"), "with POST, not GET", id="another method"),
        pytest.param(Request("POST", "/gate", {}, a_review()), "not no Content-Type", id="no type"),
        pytest.param(
            Request("POST", "/gate", {"Content-Type": "application/yaml"}, a_review()),
            "as application/json, not application/yaml",
            id="another type",
        ),
        pytest.param(
            Request("POST", "/gate", JSON_BODY, b"{"), "not an AdmissionReview", id="a torn body"
        ),
        pytest.param(
            Request("POST", "/gate?timeout=soon", JSON_BODY, a_review()),
            "timeout is not a duration",
            id="a timeout that is no duration",
        ),
    ],
)
async def test_what_is_no_review_is_refused_in_plain_words(
    request_: Request, complaint: str
) -> None:
    bench = Bench(lambda _: review.allow())

    reply = await bench.send(request_)

    assert reply.status == 400
    assert complaint in reply.body.decode()
    assert bench.errors("unknown", "Malformed") == 1


async def test_a_content_type_may_name_its_charset() -> None:
    bench = Bench(lambda _: review.allow())
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}

    assert response(await bench.send(Request("POST", "/gate", headers, a_review())))["allowed"]


async def test_operations_that_do_not_exist_share_one_label() -> None:
    bench = Bench(lambda _: review.allow())

    await bench.ask(a_review(operation="EXPLODE"))

    assert bench.count("unknown", "allowed") == 1


async def test_time_does_not_run_backwards_in_the_metrics() -> None:
    async def gate_during_which_somebody_sets_the_clock(_: AdmissionRequest) -> Verdict:
        bench.clock.jump(-timedelta(hours=1))
        return review.allow()

    bench = Bench(gate_during_which_somebody_sets_the_clock)
    await bench.ask()

    assert bench.seconds("CREATE", "allowed") == 0
