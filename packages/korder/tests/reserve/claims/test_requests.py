"""What a pod asks for, and which annotations nobody can make sense of (S15, S17)."""

from datetime import timedelta

from hypothesis import given, strategies as st
import pytest

from korder.reserve.claims.requirements import (
    REQUEST_ANNOTATIONS,
    InvalidRequest,
    Request,
    request_of,
)
from kubeloop.objects import selector
from kubeloop.objects.meta import Key


def annotated(**said: str) -> dict[str, str]:
    return {f"korder.dev/{name.replace('_', '-')}": value for name, value in said.items()}


@pytest.mark.parametrize(
    ("annotations", "request_"),
    [
        pytest.param({}, Request(asks=False), id="nothing"),
        pytest.param(annotated(required="false"), Request(asks=False), id="a no"),
        pytest.param(annotated(required="true"), Request(required=True), id="any, without fail"),
        pytest.param(
            annotated(required="true", order="gold"),
            Request(required=True, order=Key("", "gold")),
            id="README form",
        ),
        pytest.param(
            annotated(order="team/gold"), Request(order=Key("team", "gold")), id="elsewhere"
        ),
        pytest.param(
            annotated(order_request="gold"), Request(order=Key("", "gold")), id="order-request"
        ),
        pytest.param(
            annotated(order_request="gold", order="gold"),
            Request(order=Key("", "gold")),
            id="said twice alike",
        ),
        pytest.param(annotated(ticket_request="name:t-1"), Request(ticket="t-1"), id="by name"),
        pytest.param(annotated(ticket_request="t-1"), Request(ticket="t-1"), id="bare name"),
        pytest.param(
            annotated(ticket_request="group:nightly"), Request(group="nightly"), id="group"
        ),
        pytest.param(
            annotated(ticket_request="selector:a=b,c!=d"),
            Request(labels=selector.parse("a=b,c!=d")),
            id="by labels",
        ),
        pytest.param(
            annotated(ticket_request="group:g", order="gold"),
            Request(order=Key("", "gold"), group="g"),
            id="a group within an order",
        ),
        pytest.param(
            annotated(order="gold", fallback_after="1m30s"),
            Request(order=Key("", "gold"), fallback_after=timedelta(seconds=90)),
            id="for a while",
        ),
        pytest.param(
            annotated(fallback_after="5s"), Request(fallback_after=timedelta(seconds=5)), id="any"
        ),
        pytest.param(
            annotated(ticket_claimed="t-1", ticket_node="node-1"),
            Request(asks=False),
            id="our own answer is no request",
        ),
    ],
)
def test_annotations_are_read_as(annotations: dict[str, str], request_: Request) -> None:
    assert request_of(annotations) == request_


@pytest.mark.parametrize(
    ("annotations", "sentence"),
    [
        pytest.param(
            annotated(required="yes"),
            "annotation korder.dev/required must be true or false, not 'yes'",
            id="neither true nor false",
        ),
        pytest.param(
            annotated(order="a/b/c"),
            "annotation korder.dev/order must be an order's name or namespace/name, not 'a/b/c'",
            id="too many slashes",
        ),
        pytest.param(
            annotated(order_request=""),
            "annotation korder.dev/order-request must be an order's name or namespace/name, not ''",
            id="no order",
        ),
        pytest.param(
            annotated(order="a", order_request="b"),
            "annotations korder.dev/order and korder.dev/order-request name different orders, a and b: use one of them",
            id="two orders",
        ),
        pytest.param(
            annotated(ticket_request="t", order_request="o"),
            "annotations korder.dev/ticket-request and korder.dev/order-request exclude each other: "
            "use one of them, or korder.dev/order to narrow korder.dev/ticket-request",
            id="a ticket and an order, both in the old form",
        ),
        pytest.param(
            annotated(ticket_request="uid:1"),
            "annotation korder.dev/ticket-request must be name:<ticket>, selector:<labels>, group:<group>, "
            "or the ticket's bare name, not 'uid:1'",
            id="unknown form",
        ),
        pytest.param(
            annotated(ticket_request="selector:"),
            "annotation korder.dev/ticket-request must be name:<ticket>, selector:<labels>, group:<group>, "
            "or the ticket's bare name, not 'selector:'",
            id="a selector of nothing",
        ),
        pytest.param(
            annotated(ticket_request="selector:a in b"),
            "annotation korder.dev/ticket-request: 'a in b' is not a label selector: cannot read 'a in b'",
            id="bad selector",
        ),
        pytest.param(
            annotated(fallback_after="soon"),
            "annotation korder.dev/fallback-after: 'soon' is not a duration: write numbers with units, such as 1h30m or 1.5s",
            id="no duration",
        ),
        pytest.param(
            annotated(fallback_after="-1s"),
            "annotation korder.dev/fallback-after must not be negative, as '-1s' is",
            id="into the past",
        ),
        pytest.param(
            annotated(required="true", fallback_after="1s"),
            "annotation korder.dev/fallback-after must not be used together with korder.dev/required=true: "
            "a pod that requires a ticket never falls back",
            id="without fail, but not for long",
        ),
    ],
)
def test_nonsense_gets_one_clear_sentence(annotations: dict[str, str], sentence: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        request_of(annotations)
    assert str(refusal.value) == sentence


@given(st.dictionaries(st.sampled_from(REQUEST_ANNOTATIONS), st.text(max_size=20)))
def test_any_annotations_are_understood_or_refused(annotations: dict[str, str]) -> None:
    try:
        request = request_of(annotations)
    except InvalidRequest as refusal:
        assert "korder.dev/" in str(refusal)  # noqa: PT017  one outcome of two
    else:
        assert request.asks or not set(annotations) - {"korder.dev/required"}
