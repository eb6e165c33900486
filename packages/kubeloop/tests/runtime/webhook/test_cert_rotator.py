"""Certificate rotators over an API server in memory, on virtual time: first start, rotation, repair, races and outages."""

import asyncio
from collections.abc import AsyncIterator
import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kubeloop.net import certificates
from kubeloop.net.certificates import Lifetime, Pair
from kubeloop.net.faults import Fault, Rule, always, writes
from kubeloop.net.http import Request
from kubeloop.net.server_tls import ServerTls
from kubeloop.objects.meta import Key
from kubeloop.runtime.clock import VirtualClock
from kubeloop.runtime.webhook import rotation
from kubeloop.runtime.webhook.ca_injector import CaInjector
from kubeloop.runtime.webhook.cert_rotator import CertRotator
from kubeloop.runtime.webhook.cert_sources import FileSource, SecretSource
from kubeloop.runtime.webhook.rotation import Policy

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
SECRET = Key("korder-system", "korder-webhook-tls-secret")
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
NAMES = frozenset({"korder.korder-system.svc"})
POLICY = Policy(NAMES, authority_life=6 * DAY, certificate_life=2 * DAY, settle=4 * HOUR)

Cluster = Any  # tests cannot import from conftest; its fixture says what it is


class Replica:
    """A process that serves webhooks, as far as its certificate is concerned."""

    def __init__(
        self, cluster: Cluster, *rules: Rule, seed: int = 0, every: timedelta = 2 * HOUR
    ) -> None:
        self.clock = VirtualClock()
        self.tls = ServerTls()
        client = cluster.client(*rules, seed=seed)
        bundles = CaInjector(client, mutating=["korder"], validating=["korder"])
        source = SecretSource(client, SECRET, POLICY, self.clock)
        self.cert_rotator = CertRotator(source, bundles, self.tls, self.clock, every=every)

    @property
    def certificate(self) -> bytes:
        assert self.tls.pair is not None
        return self.tls.pair.certificate

    def is_trusted_through(self, bundle: bytes | None) -> bool:
        now = self.clock.now()
        return self.cert_rotator.valid and any(
            certificates.issued_by(self.certificate, authority)
            and now in certificates.lifetime(authority)
            for authority in certificates.split(bundle or b"")
        )


@contextlib.asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(replica.cert_rotator.run()) for replica in replicas]
        yield
        for task in tasks:
            task.cancel()


async def settle() -> None:
    await asyncio.sleep(30)


async def test_a_first_look_makes_an_authority_and_a_certificate_and_publishes_them(
    cluster: Cluster,
) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev", "orders.korder.dev")
    cluster.configure(VALIDATING, "korder", "orders.korder.dev")
    replica = Replica(cluster)
    assert not replica.cert_rotator.valid

    await replica.cert_rotator.look()

    assert replica.cert_rotator.valid
    assert certificates.names(replica.certificate) == NAMES
    assert len(cluster.bundles()) == 3
    assert all(replica.is_trusted_through(bundle) for bundle in cluster.bundles())


