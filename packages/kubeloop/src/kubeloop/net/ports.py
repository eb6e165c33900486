"""Free ports on loopback, for servers that are told their port before they start.

`kubeloop.testing.controlplane` asks for the ports of its programs here. The ports lie outside the range from which the system
takes the client side of connections: a client that keeps dialling a stopped server's port could otherwise be given that
very port, connect to itself, and keep the server from coming back.

Between the search and the start others search too, and a port given twice is a server that cannot start. So whoever finds
a port leaves the rest of an ended connection on it. Linux keeps such a rest (TIME_WAIT) for a minute and refuses the port
to a plain bind, which is how everybody searches here, but not to a server that asks to reuse it, as asyncio's and Go's do.
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
    """Finds `count` different ports that nobody listens on, and that nobody else finds for the next minute."""
    candidates = _candidates()
    (chance or random.SystemRandom()).shuffle(candidates)
    found = tuple(itertools.islice(filter(_is_ours, candidates), count))
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


def _is_ours(port: int) -> bool:
    """Takes a port, if somebody could listen there now, and leaves it to a server that asks to reuse it."""
    with socket.socket() as listener:
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.listen(1)
        with socket.create_connection((LOOPBACK, port)):
            ended_first, _ = listener.accept()
            ended_first.close()
    return True


def is_free(port: int) -> bool:
    """Says whether a server could listen there now, be it on what the last one left."""
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError:
        return False
    return True
