from pathlib import Path
import random
import socket
import sys

import pytest

from kubeloop.net import ports

pytestmark = pytest.mark.enable_socket


def test_the_ports_are_different_and_servers_can_listen_there() -> None:
    found = ports.free_ports(20)
    assert len(set(found)) == 20
    for port in found:
        with socket.create_server((ports.LOOPBACK, port)):
            pass


def test_a_port_in_use_is_passed_over() -> None:
    seed = 7
    (first,) = ports.free_ports(1, random.Random(seed))
    with socket.create_server((ports.LOOPBACK, first)):
        (second,) = ports.free_ports(1, random.Random(seed))
    assert second != first


@pytest.mark.skipif(sys.platform != "linux", reason="kept by how Linux ends a connection")
def test_a_port_that_was_found_is_not_found_again_before_its_server_listens() -> None:
    seed = 8
    (first,) = ports.free_ports(1, random.Random(seed))
    (second,) = ports.free_ports(1, random.Random(seed))
    assert second != first


def test_the_ports_are_never_ones_the_system_gives_to_clients() -> None:
    setting = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not setting.exists():
        pytest.skip("the range is only published on Linux")
    low, high = map(int, setting.read_text().split())
    assert not [port for port in ports.free_ports(200) if low <= port <= high]


def test_a_port_is_free_for_a_server_although_connections_of_the_last_one_linger() -> None:
    (port,) = ports.free_ports(1)
    assert ports.is_free(port)
    with socket.create_server((ports.LOOPBACK, port)):
        assert not ports.is_free(port)
