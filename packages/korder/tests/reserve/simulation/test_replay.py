"""A seed of the rough suite gives the same journal in every process, so that what it finds can be found again."""

import os
from pathlib import Path
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_runs_of_one_seed_are_the_same_in_processes_with_different_hashes(tmp_path: Path) -> None:
    run = ("--suite", "reserve-rough", "--seed", "5004", "--hours", "1.2")
    journals = [tmp_path / "one", tmp_path / "other"]
    children = [
        subprocess.Popen(  # noqa: S603  this very interpreter
            [sys.executable, "-m", "korder.testing.soak", *run, "--journal", str(journal)],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        )
        for hash_seed, journal in enumerate(journals, start=1)
    ]
    assert [child.wait() for child in children] == [0, 0]
    one, other = (journal.read_text().splitlines() for journal in journals)
    assert len(one) > 5_000
    assert next((pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]), None) is None
