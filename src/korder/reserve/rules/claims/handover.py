"""One node's hand-over: the room passes from guardians to the pods that claimed it, and no third pod gets it.

`controllers.handovers` gathers and calls `plan`, a state machine without a memory: how far each member is follows from the node, the
ticket, the pod and the guardians alone (`members`), so a crash is just a reconcile that comes later. `taint` is the usual way;
`nomination` is for clusters in which the manager may not change nodes.
"""

from dataclasses import replace

from korder.api.plan import Plan, Step
from korder.reserve.rules.claims import claimsteps, fairness, nomination, taint
from korder.reserve.rules.claims.scene import Handover, Scene
from korder.reserve.rules.tickets import barrier


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    scene = replace(scene, members=fairness.in_fair_order(scene.members))
    if scene.settings.handover is Handover.NOMINATE:
        return nomination.plan(scene).then(*_left_over(scene))
    return taint.plan(scene)


def _left_over(scene: Scene) -> list[Step]:
    """What hand-overs by taint have left behind where they are not wanted any more."""
    node = scene.site.node if scene.site is not None else None
    released: list[Step] = [claimsteps.release(pod) for pod in scene.leaving]
    return [*released, barrier.lowered(node)] if node and barrier.token_of(node) else released
