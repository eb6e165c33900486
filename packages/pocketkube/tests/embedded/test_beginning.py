"""What a server has from its first moment: of one chance and one clock always the same, whether it is worked out or remembered."""

from datetime import timedelta

import pytest

from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import PatchType
from kubeloop.runtime.clock import Clock, VirtualClock
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.testing.apiserver import EmbeddedServer, embedded_server


def stored(server: EmbeddedServer) -> dict[str, bytes]:
    resources = {resource.stored for resource in builtin()}
    records = (record for each in resources for record in server.storage.page(each).records)
    return {str(record.key): record.value for record in records}


async def beginning(clock: Clock, seed: int) -> tuple[dict[str, bytes], str]:
    """All that is stored, and the id of the next object that is made."""
    async with embedded_server(clock, seed=seed) as server:
        before = stored(server)
        made = await server.client().create(NAMESPACES, {"metadata": {"name": "team"}})
    return before, made.metadata.uid


async def test_servers_of_one_seed_begin_alike(clock: Clock) -> None:
    first = await beginning(clock, seed=20_260_101)
    again = await beginning(clock, seed=20_260_101)
    assert len(first[0]) > 100
    assert again == first


@pytest.mark.parametrize(
    ("later", "seed"), [(0, 20_260_103), (3_600, 20_260_102)], ids=["other chance", "another hour"]
)
async def test_servers_of_another_chance_or_time_do_not(
    clock: Clock, later: float, seed: int
) -> None:
    one, _ = await beginning(clock, seed=20_260_102)
    assert isinstance(clock, VirtualClock)
    clock.jump(timedelta(seconds=later))
    other, _ = await beginning(clock, seed=seed)
    assert one.keys() == other.keys()
    assert not one.items() & other.items()


async def test_what_one_server_does_to_its_objects_no_other_sees(clock: Clock) -> None:
    first, _ = await beginning(clock, seed=1)
    async with embedded_server(clock) as server:
        await server.client().patch(
            NAMESPACES,
            Key("", "default"),
            {"metadata": {"labels": {"touched": "yes"}}},
            PatchType.MERGE,
        )
    again, _ = await beginning(clock, seed=1)
    assert again == first
