"""Free ports on loopback, for servers that are told their port before they start.

`testing.controlplane` asks for the ports of its programs here. The ports lie outside the range from which the system
takes the client side of connections: a client that keeps dialling a stopped server's port could otherwise be given that
very port, connect to itself, and keep the server from coming back.
"""

import itertools
from pathlib import Path
import random
import socket

LOOPBACK = "127.0.0.1"

_LOWEST, _HIGHEST = 10_000, 65_535
_CLIENT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_CLIENT_RANGE_ELSEWHERE = (49_152, 65_535)


def free_ports(count: int, chance: random.Random | None = None) -> tuple[int, ...]:
    """Finds `count` different ports that nobody listens on; they are not reserved, so use them soon."""
    candidates = _candidates()
    (chance or random.SystemRandom()).shuffle(candidates)
    found = tuple(itertools.islice(filter(is_free, candidates), count))
    if len(found) < count:
        raise OSError(f"Fewer than {count} free ports on {LOOPBACK}.")
    return found


def _candidates() -> list[int]:
    low, high = _client_range()
    everything = range(_LOWEST, _HIGHEST + 1)
    return [port for port in everything if not low <= port <= high] or list(everything)


def _client_range() -> tuple[int, int]:
    try:
        low, high = map(int, _CLIENT_RANGE.read_text().split())
    except FileNotFoundError:
        return _CLIENT_RANGE_ELSEWHERE
    return low, high


def is_free(port: int) -> bool:
    """Says whether somebody could listen there now."""
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
