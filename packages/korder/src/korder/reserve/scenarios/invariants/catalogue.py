"""All invariants of orders, tickets and quotas; suites add them to those of pods and workloads."""

from korder.reserve.scenarios.invariants import (
    at_rest,
    charges,
    competition as rooms,
    deadlines,
    grants,
    guardians,
    handovers,
    ledgers,
    neighbours,
    owners,
    renewals,
    tickets_made,
    windows,
)
from pocketkube.simulation.auditing.invariant import CALM, Invariant, Tolerance


def reserving(tolerance: Tolerance = CALM) -> tuple[Invariant, ...]:
    """Makes a fresh set for one run."""
    return (
        owners.PhasesInOrder(),
        owners.OneTicketEach(),
        owners.OneOwner(),
        owners.OwnersStay(tolerance),
        owners.OnlyTheNamedGo(tolerance),
        guardians.ReservedWhenBound(tolerance),
        guardians.ReservedIsGuarded(tolerance),
        guardians.NoStrayGuardians(tolerance),
        guardians.GuardiansAreKept(),
        guardians.ClaimsAreLive(tolerance),
        handovers.ClaimsEnd(tolerance),
        handovers.DeadlinesStand(),
        handovers.ProtectedFirst(tolerance),
        handovers.BarrierHolds(tolerance),
        handovers.ClaimedWhereHeld(tolerance),
        deadlines.TicketsExpire(tolerance),
        deadlines.TicketsGo(tolerance),
        deadlines.EndsAreDated(tolerance),
        deadlines.ClocksAreTrue(tolerance),
        deadlines.StartsAreKept(tolerance),
        deadlines.FiringsAreKept(tolerance),
        tickets_made.NamesAreNew(),
        tickets_made.NoTicketTooMany(tolerance),
        charges.ChargedFirst(tolerance),
        ledgers.ChargesFit(),
        ledgers.UsedIsCounted(tolerance),
        ledgers.EntriesEnd(tolerance),
        windows.LimitsAreExact(),
        windows.WindowsAreKept(tolerance),
        at_rest.OrdersSettle(),
        at_rest.NodesAreCovered(),
        at_rest.NobodyWaitsForWhatIsFree(),
    )


def competing(
    tolerance: Tolerance = CALM, judged_ends: frozenset[rooms.End] = rooms.JUDGED_ENDS
) -> tuple[Invariant, ...]:
    """Claims, returns and renewals against competitors; a fresh set for one run of a full cluster."""
    return (
        grants.ClaimsAreKept(tolerance),
        grants.PinnedPodsHaveTickets(tolerance),
        grants.StuckPodsAreRecreated(tolerance),
        grants.ClaimsAreSwift(tolerance),
        grants.UnboundClaimsLeave(tolerance),
        neighbours.NoClaimWaitsForAnother(tolerance),
        grants.UndoneWithReason(),
        grants.TaintsAreBrief(tolerance),
        rooms.BarriersStand(tolerance),
        rooms.ClaimedRoomIsKept(tolerance),
        rooms.ReturningRoomIsKept(tolerance, judged_ends),
        renewals.RenewedRoomIsKept(tolerance),
    )
