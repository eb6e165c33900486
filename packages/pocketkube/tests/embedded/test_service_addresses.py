"""Addresses of services as admission gives them: free ones, different ones, and only to services."""

from collections.abc import AsyncIterator
import random
from typing import Any

import pytest

from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation
from pocketkube.apiserver.admission.serviceaddresses import ServiceAddresses
from pocketkube.apiserver.kinds.catalogue import builtin
from pocketkube.apiserver.kinds.resource import Resource
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Draft, Key, Storage, open_storage
from pocketkube.apiserver.view import View

Object = dict[str, Any]
RESOURCES = {each.stored: each for each in builtin()}
STORED = Draft(
    b'{"spec":{"clusterIPs":["10.96.1.1"]},"metadata":{"name":"old","namespace":"n","resourceVersion":"',
    b'"}}',
)


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    async with open_storage(None) as storage:
        yield storage


def asked(resource: Resource, obj: Object, **members: Any) -> Attributes:
    return Attributes(Operation.CREATE, resource, "n", "new", User("me"), object=obj, **members)


async def given(plugin: ServiceAddresses, **spec: Any) -> str:
    obj = {
        "metadata": {"name": "new"},
        "spec": {"type": "ClusterIP", "ports": [{"port": 80}], **spec},
    }
    await plugin.complete(asked(RESOURCES["services"], obj))
    address: str = obj["spec"]["clusterIP"]
    return address


async def test_services_that_are_made_at_once_get_different_addresses(storage: Storage) -> None:
    plugin = ServiceAddresses(View(storage), random.Random(1))
    addresses = [await given(plugin) for _ in range(100)]
    assert len(set(addresses)) == len(addresses)


async def test_the_same_chance_gives_the_same_addresses(storage: Storage) -> None:
    one, other = (ServiceAddresses(View(storage), random.Random(3)) for _ in range(2))
    assert [await given(one) for _ in range(5)] == [await given(other) for _ in range(5)]


async def test_an_address_that_is_taken_is_refused(storage: Storage) -> None:
    await storage.write(Create(Key("services", "n", "old"), STORED))
    plugin = ServiceAddresses(View(storage), random.Random(1))
    with pytest.raises(Refused) as refused:
        await given(plugin, clusterIP="10.96.1.1")
    assert refused.value.status.code == 422
    assert refused.value.status.message.endswith("provided IP is already allocated")


async def test_of_two_that_ask_for_one_address_at_once_one_gets_it(storage: Storage) -> None:
    plugin = ServiceAddresses(View(storage), random.Random(1))
    assert await given(plugin, clusterIP="10.96.1.2") == "10.96.1.2"
    with pytest.raises(Refused, match="provided IP is already allocated"):
        await given(plugin, clusterIP="10.96.1.2")


async def test_an_address_is_free_again_when_its_write_was_given_up(storage: Storage) -> None:
    chain = Chain([ServiceAddresses(View(storage), random.Random(1))])
    for _ in range(2):
        obj = {"metadata": {"name": "new"}, "spec": {"clusterIP": "10.96.1.2"}}
        with chain.admission(asked(RESOURCES["services"], obj)) as admission:
            await admission.mutate()


async def test_other_objects_are_left_alone(storage: Storage) -> None:
    plugin = ServiceAddresses(View(storage), random.Random(1))
    config, status = {"metadata": {"name": "new"}}, {"metadata": {"name": "new"}, "spec": {}}
    await plugin.complete(asked(RESOURCES["configmaps"], config))
    await plugin.complete(asked(RESOURCES["services"], status, subresource="status"))
    assert config == {"metadata": {"name": "new"}}
    assert status == {"metadata": {"name": "new"}, "spec": {}}