async def test_it_is_valid_when_api_servers_can_trust_it_and_not_before(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replica = Replica(cluster, Rule(Fault.SLOW))

    async with running(replica):
        while not replica.cert_rotator.valid:
            await asyncio.sleep(0.001)
        assert replica.is_trusted_through(cluster.bundles()[0])


async def test_what_cannot_be_published_is_served_all_the_same(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replica = Replica(cluster, Rule(Fault.BROKEN, _publishes))

    await replica.cert_rotator.look()

    assert replica.cert_rotator.valid


async def test_a_look_without_need_writes_nothing(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replica = Replica(cluster)
    await replica.cert_rotator.look()
    before = cluster.writes

    async with running(replica, Replica(cluster, seed=1)):
        await asyncio.sleep(DAY.total_seconds())

    assert cluster.writes == before


@pytest.mark.parametrize("seed", range(10))
async def test_replicas_that_start_at_once_end_with_one_certificate(
    cluster: Cluster, seed: int
) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    slow = Rule(Fault.SLOW)
    replicas = [Replica(cluster, slow, seed=10 * seed + number) for number in range(3)]

    await asyncio.gather(*(replica.cert_rotator.look() for replica in replicas))

    assert cluster.ever_stored("tls.crt") == {replica.certificate for replica in replicas}
    assert len(cluster.ever_stored("tls.crt")) == 1
    assert cluster.ever_stored("ca.crt") == set(cluster.bundles())
    assert all(replica.is_trusted_through(cluster.bundles()[0]) for replica in replicas)


@pytest.mark.parametrize("seed", range(5))
async def test_lost_answers_do_not_make_a_second_authority(cluster: Cluster, seed: int) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    lossy = (
        Rule(Fault.LOST_AFTER, writes, chance=0.4),
        Rule(Fault.LOST_BEFORE, writes, chance=0.2),
        Rule(Fault.UNREACHABLE, always, chance=0.2),
    )
    replicas = [Replica(cluster, *lossy, seed=10 * seed + number) for number in range(2)]

    async with running(*replicas):
        await asyncio.sleep(2 * POLICY.settle.total_seconds())

    assert len(certificates.split(cluster.secret()["ca.crt"])) == 1
    assert all(replica.is_trusted_through(cluster.bundles()[0]) for replica in replicas)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_every_handshake_succeeds_through_two_rotations(cluster: Cluster, seed: int) -> None:
    """API servers are up to half the settling time behind, replicas race, and the wire is slow and lossy."""
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    bad_wire = (Rule(Fault.LOST_AFTER, writes, chance=0.2), Rule(Fault.SLOW))
    replicas = [Replica(cluster, *bad_wire, seed=10 * seed + number) for number in range(2)]
    seen_authorities: set[bytes] = set()

    async with running(*replicas):
        await settle()
        lagging = cluster.bundles()[0]
        for _ in range(int(9 * DAY / (POLICY.settle / 2))):
            current = cluster.bundles()[0]
            for replica in replicas:
                assert replica.is_trusted_through(current)
                assert replica.is_trusted_through(lagging)
            seen_authorities |= set(certificates.split(current))
            lagging = current
            await asyncio.sleep((POLICY.settle / 2).total_seconds())

    assert len(seen_authorities) == 3
    assert len(cluster.ever_stored("ca.key")) == 3


async def test_authorities_that_have_ended_leave_the_bundle(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replica = Replica(cluster)

    async with running(replica):
        await settle()
        (first,) = certificates.split(cluster.bundles()[0])
        await asyncio.sleep((5 * DAY).total_seconds())
        assert len(certificates.split(cluster.bundles()[0])) == 2
        await asyncio.sleep((DAY + 3 * HOUR).total_seconds())

    assert first not in certificates.split(cluster.bundles()[0])


async def test_an_overwritten_bundle_is_repaired_at_the_next_look(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev", "orders.korder.dev")
    replica = Replica(cluster, every=MINUTE)

    async with running(replica):
        await settle()
        right = cluster.bundles()
        cluster.overwrite(MUTATING, "korder", b"junk", "orders.korder.dev", "pods.korder.dev")
        await asyncio.sleep(61)

    assert cluster.bundles() == right


async def test_a_wake_brings_the_repair_at_once(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replica = Replica(cluster)

    async with running(replica):
        await settle()
        right = cluster.bundles()
        cluster.overwrite(MUTATING, "korder", b"", "pods.korder.dev")
        replica.cert_rotator.requeue("any change of any object")
        await asyncio.sleep(1)

    assert cluster.bundles() == right


async def test_a_configuration_that_comes_later_gets_its_bundle_then(cluster: Cluster) -> None:
    replica = Replica(cluster, every=MINUTE)

    async with running(replica):
        await settle()
        assert replica.cert_rotator.valid
        cluster.configure(VALIDATING, "korder", "orders.korder.dev")
        await asyncio.sleep(61)

    assert cluster.bundles() == [cluster.secret()["ca.crt"]]


async def test_what_changed_since_it_was_read_is_not_overwritten(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    bundles = CaInjector(cluster.client(), mutating=["korder"])
    found = await bundles.find()
    cluster.overwrite(MUTATING, "korder", b"newer", "other.korder.dev", "pods.korder.dev")

    assert not await bundles.publish(found, b"older")

    assert cluster.bundles() == [b"newer", b"newer"]


async def test_a_change_of_authority_waits_until_configurations_can_be_read(
    cluster: Cluster,
) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    await Replica(cluster).cert_rotator.look()
    blind = Rule(Fault.BROKEN, lambda request: "admissionregistration" in request.target)
    replica = Replica(cluster, blind)

    async with running(replica):
        await asyncio.sleep((4 * DAY + 12 * HOUR).total_seconds())
        material = rotation.read(cluster.secret())
        assert len(material.authorities) == 2
        assert certificates.issued_by(replica.certificate, material.authorities[1])
        assert replica.is_trusted_through(cluster.bundles()[0])


async def test_a_secret_of_somebody_else_is_left_alone(cluster: Cluster) -> None:
    cluster.put_secret({"tls.crt": b"theirs", "tls.key": b"theirs"})
    replica = Replica(cluster)

    async with running(replica):
        await settle()

    assert not replica.cert_rotator.valid
    assert cluster.secret() == {"tls.crt": b"theirs", "tls.key": b"theirs"}
    assert cluster.writes == 0


async def test_an_empty_secret_made_beforehand_is_filled(cluster: Cluster) -> None:
    cluster.put_secret({})
    replica = Replica(cluster)

    await replica.cert_rotator.look()

    assert replica.cert_rotator.valid
    assert all("POST" not in method for _, method, _ in cluster.server.writes)


async def test_a_deleted_secret_means_a_new_beginning(cluster: Cluster) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    replicas = [Replica(cluster, every=MINUTE), Replica(cluster, seed=1, every=MINUTE)]

    async with running(*replicas):
        await settle()
        old = cluster.secret()
        cluster.server.delete(f"/api/v1/namespaces/{SECRET.namespace}/secrets/{SECRET.name}", {})
        await asyncio.sleep(120)

    assert cluster.secret()["ca.crt"] != old["ca.crt"]
    assert all(replica.is_trusted_through(cluster.bundles()[0]) for replica in replicas)


async def test_an_outage_leaves_the_certificate_serving_until_its_end(cluster: Cluster) -> None:
    outage = Rule(Fault.UNREACHABLE, chance=0.0)
    replica = Replica(cluster, outage)

    async with running(replica):
        await settle()
        outage.chance = 1.0
        await asyncio.sleep((2 * DAY - HOUR).total_seconds())
        assert replica.cert_rotator.valid
        await asyncio.sleep((2 * HOUR).total_seconds())
        assert not replica.cert_rotator.valid
        outage.chance = 0.0
        await asyncio.sleep(HOUR.total_seconds())
        assert replica.cert_rotator.valid


def _publishes(request: Request) -> bool:
    return request.method == "PATCH" and "admissionregistration" in request.target


class Files:
    """A directory into which somebody else puts certificates."""

    def __init__(self, directory: Path) -> None:
        self.certificate = directory / "tls.crt"
        self.key = directory / "tls.key"
        self.authority = directory / "ca.crt"
        self.clock = VirtualClock()
        self.tls = ServerTls()

    def put(self) -> Pair:
        now = self.clock.now()
        life = Lifetime(now, now + 90 * DAY)
        authority = certificates.make_authority("theirs", life)
        pair = certificates.issue(authority, NAMES, life)
        self.authority.write_bytes(b"a comment\n" + authority.certificate)
        self.certificate.write_bytes(pair.certificate)
        self.key.write_bytes(pair.key)
        return pair

    def cert_rotator(self, cluster: Cluster, *, with_authority: bool = True) -> CertRotator:
        source = FileSource(
            self.certificate, self.key, self.authority if with_authority else None, self.clock
        )
        bundles = CaInjector(cluster.client(), mutating=["korder"])
        return CertRotator(source, bundles, self.tls, self.clock)


async def test_files_are_served_and_read_again_when_they_change(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    files = Files(tmp_path)
    first = files.put()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(files.cert_rotator(cluster).run())
        await asyncio.sleep(1)
        assert files.tls.pair == first
        second = files.put()
        await asyncio.sleep(11)
        task.cancel()

    assert files.tls.pair == second
    assert certificates.issued_by(second.certificate, cluster.bundles()[0])


async def test_files_caught_half_written_change_nothing(cluster: Cluster, tmp_path: Path) -> None:
    files = Files(tmp_path)
    pair = files.put()
    cert_rotator = files.cert_rotator(cluster)
    await cert_rotator.look()
    key = files.key.read_bytes()

    files.put()
    files.key.write_bytes(key)
    await cert_rotator.look()
    assert files.tls.pair == pair

    files.certificate.unlink()
    await cert_rotator.look()
    assert files.tls.pair == pair
    assert cert_rotator.valid


async def test_files_that_are_not_there_yet_are_waited_for(
    cluster: Cluster, tmp_path: Path
) -> None:
    files = Files(tmp_path)
    cert_rotator = files.cert_rotator(cluster)
    await cert_rotator.look()
    assert not cert_rotator.valid

    files.put()
    await cert_rotator.look()
    assert cert_rotator.valid


async def test_without_an_authority_file_configurations_are_left_to_others(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.configure(MUTATING, "korder", "pods.korder.dev")
    files = Files(tmp_path)
    files.put()

    await files.cert_rotator(cluster, with_authority=False).look()

    assert cluster.bundles() == [None]
    assert cluster.writes == 0
