"""One node's hand-over: the room passes from guardians to the pods that claimed it, and no third pod gets it.

`controllers.handovers` gathers and calls `plan`, a state machine without a memory: how far each member is follows from the node, the
ticket, the pod and the guardians alone (`members`), so a crash is just a reconcile that comes later. `taint` is the usual way;
`nomination` is for clusters in which the manager may not change nodes.
"""

from korder.api.plan import Plan
from korder.reserve.rules.claims import nomination, taint
from korder.reserve.rules.claims.scene import Handover, Scene


def plan(scene: Scene) -> Plan:
    """Decides what happens on the node now, and when to look again."""
    if scene.settings.handover is Handover.NOMINATE:
        return nomination.plan(scene)
    return taint.plan(scene)
