from pathlib import Path
import random
import socket

import pytest

from korder.net import ports

pytestmark = pytest.mark.enable_socket


def test_the_ports_are_different_and_can_be_bound() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    for port in found:
        with socket.socket() as server:
            server.bind((ports.LOOPBACK, port))


def test_a_port_in_use_is_passed_over() -> None:
    seed = 7
    (first,) = ports.free_ports(1, random.Random(seed))
    with socket.socket() as server:
        server.bind((ports.LOOPBACK, first))
        (second,) = ports.free_ports(1, random.Random(seed))
    assert second != first


def test_the_ports_are_never_ones_the_system_gives_to_clients() -> None:
    setting = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not setting.exists():
        pytest.skip("the range is only published on Linux")
    low, high = map(int, setting.read_text().split())
    assert not [port for port in ports.free_ports(200) if low <= port <= high]
