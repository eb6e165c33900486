"""Quantities and selectors: for hundreds of random texts the real API server agrees with us."""

import asyncio
from collections.abc import Iterable
import random
import secrets

import pytest

from korder.cli.cluster_objects import define
from kubeloop.client.client import Client
from kubeloop.client.errors import BadRequest, Invalid
from kubeloop.objects import quantity, selector
from kubeloop.objects.core import CONFIG_MAPS
from kubeloop.objects.machinery import CUSTOM_RESOURCE_DEFINITIONS
from kubeloop.objects.meta import JSON, Key, Kind, Object
from kubeloop.objects.quantity import InvalidQuantity
from kubeloop.objects.selector import InvalidSelector

CASES = 500
SUFFIXES = (
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "e3",
    "E-2",
    "e0",
)


def a_quantity(rng: random.Random) -> str:
    """A text that is usually a quantity the server can hold, and sometimes nonsense."""
    if rng.random() < 0.2:
        return rng.choice(
            [
                "",
                "1kk",
                "--1",
                "1..2",
                "1e",
                "0x10",
                "1,5",
                "K",
                "1KI",
                "one",
                "1e3Ki",
                "NaN",
                "1_000",
            ]
        )
    whole = str(rng.randrange(10 ** rng.randint(1, 7)))
    text = whole + (f".{rng.randrange(10 ** rng.randint(1, 9))}" if rng.random() < 0.4 else "")
    exa = text[:1] + rng.choice(("E", "Ei", "P"))
    # Beyond 64 bits servers cap or cut what they print, each version in its own way: there is nothing to agree on.
    return exa if rng.random() < 0.1 else text + rng.choice(SUFFIXES)


class Capacity(Object):
    """The freest quantity of the API: not negative, and never rounded."""

    capacity: str = ""


CAPACITIES: Kind[Capacity] = Kind(
    "storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", Capacity
)


async def told_by_server(client: Client, text: str) -> str | None:
    """The server's canonical form, or None if it refuses the text."""
    body: dict[str, JSON] = {
        "metadata": {"name": f"agreement-{secrets.token_hex(6)}", "namespace": "default"},
        "storageClassName": "any",
        "capacity": text,
    }
    try:
        return (await client.create(CAPACITIES, body, dry_run=True)).capacity
    except (BadRequest, Invalid):
        return None


def told_by_us(text: str) -> str | None:
    try:
        return str(quantity.parse(text))
    except InvalidQuantity:
        return None


async def test_the_server_reads_quantities_as_we_do(client: Client) -> None:
    rng = random.Random(20261115)
    texts = list(dict.fromkeys(a_quantity(rng) for _ in range(2 * CASES)))[:CASES]
    assert len(texts) == CASES

    async def compare(text: str) -> tuple[str, str | None, str | None]:
        server = await told_by_server(client, text)
        # A text that already has the shape of a quantity may come back as it was written; its value is what counts then.
        return text, told_by_us(server) if server == text else server, told_by_us(text)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(compare(text)) for text in texts]
    results = [task.result() for task in tasks]
    assert [r for r in results if r[1] != r[2]] == []
    refused = sum(ours is None for _, _, ours in results)
    assert 5 <= refused < CASES / 2


@pytest.mark.parametrize("text", [" 1", "1 ", "Ki", "m"])
async def test_only_texts_without_a_plain_number_are_refused_by_us_alone(
    client: Client, text: str
) -> None:
    """A server trims blanks and takes a suffix alone for zero; to us both are slips of the pen."""
    assert await told_by_server(client, text) is not None
    assert told_by_us(text) is None


COMPARED: Kind[Object] = Kind(
    "agreement.korder.dev", "v1", "Pair", "pairs", Object, namespaced=False
)
COMPARING_CRD: dict[str, JSON] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "pairs.agreement.korder.dev"},
    "spec": {
        "group": "agreement.korder.dev",
        "scope": "Cluster",
        "names": {"plural": "pairs", "kind": "Pair"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-validations": [
                            {
                                "rule": "quantity(self.a).compareTo(quantity(self.b)) == self.order",
                                "message": "order",
                            },
                            {
                                "rule": "quantity(self.a).add(quantity(self.b)) == quantity(self.sum)",
                                "message": "sum",
                            },
                        ],
                        "required": ["a", "b", "order", "sum"],
                        "properties": {
                            "a": {"type": "string", "maxLength": 40},
                            "b": {"type": "string", "maxLength": 40},
                            "sum": {"type": "string", "maxLength": 60},
                            "order": {"type": "integer"},
                        },
                    }
                },
            }
        ],
    },
}


