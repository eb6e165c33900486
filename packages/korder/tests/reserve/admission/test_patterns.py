"""Patterns for CEL and the rules they stand for: what one takes the other takes."""

import re

from hypothesis import example, given, strategies as st

from korder import cron
from korder.reserve.admission import expressions as cel
from korder.reserve.claims.requirements import InvalidRequest, request_of

WORDS = st.sampled_from(
    [
        "a",
        "Z",
        "0",
        "-",
        ".",
        "_",
        "/",
        ",",
        "=",
        "!",
        " ",
        "(",
        ")",
        "in",
        "notin",
        ":",
        "<",
        "app",
    ]
)
NUMBERS = st.integers(0, 62).map(str)
VALUES = NUMBERS | st.sampled_from(["jan", "DEC", "mon", "SUN", "x", "L", "LW", "5L", "5#3", "1#6"])
BASES = st.one_of(
    st.just("*"), st.just("?"), VALUES, st.tuples(VALUES, VALUES).map("-".join), st.just("")
)
TERMS = BASES | st.tuples(BASES, NUMBERS).map("/".join)
FIELDS = st.lists(TERMS, min_size=1, max_size=2).map(",".join)


def understood(annotation: str, text: str) -> bool:
    try:
        request_of({annotation: text})
    except InvalidRequest:
        return False
    return True


@given(st.lists(WORDS, max_size=12).map("".join))
@example("group:")
@example("name:a")
def test_a_ticket_request_is_understood_by_both_or_by_none(text: str) -> None:
    for asked in (text, f"selector:{text}", f"name:{text}"):
        taken = re.fullmatch(cel.TICKET_PATTERN, asked) is not None
        assert taken == understood("korder.dev/ticket-request", asked), asked
    assert (re.fullmatch(cel.ORDER_PATTERN, text) is not None) == understood(
        "korder.dev/order", text
    )


@given(st.lists(st.sampled_from(["1", "0", ".", "5", "h", "m", "s", "ms", "+"]), max_size=6))
def test_a_duration_is_understood_by_both_or_by_none(parts: list[str]) -> None:
    text = "".join(parts)
    taken = re.fullmatch(cel.DURATION_PATTERN, text) is not None
    assert taken == understood("korder.dev/fallback-after", text), text


@given(st.tuples(FIELDS, FIELDS, FIELDS, FIELDS, FIELDS))
@example(("0", "0", "31", "2,4", "*"))
@example(("0", "0", "30,31", "feb", "*/2"))
@example(("0", "0", "31", "2", "1"))
def test_a_schedule_is_understood_by_both_or_by_none(fields: tuple[str, ...]) -> None:
    text = " ".join(fields)
    taken = re.fullmatch(cel.SCHEDULE_PATTERN, text) and not re.fullmatch(cel.NEVER_PATTERN, text)
    assert bool(taken) == (cron.check(text) == ""), (text, cron.check(text))
