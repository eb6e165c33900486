"""The verbs: what they send, what they return, and what becomes of lost answers."""

from collections.abc import Callable
import json
import random
from typing import Any, ClassVar

import pytest

from kubeloop.client import errors
from kubeloop.client.client import Client
from kubeloop.client.request import Deletion
from kubeloop.net.faults import Canned, Fault, FaultyTransport, Rule, refusal, writes
from kubeloop.net.http import AnswerLost, Request
from kubeloop.objects.core import CONFIG_MAPS, PODS
from kubeloop.objects.machinery import SUBJECT_ACCESS_REVIEWS
from kubeloop.objects.meta import Key
from kubeloop.objects.plan import PatchType

KEY = Key("shop", "web")
PATH = "/api/v1/namespaces/shop/pods/web"
OWNER = {"apiVersion": "v1", "kind": "Ticket", "name": "t", "uid": "owner-1"}
POD = {
    "metadata": {"name": "web", "namespace": "shop", "ownerReferences": [OWNER]},
    "spec": {"requests": {"cpu": "0.5"}},
    "status": {"phase": "Pending"},
}

Make = Callable[..., Any]


def page(names: str, following: str = "", version: str = "50") -> Canned:
    items = [{"metadata": {"name": name}} for name in names]
    metadata = {"resourceVersion": version, "continue": following}
    return Canned(200, json.dumps({"metadata": metadata, "items": items}).encode())


def losing(shelf: Any, fault: Fault, times: int = 1) -> FaultyTransport:
    return FaultyTransport(shelf, random.Random(1), [Rule(fault, writes, times=times)])


class TestList:
    async def test_pages_become_one_list(self, script: Make, client: Make) -> None:
        wire = script(page("ab", "t1"), page("cd", "t2"), page("e"))
        listing = await client(wire).list(PODS, "shop", labels="app=x", limit=2)
        assert [pod.metadata.name for pod in listing.items] == list("abcde")
        assert listing.resource_version == "50"
        where = "GET /api/v1/namespaces/shop/pods?labelSelector=app%3Dx&limit=2"
        assert wire.targets == [where, f"{where}&continue=t1", f"{where}&continue=t2"]

    async def test_an_expired_token_starts_the_list_again_in_one_piece(
        self, script: Make, client: Make
    ) -> None:
        wire = script(page("ab", "t1"), refusal(410, "Expired"), page("abc", version="60"))
        listing = await client(wire).list(PODS, limit=2)
        assert [pod.metadata.name for pod in listing.items] == list("abc")
        assert listing.resource_version == "60"
        assert wire.targets[-1] == "GET /api/v1/pods"

    async def test_a_list_that_stays_expired_says_so(self, script: Make, client: Make) -> None:
        with pytest.raises(errors.Expired):
            await client(script(refusal(410, "Expired"))).list(PODS)

    async def test_a_version_is_asked_for_on_the_first_page_only(
        self, script: Make, client: Make
    ) -> None:
        wire = script(page("a", "t1"), page("b"))
        await client(wire).list(PODS, resource_version="0", limit=1)
        assert "resourceVersion=0" in wire.targets[0]
        assert "resourceVersion" not in wire.targets[1]

    async def test_null_is_an_empty_list(self, script: Make, client: Make, answer: Make) -> None:
        wire = script(answer({"metadata": {"resourceVersion": "5"}, "items": None}))
        assert (await client(wire).list(PODS)).items == ()


