"""Settings of the whole suite; fixtures come from korder.testing."""

import gc
from pathlib import Path
import signal

from hypothesis import settings
import pytest

settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=1_000)


def pytest_configure() -> None:
    """Lets programs that tests start be interrupted, even if somebody runs the tests in the background of a script, where nobody is."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    """Lets nobody search for garbage while hardly any is made."""
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Does not even read the tests on a real Kubernetes for a run that leaves them out; they bring large libraries along."""
    left_out = "not e2e" in config.getoption("markexpr")
    return True if left_out and collection_path.name in ("e2e", "agreement") else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuses a test of another file: of two modules under one name, pytest would play the first twice."""
    if isinstance(item, pytest.Function) and item.module.__file__ != str(item.path):
        raise pytest.UsageError(f"{item.path} has the module name of {item.module.__file__}")


def pytest_collection_finish() -> None:
    """Leaves modules and tests out of every later search for garbage: they stay to the end, and are most of what there is."""
    gc.collect()
    gc.freeze()
    gc.enable()
