"""Which writes concern admission at all, as CEL that every server since Kubernetes 1.28 understands.

`hooks` and `policies` use the same conditions, so that both forms of admission look at the same writes. They are cheap on purpose: an
API server evaluates them for every pod of the cluster.
"""

from dataclasses import dataclass
import re

from korder.api import reserve

REQUESTS = (
    reserve.REQUIRED_ANNOTATION,
    reserve.ORDER_ANNOTATION,
    reserve.ORDER_REQUEST_ANNOTATION,
    reserve.TICKET_REQUEST_ANNOTATION,
    reserve.FALLBACK_AFTER_ANNOTATION,
)
"""What users write."""
ANSWERS = (reserve.TICKET_CLAIMED_ANNOTATION, reserve.TICKET_NODE_ANNOTATION)
"""What korder writes."""

NOTES = (
    reserve.SCHEDULED_TIME_ANNOTATION,
    reserve.LEAD_TIME_ANNOTATION,
    reserve.STANDING_ANNOTATION,
    reserve.RENEWAL_ANNOTATION,
    reserve.TERMS_ANNOTATION,
)
"""What an order says to its tickets: when their clock starts, and whether they are renewed."""

ANNOTATIONS = "object.metadata.annotations"


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression and what it is called in messages."""

    name: str
    cel: str


def listed(words: tuple[str, ...]) -> str:
    """A list of texts in CEL."""
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _carries(words: tuple[str, ...]) -> str:
    return f"has({ANNOTATIONS}) && {listed(words)}.exists(word, word in {ANNOTATIONS})"


_MUST = (
    f"has({ANNOTATIONS}) && '{reserve.REQUIRED_ANNOTATION}' in {ANNOTATIONS}"
    f" && {ANNOTATIONS}['{reserve.REQUIRED_ANNOTATION}'] != 'false'"
)

MUST = Condition("must-have-a-ticket", _MUST)
"""Pods that may not run without a ticket; a misspelled `required` is taken for one."""
MAY = Condition("may-have-a-ticket", f"{_carries((*REQUESTS, *ANSWERS))} && !({_MUST})")
"""All other pods with words of ours."""
ASKS = Condition("asks-for-a-ticket", _carries(REQUESTS))
"""Pods with words that only users write."""
CLAIMS = Condition("claims-by-itself", _carries(ANSWERS))
"""Pods with words that only korder writes."""


def _noted(obj: str) -> str:
    """What an object says under a word, empty if nothing."""
    said = f"{obj}.metadata.annotations"
    return f"(has({said}) && word in {said} ? {said}[word] : '')"


RENOTED = f"{_noted('object')} != (request.operation == 'CREATE' ? '' : {_noted('oldObject')})"
"""Whether somebody writes such a note, the word is given."""
CHANGES = Condition(
    "changes-what-is-wanted",
    "!has(object.metadata.deletionTimestamp)"
    " && (request.operation == 'CREATE' || object.spec != oldObject.spec"
    f" || {listed(NOTES)}.exists(word, {RENOTED}))",
)
"""New orders and tickets, and such whose spec or notes change: what was once let in is not refused for a label."""


_OURS = f"has(t.key) && t.key == '{reserve.HANDOVER_TAINT}'"
_KEPT = "request.operation == 'UPDATE' && has(oldObject.spec.tolerations) && t in oldObject.spec.tolerations"
PASSES = Condition(
    "tolerates-hand-overs",
    f"has(object.spec.tolerations) && object.spec.tolerations.exists(t, {_OURS} && !({_KEPT}))",
)
"""Pods that are given a toleration of the hand-over taint by name; those that have it keep it, because servers take no toleration away."""


def not_handed_over_by(user: str) -> Condition:
    """Everything but what this user makes for an owner or changes, as the manager does in a hand-over."""
    made = "(request.operation == 'CREATE' && !has(object.metadata.ownerReferences))"
    return Condition(
        "not-by-the-manager", f"request.userInfo.username != '{_quoted(user)}' || {made}"
    )


_BY_ANOTHER = "request.userInfo.username != '{}' || !has(object.metadata.ownerReferences)"
_SPARED = re.compile(re.escape(_BY_ANOTHER).replace(r"\{\}", r"((?:[^'\\]|\\.)*)"))


def not_by(user: str) -> Condition:
    """Everything but what this user makes for an owner, as the manager does: people who run it themselves are judged like others."""
    return Condition("not-by-the-manager", _BY_ANOTHER.format(_quoted(user)))


def _quoted(user: str) -> str:
    return user.replace("\\", "\\\\").replace("'", "\\'")


def spared(cel: str) -> str:
    """The user of `not_by`; empty if an expression is another."""
    found = _SPARED.fullmatch(cel)
    return re.sub(r"\\(.)", r"\1", found[1]) if found else ""
