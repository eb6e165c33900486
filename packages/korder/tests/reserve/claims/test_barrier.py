"""The barrier of a hand-over holds whatever others do and wherever the power fails."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import given, settings, strategies as st
from tests.reserve.claims.batches import NODE, NOW, claiming, gated, going, guardian

from korder.api.reserve import TICKETS
from korder.reserve.claims.requirements import Site
from korder.reserve.handovers import handover_state as membership, plan as handover_plan
from korder.reserve.handovers.handover_state import Handover, Member, Scene, Settings, Stage
from kubeloop.objects import patch
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import JSON
from kubeloop.objects.plan import Delete, Patch, PatchType, Step
from kubeloop.testing.builders import Builder, a_node


@dataclass
class World:
    """Objects on which plans are carried out, as far as the power does not fail, and who else acts on them."""

    pods: dict[str, dict[str, JSON]] = field(default_factory=dict)
    guardians: dict[str, dict[str, JSON]] = field(default_factory=dict)
    tickets: dict[str, dict[str, JSON]] = field(default_factory=dict)
    version: int = 10

    def reconcile(self, power: int) -> None:
        """Takes a turn of which only the first so many steps are carried out."""
        members = [self._member(name) for name in self.tickets if self._phase(name) == "Claiming"]
        there = [
            Builder(PODS, pod).build() for pod in (*self.pods.values(), *self.guardians.values())
        ]
        site = Site(a_node(NODE).build(), [pod for pod in there if pod.spec.node_name])
        plan = handover_plan.plan(
            Scene(NODE, site, members, NOW, settings=Settings(Handover.NOMINATE))
        )
        steps = [step for stage in plan.stages for step in stage]
        for step in steps[:power]:
            self._carry_out(step)

    def _phase(self, ticket: str) -> JSON:
        return cast("Any", self.tickets[ticket])["status"]["phase"]

    def _member(self, ticket: str) -> Member:
        pod, guardian = self.pods.get(f"p{ticket}"), self.guardians.get(f"g{ticket}")
        built = Builder(TICKETS, self.tickets[ticket]).build()
        there = (Builder(PODS, guardian).build(),) if guardian is not None else ()
        return Member(built, Builder(PODS, pod).build() if pod is not None else None, there)

    def _carry_out(self, step: Step) -> None:
        name = cast("Patch | Delete", step).key.name
        if isinstance(step, Delete):
            self.guardians[name] = going(Builder(PODS, self.guardians[name])).json
            return
        assert isinstance(step, Patch)
        store = self.tickets if step.kind == TICKETS else self.pods
        if step.type is PatchType.MERGE and step.kind == PODS:
            self._never_open_too_early(name)
        self.version += 1
        changed = Builder(
            step.kind, cast("Mapping[str, JSON]", patch.apply_merge(store[name], step.body))
        )
        store[name] = changed.but({"metadata": {"resourceVersion": str(self.version)}}).json

    def _never_open_too_early(self, pod: str) -> None:
        """The invariant: a pod is let go with its batch's guardians gone, or with room beside its own."""
        in_batch = [
            name[1:]
            for name, each in self.pods.items()
            if membership.is_marked(Builder(PODS, each).build())
        ]
        if pod[1:] in in_batch:
            assert not [name for name in in_batch if f"g{name}" in self.guardians]
        else:
            assert f"g{pod[1:]}" in self.guardians


def action(draw: Callable[[Any], int], world: World, what: str) -> None:
    """Somebody else acts: the kubelet ends a guardian, the scheduler binds, a user deletes."""
    if what == "gone":
        leaving = [
            n
            for n, g in world.guardians.items()
            if "deletionTimestamp" in cast("Any", g)["metadata"]
        ]
        if leaving:
            del world.guardians[leaving[draw(st.integers(0, len(leaving) - 1))]]
    elif what == "bind":
        free = [
            name
            for name, pod in world.pods.items()
            if membership.stage_of(world._member(name[1:]), NODE) is Stage.OPEN and pod
        ]
        for name in free[:1]:
            world.pods[name] = (
                Builder(PODS, world.pods[name]).but({"spec": {"nodeName": NODE}}).json
            )
    elif what == "delete" and world.pods:
        names = list(world.pods)
        del world.pods[names[draw(st.integers(0, len(names) - 1))]]


@settings(max_examples=60)
@given(st.data(), st.integers(1, 4), st.booleans())
def test_no_pod_is_let_go_while_a_guardian_of_its_batch_stands(
    data: st.DataObject, number: int, full: bool
) -> None:
    """Whatever comes in between, a failing power included; and at the end everything is handed over or given back."""
    world = World()
    for n in range(number):
        cpu = "1" if full or number > 2 else "100m"
        world.tickets[str(n)] = claiming(str(n), f"p{n}").json
        world.pods[f"p{n}"] = gated(f"p{n}", cpu).json
        world.guardians[f"g{n}"] = guardian(f"g{n}", "1").json
    if full:
        world.guardians["filler"] = guardian("filler", str(4 - number) if number < 4 else "0").json
    actions = st.lists(st.sampled_from(["turn", "half", "gone", "bind", "delete"]), max_size=25)
    for what in data.draw(actions):
        if what in ("turn", "half"):
            world.reconcile(99 if what == "turn" else data.draw(st.integers(0, 4)))
        else:
            action(data.draw, world, what)
    for _ in range(12):
        world.reconcile(99)
        for _ in range(number):
            action(data.draw, world, "gone")
            action(data.draw, world, "bind")
    assert {world._phase(name) for name in world.tickets} <= {"Claimed", "Reserved", "Pending"}
