"""What `korder up` keeps, forgets and says about its folder: an end by Ctrl-C, a reset, two at once, damage, a full disk."""

from collections.abc import Callable
import json
from pathlib import Path
import resource
import subprocess
import sys

import pytest

from korder.testing.up import UpProcess
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.net.http import Request
from kubeloop.runtime.clock import SystemClock

BARE = ("--nodes", "0", "--without", "scheduler", "--without", "controllers")
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PLENTY = 1 << 40


async def ask(up: UpProcess, method: str, name: str, text: str = "") -> tuple[int, str]:
    """Sends one request about a ConfigMap; answers with the code and what stands in the object, or in the Status."""
    transport = connect(load(str(up.kubeconfig)), SystemClock().now)
    target = CONFIG_MAPS if method == "POST" else f"{CONFIG_MAPS}/{name}"
    body = json.dumps({"metadata": {"name": name}, "data": {"text": text}}).encode()
    request = Request(method, target, {"Content-Type": "application/json"}, body)
    async with await transport.send(request) as response:
        answer = json.loads(await response.read())
    await transport.close()
    said = answer["data"]["text"] if "data" in answer else answer["message"]
    return response.status, said


def run_up(folder: Path) -> subprocess.CompletedProcess[str]:
    """Starts a cluster that is expected not to start."""
    command = (sys.executable, "-m", "korder", "up", "--data-dir", str(folder), *BARE)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603


async def test_what_was_made_outlives_ctrl_c_and_port_and_credentials_stay(tmp_path: Path) -> None:
    up = UpProcess(tmp_path, *BARE)
    async with up:
        assert await ask(up, "POST", "kept", "so it is") == (201, "so it is")
        kubeconfig = up.kubeconfig.read_bytes()
        await up.interrupt()
        await up.start()
        assert await ask(up, "GET", "kept") == (200, "so it is")
        assert up.kubeconfig.read_bytes() == kubeconfig


async def test_a_reset_begins_with_an_empty_cluster_and_the_same_credentials(
    tmp_path: Path,
) -> None:
    async with UpProcess(tmp_path, *BARE) as up:
        await ask(up, "POST", "gone")
        token = (tmp_path / "credentials.json").read_bytes()
    async with UpProcess(tmp_path, *BARE, "--reset") as up:
        assert await ask(up, "GET", "gone") == (404, 'configmaps "gone" not found')
        assert (tmp_path / "credentials.json").read_bytes() == token


async def test_a_second_cluster_in_the_same_folder_is_reported_so_and_harms_nothing(
    tmp_path: Path,
) -> None:
    async with UpProcess(tmp_path, *BARE) as up:
        ended = run_up(tmp_path)
        assert ended.returncode != 0
        assert ended.stdout == ""
        assert "in use" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1
        assert (await ask(up, "POST", "still-here"))[0] == 201


def overwritten(file: Path) -> None:
    file.write_bytes(b"not a database, but long enough to be looked at" * 100)


def cut_in_half(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def holed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096 : 4096 * 8] = b"\xa5" * (4096 * 7)
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", [overwritten, cut_in_half, holed])
async def test_a_damaged_state_file_is_reported_in_one_sentence_and_a_reset_helps(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    async with UpProcess(tmp_path, *BARE) as up:
        await ask(up, "POST", "lost")
    harm(tmp_path / "state.db")
    ended = run_up(tmp_path)
    assert ended.returncode != 0
    assert "state.db" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    async with UpProcess(tmp_path, *BARE, "--reset") as up:
        assert (await ask(up, "GET", "lost"))[0] == 404


async def test_a_full_disk_is_an_error_and_later_writes_succeed(tmp_path: Path) -> None:
    async with UpProcess(tmp_path, *BARE) as up:
        pid = up.process.pid
        assert pid is not None
        await ask(up, "POST", "before", "kept")
        full = (tmp_path / "state.db-wal").stat().st_size + 1024
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (full, PLENTY))
        code, said = await ask(up, "POST", "during", "x" * 20_000)
        assert code == 500
        assert "Internal error occurred" in said
        assert await ask(up, "GET", "before") == (200, "kept")
        assert (await ask(up, "GET", "during"))[0] == 404
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (PLENTY, PLENTY))
        assert (await ask(up, "POST", "during", "x" * 20_000))[0] == 201
        up.kill()
        await up.start()
        assert await ask(up, "GET", "before") == (200, "kept")
        assert (await ask(up, "GET", "during"))[0] == 200