async def test_the_server_compares_and_adds_quantities_as_we_do(client: Client) -> None:
    await define(client, COMPARING_CRD)
    rng = random.Random(5)
    good = [text for text in (a_quantity(rng) for _ in range(600)) if told_by_us(text)]
    equal = [("3000m", "3"), ("1Ki", "1024"), ("1e3", "1k")]
    pairs = [*zip(good[:200], good[200:400], strict=True), *equal]

    async def check(a: str, b: str) -> None:
        left, right = quantity.parse(a), quantity.parse(b)
        body: dict[str, JSON] = {
            "metadata": {"name": f"pair-{secrets.token_hex(6)}"},
            "a": a,
            "b": b,
            "order": (left > right) - (left < right),
            "sum": str(left + right),
        }
        await client.create(COMPARED, body, dry_run=True)

    try:
        async with asyncio.TaskGroup() as group:
            for a, b in pairs:
                group.create_task(check(a, b))
    finally:
        await client.delete(CUSTOM_RESOURCE_DEFINITIONS, Key("", "pairs.agreement.korder.dev"))


KEYS = ("app", "tier", "korder.dev/order", "level")
VALUES = ("", "a", "b", "web", "10", "20", "x.y_z", "-3")
"""The last one can be asked for nowhere: it is no label value."""


def labels(rng: random.Random) -> dict[str, str]:
    return {key: rng.choice(VALUES[:-1]) for key in KEYS if rng.random() < 0.6}


def a_selector(rng: random.Random) -> str:
    """One to four requirements in any spelling, and sometimes nonsense."""
    if rng.random() < 0.15:
        return rng.choice(
            [
                "=a",
                "app in",
                "app in a",
                "!",
                "app>x",
                "a b",
                "app=a,,tier=b",
                "app in (a",
                "-x=y",
                "app=a b",
                "app==",
                "!app=a",
            ]
        )
    return ",".join(_requirement(rng) for _ in range(rng.randint(1, 4)))


def _requirement(rng: random.Random) -> str:
    key, pad = rng.choice(KEYS), rng.choice(("", " "))
    value, some = rng.choice(VALUES), ", ".join(rng.sample(VALUES, rng.randint(1, 3)))
    forms = (
        f"{key}{pad}={pad}{value}",
        f"{key}=={value}",
        f"{key}{pad}!={pad}{value}",
        f"{key} in ({some})",
        f"{key} notin ({some})",
        key,
        f"!{pad}{key}",
        f"{key}{rng.choice('<>')}{rng.choice(('5', '10', '-4'))}",
    )
    return rng.choice(forms)


def chosen_by_us(text: str, objects: Iterable[tuple[str, dict[str, str]]]) -> set[str] | None:
    try:
        parsed = selector.parse(text)
    except InvalidSelector:
        return None
    assert selector.parse(str(parsed)) == parsed
    return {name for name, labelled in objects if parsed.matches(labelled)}


@pytest.mark.parametrize("spelled", ["as written", "as we print it"])
async def test_the_server_selects_what_we_select(
    client: Client, namespace: str, spelled: str
) -> None:
    rng = random.Random(11)
    objects = [(f"object-{index}", labels(rng)) for index in range(80)]
    async with asyncio.TaskGroup() as group:
        for name, labelled in objects:
            meta: JSON = {"name": name, "namespace": namespace, "labels": dict(labelled)}
            group.create_task(client.create(CONFIG_MAPS, {"metadata": meta}))
    texts = list(dict.fromkeys(a_selector(rng) for _ in range(3 * CASES)))[:CASES]
    assert len(texts) == CASES

    async def compare(text: str) -> tuple[str, set[str] | None, set[str] | None]:
        ours = chosen_by_us(text, objects)
        sent = (
            str(selector.parse(text)) if spelled == "as we print it" and ours is not None else text
        )
        try:
            found = await client.list(CONFIG_MAPS, namespace, labels=sent)
        except BadRequest:
            return text, None, ours
        foreign = {"kube-root-ca.crt"}
        return text, {obj.metadata.name for obj in found.items} - foreign, ours

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(compare(text)) for text in texts]
    results = [task.result() for task in tasks]
    assert [r for r in results if r[1] != r[2]] == []
    assert sum(ours is None for _, _, ours in results) >= 5
    assert sum(bool(ours) for _, _, ours in results) > 100
