"""Names and owners of objects."""

from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import (
    Key,
    Object,
    ObjectMeta,
    OwnerReference,
    controller_of,
    key_of,
    owned_by,
    owner_reference,
)


def an_owner(uid: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="owner", namespace="ns", uid=uid))


def test_an_object_is_named_within_its_kind() -> None:
    assert key_of(an_owner("u")) == Key("ns", "owner")
    assert (str(Key("ns", "a")), str(Key("", "a"))) == ("ns/a", "a")


def test_ownership_goes_by_uid_and_only_for_the_controller() -> None:
    other = OwnerReference(api_version="v1", kind="Node", name="n", uid="u2")
    refs = (other, owner_reference(PODS, an_owner("u1")))
    child = Object(metadata=ObjectMeta(name="child", owner_references=refs))
    assert controller_of(child) == refs[1]
    assert owned_by(child, "u1")
    assert not owned_by(child, "u2")
    assert not owned_by(Object(), "u1")


def test_kinds_are_compared_by_name() -> None:
    assert str(PODS) == "pods"
    assert PODS.api_version == "v1"
