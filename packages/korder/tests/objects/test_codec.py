import msgspec
import pytest

from korder.api.reserve import Ticket
from kubeloop.objects import codec
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import JSON, Base, ObjectMeta
from kubeloop.objects.workloads import Deployment


class Box(Base):
    size: int = 1
    lid: codec.Raw = None


NULLS = {
    "labels": ({"metadata": {"labels": None}}, Pod()),
    "annotations and owners": (
        {"metadata": {"annotations": None, "ownerReferences": None, "name": "p"}},
        Pod(metadata=ObjectMeta(name="p")),
    ),
    "creation time": ({"metadata": {"creationTimestamp": None}}, Pod()),
    "containers": ({"spec": {"containers": None}}, Pod()),
    "a whole section": ({"metadata": None, "spec": None, "status": None}, Pod()),
    "a flag and a number": (
        {"metadata": {"generation": None}, "spec": {"hostNetwork": None}},
        Pod(),
    ),
    "deep inside a list": ({"spec": {"containers": [{"resources": {"requests": None}}]}}, None),
}


@pytest.mark.parametrize(("body", "meaning"), NULLS.values(), ids=NULLS)
def test_a_member_that_is_null_is_read_as_absent(body: JSON, meaning: Pod | None) -> None:
    text = msgspec.json.encode(body)

    read = codec.decode(text, Pod)

    assert read == codec.convert(body, Pod)
    assert meaning is None or read == meaning


def test_one_odd_object_does_not_spoil_a_list() -> None:
    pods = codec.decode('[{"kind":"Pod"},{"metadata":{"labels":null}}]', tuple[Pod, ...])

    assert pods == (Pod(kind="Pod"), Pod())


def test_nulls_in_raw_fields_survive_where_nothing_forces_a_second_reading() -> None:
    body = {"spec": {"template": {"metadata": {"creationTimestamp": None}}}}

    read = codec.decode(msgspec.json.encode(body), Deployment)

    assert read.spec.template == {"metadata": {"creationTimestamp": None}}


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "text", [1, None, {"a": []}], {"a": {"b": None}}],
    ids=str,
)
def test_raw_fields_hold_any_json(value: JSON) -> None:
    assert codec.convert({"lid": value}, Box) == Box(lid=value)


@pytest.mark.parametrize(
    "read", [codec.decode, lambda text, model: codec.convert({"size": "x"}, model)]
)
def test_a_wrong_type_is_refused_with_the_path_of_the_field(read: object) -> None:
    assert callable(read)
    with pytest.raises(msgspec.ValidationError, match=r"\$\.size"):
        read('{"size": "x"}', Box)


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(msgspec.DecodeError):
        codec.decode('{"size": ', Box)


def a_ticket(name: str, **requests: str) -> Ticket:
    body: JSON = {
        "metadata": {"name": name, "labels": {"team": "red"}},
        "spec": {"duration": "24h", "resources": {"requests": dict(requests)}},
    }
    return codec.convert(body, Ticket)


def test_what_is_equal_in_two_structs_is_kept_once_and_nothing_else_changes() -> None:
    first, second = a_ticket("a", cpu="1"), a_ticket("b", cpu="1")
    codec.share(second, first)
    assert second == a_ticket("b", cpu="1")
    assert second.spec is first.spec
    assert second.metadata.labels is first.metadata.labels
    assert second.metadata is not first.metadata


def test_what_differs_is_looked_into_for_equal_parts() -> None:
    first, second = a_ticket("a", cpu="1"), a_ticket("b", cpu="2")
    codec.share(second, first)
    assert second == a_ticket("b", cpu="2")
    assert second.spec.lifecycle is first.spec.lifecycle


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        pytest.param(1, True, id="a number and true"),
        pytest.param({"a": [0]}, {"a": [False]}, id="the same, further inside"),
        pytest.param(1, 1.0, id="two ways to write a number"),
    ],
)
def test_what_only_python_takes_for_equal_stays_as_it_was_read(mine: JSON, other: JSON) -> None:
    box = Box(lid=mine)
    codec.share(box, Box(lid=other))
    assert msgspec.json.encode(box) == msgspec.json.encode(Box(lid=mine))


@pytest.mark.parametrize("other", [None, 3, Box(), "text"], ids=repr)
def test_nothing_is_shared_with_something_else(other: object) -> None:
    ticket = a_ticket("a")
    codec.share(ticket, other)
    assert ticket == a_ticket("a")
