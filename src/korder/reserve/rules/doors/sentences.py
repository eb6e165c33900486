"""What people hear at the door, said once for webhooks and policies alike."""

MANY = 100
"""More tickets than this in one order are worth a second look."""

KEPT = (
    "resources",
    "allocateOnce",
    "schedulerName",
    "priorityClassName",
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
)
"""What a ticket cannot change while its guardian stands: a guardian is never rebuilt."""

IMMUTABLE = "must not change in a ticket, whose guardian stands as it was made; make a new ticket, or change its order"
DAEMON_SET = "must not change: the tickets of the one kind are not those of the other; make a new order instead"
SYSTEM_CLASS = "must not begin with system-: such classes are for the cluster itself; allowed is any other class, or none"
OUR_WORDS = "must not be in a template: keys that begin with korder.dev/ are written by korder; allowed of them is korder.dev/ticket-group"
NOTED = "must not be written by anybody but korder: an order says it to its tickets; give the ticket a startTime and a duration"
NODE_NAME = "must be empty in a pod that asks for a ticket: the ticket decides where it goes"
HANDOVER_TOLERATION = (
    "must not name the key korder.dev/handover: korder adds such a toleration to the pods that it hands a ticket to,"
    " for that hand-over alone; allowed is any other key"
)
NO_REPLICAS = (
    "spec.replicas has no effect with daemonSet: there is one ticket for each eligible node"
)
NO_START = "spec.template.spec.startTime has no effect in a Scheduled order: its tickets start at their firing"
NO_GROUP = "label korder.dev/ticket-group has no effect: pods find a group by the annotation of that name; put it under annotations"


def output_only(annotation: str) -> str:
    """Says that an annotation is ours to write."""
    return (
        f"annotation {annotation} is written by korder and never read: it claims nothing;"
        " ask with korder.dev/required, korder.dev/order or korder.dev/ticket-request"
    )


def over(end: str) -> str:
    """Says that an order comes too late."""
    return f"spec.template.spec.startTime and duration end at {end}, which is over: no ticket will be made"


def many(count: str) -> str:
    """Says that an order is large."""
    return f"spec.replicas is {count}: every ticket is a pod that holds room; is that meant?"
