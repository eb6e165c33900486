"""Distils what happened when from the changes of a run, change by change.

The simulated world feeds a `Chronicle` with every commit; at the end it tells a `Timeline`. It remembers what is alive, and
otherwise no more than so many workloads and happenings: of workloads that are gone and promised nothing only numbers stay. Pods
are told with the workload at the top of their owners, bare ones grouped by name. Domains add kinds of workloads and of members
by an `Extension`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from kubeloop.objects import codec, core, node_room
from kubeloop.objects.core import Node
from pocketkube.simulation.changes import Change
from pocketkube.simulation.report import fields
from pocketkube.simulation.report.averages import Division
from pocketkube.simulation.report.event_log import Happenings
from pocketkube.simulation.report.extension import Extension
from pocketkube.simulation.report.fields import Body
from pocketkube.simulation.report.goals import GOALS
from pocketkube.simulation.report.pod_tracker import Phase
from pocketkube.simulation.report.timeline import (
    Folded,
    Happening,
    Promise,
    Timeline,
    Violation,
    Workload,
)
from pocketkube.simulation.report.usage import Occupancy, Tenant
from pocketkube.simulation.report.workload_rows import POD, Line, Name

MOST_WORKLOADS = 1_000
USER = "user"


@dataclass(slots=True)
class _Pod:
    line: Line
    tenant: Tenant
    phase: Phase = Phase.WAITS
    meant: bool = False
    """A user asked for its end."""


class Chronicle:
    """What is known of a run so far.

    Args:
        start: When it begins.
        end: When it ends.
        promised: The workloads of the manifests; pods among them by their own names.
        extensions: What domains add.
    """

    def __init__(
        self,
        start: datetime,
        end: datetime,
        promised: Collection[Name] = (),
        extensions: Iterable[Extension] = (),
    ) -> None:
        self._division = Division(start, end)
        added = tuple(extensions)
        self._goals = {**GOALS, **{name: each for one in added for name, each in one.goals.items()}}
        self._rows = {kind: row for each in added for kind, row in each.rows.items()}
        self._pod_reasons = [each.pod_reason for each in added]
        self._promised = dict.fromkeys(promised)
        self._seen: dict[Name, None] = {}
        self._lines: dict[Name, Line] = {}
        self._gone: dict[Name, None] = {}
        self._folded: dict[str, Folded] = {}
        self._roots: dict[str, Line] = {}
        self._pods: dict[str, _Pod] = {}
        self._nodes: dict[str, tuple[bool, bool]] = {}
        self._ending: dict[str, None] = {}
        """Namespaces that are being deleted."""
        self._occupancy = Occupancy(self._division)
        self._happenings = Happenings()
        made = [(each, each.reader(self)) for one in added for each in one.members]
        self._members = {each.resource: reader for each, reader in made}
        self._pod_readers = {each.kind: reader for each, reader in made}

    @property
    def occupancy(self) -> Occupancy:
        """What takes room on the nodes."""
        return self._occupancy

    def see(self, change: Change) -> None:
        """One more commit; what came before the start counts as its first instant."""
        if change.at < self._division.start:
            change = replace(change, at=self._division.start)
        if change.resource == "pods":
            self._see_pod(change)
        elif change.resource in self._members:
            self._members[change.resource].see(change)
        elif change.resource == "nodes":
            self._see_node(change)
        elif change.resource in self._goals:
            self._see_workload(change)
        elif change.resource == "namespaces":
            self._see_namespace(change)

    def tell(self, at: datetime, violations: Iterable[Violation] = ()) -> Timeline:
        """The whole story, if the run ends now."""
        promises = tuple(self._promises())
        broken, violated = [each for each in promises if not each.kept], tuple(violations)
        for line in self._lines.values():
            line.conclude(at)
        happenings, left_out = self._happenings.stated()
        workloads = [line.stated(at) for line in self._lines.values()]
        return Timeline(
            start=self._division.start,
            end=at,
            kept=not broken and not violated,
            verdict=_verdict(promises, broken, violated),
            promises=promises,
            violations=violated,
            happenings=happenings,
            happenings_left_out=left_out,
            workloads=tuple(sorted(workloads, key=_by_interest)),
            folded=tuple(self._folded[kind] for kind in sorted(self._folded)),
            use=self._occupancy.stated(at),
        )

    def _promises(self) -> Iterable[Promise]:
        for line in self._lines.values():
            if line.promised:
                yield line.promise()
        for kind, namespace, name in self._promised:
            if (kind, namespace, name) not in self._seen:
                text = "was never made"
                yield Promise(kind=kind, namespace=namespace, name=name, kept=False, text=text)

    def _see_namespace(self, change: Change) -> None:
        if change.after is not None and fields.is_deleted(change.after):
            self._ending[change.name] = None
        else:
            self._ending.pop(change.name, None)

    def _is_meant(self, change: Change) -> bool:
        """Whether a user wanted the end of a pod, or of everything around it."""
        return change.by == USER or change.namespace in self._ending

    def _see_workload(self, change: Change) -> None:
        body = change.after or change.before or {}
        kind, goal_of = self._goals[change.resource]
        name = Name(kind, change.namespace, change.name)
        uid, owner = fields.uid(body), fields.owner(body)
        if owner:
            line = self._roots.get(str(owner.get("uid")))
            if line is not None:
                self._remember(uid, line, gone=change.after is None)
                line.hinder(goal_of(body).trouble)
            return
        if change.after is not None:
            line = self.row(name, change.at)
            self._remember(uid, line, gone=False)
            line.aim(change.at, goal_of(change.after))
            self._gone.pop(name, None)
        elif name in self._lines:
            self._remember(uid, self._lines[name], gone=True)
            self._lines[name].delete(change.at)
            self.leave(name)

    def _remember(self, uid: str, line: Line, *, gone: bool) -> None:
        if gone:
            self._roots.pop(uid, None)
        else:
            self._roots[uid] = line

    def _see_pod(self, change: Change) -> None:
        body = change.after or change.before or {}
        reader = self._pod_readers.get(str(fields.owner(body).get("kind")))
        if reader is not None:
            reader.see_pod(change)
            return
        uid = fields.uid(body)
        pod = self._pods.get(uid)
        if change.after is None:
            if pod is not None:
                pod.tenant.leave(change.at)
                self._waits(change.at, pod, Phase.STOPPED)
                pod.line.remove(change.at, uid, meant=pod.meant or self._is_meant(change))
                del self._pods[uid]
                if pod.line.deleted_at is not None:
                    self.leave(pod.line.name)
            return
        if pod is None:
            pod = self._pods[uid] = _Pod(self._line_of(change, body), Tenant(self._occupancy))
            self._occupancy.waiting(change.at, 1)
            pod.line.make(change.at, uid, change.name)
        if fields.is_deleted(body) and not fields.is_deleted(change.before or {}):
            pod.meant = self._is_meant(change)
        phase = fields.phase(body, pod.phase)
        pod.tenant.settle(change.at, body)
        self._waits(change.at, pod, phase)
        pod.line.move(change.at, uid, phase, self._why(body) if phase is Phase.WAITS else "")

    def _why(self, body: Body) -> str:
        """Why a pod waits: by the first domain that says so, or the scheduler."""
        stated = (reason(body) for reason in self._pod_reasons)
        return next((each for each in stated if each is not None), fields.reason(body))

    def _waits(self, at: datetime, pod: _Pod, phase: Phase) -> None:
        if pod.phase is Phase.WAITS and phase is not Phase.WAITS:
            self._occupancy.waiting(at, -1)
        pod.phase = phase

    def row_of_owner(self, body: Body) -> Line | None:
        """The row of what is at the top of the owners of an object."""
        return self._roots.get(str(fields.owner(body).get("uid")))

    def _line_of(self, change: Change, body: Body) -> Line:
        owner = fields.owner(body)
        if owner:
            known = self.row_of_owner(body)
            name = Name(str(owner.get("kind")), change.namespace, str(owner.get("name")))
            return known or self.row(name, change.at)
        own = Name(POD, change.namespace, change.name)
        line = self.row(own._replace(name=fields.stem(body, change.name)), change.at)
        if own in self._promised:
            self._seen[own] = None
            line.promised = True
        return line

    def row(self, name: Name, at: datetime) -> Line:
        """The row of this name; a new one, if there is none."""
        line = self._lines.get(name)
        if line is None:
            row = self._rows.get(name.kind, Line)
            line = self._lines[name] = row(name, at, self._division, self._hear)
        if name in self._promised:
            line.promised = True
            self._seen[name] = None
        return line

    def leave(self, name: Name) -> None:
        """A workload is gone; the oldest of too many are folded."""
        self._gone[name] = None
        for oldest in list(self._gone):
            if len(self._lines) <= MOST_WORKLOADS:
                return
            del self._gone[oldest]
            if not self._lines[oldest].promised:
                self._fold(self._lines.pop(oldest))

    def _fold(self, line: Line) -> None:
        kind, longest = line.name.kind, line.tracker.longest
        before = self._folded.get(kind) or Folded(
            kind=kind, count=0, pods=0, longest_wait_seconds=0.0
        )
        self._folded[kind] = Folded(
            kind=kind,
            count=before.count + 1,
            pods=before.pods + line.tracker.counts.made,
            longest_wait_seconds=max(
                before.longest_wait_seconds, longest.seconds if longest else 0.0
            ),
        )

    def _hear(self, at: datetime, line: Line, text: str, *, bad: bool) -> None:
        kind, namespace, name = line.shown
        shown = f"{namespace}/{name}"
        self._happenings.add(Happening(at=at, kind=kind, name=shown, text=text, bad=bad))

    def _see_node(self, change: Change) -> None:
        was = self._nodes.get(change.name)
        if change.after is None:
            if was is not None:
                del self._nodes[change.name]
                self._occupancy.node(change.at, change.name, {}, works=False)
                self._happenings.node(change.at, change.name, "removed")
            return
        node = codec.convert(dict(change.after), Node)
        ready, cordoned = core.is_ready(node), node.spec.unschedulable
        self._nodes[change.name] = ready, cordoned
        self._occupancy.node(
            change.at, change.name, node_room.room_of(node).allocatable, works=ready
        )
        for what in _news(was, (ready, cordoned)):
            self._happenings.node(change.at, change.name, what)


def _news(was: tuple[bool, bool] | None, now: tuple[bool, bool]) -> Iterable[str]:
    """What happened to a node, by whether it was and is ready and cordoned."""
    if was is None:
        yield "joined"
        return
    if was[0] != now[0]:
        yield "returned" if now[0] else "lost"
    if was[1] != now[1]:
        yield "cordoned" if now[1] else "uncordoned"


def _verdict(
    promises: Collection[Promise], broken: list[Promise], violations: tuple[Violation, ...]
) -> str:
    if violations:
        return f"The run broke {violations[0].invariant}: {violations[0].text}"
    if broken:
        first, more = broken[0], len(broken) - 1
        rest = (
            f", and {more} more promise{'s were' if more > 1 else ' was'} not kept" if more else ""
        )
        return f"{first.kind} {first.namespace}/{first.name} {first.text.rstrip('.')}{rest}."
    if not promises:
        return "Nothing was promised, and no invariant was broken."
    return (
        f"All {len(promises)} promises were kept." if len(promises) > 1 else "The promise was kept."
    )


def _by_interest(workload: Workload) -> tuple[bool, datetime, str, str, str]:
    return (
        not workload.promised,
        workload.wanted_at,
        workload.namespace,
        workload.kind,
        workload.name,
    )
