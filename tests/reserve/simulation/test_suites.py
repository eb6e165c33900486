"""Twenty seeds of the suites of the domain, one simulated hour each: no promise is broken. `make soak` plays more of them, for longer."""

from collections.abc import Iterator

import pytest
import structlog

from korder.testing.seeds import Task, hush, play

TASKS = [Task("reserve-rough", seed, 1.0) for seed in range(14)]
TASKS += [Task("reserve-calm", seed, 1.0) for seed in range(14, 20)]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = structlog.get_config()
    hush()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.suite} {task.seed}")
def test_no_promise_is_broken(task: Task) -> None:
    done = play(task)
    assert not done.violation, str(done)


def test_a_seed_plays_the_same_run_again() -> None:
    task = Task("reserve-rough", 1, 0.1)
    assert play(task) == play(task)
