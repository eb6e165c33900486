"""Webhooks as plugins: whom they are asked about, in which order, where they are, and what a strange answer does."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import json
from typing import Any, Self

import pytest

from kubeloop.net import certificates
from kubeloop.net.http import Request, Transport
from kubeloop.net.server import Reply, Server
from kubeloop.net.server_tls import ServerTls
from pocketkube.apiserver.access.user import User
from pocketkube.apiserver.admission.attributes import Attributes, Chain, Operation, Plugin
from pocketkube.apiserver.admission.webhooks import (
    Caller,
    Endpoint,
    MutatingWebhooks,
    ValidatingWebhooks,
    by_endpoints,
    over_network,
)
from pocketkube.apiserver.admission.webhooks.calls import Place
from pocketkube.apiserver.kinds.resource import Resource, Subresource
from pocketkube.apiserver.kinds.strategy import Strategy
from pocketkube.apiserver.refusal import Refused
from pocketkube.apiserver.storage import Create, Delete, Draft, Key, Storage, open_storage
from pocketkube.apiserver.view import View

Object = dict[str, Any]
Answer = Callable[[Object], Awaitable[Any]]
GROUP = "admissionregistration.k8s.io"
PARTS = (
    Subresource("status", "Pod", ("get", "update")),
    Subresource("binding", "Binding", ("create",)),
    Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
)
PODS = Resource("", "v1", "Pod", "pods", Strategy(), subresources=PARTS)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", Strategy(), namespaced=False)
NODES = Resource("", "v1", "Node", "nodes", Strategy(), namespaced=False)
OLD = Resource("korder.dev", "v1", "Order", "orders", Strategy())
NEW = Resource("korder.dev", "v2", "Order", "orders", Strategy())
CONFIGURATIONS = Resource(
    GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", Strategy()
)


class World:
    """A storage with webhooks in it, and those who answer for them."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.view = View(storage)
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.reviews: list[Object] = []
        self.endpoints: list[Endpoint] = []
        self.others: tuple[Plugin, ...] = ()
        self.same: tuple[Resource, ...] = (OLD, NEW)

    async def store(self, resource: str, name: str, obj: Object, namespace: str = "") -> None:
        meta = {"name": name, "namespace": namespace, **obj.get("metadata", {})}
        text = json.dumps({**obj, "metadata": {**meta, "resourceVersion": "VERSION"}})
        head, tail = text.encode().split(b"VERSION")
        await self.storage.write(Create(Key(resource, namespace, name), Draft(head, tail)))

    async def register(
        self, name: str, *rules: Object, mutating: bool = False, answer: Any = None, **more: Any
    ) -> None:
        """Registers a configuration with one webhook of the same name that allows everything, unless told otherwise."""
        webhook = {
            "name": name,
            "clientConfig": {"url": f"https://hooks.test/{name}"},
            "rules": [*(rules or (rule(),))],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "matchPolicy": "Exact",
            "admissionReviewVersions": ["v1"],
            **more,
        }
        kind = "mutating" if mutating else "validating"
        plural = f"{kind}webhookconfigurations.{GROUP}"
        await self.store(plural, name, {"webhooks": [webhook]})
        if answer is not None:
            self.answers[name] = answer

    def chain(self) -> Chain:
        caller = Caller(by_endpoints(self.view), self.connect)
        settings: Object = {"equivalents": lambda one: self.same if one.kind == "Order" else ()}
        return Chain(
            [
                *self.others,
                MutatingWebhooks(self.view, caller, lambda: "uid", **settings),
                ValidatingWebhooks(self.view, caller, lambda: "uid", **settings),
            ]
        )

    def connect(self, endpoint: Endpoint) -> Transport:
        self.endpoints.append(endpoint)
        return InProcess(self.handle)

    async def handle(self, request: Request) -> Reply:
        name = request.target.partition("?")[0].removeprefix("/")
        review = json.loads(request.body)
        self.asked.append(name)
        self.reviews.append(review["request"])
        answer = await self.answers[name](review["request"]) if name in self.answers else {}
        if isinstance(answer, bytes):
            return Reply(200, answer)
        response = {"uid": "uid", "allowed": True, **answer}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return Reply(200, json.dumps({**body, "response": response}).encode())


