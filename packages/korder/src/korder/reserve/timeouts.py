"""How long claims and hand-overs wait for what: one table, because the numbers depend on each other."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The time-outs of a claim, from its first write until its pod is bound or its ticket is free again.

    Raises:
        ValueError: a hand-over could begin that has no time to succeed.
    """

    claim: timedelta = timedelta(seconds=60)
    """From the claim until a hand-over that has not let its pod go is rolled back."""
    begin_before_deadline: timedelta = timedelta(seconds=40)
    """The time that must be left to begin; with less the ticket is free again and the pod claims anew."""
    last_retry_before_deadline: timedelta = timedelta(seconds=20)
    """The time that must be left to try again after a webhook did not answer; with less the claim is rolled back."""
    guardian_deletion: timedelta = timedelta(seconds=10)
    """How long after its grace a guardian may linger on a node that does not answer, before it is deleted without grace."""
    unschedulable_pod: timedelta = timedelta(seconds=5)
    """How long an ungated pod may stay unbound if its scheduler refuses it or has never been seen."""
    silent_scheduler: timedelta = timedelta(seconds=30)
    """The same while a scheduler that has bound the guardian reports nothing about the pod: another replica may be about to take over."""
    scheduler_lease: timedelta = timedelta(seconds=15)
    """How long a scheduler may leave its Lease unchanged before it counts as away."""
    barrier_admission: timedelta = timedelta(seconds=60)
    """How old a barrier may get with new members; after that they wait until it has been lowered once."""
    returning_pod: timedelta = timedelta(minutes=5)
    """How long a barrier stands for a terminating pod whose capacity its ticket takes back."""

    next_look: timedelta = timedelta(seconds=1)
    """How soon a node is looked at again where only another component can change what a hand-over waits for."""

    def __post_init__(self) -> None:
        """Checks what follows from one time-out for another."""
        if self.claim <= self.begin_before_deadline:
            raise ValueError("no hand-over would ever begin")
        if self.begin_before_deadline <= self.guardian_deletion + self.last_retry_before_deadline:
            raise ValueError("a hand-over could begin that has no time for its retries")


TIMEOUTS = Timeouts()
