"""The words of orders and tickets that others meet: labels, annotations, gates, finalizers, and the reasons that are given.

Rules write and read them, `docs/reference.md` explains each; nothing is called.
"""

from enum import StrEnum

GROUP = "core.korder.dev"
VERSION = "v1alpha1"

SCHEDULING_GATE = "korder.dev/ticket"
"""Keeps a pod that asks for a ticket from being scheduled."""

GUARDIAN_GATE = "korder.dev/guardian"
"""Keeps a guardian from being scheduled while the room it is to take is still in use."""

HANDOVER_TAINT = "korder.dev/handover"
"""On a node, NoSchedule: room is being handed over; its value is when that began, in milliseconds since the epoch."""

GUARDIAN_NAME_PREFIX = "korder-guardian-"
GUARDIAN_PRIORITY_CLASS = "korder-guardian"

ORDER_LABEL = "korder.dev/order"
ORDER_UID_LABEL = "korder.dev/order-uid"
TICKET_LABEL = "korder.dev/ticket"
TICKET_UID_LABEL = "korder.dev/ticket-uid"
NODE_LABEL = "korder.dev/node"
ROLE_LABEL = "korder.dev/role"
GUARDIAN_LABEL = "korder.dev/guardian"
COMPONENT_LABEL = "korder.dev/component"
TEMPLATE_HASH_LABEL = "korder.dev/template-hash"
"""On a ticket: which template it was made from."""

GUARDIAN_ROLE = "guardian"
GUARDIAN_COMPONENT = "guardian-pod"

REQUIRED_ANNOTATION = "korder.dev/required"
ORDER_ANNOTATION = "korder.dev/order"
ORDER_REQUEST_ANNOTATION = "korder.dev/order-request"
TICKET_REQUEST_ANNOTATION = "korder.dev/ticket-request"
FALLBACK_AFTER_ANNOTATION = "korder.dev/fallback-after"
TICKET_GROUP_ANNOTATION = "korder.dev/ticket-group"
SCHEDULED_TIME_ANNOTATION = "korder.dev/scheduled-time"
LEAD_TIME_ANNOTATION = "korder.dev/lead-time"
"""On a ticket: how long before its start the guardian is placed."""
GUARDIAN_HASH_ANNOTATION = "korder.dev/guardian-hash"
"""On a guardian: which size and place it was made for."""
AVOIDED_ANNOTATION = "korder.dev/avoided-nodes"
"""On a guardian: the cordoned nodes that it was kept from when it was made."""
OPENED_ANNOTATION = "korder.dev/opened-at"
"""On a pod that waited behind a gate of ours: when that was taken off."""
RETURN_FINALIZER = "korder.dev/return"
"""On claimed pods whose ticket takes its room back, if the manager is told so: they are deleted only behind the barrier."""
STANDING_ANNOTATION = "korder.dev/standing"
"""On a ticket, "true": at its expiry it is renewed in place."""
RENEWAL_ANNOTATION = "korder.dev/renewal"
"""On a ticket: what starts its next term, as long as it is not claimed."""
NOMINATION_TICKET_ANNOTATION = "korder.dev/nomination-ticket"
"""On a pod that is nominated to a node: the ticket whose capacity it is to take there."""
NOMINATION_SCHEDULER_ANNOTATION = "korder.dev/nomination-scheduler"
"""On a nominated pod or guardian: the scheduler replica that was at work when the nomination was written."""
MANAGER_USER_ANNOTATION = "korder.dev/manager-user"
"""On admission objects: the user whose writes they let pass."""
TICKET_CLAIMED_ANNOTATION = "korder.dev/ticket-claimed"
"""Written by us, never read as a request."""
TICKET_NODE_ANNOTATION = "korder.dev/ticket-node"
"""Written by us, never read as a request."""

TERMS_ANNOTATION = "korder.dev/terms"
"""On a ticket: what its order last said about its duration and its use, so that edits by hand stay."""

TICKET_BOUND_CONDITION = "korder.dev/TicketBound"
"""On a pod that asked: whether it has a ticket, and if not, why not."""
ROOM_PROMISED_CONDITION = "korder.dev/RoomPromised"
"""On a guardian that waits behind its gate: which scheduler keeps room for it."""

ORDER_FINALIZER = "korder.dev/order-finalizer"
TICKET_FINALIZER = "korder.dev/ticket-finalizer"


class OrderCondition(StrEnum):
    """What is judged of an order."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    FAILURE = "Failure"
    COMPLETE = "Complete"


class TicketCondition(StrEnum):
    """What is judged of a ticket."""

    READY = "Ready"
    GUARDIAN_READY = "GuardianReady"
    EXPIRING = "Expiring"


class Reason(StrEnum):
    """Why an order or a ticket is not further than it is."""

    SCHEDULED = "Scheduled"
    LOST = "Lost"
    HANDING_OVER = "HandingOver"
    EVICTED = "Evicted"
    PREEMPTED = "Preempted"
    GUARDIAN_FAILED = "GuardianFailed"
    GUARDIAN_DELETED = "GuardianDeleted"
    GUARDIAN_REFUSED = "GuardianRefused"
    NODE_LOST = "NodeLost"
    NODE_CORDONED = "NodeCordoned"
    NODE_TOO_SMALL = "NodeTooSmall"
    UNSCHEDULABLE = "Unschedulable"
    RETURNING = "Returning"
    HELD = "Held"
    IN_USE = "InUse"
    CLAIM_UNDONE = "ClaimUndone"
    NEVER_BOUND = "NeverBound"
    STOLEN = "Stolen"
    EXPIRED = "Expired"
    RELEASED = "Released"
    QUOTA_EXCEEDED = "QuotaExceeded"
    ROLLOUT_BLOCKED = "RolloutBlocked"
    NO_ELIGIBLE_NODE = "NoEligibleNode"


class OrderReason(StrEnum):
    """How an order stands, and what it has done."""

    ALL_HELD = "AllHeld"
    ALL_IN_USE = "AllInUse"
    TICKETS_WAIT = "TicketsWait"
    CLOSED = "Closed"
    BETWEEN_WINDOWS = "BetweenWindows"
    COMPLETE = "Complete"
    NOT_COMPLETE = "NotComplete"
    SETTLED = "Settled"
    WORKING = "Working"
    ROLLING_OUT = "RollingOut"
    PAUSED = "Paused"
    INVALID_SCHEDULE = "InvalidSchedule"
    TICKETS_REFUSED = "TicketsRefused"
    NO_FAILURE = "NoFailure"
    TICKETS_CREATED = "TicketsCreated"
    TICKETS_DELETED = "TicketsDeleted"
    FIRED = "Fired"
    FIRING_MISSED = "FiringMissed"
    WINDOWS_OVERLAP = "WindowsOverlap"
    GAP = "GapBetweenTickets"
    REPLICAS_IGNORED = "ReplicasIgnored"


class ClaimReason(StrEnum):
    """How a pod stands that asked for a ticket."""

    CLAIMED = "TicketClaimed"
    INVALID_REQUEST = "InvalidRequest"
    OTHER_GATES = "OtherGates"
    CHANGE_REFUSED = "ChangeRefused"
    UNGATE_REFUSED = "UngateRefused"
    NO_TICKET = "NoTicket"
    NOT_AN_OWNER = "NotAnOwner"
    ORDER_CLOSED = "OrderClosed"
    NONE_FREE = "NoTicketFree"
    NONE_FITS = "NoTicketFits"
    FELL_BACK = "FellBack"
    NOT_A_CLAIM = "NotAClaim"