class InProcess:
    """A transport into a function."""

    def __init__(self, handle: Callable[[Request], Awaitable[Reply]]) -> None:
        self._handle = handle

    async def send(self, request: Request, guard: Any = None) -> Any:
        del guard
        return Response(await self._handle(request))

    async def close(self) -> None:
        pass


class Response:
    """A reply that is read."""

    def __init__(self, reply: Reply) -> None:
        self.status = reply.status
        self._body = reply.body

    async def read(self) -> bytes:
        return self._body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_storage(None) as storage:
        yield World(storage)


def rule(resources: str = "pods", operations: str = "*", **more: Any) -> Object:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": [operations],
        "resources": [resources],
        **more,
    }


def patched(*operations: Object) -> Object:
    return {
        "patch": b64encode(json.dumps(operations).encode()).decode(),
        "patchType": "JSONPatch",
    }


def saying(answer: Any) -> Answer:
    async def say(_: Object) -> Any:
        return answer

    return say


def write(
    resource: Resource = PODS, operation: Operation = Operation.CREATE, part: str = "", **more: Any
) -> Attributes:
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "a"}}
    home = "default" if resource.namespaced else ""
    return Attributes(operation, resource, home, "a", User("me"), obj, subresource=part, **more)


async def judge(chain: Chain, attributes: Attributes) -> None:
    with chain.admission(attributes) as admission:
        await admission.validate()


async def admit(world: World, attributes: Attributes) -> Attributes:
    with world.chain().admission(attributes) as admission:
        await admission.mutate()
        await admission.validate()
    return attributes


@pytest.mark.parametrize(
    ("wanted", "attributes", "asked"),
    [
        pytest.param(rule("pods"), write(), True, id="the resource itself"),
        pytest.param(rule("pods"), write(part="status"), False, id="a part nobody named"),
        pytest.param(rule("pods/status"), write(part="status"), True, id="a part by its name"),
        pytest.param(rule("pods/status"), write(), False, id="only the part"),
        pytest.param(rule("pods/*"), write(part="binding"), True, id="any part"),
        pytest.param(rule("*/status"), write(part="status"), True, id="a part of anything"),
        pytest.param(rule("*"), write(), True, id="everything without parts"),
        pytest.param(rule("*"), write(part="status"), False, id="parts are not everything"),
        pytest.param(rule("*/*"), write(part="status"), True, id="everything and its parts"),
        pytest.param(rule("pods", "UPDATE"), write(), False, id="another operation"),
        pytest.param(rule("pods", "CREATE"), write(), True, id="this operation"),
        pytest.param(rule(apiGroups=["apps"]), write(), False, id="another group"),
        pytest.param(rule(apiVersions=["v2"]), write(), False, id="another version"),
        pytest.param(rule("*", scope="Cluster"), write(), False, id="cluster, not namespaced"),
        pytest.param(rule("*", scope="Cluster"), write(NODES), True, id="cluster"),
        pytest.param(rule("*", scope="Namespaced"), write(), True, id="namespaced"),
        pytest.param(
            rule("*", scope="Namespaced"), write(NAMESPACES), False, id="a namespace is not in one"
        ),
    ],
)
async def test_rules_say_which_writes_a_webhook_sees(
    world: World, wanted: Object, attributes: Attributes, asked: bool
) -> None:
    await world.register("hook", wanted)
    await admit(world, attributes)
    assert world.asked == (["hook"] if asked else [])


@pytest.mark.parametrize(("policy", "asked"), [("Equivalent", ["hook"]), ("Exact", [])])
async def test_another_version_of_the_same_objects_counts_if_it_is_wanted(
    world: World, policy: str, asked: list[str]
) -> None:
    await world.register("hook", rule("orders", apiVersions=["v2"]), matchPolicy=policy)
    await admit(world, write(OLD))
    assert world.asked == asked
    for review in world.reviews:
        assert review["resource"]["version"] == "v2"
        assert review["requestResource"]["version"] == "v1"
        assert review["object"]["apiVersion"] == "korder.dev/v2"


async def test_a_version_that_came_later_counts_as_well(world: World) -> None:
    world.same = ()
    await world.register("hook", rule("orders", apiVersions=["v2"]), matchPolicy="Equivalent")
    chain = world.chain()
    await judge(chain, write(OLD))
    world.same = (OLD, NEW)
    await judge(chain, write(replace(OLD)))
    assert world.asked == ["hook"]


