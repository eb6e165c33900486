"""What the sample operator promises, judged by API objects and by who wrote them; see `orders` for what it does."""

from collections.abc import Iterable

from tests.simulation.orders import LEASE, PART, REPLICAS, Operator, deadline_of, line_of, wanted

from kubeloop.objects import instant
from kubeloop.objects.core import CONFIG_MAPS, LEASES, ConfigMap
from kubeloop.objects.meta import HasMetadata, Key, controller_of, key_of
from pocketkube.simulation.auditing.invariant import Broken, Finding, Invariant, Later, Tolerance
from pocketkube.simulation.auditing.view import View
from pocketkube.simulation.changes import Change, Subject, subject_of


def _is(part: str, obj: ConfigMap | None) -> bool:
    return obj is not None and obj.metadata.labels.get(PART) == part


class OneChildForEachLine(Invariant):
    """Whatever is stale or lost on the way."""

    name = "one-child-for-each-line"
    promise = "No line of an order is made twice, and at rest each is there."
    resources = (CONFIG_MAPS,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        before, line = view.both(CONFIG_MAPS)
        if before is not None or line is None or not _is("line", line):
            return
        owner = controller_of(line)
        uid = owner.uid if owner else ""
        twins = [o for o in view.owned(CONFIG_MAPS, uid) if line_of(o) == line_of(line)]
        if len(twins) > 1:
            names = ", ".join(twin.metadata.name for twin in twins)
            yield Broken(f"line {line_of(line)} was made as {names}", (subject_of(change),))

    def at_rest(self, view: View) -> Iterable[Broken]:
        for order in view.of(CONFIG_MAPS).all():
            if _is("order", order):
                lines = sorted(map(line_of, view.owned(CONFIG_MAPS, order.metadata.uid)), key=int)
                if lines != wanted(order):
                    stated = f"the order wants the lines {wanted(order)} and has {lines}"
                    yield Broken(stated, (_subject(order),))


class RequestsAreAnsweredOnce(Invariant):
    """The operator takes away what was there, not what it remembers of it."""

    name = "requests-are-answered-once"
    promise = "Every request is answered, in time, and counted once; what users write stays."
    resources = (CONFIG_MAPS,)

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._asked: dict[Subject, str] = {}

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        before, after = view.both(CONFIG_MAPS)
        if after is None or not _is("order", after):
            return
        subject, request = subject_of(change), after.data.get("request", "")
        if change.by in REPLICAS and before is not None:
            yield from _wrongs(before, after, subject)
        elif request and (before is None or before.data.get("request") != request):
            self._asked[subject] = request
            yield Later(self._tolerance.latest(view.now), subject)

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        order = view.of(CONFIG_MAPS).get(Key(subject.namespace, subject.name))
        asked = self._asked.get(subject)
        if order is not None and asked and order.data.get("request") == asked:
            yield Broken(f"the request {asked} has no answer yet", (subject,))


def _wrongs(before: ConfigMap, after: ConfigMap, subject: Subject) -> Iterable[Broken]:
    """What an operator must not make of an order."""
    for name in ("lines", "deadline"):
        if before.data.get(name) != after.data.get(name):
            yield Broken(f"the operator wrote {name}", (subject,))
    was, request = before.data.get("request", ""), after.data.get("request", "")
    answered = was and not request
    if request != was and not answered:
        yield Broken(f"the operator made the request {was!r} {request!r}", (subject,))
    if answered and after.data.get("answered") != was:
        stated = f"the request {was} was taken away and {after.data.get('answered')} answered"
        yield Broken(stated, (subject,))
    counted = int(after.data.get("count") or "0") - int(before.data.get("count") or "0")
    if counted != bool(answered):
        yield Broken(f"{counted} answers were counted, not {int(bool(answered))}", (subject,))


class DeadlinesAreKept(Invariant):
    """By the true time; a process whose clock is wrong may be wrong by as much."""

    name = "deadlines-are-kept"
    promise = "An order is closed at its deadline, never earlier and at most a second later."
    resources = (CONFIG_MAPS,)

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        before, order = view.both(CONFIG_MAPS)
        if order is None or not _is("order", order):
            return
        due, subject = deadline_of(order), subject_of(change)
        closed = order.data.get("closed", "")
        moved = before is None or deadline_of(before) != due
        if before is not None and closed != before.data.get("closed", ""):
            if closed != before.data.get("deadline"):
                yield Broken(f"it was closed for {closed}, which is not its deadline", (subject,))
            elif view.now < instant.parse(closed) - self._tolerance.skew:
                yield Broken(f"it was closed for {closed} at {view.now}", (subject,))
        if due is not None and moved:
            yield Later(self._tolerance.latest(max(due, view.now)), subject)

    def look(self, subject: Subject, view: View) -> Iterable[Finding]:
        order = view.of(CONFIG_MAPS).get(Key(subject.namespace, subject.name))
        due = order and deadline_of(order)
        if (
            order is not None
            and due is not None
            and order.data.get("closed") != order.data["deadline"]
        ):
            yield Broken(f"it is not closed yet, {view.now - due} after its deadline", (subject,))


class OnlyTheHolderActs(Invariant):
    """The order of commits is the judge: whoever is not the lease's holder has lost the right to write."""

    name = "only-the-holder-acts"
    promise = "No replica writes while another one holds the lease."
    resources = None
    reads = (LEASES,)

    def check(self, change: Change, view: View) -> Iterable[Finding]:
        if change.by not in REPLICAS or change.resource == str(LEASES):
            return
        lease = view.of(LEASES).get(LEASE)
        holder = lease.spec.holder_identity if lease else None
        if holder != change.by:
            yield Broken(f"{change.by} wrote while {holder} held the lease", (subject_of(change),))


class StoresAreTrue(Invariant):
    """The one promise about the memory of processes: nobody else sees what an informer has missed."""

    name = "stores-are-true"
    promise = "At rest every replica knows of each order and line what a list would show."
    reads = (CONFIG_MAPS,)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def at_rest(self, view: View) -> Iterable[Broken]:
        truth = _versions(o for o in view.of(CONFIG_MAPS).all() if PART in o.metadata.labels)
        for replica, manager in self._operator.managers.items():
            known: dict[Key, str] = {}
            for informer in manager.informers:
                known |= _versions(informer.reader.all())
            for key in sorted({*known, *truth}):
                if known.get(key) != truth.get(key):
                    stated = f"{replica} knows version {known.get(key)}, it is {truth.get(key)}"
                    yield Broken(stated, (Subject(str(CONFIG_MAPS), *key),))


def promises(operator: Operator, tolerance: Tolerance) -> tuple[Invariant, ...]:
    return (
        OneChildForEachLine(),
        RequestsAreAnsweredOnce(tolerance),
        DeadlinesAreKept(tolerance),
        OnlyTheHolderActs(),
        StoresAreTrue(operator),
    )


def _versions(objects: Iterable[HasMetadata]) -> dict[Key, str]:
    return {key_of(obj): obj.metadata.resource_version for obj in objects}


def _subject(obj: ConfigMap) -> Subject:
    return Subject(str(CONFIG_MAPS), *key_of(obj))
