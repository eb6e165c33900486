"""Twenty seeds of the suites of each domain, one simulated hour each: no promise is broken. `make soak` plays more of them, for longer."""

import pytest

from korder.testing.seeds import Task, play

SEEDS = 20
TASKS = [Task("rough", seed, 1.0) for seed in range(SEEDS)]
TASKS += [Task("calm", seed, 1.0) for seed in range(SEEDS, SEEDS + 5)]
TASKS += [Task("reserve-rough", seed, 1.0) for seed in range(14)]
TASKS += [Task("reserve-calm", seed, 1.0) for seed in range(14, SEEDS)]
TASKS += [Task("reserve-crowded-rough", 0, 0.1), Task("reserve-renewed-rough", 0, 0.1)]
TASKS += [Task("reserve-returned", 0, 0.1), Task("reserve-returned-rough", 0, 0.1)]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.suite} {task.seed}")
def test_no_promise_is_broken(task: Task) -> None:
    done = play(task)
    assert not done.violation, str(done)


@pytest.mark.parametrize("suite", ["rough", "reserve-rough"])
def test_a_seed_plays_the_same_run_again(suite: str) -> None:
    task = Task(suite, 1, 0.1)
    assert play(task) == play(task)
