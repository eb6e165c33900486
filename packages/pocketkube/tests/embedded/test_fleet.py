"""The machines of an embedded cluster, as the command line describes them."""

import pytest

from pocketkube import fleet
from pocketkube.fleet import BadShape


def test_five_machines_are_four_for_computing_and_one_with_gpus() -> None:
    shapes = fleet.fleet(5)
    kinds = [shapes[name].labels["node-type"] for name in sorted(shapes)]
    assert kinds == ["compute"] * 4 + ["gpu"]


def test_a_single_machine_takes_every_pod() -> None:
    (shape,) = fleet.fleet(1).values()
    assert not shape.taints


def test_a_shape_keeps_what_was_not_said() -> None:
    shape = fleet.shape_of("cpu=16, nvidia.com/gpu=2")
    assert (shape.cpu, shape.memory, shape.pods) == ("16", fleet.COMPUTE.memory, 110)
    assert shape.extended == {"nvidia.com/gpu": "2"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("cpu", "'cpu' is not resource=quantity", id="no amount"),
        pytest.param("=4", "is not resource=quantity", id="no resource"),
        pytest.param("memory=lots", "memory: ", id="no quantity"),
        pytest.param("cpu=-1", "cpu: -1 is not an amount", id="less than nothing"),
    ],
)
def test_a_shape_that_is_none_is_reported_by_its_part(text: str, complaint: str) -> None:
    with pytest.raises(BadShape, match=complaint):
        fleet.shape_of(text)
