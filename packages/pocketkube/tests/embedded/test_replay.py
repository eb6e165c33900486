"""The same requests get the same answers, byte for byte, in every process and whatever happened in it before."""

from difflib import unified_diff
import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).parents[2]


def test_two_servers_with_one_seed_answer_alike() -> None:
    children = [
        subprocess.Popen(  # noqa: S603  this very interpreter
            [sys.executable, "-m", "tests.embedded.replay_child", *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for hash_seed, arguments in (("1", ()), ("2", ("warm",)))
    ]
    one, other = (child.communicate()[0].splitlines() for child in children)
    assert [child.returncode for child in children] == [0, 0]
    assert len(one) > 300
    assert not list(unified_diff(one, other, n=0))[:5]