class TestWrites:
    async def test_writes_name_their_field_manager(self, shelf: Any, client: Make) -> None:
        seen: list[Request] = []

        class Noting:
            async def send(self, request: Request, guard: Any) -> Any:
                seen.append(request)
                return await shelf.send(request, guard)

        api: Client = client(Noting(), field_manager="me")
        made = await api.create(PODS, POD)
        assert made.metadata.owner_references[0].uid == "owner-1"
        await api.patch(PODS, KEY, {"spec": {}}, dry_run=True)
        assert [request.target for request in seen] == [
            "/api/v1/namespaces/shop/pods?fieldManager=me",
            f"{PATH}?dryRun=All&fieldManager=me",
        ]

    async def test_a_subresource_answers_with_what_it_has(
        self, script: Make, client: Make, answer: Make
    ) -> None:
        wire = script(answer({"status": {"token": "abc"}}))
        answered = await client(wire).post(PODS, KEY, "token", {})
        assert answered["status"] == {"token": "abc"}

    async def test_many_are_deleted_at_once(self, script: Make, client: Make, answer: Make) -> None:
        wire = script(answer({"kind": "Status"}))
        await client(wire).delete_collection(
            PODS, "shop", labels="a=b", deletion=Deletion(grace_seconds=0)
        )
        assert wire.targets == ["DELETE /api/v1/namespaces/shop/pods?labelSelector=a%3Db"]
        assert json.loads(wire.requests[0].body)["gracePeriodSeconds"] == 0

    async def test_any_path_can_be_asked(self, script: Make, client: Make) -> None:
        wire = script(refusal(500, ""), Canned(200, b"ok"))
        assert await client(wire).raw(Request("GET", "/readyz")) == b"ok"

    async def test_a_raw_write_is_not_repeated(
        self, script: Make, client: Make, lost: AnswerLost
    ) -> None:
        with pytest.raises(errors.UnknownOutcome):
            await client(script(lost)).raw(Request("POST", "/apis"))


@pytest.mark.parametrize(
    ("answered", "gone"),
    [
        pytest.param({"kind": "Status", "status": "Success"}, True, id="the server says so"),
        pytest.param({"kind": "Pod", "metadata": {"name": "web"}}, True, id="its last state"),
        pytest.param(
            {
                "kind": "Pod",
                "metadata": {
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "deletionGracePeriodSeconds": 0,
                },
            },
            True,
            id="its last state, without grace",
        ),
        pytest.param(
            {
                "kind": "Pod",
                "metadata": {
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "deletionGracePeriodSeconds": 30,
                },
            },
            False,
            id="it has time to end",
        ),
        pytest.param(
            {
                "kind": "Pod",
                "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]},
            },
            False,
            id="somebody has to let it go",
        ),
        pytest.param(
            {
                "kind": "Namespace",
                "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"finalizers": ["kubernetes"]},
            },
            False,
            id="a namespace empties first",
        ),
    ],
)
async def test_a_delete_tells_gone_from_going(
    answered: Any, gone: bool, script: Make, client: Make, answer: Make
) -> None:
    left = await client(script(answer(answered))).delete(PODS, KEY, uid="u1")
    assert (left is None) is gone
    if left is not None:
        assert left.metadata.deletion_timestamp


