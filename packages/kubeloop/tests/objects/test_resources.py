"""Arithmetic on resource lists."""

from decimal import Decimal

from hypothesis import given, strategies as st
import pytest

from kubeloop.objects import quantity, resources
from kubeloop.objects.quantity import ZERO, InvalidQuantity, Quantity
from kubeloop.objects.resources import Shortage

vectors = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "nvidia.com/gpu"]),
    st.integers(-(10**15), 10**15).map(Quantity),
)


def test_lists_are_read_from_texts_and_bare_numbers() -> None:
    read = resources.parse_list({"cpu": "1500m", "memory": "1Gi", "pods": 110, "load": 0.5})
    assert resources.render(read) == {
        "cpu": "1500m",
        "memory": "1Gi",
        "pods": "110",
        "load": "500m",
    }


@pytest.mark.parametrize("value", ["many", "", None, True, ["1"], {"cpu": "1"}])
def test_a_bad_amount_is_refused_with_the_name_of_its_resource(value: object) -> None:
    with pytest.raises(InvalidQuantity, match="memory: "):
        resources.parse_list({"cpu": "1", "memory": value})


@given(vectors, vectors)
def test_sums_differences_and_maxima_go_name_by_name(
    left: dict[str, Quantity], right: dict[str, Quantity]
) -> None:
    before = (dict(left), dict(right))
    total, rest = resources.add(left, right), resources.subtract(left, right)
    most = resources.maximum(left, right)
    assert set(total) == set(rest) == set(most) == set(left) | set(right)
    for name in total:
        a, b = left.get(name, ZERO), right.get(name, ZERO)
        assert total[name] == a + b
        assert rest[name] == a - b
        assert most[name] == max(left.get(name, b), right.get(name, a))
    assert (left, right) == before


@given(vectors, st.integers(-100, 100))
def test_scaling_is_repeated_addition(vector: dict[str, Quantity], factor: int) -> None:
    scaled = resources.scale(vector, factor)
    assert scaled == {name: Quantity(amount.nano * factor) for name, amount in vector.items()}


def test_a_multiplier_with_decimals_is_exact() -> None:
    half_more = resources.scale(resources.parse_list({"cpu": "1001m"}), Decimal("1.5"))
    assert resources.render(half_more) == {"cpu": "1501500u"}


@given(vectors, vectors)
def test_a_request_fits_exactly_where_nothing_is_short(
    request: dict[str, Quantity], free: dict[str, Quantity]
) -> None:
    short = resources.fits(request, free)
    assert {each.name for each in short} == {
        name for name, amount in request.items() if amount > ZERO and amount > free.get(name, ZERO)
    }
    assert all(each.requested == request[each.name] for each in short)


@given(vectors, vectors)
def test_what_is_added_fits_again(left: dict[str, Quantity], right: dict[str, Quantity]) -> None:
    positive = {name: max(amount, ZERO) for name, amount in right.items()}
    assert resources.fits(left, resources.add(left, positive)) == ()


def test_a_shortage_says_what_was_asked_for_and_what_is_free() -> None:
    request = resources.parse_list({"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"})
    free = resources.parse_list({"cpu": "1500m", "memory": "1Gi"})
    assert resources.fits(request, free) == (
        Shortage("cpu", quantity.parse("2"), quantity.parse("1500m")),
        Shortage("nvidia.com/gpu", quantity.parse("1"), ZERO),
    )


def test_asking_for_nothing_fits_on_an_overfull_node() -> None:
    assert resources.fits({"cpu": ZERO}, {"cpu": quantity.parse("-1")}) == ()
