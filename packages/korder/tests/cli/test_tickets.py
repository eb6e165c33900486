"""`korder tickets`: who has which room, until when, and why not."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
import os
from pathlib import Path
import pty
import random
import signal
import subprocess
import sys
import termios

import pytest

from korder.api.reserve import TICKETS, Ticket
from korder.cli.options import Desk
from korder.testing.builders import a_ticket
from kubeloop.client.client import Client
from kubeloop.client.config import load
from kubeloop.client.connect import connect
from kubeloop.client.errors import KubeError
from kubeloop.client.rest_mapper import Catalog
from kubeloop.objects import instant
from kubeloop.objects.meta import key_of
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import SystemClock
from kubeloop.testing.builders import Builder
from kubeloop.testing.memory import MemoryServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.xdist_group("cli")]

Done = subprocess.CompletedProcess[str]
Korder = Callable[..., Done]


def later(**span: int) -> str:
    return instant.render(SystemClock().now() + timedelta(**span))


def put(home: Path, name: str, **labels: str) -> None:
    """Makes a ticket that begins the day after tomorrow, so nobody takes care of it before."""
    built = a_ticket(name).in_namespace("kube-public").labelled(labels)
    asyncio.run(_put(home, built.but({"spec": {"startTime": later(hours=60)}})))


async def _put(home: Path, built: Builder[Ticket]) -> None:
    kubeconfig = home / ".local" / "share" / "korder" / "kubeconfig"
    transport = connect(load(str(kubeconfig)), SystemClock().now)
    client = Client(transport, rng=random.Random(1))
    key = key_of(built.build())
    await client.patch(TICKETS, key, built.json, PatchType.APPLY, force=True)
    await transport.close()


def test_a_ticket_tells_where_whose_and_until_when(home: Path, here: Korder) -> None:
    put(home, "later")
    done = here("tickets", "-n", "kube-public")
    assert done.returncode == 0, done.stderr
    title, *rows = done.stdout.splitlines()
    assert title.split() == ["NAME", "PHASE", "NODE", "POD", "ORDER", "TIME", "REASON"]
    (row,) = [row.split() for row in rows if row.startswith("later ")]
    assert row[:8] == ["later", "Pending", "<none>", "<none>", "<none>", "starts", "in", "2d11h"]


def test_tickets_of_all_namespaces_name_theirs(home: Path, here: Korder) -> None:
    put(home, "anywhere")
    done = here("tickets", "-A")
    assert "NAMESPACE" in done.stdout
    assert any(row.split()[:2] == ["kube-public", "anywhere"] for row in done.stdout.splitlines())


def test_no_tickets_is_a_sentence(here: Korder) -> None:
    done = here("tickets", "-n", "kube-node-lease")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "no tickets in the namespace kube-node-lease\n"


def test_watching_prints_what_becomes_of_a_ticket(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "korder", "tickets", "-w", "-n", "kube-public", "-l", "a=b"],
        env={"HOME": str(home), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        stdout=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        title = watching.stdout.readline()
        assert title.split()[:2] == ["EVENT", "NAME"]
        put(home, "labelled", a="b")
        row = watching.stdout.readline()
        assert row.split()[:3] == ["ADDED", "labelled", "Pending"]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130
    assert row.index("starts in") == title.index("TIME"), "though nothing was there before"


def test_on_a_terminal_the_time_that_is_left_goes_down_by_itself(home: Path) -> None:
    put(home, "soon")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 160))
    with subprocess.Popen(
        [sys.executable, "-m", "korder", "tickets", "--watch", "-n", "kube-public"],
        env={
            "HOME": str(home),
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "TERM": "xterm",
            "NO_COLOR": "1",
        },
        stdin=theirs,
        stdout=theirs,
    ) as watching:
        shown = b""
        while shown.count(b"REASON") < 3:
            shown += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 130
    os.close(theirs)
    os.close(ours)
    assert b"soon" in shown


def test_a_cluster_without_korder_is_reported_in_one_sentence() -> None:
    client = Client(MemoryServer().connect(), rng=random.Random(1))
    bare = Desk(client, Catalog(()), "default")
    with pytest.raises(KubeError, match=r"does not serve .*tickets.*: run `korder install` first"):
        bare.require(TICKETS)
