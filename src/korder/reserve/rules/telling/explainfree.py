"""Pods that wait for no ticket: they asked for none, went without one, or had one until it or they ended.

`explainpods` asks it, for `korder explain pod`.
"""

from collections.abc import Iterator, Mapping
import difflib

from korder.api.core import Pod
from korder.api.reserve import SCHEDULING_GATE, TICKET_CLAIMED_ANNOTATION, TICKET_NODE_ANNOTATION
from korder.reserve.rules.claims import claimsteps
from korder.reserve.rules.claims.requests import REQUEST_ANNOTATIONS, Request
from korder.reserve.rules.telling import telling
from korder.reserve.rules.telling.explaining import Explanation

_ALIKE = 0.85
"""How much of two words is the same if one is thought to be the other, misspelt."""


def ended(pod: Pod) -> Explanation:
    """Speaks of a pod that has ended, or is about to."""
    past = _past(pod)
    if past:
        return Explanation(f"It has ended. It had ticket {past}, on node {pod.spec.node_name}.")
    return Explanation("It has ended, and has no ticket.")


def free(pod: Pod, request: Request, parting: str) -> Explanation:
    """Speaks of a pod that nothing of ours holds back; `parting` is what it was told when it was let go, if that is known."""
    where = f"It is on node {pod.spec.node_name}" if pod.spec.node_name else "It waits for a node"
    if past := _past(pod):
        came = f"It came to node {pod.spec.node_name} with ticket {past}"
        return Explanation(f"{came}, which is gone; nothing is taken from it.")
    if not request.asks:
        names = ", ".join(REQUEST_ANNOTATIONS)
        ask = f"A pod asks with one of the annotations {names}, when it is created."
        return Explanation(
            f"{where}, and asks for no ticket.", (*_misspelt(pod.metadata.annotations), ask)
        )
    last = claimsteps.told(pod)
    if last is None and request.required:
        return Explanation(
            f"{where} without a ticket, though it requires one: it has never had the gate {SCHEDULING_GATE}.",
            (
                "Admission was not there when it was created; `korder install` puts it into the cluster.",
                "A gate cannot be added later: create the pod again.",
            ),
        )
    words = f"{last.reason}: {last.message}" if last is not None else parting
    told = (f"It was last told: {words}",) if words else ()
    if request.required:
        return Explanation(
            f"{where} without a ticket, though it requires one: somebody took the gate away.", told
        )
    patience = request.fallback_after.total_seconds()
    waited = f"waited no longer than {telling.span(patience)}" if patience else "did not wait"
    return Explanation(
        f"{where} without a ticket: none that fits was there, and it {waited}.", told
    )


def _past(pod: Pod) -> str:
    """The ticket with which the pod came to its node, if it did; what somebody wrote himself does not fit its node."""
    given = pod.metadata.annotations
    came = pod.spec.node_name and given.get(TICKET_NODE_ANNOTATION) == pod.spec.node_name
    return given.get(TICKET_CLAIMED_ANNOTATION, "") if came else ""


def _misspelt(annotations: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(annotations):
        for meant in difflib.get_close_matches(name, REQUEST_ANNOTATIONS, n=1, cutoff=_ALIKE):
            yield f"It carries {name}, which korder does not know: is {meant} meant?"
