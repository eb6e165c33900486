"""All invariants of pods and workloads; the engine hands them to its `Auditor`, domains add theirs."""

from pocketkube.simulation.auditing.invariant import CALM, Invariant, Tolerance
from pocketkube.simulation.invariants import (
    binding,
    capacity,
    headcount,
    identity,
    jobs,
    leases,
    leftovers,
    lifecycle,
    rollouts,
    running,
    settled,
    statefulsets,
    waiting,
)


def standard(tolerance: Tolerance = CALM) -> tuple[Invariant, ...]:
    """Makes a fresh set for one run; invariants remember, so no two runs share them."""
    return (
        identity.VersionsGrow(),
        identity.UidsAreForever(),
        lifecycle.GenerationsCount(),
        lifecycle.DeletionIsFinal(),
        lifecycle.FinalizersHold(),
        binding.BoundOnce(),
        binding.GatesHold(),
        binding.SuitableNode(tolerance),
        capacity.NoOverbooking(tolerance),
        capacity.KubeletsRefuse(tolerance),
        running.FinishedForGood(),
        leases.OneHolder(),
        headcount.NoneTooMany(tolerance),
        statefulsets.NumbersInOrder(tolerance),
        rollouts.RolloutInBounds(tolerance),
        jobs.CountedOnce(),
        jobs.DeadlineKept(tolerance),
        jobs.ExpiryKept(tolerance),
        waiting.BoundPodsRun(),
        waiting.NobodyForgotten(),
        settled.ReplicaSetsSettle(),
        settled.DeploymentsSettle(),
        settled.StatefulSetsSettle(),
        settled.DaemonSetsSettle(),
        settled.JobsSettle(),
        leftovers.NoOrphans(),
        leftovers.NothingHalfGone(),
    )
