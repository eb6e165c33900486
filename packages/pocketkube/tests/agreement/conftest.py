"""The embedded cluster against a real Kubernetes: the same questions to both, the same answers wanted."""

from pathlib import Path

import pytest

from kubeloop.testing.controlplane.fixtures import (
    a_control_plane,
    client,
    control_plane,
    kubeconfig,
    mark_folder,
    namespace,
)

__all__ = ["a_control_plane", "client", "control_plane", "kubeconfig", "namespace"]
HERE = Path(__file__).parent
LONGEST = ("test_kubectl", "test_scheduler", "test_apply_agreement", "test_arrivals_agreement")
"""Modules that take minutes: they begin first, so that at the end nothing waits for one of them."""


def pytest_collectstart(collector: pytest.Collector) -> None:
    mark_folder(collector, HERE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONGEST)))
