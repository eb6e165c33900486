"""The auditor itself: who is asked when, what is found, and what it costs."""

from collections.abc import Iterable
from datetime import timedelta

import pytest

from kubeloop.objects.core import NODES, PODS
from kubeloop.testing.builders import a_node, a_pod
from pocketkube.simulation.auditing import violation as violation_text
from pocketkube.simulation.auditing.auditor import Auditor
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant, Later
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.testing.story import START, Story

WEB = Subject("pods", "default", "web")


class NoPods(Invariant):
    name = "no-pods"
    promise = "There are no pods."
    resources = (PODS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        yield Broken(f"there are {len(view.of(PODS).all())}", (subject_of(change),))

    def at_rest(self, view: View) -> Iterable[Broken]:
        yield from (Broken(f"{each.metadata.name} is left", ()) for each in view.of(PODS).all())


class GoneInTime(Invariant):
    """Pods live for ten seconds from their last change."""

    name = "gone-in-time"
    promise = "Pods are gone after ten seconds."
    resources = (PODS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        yield Later(view.now + timedelta(seconds=10), subject_of(change))

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        if view.bearer("uid-1") == subject:
            yield Broken(f"{subject.name} is still there", (subject,))


def test_an_invariant_is_asked_about_the_kinds_it_names_and_no_others() -> None:
    story = Story(NoPods())
    story.tell(a_node("node-1"), a_pod("web"))
    assert story.broken == ["there are 1"]


def test_a_violation_says_what_where_and_when() -> None:
    story = Story(NoPods())
    story.wait(1.5)
    story.tell(a_pod("web"))
    (violation,) = story.auditor.violations
    assert violation.invariant == "no-pods"
    assert violation.promise == "There are no pods."
    assert violation.at == START + timedelta(seconds=1.5)
    assert violation.version == 1
    assert violation.subjects == (WEB,)


def test_what_is_wished_for_later_is_looked_at_then_and_a_new_wish_replaces_the_old() -> None:
    story = Story(GoneInTime())
    story.tell(a_pod("web"))
    assert story.auditor.due() == START + timedelta(seconds=10)
    story.wait(9)
    story.tell(a_pod("web"))
    story.wait(9.9)
    assert story.broken == []
    story.wait(0.2)
    assert story.broken == ["web is still there"]
    assert story.auditor.violations[0].at == START + timedelta(seconds=19)
    assert story.auditor.due() is None


def test_promises_at_rest_are_judged_only_when_the_run_is_over() -> None:
    story = Story(GoneInTime(), NoPods())
    story.tell(a_pod("web"))
    assert story.broken == ["there are 1"]
    story.wait(1)
    story.rest()
    assert story.broken == ["there are 1", "web is left"]


def test_two_invariants_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        Auditor([NoPods(), NoPods()], START)


def test_objects_from_before_the_audit_are_known_once_they_change() -> None:
    story = Story(NoPods())
    old = a_pod("web").stored("uid-0").json
    new = a_pod("web").on("node-1").stored("uid-0", 7).json
    story.note(Change(START, 7, *WEB, old, new, "scheduler"))
    assert story.auditor.view.bearer("uid-0") == WEB
    assert list(story.auditor.view.rooms.pods_on("node-1")) == [("default", "web")]


def test_the_view_forgets_what_is_gone() -> None:
    story = Story(NoPods())
    owner, pod = a_node("node-1"), a_pod("web").on("node-1")
    owned = pod.owned_by(NODES, owner.stored("uid-1").build())
    story.tell(owner, owned)
    view = story.auditor.view
    assert [each.metadata.name for each in view.owned(PODS, "uid-1")] == ["web"]
    story.lose(owned, owner)
    assert (view.children("uid-1"), view.bearer("uid-1")) == (frozenset(), None)
    assert not view.rooms.pods_on("node-1")
    assert list(view.everything()) == []


def test_the_report_tells_everything_needed_to_see_it_again() -> None:
    story = Story(NoPods())
    story.tell(a_pod("web"))
    text = violation_text.render(
        story.auditor.violations[0],
        seed=17,
        writes=("00:00:00 user create pods default/web", "00:00:01 user patch pods default/web"),
        replay="korder simulate --seed 17",
    )
    assert text == (
        "BROKEN: no-pods\n"
        "  promise      There are no pods.\n"
        "  but          there are 1\n"
        "  at           2026-01-01T00:00:00.000000Z, after version 1\n"
        "  objects      pods default/web\n"
        "  last writes  00:00:00 user create pods default/web\n"
        "               00:00:01 user patch pods default/web\n"
        "  seed         17\n"
        "  to replay    korder simulate --seed 17\n"
    )
