"""pytest plugin: virtual time for asynchronous tests, and no test leaves a task behind.

Loaded by those who ask for it (`pytest_plugins = ["kubeloop.testing.plugin"]`); korder's own suite does. Tests that open sockets (mark `enable_socket`) live in real time, because
a server outside the loop does not know how late it virtually is; all others run on a `VirtualLoop`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import pytest_asyncio

from kubeloop.runtime.clock import Clock, SystemClock, VirtualClock, VirtualLoop


def _lives_in_real_time(item: pytest.Item) -> bool:
    return item.get_closest_marker("enable_socket") is not None


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Chooses the loop of a test by its mark."""
    if _lives_in_real_time(item):
        return {"real": asyncio.new_event_loop}
    return {"virtual": VirtualLoop}


def _described(task: asyncio.Task[object] | None) -> str:
    assert task is not None  # noqa: S101  only the current task may be None, and it is not among them
    work = getattr(task.get_coro(), "__qualname__", "")
    return f"{task.get_name()} ({work})"


@pytest.fixture
def clock(request: pytest.FixtureRequest) -> Clock:
    """The clock that belongs to the test's loop."""
    return SystemClock() if _lives_in_real_time(request.node) else VirtualClock()


@pytest.fixture(autouse=True)
def no_task_is_left_behind(request: pytest.FixtureRequest) -> None:
    """Fails a test that ends while a task it started still runs; warnings alone do not notice that."""
    if request.node.get_closest_marker("asyncio") is not None:
        request.getfixturevalue("tasks_are_counted")


@pytest_asyncio.fixture
async def tasks_are_counted(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Compares the tasks after an asynchronous test with those before; others need no loop, which costs more than many a test."""
    before = asyncio.all_tasks()
    yield
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        names = ", ".join(sorted(map(_described, left)))
        pytest.fail(f"{request.node.name} left tasks running: {names}")
