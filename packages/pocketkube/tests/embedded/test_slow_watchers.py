"""A watcher that never reads: others hear everything, what is kept for it is bounded, and it is told that it was too slow."""

import asyncio
import gc
import re
import socket
import tracemalloc

import pytest

from kubeloop.net.server import Server
from kubeloop.runtime.clock import Clock
from pocketkube.apiserver.storage import Create, Draft, Key, Storage, Update
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server

pytestmark = [pytest.mark.enable_socket]

HOST = "127.0.0.1"
KEY = Key("configmaps", "default", "big")
SIZE, CHANGES = 200_000, 200
"""Bytes of the object and how often it changes: 40 MB go by."""
BOUND = 20 << 20
END = b"0\r\n\r\n"


def a_watch(server: EmbeddedServer, query: str = "") -> bytes:
    target = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion="
    head = (
        f"GET {target}{server.storage.version}{query} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {server.admin_token}",
    )
    return ("\r\n".join(head) + "\r\n\r\n").encode()


async def a_deaf_one(port: int, request: bytes) -> socket.socket:
    """Somebody who asks and does not listen; their own machine takes in little for them."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, (HOST, port))
    await loop.sock_sendall(deaf, request)
    return deaf


async def hear(port: int, request: bytes) -> int:
    """Reads as fast as it can, until all changes have come; says how many bytes that were."""
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(request)
    heard = changes = 0
    while changes < CHANGES:
        chunk = await reader.read(1 << 20)
        assert chunk, "the watch ended early"
        heard += len(chunk)
        changes += chunk.count(b'"type":"')
    writer.close()
    return heard


async def change(storage: Storage, times: int) -> None:
    head = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"'
    tail = b'","name":"big","namespace":"default"},"data":{"text":"' + b"x" * SIZE + b'"}}'
    draft = Draft(head, tail)
    for _ in range(times):
        known = storage.get(KEY)
        await storage.write(Update(KEY, draft, known.version) if known else Create(KEY, draft))
        await asyncio.sleep(0)


@pytest.mark.parametrize("query", ["", "&fieldSelector=metadata.name%3Dbig"], ids=["all", "some"])
async def test_a_watcher_that_dawdles_hears_everything_once_and_in_order(
    clock: Clock, query: str
) -> None:
    async with embedded_server(clock) as server:
        listener = Server(server.api.handle, HOST)
        slow = await a_deaf_one(await listener.start(), a_watch(server, query))
        stated, loop = bytearray(), asyncio.get_running_loop()
        while b"\r\n\r\n" not in stated:
            stated += await loop.sock_recv(slow, 1 << 20)
        first = server.storage.version + 1
        for _ in range(10):
            await change(server.storage, 20)
            while stated.count(b'"type":"') < server.storage.version - first + 1:
                stated += await loop.sock_recv(slow, 1 << 20)
        slow.close()
        await listener.stop(grace=1.0)
        versions = [int(found) for found in re.findall(rb'"resourceVersion":"(\d+)"', stated)]
        assert versions == list(range(first, server.storage.version + 1))


async def test_a_watcher_that_never_reads_is_cut_off_and_costs_little(clock: Clock) -> None:
    async with embedded_server(clock) as server:
        listener = Server(server.api.handle, HOST)
        port = await listener.start()
        deaf = await a_deaf_one(port, a_watch(server))
        tracemalloc.start()
        try:
            async with asyncio.TaskGroup() as group:
                quick = group.create_task(hear(port, a_watch(server)))
                await change(server.storage, CHANGES)
            await server.storage.compact(server.storage.version)
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        stated = bytearray()
        while not stated.endswith(END):
            stated += await asyncio.get_running_loop().sock_recv(deaf, 1 << 20)
        deaf.close()
        await listener.stop(grace=1.0)
    assert quick.result() > SIZE * (CHANGES - 1)
    assert kept < BOUND
    assert len(stated) < BOUND
    assert b'"code":410' in stated