class TestLostCreate:
    @pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
    async def test_it_happens_exactly_once(self, fault: Fault, shelf: Any, client: Make) -> None:
        made = await client(losing(shelf, fault)).create(PODS, POD)
        assert shelf.commits == ["create web"]
        assert made.metadata.uid == shelf.objects[PATH]["metadata"]["uid"]

    async def test_it_may_be_lost_many_times(self, shelf: Any, client: Make) -> None:
        await client(losing(shelf, Fault.LOST_BEFORE, times=4)).create(PODS, POD)
        assert shelf.commits == ["create web"]

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param({**POD, "spec": {"requests": {"cpu": "2"}}}, id="wants something else"),
            pytest.param(
                {
                    **POD,
                    "metadata": {**POD["metadata"], "ownerReferences": [{**OWNER, "uid": "o2"}]},
                },
                id="belongs to somebody else",
            ),
        ],
    )
    async def test_an_object_of_somebody_else_is_not_ours(
        self, other: Any, shelf: Any, client: Make
    ) -> None:
        await client(shelf).create(PODS, other)
        with pytest.raises(errors.AlreadyExists):
            await client(losing(shelf, Fault.LOST_AFTER)).create(PODS, POD)

    async def test_a_late_commit_meets_its_own_repetition(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost, refusal(404, "NotFound"), refusal(409, "AlreadyExists"), answer(POD))
        assert (await client(wire).create(PODS, POD)).metadata.name == "web"
        assert [request.method for request in wire.requests] == ["POST", "GET", "POST", "GET"]

    async def test_without_a_lost_answer_a_taken_name_is_taken(
        self, shelf: Any, client: Make
    ) -> None:
        await client(shelf).create(PODS, POD)
        with pytest.raises(errors.AlreadyExists):
            await client(shelf).create(PODS, POD)

    async def test_a_name_the_server_invents_cannot_be_looked_up(
        self, script: Make, client: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost)
        nameless = {"metadata": {"generateName": "web-", "namespace": "shop"}}
        with pytest.raises(errors.UnknownOutcome):
            await client(wire).create(PODS, nameless)
        assert len(wire.requests) == 1

    async def test_a_dry_run_leaves_nothing_and_is_repeated(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost, answer(POD))
        await client(wire).create(PODS, POD, dry_run=True)
        assert [request.method for request in wire.requests] == ["POST", "POST"]

    async def test_a_review_leaves_nothing_and_is_repeated(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost, answer({"status": {"allowed": True}}))
        review = await client(wire).create(SUBJECT_ACCESS_REVIEWS, {"spec": {}})
        assert review.status.allowed

    async def test_if_reading_fails_too_nobody_knows(
        self, script: Make, client: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost, refusal(403, "Forbidden"))
        with pytest.raises(errors.UnknownOutcome, match="reading failed"):
            await client(wire).create(PODS, POD)


class TestLostPatch:
    async def made(self, shelf: Any, client: Make) -> Any:
        return (await client(shelf).create(PODS, POD)).metadata

    @pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
    async def test_an_unconditional_one_is_repeated(
        self, fault: Fault, shelf: Any, client: Make
    ) -> None:
        await self.made(shelf, client)
        await client(losing(shelf, fault)).patch(PODS, KEY, {"data": {"x": 1}})
        assert shelf.objects[PATH]["data"] == {"x": 1}

    @pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
    async def test_a_conditional_one_happens_exactly_once(
        self, fault: Fault, shelf: Any, client: Make
    ) -> None:
        read = await self.made(shelf, client)
        patched = await client(losing(shelf, fault)).patch(
            PODS,
            KEY,
            {"data": {"x": 1}},
            uid=read.uid,
            resource_version=read.resource_version,
        )
        assert shelf.commits == ["create web", "patch web"]
        assert (
            patched.metadata.resource_version == shelf.objects[PATH]["metadata"]["resourceVersion"]
        )

    async def test_a_conflict_that_reading_does_not_explain_is_an_unknown_outcome(
        self, shelf: Any, client: Make
    ) -> None:
        read = await self.made(shelf, client)

        class Overtaken:
            async def send(self, request: Request, guard: Any) -> Any:
                response = await shelf.send(request, guard)
                if request.method == "PATCH" and response.status == 200:
                    shelf.objects[PATH]["data"] = {"x": 2}
                    raise AnswerLost("gone")
                return response

        with pytest.raises(errors.UnknownOutcome):
            await client(Overtaken()).patch(
                PODS, KEY, {"data": {"x": 1}}, resource_version=read.resource_version
            )

    async def test_a_conflict_at_the_first_try_is_a_conflict(
        self, shelf: Any, client: Make
    ) -> None:
        await self.made(shelf, client)
        with pytest.raises(errors.Conflict):
            await client(shelf).patch(PODS, KEY, {"data": {"x": 1}}, resource_version="1")

    @pytest.mark.parametrize(
        ("subresource", "read"), [("status", PATH), ("scale", f"{PATH}/scale")]
    )
    async def test_a_status_is_read_with_its_object(
        self,
        subresource: str,
        read: str,
        script: Make,
        client: Make,
        answer: Make,
        lost: AnswerLost,
    ) -> None:
        wire = script(lost, refusal(409, "Conflict"), answer({"status": {"x": 1}}))
        await client(wire).patch(
            PODS, KEY, {"status": {"x": 1}}, subresource=subresource, resource_version="7"
        )
        assert wire.targets[-1] == f"GET {read}"

    async def test_another_uid_is_a_conflict_even_if_the_server_calls_it_invalid(
        self, script: Make, client: Make, answer: Make
    ) -> None:
        causes = [{"field": "metadata.uid", "message": "field is immutable"}]
        stated = {"kind": "Status", "reason": "Invalid", "details": {"causes": causes}}
        with pytest.raises(errors.Conflict):
            await client(script(answer(stated, 422))).patch(PODS, KEY, {}, uid="u9")

    async def test_an_invalid_field_stays_invalid(
        self, script: Make, client: Make, answer: Make
    ) -> None:
        stated = {"kind": "Status", "reason": "Invalid", "details": {"causes": [{"field": "spec"}]}}
        with pytest.raises(errors.Invalid):
            await client(script(answer(stated, 422))).patch(PODS, KEY, {}, uid="u9")