async def test_what_a_patch_copied_lives_on_its_own(world: World) -> None:
    class Filling(Strategy):
        """Completes one of two members."""

        def default(self, obj: Object) -> None:
            obj["first"]["filled"] = True

    copy = patched({"op": "copy", "from": "/first", "path": "/second"})
    await world.register("hook", rule("things"), mutating=True, answer=saying(copy))
    attributes = write(Resource("", "v1", "Thing", "things", Filling()))
    assert attributes.object is not None
    attributes.object["first"] = {"a": "b"}
    after = (await admit(world, attributes)).object
    assert after is not None
    assert after["first"] == {"a": "b", "filled": True}
    assert after["second"] == {"a": "b"}


async def test_a_part_of_another_kind_is_sent_as_that_kind(world: World) -> None:
    await world.register("hook", rule("pods/*"))
    await admit(world, write(part="eviction"))
    (review,) = world.reviews
    assert review["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert review["resource"] == {"group": "", "version": "v1", "resource": "pods"}
    assert review["subResource"] == review["requestSubResource"] == "eviction"


async def test_configurations_of_webhooks_are_not_sent_to_webhooks(world: World) -> None:
    await world.register("hook", rule("*/*"), rule("*"))
    await admit(world, write(CONFIGURATIONS))
    assert world.asked == []


async def test_mutating_webhooks_follow_each_other_in_the_order_of_names(world: World) -> None:
    for name in ("b", "c", "a"):
        await world.register(name, mutating=True)
    await admit(world, write())
    assert world.asked == ["a", "b", "c"]


async def test_validating_webhooks_are_asked_at_once(world: World) -> None:
    async def slowly(_: Object) -> Object:
        await asyncio.sleep(5)
        return {}

    for name in ("a", "b", "c"):
        await world.register(name, answer=slowly)
    loop = asyncio.get_running_loop()
    before = loop.time()
    await admit(world, write())
    assert loop.time() - before == pytest.approx(5)
    assert world.asked == ["a", "b", "c"]


async def test_the_first_refusal_by_name_is_reported(world: World) -> None:
    async def later(_: Object) -> Object:
        await asyncio.sleep(5)
        return {"allowed": False, "status": {"message": "a"}}

    await world.register("a", answer=later)
    await world.register("b", answer=saying({"allowed": False, "status": {"message": "b"}}))
    with pytest.raises(Refused, match='"a" denied the request: a'):
        await admit(world, write())


async def test_a_webhook_counts_from_the_moment_it_is_stored_to_the_moment_it_is_gone(
    world: World,
) -> None:
    chain = world.chain()
    await judge(chain, write())
    await world.register("hook")
    await judge(chain, write())
    key = Key(f"validatingwebhookconfigurations.{GROUP}", "", "hook")
    record = world.storage.get(key)
    assert record is not None
    await world.storage.write(Delete(key, Draft(record.value, b""), record.version))
    await judge(chain, write())
    assert world.asked == ["hook"]


async def test_a_namespace_is_selected_by_the_labels_it_is_to_have(world: World) -> None:
    labels = {"matchLabels": {"judged": "yes"}}
    await world.register("hook", rule("namespaces"), namespaceSelector=labels)
    attributes = write(NAMESPACES)
    assert attributes.object is not None
    attributes.object["metadata"]["labels"] = {"judged": "yes"}
    await admit(world, attributes)
    assert world.reviews[0]["namespace"] == "a"


async def test_a_namespace_that_does_not_exist_is_not_found(world: World) -> None:
    await world.register("hook", namespaceSelector={"matchLabels": {"a": "b"}})
    with pytest.raises(Refused) as refused:
        await admit(world, write())
    assert (refused.value.status.code, str(refused.value)) == (
        404,
        'namespaces "default" not found',
    )


async def test_the_labels_of_the_old_object_select_as_well(world: World) -> None:
    await world.register("hook", objectSelector={"matchLabels": {"a": "b"}})
    old = {"metadata": {"labels": {"a": "b"}}}
    await admit(world, write(operation=Operation.UPDATE, old=old))
    assert world.asked == ["hook"]


async def test_side_effects_forbid_a_dry_run(world: World) -> None:
    await world.register("hook", sideEffects="Some")
    with pytest.raises(Refused, match='admission webhook "hook" does not support dry run') as no:
        await admit(world, write(dry_run=True))
    assert no.value.status.code == 400
    assert world.asked == []


async def test_a_webhook_is_heard_again_after_a_plugin_of_the_server_changed_the_object(
    world: World,
) -> None:
    class Finisher(Plugin):
        """Writes into the object in place, but only after others did."""

        async def mutate(self, attributes: Attributes) -> None:
            assert attributes.object is not None
            if attributes.rounds.second:
                attributes.object["metadata"]["labels"]["late"] = "yes"

    patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscyIsInZhbHVlIjp7ImEiOiJiIn19XQ=="

    async def once(request: Object) -> Object:
        done = "labels" in request["object"]["metadata"]
        return {} if done else {"patch": patch, "patchType": "JSONPatch"}

    world.others = (Finisher(),)
    await world.register("hook", mutating=True, reinvocationPolicy="IfNeeded", answer=once)
    attributes = await admit(world, write())
    assert world.asked == ["hook", "hook"]
    assert world.reviews[1]["object"]["metadata"]["labels"] == {"a": "b", "late": "yes"}
    assert attributes.object == {**world.reviews[1]["object"]}


SERVICE = {"service": {"namespace": "hooks", "name": "svc", "path": "hook", "port": 8443}}


async def test_an_external_name_is_taken_by_its_word(world: World) -> None:
    spec = {"type": "ExternalName", "externalName": "localhost"}
    await world.store("services", "svc", {"spec": spec}, "hooks")
    await world.register("hook", clientConfig=SERVICE)
    await admit(world, write())
    assert world.endpoints == [Endpoint("https://localhost:8443", b"", "svc.hooks.svc")]


async def test_a_service_is_its_first_ready_endpoint(world: World) -> None:
    ports = [{"name": "other", "port": 80}, {"name": "https", "port": 8443}]
    await world.store("services", "svc", {"spec": {"ports": ports}}, "hooks")
    slices = {
        "metadata": {"labels": {"kubernetes.io/service-name": "svc"}},
        "ports": [{"name": "metrics", "port": 9000}, {"name": "https", "port": 9443}],
        "endpoints": [
            {"addresses": ["127.0.0.1"], "conditions": {"ready": False}},
            {"addresses": ["::1"]},
        ],
    }
    await world.store("endpointslices.discovery.k8s.io", "svc-1", slices, "hooks")
    await world.register("hook", clientConfig=SERVICE)
    await admit(world, write())
    assert world.endpoints == [Endpoint("https://[::1]:9443", b"", "svc.hooks.svc")]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"ports": [{"port": 1}]}, "no service port 8443 found", id="another port"),
        pytest.param({"ports": [{"port": 8443}]}, "no endpoints available", id="no endpoints"),
    ],
)
async def test_a_service_that_leads_nowhere_is_a_failed_call(
    world: World, spec: Object, why: str
) -> None:
    await world.store("services", "svc", {"spec": spec}, "hooks")
    await world.register("hook", clientConfig=SERVICE)
    with pytest.raises(Refused, match=f'Post "https://svc.hooks.svc:8443/hook.*: {why}'):
        await admit(world, write())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"no json",
        b"\xff",
        b"null",
        b"[]",
        b"{}",
        b"[" * 50_000,
        b'{"response":null}',
        b'{"response":7}',
        b'{"response":{"uid":7}}',
        b'{"response":{"uid":"uid","allowed":"yes"}}',
        b'{"response":{"uid":"uid","allowed":true,"warnings":"all"}}',
        b'{"response":{"uid":"uid","allowed":true,"status":[]}}',
        b'{"response":{"uid":"uid","allowed":true}}',
        b'{"apiVersion":{},"kind":[],"response":{"uid":"uid","allowed":true}}',
        {"patch": "!!", "patchType": "JSONPatch"},
        {"patch": "e30=", "patchType": "JSONPatch"},
        {"patch": "e30", "patchType": "JSONPatch"},
        {"patch": "WzFd", "patchType": "JSONPatch"},
        {"patch": "W3sib3AiOjF9XQ==", "patchType": "JSONPatch"},
        patched({"op": [], "path": "/a"}),
        patched({"op": "replace", "path": "/metadata/~2", "value": 1}),
        patched({"op": "replace", "path": {}, "value": 1}),
        patched({"op": "move", "path": "/a", "from": []}),
        patched({"op": "add", "path": "x", "value": 1}),
        patched({"op": "test", "path": "/metadata/name/x"}),
        {"patch": "W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6IiIsInZhbHVlIjo3fV0=", "patchType": "JSONPatch"},
    ],
    ids=lambda answer: str(answer)[:60],
)
async def test_a_strange_answer_is_an_internal_error_and_nothing_worse(
    world: World, answer: Any
) -> None:
    await world.register("hook", mutating=True, answer=saying(answer))
    with pytest.raises(Refused) as refused:
        await admit(world, write())
    assert refused.value.status.reason == "InternalError"


