"""What is told of a quota: whom it means."""

import pytest
from tests.reserve.quotas.quotas import MONDAY, a_quota

from korder.reserve.explain import cluster_scoped
from kubeloop.objects.meta import JSON

BACKEND: JSON = {"matchLabels": {"team": "backend"}}
EITHER: JSON = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["dev", "test"]}]}
BROKEN: JSON = {"matchLabels": {"a b": "c"}}


@pytest.mark.parametrize(
    ("scope", "stated"),
    [
        ({"type": "Cluster"}, "means the whole cluster"),
        ({"type": "NamespaceList", "namespaces": ["a", "b"]}, "means namespaces a, b"),
        (
            {"type": "NamespaceSelector", "namespaceSelector": BACKEND},
            "means namespaces labelled team=backend",
        ),
        (
            {"type": "ObjectSelector", "objectSelector": EITHER},
            "means orders and tickets labelled env in (dev,test)",
        ),
        (
            {"type": "NamespaceSelector", "namespaceSelector": BROKEN},
            "means namespaces by labels that nobody can read",
        ),
    ],
    ids=["cluster", "names", "labels of namespaces", "labels of objects", "broken labels"],
)
def test_whom_a_quota_means_is_reported_with_names_and_labels(
    scope: dict[str, JSON], stated: str
) -> None:
    quota = a_quota("q", scope, tickets="5").build()
    assert cluster_scoped.standing(quota, MONDAY) == f"{stated}; refuses what goes beyond"
