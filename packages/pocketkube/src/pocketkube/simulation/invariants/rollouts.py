"""Deployments: how far they may go at each step of a rollout.

What can be promised is what ReplicaSets are told, at the moment they are told it. How many pods really serve is not in the hands of a
Deployment: nodes are lost and users delete pods, with or without a rollout.
"""

from collections.abc import Iterable
import math

from kubeloop.objects.meta import Key
from kubeloop.objects.workloads import (
    DEPLOYMENTS,
    REPLICA_SETS,
    Deployment,
    IntOrString,
    RollingUpdate,
)
from pocketkube.simulation.auditing import facts
from pocketkube.simulation.auditing.invariant import CALM, Broken, Finding, Invariant, Tolerance
from pocketkube.simulation.auditing.recent import Recent
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of
from pocketkube.simulation.invariants.binding import USER


class RolloutInBounds(Invariant):
    """A user's own edit of a ReplicaSet is not judged, nor are Deployments that recreate their pods."""

    name = "rollout-in-bounds"
    promise = "A rolling Deployment never tells its ReplicaSets to have more pods than maxSurge allows, nor takes away more than maxUnavailable allows."
    resources = (REPLICA_SETS, DEPLOYMENTS)

    def __init__(self, tolerance: Tolerance = CALM) -> None:
        self._former: Recent[str, Deployment] = Recent(tolerance.stale)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        was, is_now = view.both(DEPLOYMENTS)
        if was is not None and (is_now is None or is_now.spec != was.spec):
            self._former.ended(was.metadata.uid, was, change.at)
        old, new = view.both(REPLICA_SETS)
        if new is None or change.by == USER:
            return
        grew = new.spec.replicas - (old.spec.replicas if old is not None else 0)
        ref = facts.controller(new, DEPLOYMENTS)
        if ref is None or not grew:
            return
        present = view.of(DEPLOYMENTS).get(Key(change.namespace, ref.name))
        versions = self._former.of(ref.uid, change.at)
        if present is not None and present.metadata.uid == ref.uid:
            versions.append(present)
        stated = sum(each.spec.replicas for each in view.owned(REPLICA_SETS, ref.uid))
        verdicts = [_objection(each, stated, grew) for each in versions]
        if verdicts and all(verdicts):
            about = subject_of(change), Subject(str(DEPLOYMENTS), change.namespace, ref.name)
            yield Broken(verdicts[-1], about)


def _objection(deployment: Deployment, stated: int, grew: int) -> str:
    spec = deployment.spec
    if spec.strategy.type == "Recreate" or spec.paused:
        return ""
    rolling = spec.strategy.rolling_update or RollingUpdate()
    most = spec.replicas + _amount(rolling.max_surge, spec.replicas, up=True)
    missing = _amount(rolling.max_unavailable, spec.replicas, up=False)
    least = spec.replicas - (missing or int(most == spec.replicas))
    if grew > 0 and stated > most:
        return f"its Deployment may have {most} pods and now wants {stated}"
    if grew < 0 and stated < least:
        return f"its Deployment must keep {least} pods and now wants {stated}"
    return ""


def _amount(value: IntOrString | None, of: int, *, up: bool) -> int:
    chosen = "25%" if value is None else value
    if isinstance(chosen, int):
        return chosen
    share = int(chosen.removesuffix("%")) * of / 100
    return math.ceil(share) if up else math.floor(share)
