"""What holds for objects of every kind: versions, UIDs, generations, deletions. Each promise is shown kept and broken."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from kubeloop.objects.meta import JSON
from kubeloop.objects.workloads import DEPLOYMENTS
from kubeloop.testing.builders import Builder, a_node, a_pod
from pocketkube.simulation.changes import Change, Subject
from pocketkube.simulation.invariants.identity import UidsAreForever, VersionsGrow
from pocketkube.simulation.invariants.lifecycle import (
    DeletionIsFinal,
    FinalizersHold,
    GenerationsCount,
)
from pocketkube.testing.story import START, Story

POD = a_pod("web")
SUBJECT = Subject("pods", "default", "web")


def stored(version: int) -> Mapping[str, JSON]:
    return POD.stored("uid-1", version).json


def test_a_history_without_gaps_is_fine() -> None:
    story = Story(VersionsGrow(), UidsAreForever())
    story.tell(POD, a_node("node-1"), POD.on("node-1"))
    story.lose(POD)
    story.tell(POD)
    assert story.broken == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            Change(START, 3, *SUBJECT, stored(5), stored(3), "user"),
            "version 3 came after 5",
            id="back in time",
        ),
        pytest.param(
            Change(START, 5, *SUBJECT, stored(5), stored(5), "user"),
            "version 5 came after 5",
            id="one version twice",
        ),
        pytest.param(
            Change(START, 9, *SUBJECT, stored(5), stored(8), "user"),
            "version 9 was stored with 8",
            id="another version inside",
        ),
        pytest.param(
            Change(START, 9, *SUBJECT, stored(4), stored(9), "user"),
            "version 9 replaced 4, but 5 was there",
            id="a lost update",
        ),
        pytest.param(
            Change(START, 9, *SUBJECT, None, stored(9), "user"),
            "version 9 replaced nothing, but 5 was there",
            id="created twice",
        ),
    ],
)
def test_a_history_that_contradicts_itself_is_seen(change: Change, words: str) -> None:
    story = Story(VersionsGrow())
    story.note(Change(START, 5, *SUBJECT, None, stored(5), "user"))
    assert story.broken == []
    story.note(change)
    assert story.broken == [words]


def test_a_uid_that_changes_is_seen() -> None:
    story = Story(UidsAreForever())
    story.tell(POD, POD.but({"metadata": {"uid": "other"}}))
    assert story.broken == ["UID uid-1 became other"]


def test_a_uid_that_returns_from_the_dead_is_seen() -> None:
    story = Story(UidsAreForever())
    story.tell(POD)
    story.lose(POD)
    story.tell(a_pod("other").but({"metadata": {"uid": "uid-1"}}))
    assert story.broken == ["UID uid-1 belonged to an object that is gone"]


def test_two_objects_with_one_uid_are_seen() -> None:
    story = Story(UidsAreForever())
    story.tell(POD, POD.on("node-1"), a_pod("twin").but({"metadata": {"uid": "uid-1"}}))
    assert story.broken == ["UID uid-1 is that of pods default/web"]


def generation(number: int, **content: JSON) -> Builder[object]:
    meta: JSON = {"name": "web", "namespace": "default", "generation": number}
    return Builder(DEPLOYMENTS, {"metadata": meta, **content})


ONE, TWO = {"replicas": 1}, {"replicas": 2}
NOTED: JSON = {"metadata": {"annotations": {"note": "x"}}}


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(generation(2, spec=TWO), id="an edit counts"),
        pytest.param(generation(1, spec=ONE, status=ONE), id="a status does not"),
        pytest.param(generation(2, spec=ONE).deleted_at(START), id="a deletion counts"),
        pytest.param(generation(1, spec=ONE).labelled({"a": "b"}), id="labels do not"),
        pytest.param(generation(2, spec=ONE).but(NOTED), id="an annotation of a Deployment may"),
        pytest.param(generation(1, spec=ONE).but(NOTED), id="an annotation need not"),
    ],
)
def test_generations_that_count_what_is_wanted_are_fine(then: Builder[object]) -> None:
    story = Story(GenerationsCount())
    story.tell(generation(1, spec=ONE), then)
    assert story.broken == []


@pytest.mark.parametrize(
    ("then", "words"),
    [
        pytest.param(
            generation(1, spec=TWO), "from 1 to 1 when what is wanted changed", id="not counted"
        ),
        pytest.param(
            generation(2, spec=ONE, status=TWO),
            "from 1 to 2 when nothing that is wanted changed",
            id="counted for nothing",
        ),
        pytest.param(
            generation(3, spec=TWO), "from 1 to 3 when what is wanted changed", id="counted twice"
        ),
        pytest.param(
            generation(1, spec=ONE).deleted_at(START),
            "from 1 to 1 when its deletion began",
            id="deletion not counted",
        ),
    ],
)
def test_generations_that_do_not_count_right_are_seen(then: Builder[object], words: str) -> None:
    story = Story(GenerationsCount())
    story.tell(generation(1, spec=ONE), then)
    assert story.broken == [f"the generation went {words}"]


def test_a_binding_is_nobodys_wish() -> None:
    story = Story(GenerationsCount())
    first: JSON = {"metadata": {"generation": 1}}
    story.tell(POD.but(first), POD.on("node-1").but(first))
    assert story.broken == []


def test_a_deletion_can_be_hurried() -> None:
    story = Story(DeletionIsFinal())
    story.tell(POD, POD.deleted_at(START + timedelta(seconds=30), 30), POD.deleted_at(START))
    story.lose(POD)
    story.tell(POD)
    assert story.broken == []


def test_a_deletion_whose_time_is_long_over_may_be_dated_now() -> None:
    story = Story(DeletionIsFinal())
    story.tell(POD.deleted_at(START, 30))
    story.wait(60)
    story.tell(POD.deleted_at(story.now))
    assert story.broken == []


@pytest.mark.parametrize(
    ("then", "words"),
    [
        pytest.param(POD, "is gone", id="taken back"),
        pytest.param(
            POD.deleted_at(START + timedelta(seconds=5), 5),
            "moved from 2026-01-01 00:00:00+00:00 to 2026-01-01 00:00:05+00:00",
            id="put off",
        ),
    ],
)
def test_a_deletion_that_does_not_go_on_is_seen(then: Builder[object], words: str) -> None:
    story = Story(DeletionIsFinal())
    story.tell(POD.deleted_at(START), then)
    assert story.broken == [f"its deletionTimestamp {words}"]


def test_finalizers_hold_an_object_until_its_deletion_has_begun() -> None:
    held = POD.but({"metadata": {"finalizers": ["korder.dev/guard"]}})
    story = Story(FinalizersHold())
    story.tell(held, held.deleted_at(START))
    story.lose(held)
    assert story.broken == []
    story.tell(held)
    story.lose(held)
    assert story.broken == ["it is gone in spite of korder.dev/guard"]
