"""All invariants of orders, tickets and quotas; suites add them to those of pods and workloads."""

from korder.embedded.simulation.auditing.invariant import CALM, Invariant, Tolerance
from korder.embedded.simulation.auditing.invariants.reserving import (
    charging,
    competing as rooms,
    granting,
    guarding,
    handing,
    making,
    opening,
    owning,
    renewing,
    resting,
    timing,
    using,
)


def reserving(tolerance: Tolerance = CALM) -> tuple[Invariant, ...]:
    """Makes a fresh set for one run."""
    return (
        owning.PhasesInOrder(),
        owning.OneTicketEach(),
        owning.OneOwner(),
        owning.OwnersStay(tolerance),
        owning.OnlyTheNamedGo(tolerance),
        guarding.ReservedWhenBound(tolerance),
        guarding.ReservedIsGuarded(tolerance),
        guarding.NoStrayGuardians(tolerance),
        guarding.GuardiansAreKept(),
        guarding.ClaimsAreLive(tolerance),
        handing.ClaimsEnd(tolerance),
        handing.DeadlinesStand(),
        handing.ProtectedFirst(tolerance),
        handing.BarrierHolds(tolerance),
        handing.ClaimedWhereHeld(tolerance),
        timing.TicketsExpire(tolerance),
        timing.TicketsGo(tolerance),
        timing.EndsAreDated(tolerance),
        timing.ClocksAreTrue(tolerance),
        timing.StartsAreKept(tolerance),
        timing.FiringsAreKept(tolerance),
        making.NamesAreNew(),
        making.NoTicketTooMany(tolerance),
        charging.ChargedFirst(tolerance),
        using.ChargesFit(),
        using.UsedIsCounted(tolerance),
        using.EntriesEnd(tolerance),
        opening.LimitsAreExact(),
        opening.WindowsAreKept(tolerance),
        resting.OrdersSettle(),
        resting.NodesAreCovered(),
        resting.NobodyWaitsForWhatIsFree(),
    )


def competing(tolerance: Tolerance = CALM) -> tuple[Invariant, ...]:
    """Claims, returns and renewals against competitors; a fresh set for one run of a full cluster."""
    return (
        granting.ClaimsAreKept(tolerance),
        granting.PinnedPodsHaveTickets(tolerance),
        granting.StuckPodsAreRecreated(tolerance),
        granting.ClaimsAreSwift(tolerance),
        granting.UnboundClaimsLeave(tolerance),
        granting.UndoneWithReason(),
        granting.TaintsAreBrief(tolerance),
        rooms.BarriersStand(tolerance),
        rooms.ClaimedRoomIsKept(tolerance),
        rooms.ReturningRoomIsKept(tolerance),
        renewing.RenewedRoomIsKept(tolerance),
    )
