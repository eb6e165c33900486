"""The HTTP side of a gate: one review in, one answer out, whatever happens in between.

`webhook.server` mounts what `mount` makes. A gate is a plain callable, pure or asynchronous. A gate that raises refuses
the write with status 500, so that the caller reads why; a gate that is not done when the API server stops waiting gives
HTTP 504 instead, because then it is the webhook's `failurePolicy` that has to decide.
"""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from urllib.parse import parse_qs, urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram
import structlog

from kubeloop.net import server
from kubeloop.net.http import Request
from kubeloop.net.server import Reply
from kubeloop.objects import duration
from kubeloop.objects.admission import AdmissionRequest
from kubeloop.runtime.clock import Clock
from kubeloop.runtime.webhook import review
from kubeloop.runtime.webhook.review import Malformed, Verdict

log = structlog.get_logger(__name__)

AdmissionHandler = Callable[[AdmissionRequest], Verdict | Awaitable[Verdict]]

LONGEST_WAIT = 30.0
"""Seconds after which no API server waits any more; what counts when it does not say how long it does."""

OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10, 30)


class HandlerMetrics:
    """How long reviews took, and what went wrong in them."""

    def __init__(self, registry: CollectorRegistry, prefix: str = "kubeloop") -> None:
        self.seconds = Histogram(
            f"{prefix}_webhook_duration_seconds",
            "Time an admission review took, by what became of it: allowed, denied or error.",
            ("webhook", "operation", "result"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.errors = Counter(
            f"{prefix}_webhook_errors_total",
            "Admission reviews that could not be judged, by the type of error.",
            ("webhook", "operation", "error_type"),
            registry=registry,
        )


def mount(
    name: str, gate: AdmissionHandler, metrics: HandlerMetrics, clock: Clock
) -> server.Handler:
    """Makes the HTTP handler of a gate."""
    return _Mounted(name, gate, metrics, clock)


class _Mounted:
    """One gate under one name."""

    def __init__(
        self, name: str, gate: AdmissionHandler, metrics: HandlerMetrics, clock: Clock
    ) -> None:
        self._name = name
        self._gate = gate
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, http_request: Request) -> Reply:
        try:
            wait = _wait(http_request)
            request = _request(http_request)
        except Malformed as error:
            self._count("", error)
            log.warning("malformed review", webhook=self._name, error=str(error))
            return server.text(400, str(error))
        began = self._clock.monotonic()
        reply, result = await self._answer(request, wait)
        self._metrics.seconds.labels(self._name, _operation(request.operation), result).observe(
            self._clock.monotonic() - began
        )
        return reply

    async def _answer(self, request: AdmissionRequest, wait: float) -> tuple[Reply, str]:
        limit = asyncio.timeout(wait)
        try:
            async with limit:
                verdict = self._gate(request)
                if isawaitable(verdict):
                    verdict = await verdict
            reply = _json(review.encode(request.uid, verdict))
        except Exception as error:
            self._count(request.operation, error)
            log.exception("gate failed", webhook=self._name, review=request.uid)
            if limit.expired():
                return server.text(504, f"not judged within {wait:g} seconds"), "error"
            problem = f"{self._name} could not judge the request: {type(error).__name__}: {error}"
            return _json(review.encode(request.uid, review.failed(problem))), "error"
        return reply, "allowed" if verdict.allowed else "denied"

    def _count(self, operation: str, error: Exception) -> None:
        self._metrics.errors.labels(self._name, _operation(operation), type(error).__name__).inc()


def _request(http_request: Request) -> AdmissionRequest:
    if http_request.method != "POST":
        raise Malformed(f"reviews are sent with POST, not {http_request.method}")
    content_type = http_request.headers.get("Content-Type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        found = content_type or "no Content-Type"
        raise Malformed(f"reviews are sent as application/json, not {found}")
    return review.decode(http_request.body)


def _wait(http_request: Request) -> float:
    said = parse_qs(urlsplit(http_request.target).query).get("timeout", [])
    if not said:
        return LONGEST_WAIT
    try:
        return min(duration.parse(said[-1]).timedelta.total_seconds(), LONGEST_WAIT)
    except duration.InvalidDuration as error:
        raise Malformed(f"timeout is not a duration: {error}") from error


def _operation(operation: str) -> str:
    """Keeps what a stranger may send out of the labels."""
    return operation if operation in OPERATIONS else "unknown"


def _json(body: bytes) -> Reply:
    return Reply(200, body, {"Content-Type": "application/json"})
