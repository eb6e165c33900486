"""docs/reference.md tells all of what the code has, and nothing else."""

import pytest
from tests.reserve.explain import reference

from korder.reserve import metrics


@pytest.mark.parametrize("kind", ["Order", "Ticket", "Quota"])
def test_every_field_is_reported_with_its_type_default_and_meaning(kind: str):
    stated, there = reference.rows(f"Fields of {kind}s"), reference.fields(kind)
    missing = ["| " + " | ".join(row) + " |" for row in there if row not in stated]
    assert missing == [], "put these rows into docs/reference.md"
    assert [row for row in stated if row not in there] == [], "these are not true any more"


@pytest.mark.parametrize(
    ("title", "ending"),
    [
        ("Labels", "_LABEL"),
        ("Annotations", "_ANNOTATION"),
        ("Scheduling gates", "_GATE"),
        ("Finalizers", "_FINALIZER"),
    ],
)
def test_every_label_annotation_gate_and_finalizer_is_reported(title: str, ending: str):
    assert reference.named(title) == set(reference.constants(ending).values())


def test_every_condition_is_reported():
    assert reference.named("Conditions") == reference.conditions()


def test_every_reason_of_a_status_condition_or_event_is_reported():
    assert reference.named("Reasons") == reference.reasons()


def test_every_metric_is_reported_with_its_type():
    stated = {row[0].strip("`").partition("{")[0]: row[1] for row in reference.rows("Metrics")}
    assert stated == reference.metrics()


def test_labels_of_our_own_figures_are_reported():
    stated = reference.named("Metrics")
    for family in metrics.FAMILIES:
        assert f"{family.name}{{{','.join(family.labels)}}}" in stated
