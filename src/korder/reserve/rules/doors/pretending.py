"""Pods that say they have a ticket and have none: somebody wrote our answer by hand.

`controllers.pretenders` asks once for each new pod. Nothing is consumed by such words, and the pod goes its own way; an Event says so to
those whom no warning reaches, because a controller made the pod for them.
"""

from datetime import datetime, timedelta

from korder.api.core import PODS, Pod
from korder.api.plan import NOTHING, EventType, Notice, Plan
from korder.api.reserve import ClaimReason
from korder.reserve.rules.doors import conditions, sentences

YOUNG = timedelta(minutes=1)
"""Of an older pod nobody can tell whether its ticket has only gone before it."""
_ENDED = frozenset({"Succeeded", "Failed"})


def words(pod: Pod) -> tuple[str, ...]:
    """Which annotations that only korder writes the pod carries."""
    return tuple(word for word in conditions.ANSWERS if word in pod.metadata.annotations)


def plan(pod: Pod, now: datetime, *, claims: bool) -> Plan:
    """Tells a young pod with words of ours, and no ticket behind them, that they claim nothing."""
    born = pod.metadata.creation_timestamp
    if claims or born is None or now - born > YOUNG or pod.status.phase in _ENDED:
        return NOTHING
    notices = (
        Notice(PODS, pod, ClaimReason.NOT_A_CLAIM, sentences.output_only(word), EventType.WARNING)
        for word in words(pod)
    )
    return NOTHING.tell(*notices)
