"""All invariants of pods and workloads; the engine hands them to its `Auditor`, domains add theirs."""

from korder.embedded.simulation.invariant import CALM, Invariant, Tolerance
from korder.embedded.simulation.invariants import binding, capacity, identity, lifecycle


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
    )