async def test_a_webhook_that_keeps_silent_is_left_after_its_time(world: World) -> None:
    async def never(_: Object) -> Object:
        await asyncio.Event().wait()
        return {}

    await world.register("hook", timeoutSeconds=3, answer=never)
    with pytest.raises(Refused, match=r"hook\?timeout=3s\": context deadline exceeded"):
        await admit(world, write())


@pytest.mark.enable_socket
@pytest.mark.parametrize("trusted", [True, False], ids=["known", "unknown"])
async def test_over_the_network_only_a_known_authority_is_trusted(
    world: World, trusted: bool
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    life = certificates.Lifetime(now, now + timedelta(days=36500))
    authority, other = (certificates.make_authority("hooks", life) for _ in range(2))
    tls = ServerTls()
    tls.load(certificates.issue(authority, ["svc.hooks.svc"], life))
    server = Server(world.handle, "127.0.0.1", 0, tls)
    place = f"https://127.0.0.1:{await server.start()}"
    known = authority if trusted else other
    transport = over_network(Endpoint(place, known.certificate, "svc.hooks.svc"))
    caller = Caller(by_endpoints(world.view), lambda _: transport)
    plugin = ValidatingWebhooks(world.view, caller, lambda: "uid")
    await world.register("hook", clientConfig={"url": f"{place}/hook"})
    try:
        if trusted:
            await plugin.validate(write())
        else:
            with pytest.raises(Refused, match="x509: certificate signed by unknown authority"):
                await plugin.validate(write())
    finally:
        await caller.close()
        await server.stop(0.1)
    assert world.asked == (["hook"] if trusted else [])


async def test_authorities_that_were_replaced_do_not_stay_connected(world: World) -> None:
    opened: list[Transport] = []
    closed: list[Transport] = []

    class Noting(InProcess):
        async def close(self) -> None:
            closed.append(self)
            await super().close()

    def connect(_: Endpoint) -> Transport:
        opened.append(Noting(world.handle))
        return opened[-1]

    caller = Caller(by_endpoints(world.view), connect)
    for number in range(100):
        where = Place("https://hooks.test/hook", None, str(number).encode())
        await caller.ask(where, {"request": {"uid": "u"}}, 1)
    assert len(opened) == 100
    assert closed == opened[: len(closed)]
    assert len(opened) - len(closed) <= 32
    await caller.close()
    assert closed == opened


async def test_a_connection_in_use_is_not_closed_for_others(world: World) -> None:
    closed: list[bytes] = []

    class Noting(InProcess):
        def __init__(self, endpoint: Endpoint) -> None:
            super().__init__(world.handle)
            self.authority = endpoint.authority

        async def close(self) -> None:
            closed.append(self.authority)

    async def slow(_: Object) -> Object:
        await asyncio.sleep(5)
        return {}

    world.answers["slow"] = slow
    caller = Caller(by_endpoints(world.view), Noting)

    async def ask(name: str, authority: str) -> None:
        where = Place(f"https://hooks.test/{name}", None, authority.encode())
        await caller.ask(where, {"request": {"uid": "u"}}, 10)

    async with asyncio.TaskGroup() as group:
        group.create_task(ask("slow", "slow"))
        await asyncio.sleep(1)
        for number in range(50):
            await ask("hook", "often")
            await ask("hook", str(number))
    assert closed
    assert not {b"slow", b"often"} & set(closed)


async def test_a_refusal_tells_what_webhooks_warned_of(world: World) -> None:
    async def warn(_: Object) -> Object:
        return {"warnings": ["careful"]}

    async def deny(_: Object) -> Object:
        return {"allowed": False}

    await world.register("a", mutating=True, answer=warn)
    await world.register("b", answer=deny)
    with pytest.raises(Refused) as caught:
        await admit(world, write())
    assert caught.value.warnings == ["careful"]