class TestJsonPatch:
    OPERATIONS = ({"op": "add", "path": "/spec/list/-", "value": 1},)

    async def patch(self, client: Client, **preconditions: str) -> Any:
        return await client.patch(PODS, KEY, list(self.OPERATIONS), PatchType.JSON, **preconditions)

    @pytest.mark.parametrize("preconditions", [{}, {"uid": "u1"}], ids=["none", "only the uid"])
    async def test_nothing_keeps_it_from_happening_twice_so_it_is_not_repeated(
        self, preconditions: dict[str, str], script: Make, client: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost)
        with pytest.raises(errors.UnknownOutcome):
            await self.patch(client(wire), **preconditions)
        assert len(wire.requests) == 1

    async def test_a_tested_version_makes_it_repeatable(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        wire = script(lost, answer(POD))
        await self.patch(client(wire), resource_version="7")
        assert len(wire.requests) == 2

    async def test_a_failed_test_is_a_conflict(
        self, script: Make, client: Make, answer: Make
    ) -> None:
        now = {"metadata": {"uid": "u1", "resourceVersion": "8"}}
        wire = script(refusal(422, "Invalid"), answer(now))
        with pytest.raises(errors.Conflict):
            await self.patch(client(wire), uid="u1", resource_version="7")

    async def test_a_failed_test_after_a_lost_answer_is_an_unknown_outcome(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        now = {"metadata": {"uid": "u1", "resourceVersion": "8"}}
        wire = script(lost, refusal(422, "Invalid"), answer(now))
        with pytest.raises(errors.UnknownOutcome):
            await self.patch(client(wire), resource_version="7")

    async def test_a_bad_operation_on_the_right_object_is_invalid(
        self, script: Make, client: Make, answer: Make
    ) -> None:
        wire = script(
            refusal(422, "Invalid"), answer({"metadata": {"uid": "u1", "resourceVersion": "7"}})
        )
        with pytest.raises(errors.Invalid):
            await self.patch(client(wire), uid="u1", resource_version="7")


class TestLostReplace:
    BODY: ClassVar[dict[str, Any]] = {
        "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
        "data": {"a": "1"},
    }

    async def test_our_own_success_explains_a_conflict(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        now = {**self.BODY, "metadata": {**self.BODY["metadata"], "resourceVersion": "8"}}
        wire = script(lost, refusal(409, "Conflict"), answer(now))
        replaced = await client(wire).replace(CONFIG_MAPS, self.BODY)
        assert replaced.metadata.resource_version == "8"

    async def test_without_a_version_it_is_repeated(
        self, script: Make, client: Make, answer: Make, lost: AnswerLost
    ) -> None:
        body = {"metadata": {"name": "web", "namespace": "shop"}}
        wire = script(lost, answer(body))
        await client(wire).replace(CONFIG_MAPS, body)
        assert [request.method for request in wire.requests] == ["PUT", "PUT"]


class TestLostDelete:
    async def made(self, shelf: Any, client: Make, **metadata: Any) -> str:
        body = {**POD, "metadata": {**POD["metadata"], **metadata}}
        return (await client(shelf).create(PODS, body)).metadata.uid

    @pytest.mark.parametrize("fault", [Fault.LOST_BEFORE, Fault.LOST_AFTER])
    @pytest.mark.parametrize("with_uid", [True, False], ids=["this one", "whoever has the name"])
    async def test_what_can_be_known_is_known(
        self, fault: Fault, with_uid: bool, shelf: Any, client: Make
    ) -> None:
        uid = await self.made(shelf, client)
        delete = client(losing(shelf, fault)).delete(PODS, KEY, uid=uid if with_uid else "")
        if fault is Fault.LOST_BEFORE and not with_uid:
            with pytest.raises(errors.UnknownOutcome):
                await delete
            assert shelf.commits == ["create web"]
        else:
            assert await delete is None
            assert shelf.commits == ["create web", "delete web"]

    @pytest.mark.parametrize("with_uid", [True, False], ids=["this one", "whoever has the name"])
    async def test_one_that_waits_for_a_finalizer_is_returned(
        self, with_uid: bool, shelf: Any, client: Make
    ) -> None:
        uid = await self.made(shelf, client, finalizers=["a/b"])
        left = await client(losing(shelf, Fault.LOST_AFTER)).delete(
            PODS, KEY, uid=uid if with_uid else ""
        )
        assert left is not None
        assert left.metadata.deletion_timestamp

    async def test_a_successor_is_left_alone(self, shelf: Any, client: Make) -> None:
        uid = await self.made(shelf, client)

        class Succeeded:
            async def send(self, request: Request, guard: Any) -> Any:
                response = await shelf.send(request, guard)
                if request.method == "DELETE" and response.status == 200:
                    await client(shelf).create(PODS, POD)
                    raise AnswerLost("gone")
                return response

        assert await client(Succeeded()).delete(PODS, KEY, uid=uid) is None
        assert shelf.commits == ["create web", "delete web", "create web"]

    async def test_an_old_version_is_a_conflict(self, shelf: Any, client: Make) -> None:
        uid = await self.made(shelf, client)
        with pytest.raises(errors.Conflict):
            await client(losing(shelf, Fault.LOST_BEFORE)).delete(
                PODS, KEY, uid=uid, resource_version="1"
            )

    @pytest.mark.parametrize("uid", ["u1", ""], ids=["this one", "whoever has the name"])
    @pytest.mark.parametrize(
        ("left", "asked", "known"), [(30, 0, False), (0, 0, True), (30, None, True)]
    )
    async def test_a_mark_with_more_grace_is_somebody_elses(
        self,
        left: int,
        asked: int | None,
        known: bool,
        uid: str,
        script: Make,
        client: Make,
        answer: Make,
    ) -> None:
        going = {
            "kind": "Pod",
            "metadata": {
                "uid": "u1",
                "finalizers": ["a/b"],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": left,
            },
        }
        refused = [refusal(409, "Conflict")] if uid else []
        delete = client(script(AnswerLost("gone"), *refused, answer(going))).delete(
            PODS, KEY, uid=uid, grace_seconds=asked
        )
        if known:
            assert await delete is not None
        else:
            with pytest.raises(errors.Conflict if uid else errors.UnknownOutcome):
                await delete

    async def test_what_was_never_there_is_not_found(self, shelf: Any, client: Make) -> None:
        with pytest.raises(errors.NotFound):
            await client(shelf).delete(PODS, KEY)
