"""kill -9 at random moments under load: nothing acknowledged is lost, versions never go back, watches resume without a gap."""

import asyncio
from pathlib import Path
import random
import subprocess
import sys

import pytest

from pocketkube.apiserver.storage import Change, Event, open_storage

CHILD = Path(__file__).with_name("storage_child.py")
FIRST_WORDS = 40
"""Lines of output after which a child counts as working; from then on it may be killed at any moment."""

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(8), id="a few times"),
        pytest.param(range(100, 150), id="many times", marks=pytest.mark.soak),
    ],
)
@pytest.mark.timeout(300)
async def test_what_was_acknowledged_survives_a_kill_and_watches_resume(
    tmp_path: Path, seeds: range
) -> None:
    file = tmp_path / "korder.db"
    version, seen = 1, 1
    present: dict[str, bytes] = {}
    for seed in seeds:
        output = await _killed_child(file, seed, seen)
        wrote = {tuple(line.split(" ")[1:]) for line in output if line.startswith("wrote")}
        saw = [int(line.split(" ")[1]) for line in output if line.startswith("saw")]
        assert len(wrote) > 10
        assert saw == list(range(seen + 1, seen + 1 + len(saw)))
        async with open_storage(file) as storage:
            events: list[Event] = []
            watch = storage.watch("configmaps", since=version)
            while watch.version < storage.version:
                events += await watch.next()
            records = storage.page("configmaps").records
        versions = [event.version for event in events]
        assert versions == list(range(version + 1, version + 1 + len(events)))
        assert wrote <= {_as_told(event) for event in events}
        version, seen = versions[-1], saw[-1]
        assert seen <= version
        for event in events:
            present.pop(event.record.key.path, None)
            if event.change is not Change.DELETED:
                present[event.record.key.path] = event.record.value
        assert {record.key.path: record.value for record in records} == present


def _as_told(event: Event) -> tuple[str, str, str]:
    value = "-" if event.change is Change.DELETED else event.record.value.decode()
    return str(event.version), event.record.key.path, value


async def _killed_child(file: Path, seed: int, since: int) -> list[str]:
    """Lets a child work for a random while, kills it and returns the complete lines it has said."""
    rng = random.Random(seed)
    child = await asyncio.create_subprocess_exec(
        sys.executable, CHILD, str(file), str(seed), str(since), stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    said = b"".join([await child.stdout.readline() for _ in range(FIRST_WORDS)])
    try:
        async with asyncio.timeout(rng.uniform(0, 0.6)):
            while True:
                said += await child.stdout.readline()
    except TimeoutError:
        child.kill()
    said += await child.stdout.read()
    await child.wait()
    return said[: said.rfind(b"\n") + 1].decode().splitlines()
