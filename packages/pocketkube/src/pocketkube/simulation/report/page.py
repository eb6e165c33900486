"""A report as one web page that needs nothing but itself: no scripts, no fonts, no network.

`korder simulate` writes it. Bars stand inside the table of workloads and curves beside a table of their values, so that whoever cannot
see the pictures loses nothing; the height of a bar says the same as its colour. Every text that comes from outside is escaped
where it is put in.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files

from pocketkube.simulation.report.curves import amount, curve
from pocketkube.simulation.report.report import Report, Run
from pocketkube.simulation.report.timeline import (
    Happening,
    Promise,
    Series,
    Span,
    State,
    Timeline,
    Wait,
    Workload,
    clock,
    lasting,
)

MOST_HAPPENINGS = 300
LONGEST_REASON = 160
_ACROSS = 600
"""How many units a picture is wide."""
_TICKS = 4
_STATES = {
    State.RUNNING: ("r", "all there"),
    State.SHORT: ("s", "some are missing"),
    State.WAITING: ("q", "none there"),
    State.DONE: ("d", "complete"),
    State.FAILED: ("f", "failed"),
    State.IDLE: ("i", "none wanted"),
}


def render(report: Report) -> str:
    """The whole page."""
    stated, run = report.timeline, report.run
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    verdict = "Kept" if stated.kept else "Not kept"
    parts = [
        _head(stated, run, verdict),
        _promises(stated),
        _workloads(stated),
        _use(stated),
        _happenings(stated),
        _foot(run),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{verdict}: korder simulate, {_day(stated.start)}</title>\n"
        f"<style>\n{style}</style>\n"
        f'<body class="{"kept" if stated.kept else "broken"}">\n<main>\n'
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _head(stated: Timeline, run: Run, verdict: str) -> str:
    facts = {
        "From": _stamp(stated.start),
        "To": _stamp(stated.end),
        "Length": lasting((stated.end - stated.start).total_seconds()),
        "Nodes": f"{run.nodes:,}",
        "Manifests": f"{run.manifests:,}",
        "Seed": str(run.seed),
        "Faults": f"{run.faults:.1%} of requests, {run.strikes:,} in all" if run.faults else "none",
    }
    listed = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items()
    )
    return f"<header><h1><span>{verdict}</span> {escape(stated.verdict)}</h1>\n<dl>{listed}</dl></header>"


def _foot(run: Run) -> str:
    return (
        f"<footer>Play it again: <code>{escape(run.command)}</code><br>"
        f"History <code>{escape(run.digest[:16])}</code>, {run.writes:,} writes.</footer>"
    )


def _promises(stated: Timeline) -> str:
    broken = [] if stated.violations else [each for each in stated.promises if not each.kept]
    violations = "".join(
        f'<tr class="x"><td class="n">{_clock(stated, each.at)}</td>'
        f'<td class="w">{escape(each.invariant)}: {escape(each.text)}</td></tr>\n'
        for each in stated.violations
    )
    rows = violations + "".join(_promise(each) for each in broken)
    if not rows:
        return ""
    count = f"{len(broken)} of {len(stated.promises)} promises" if broken else ""
    return (
        f"<section><h2>What was not kept<small>{count}</small></h2>\n<table><thead><tr><th>Who</th>"
        f"<th>Why</th></tr></thead><tbody>\n{rows}</tbody></table></section>"
    )


def _promise(promise: Promise) -> str:
    who = escape(f"{promise.kind} {promise.namespace}/{promise.name}")
    return f'<tr><td class="n">{who}</td><td class="w">{escape(promise.text)}</td></tr>\n'


def _workloads(stated: Timeline) -> str:
    if not stated.workloads:
        return ""
    rows, before = list[str](), ""
    for workload in stated.workloads:
        reason = _reason(workload)
        shown = "as above" if reason and reason == before else reason
        rows.append(_workload(stated, workload, shown))
        before = reason or before
    folded = "".join(
        f"<p>And {each.count:,} more of kind {escape(each.kind)} with {each.pods:,} pods that came and "
        f"went; the longest wait was {lasting(each.longest_wait_seconds)}.</p>"
        for each in stated.folded
    )
    heads = "".join(f'<th scope="col">{title}</th>' for title in _COLUMNS)
    return (
        f"<section><h2>Workloads<small>{len(stated.workloads):,}</small></h2>\n<table class=wl><thead><tr>"
        f'{heads}<th scope="col">{_axis(stated)}</th></tr></thead><tbody>\n'
        + "\n".join(rows)
        + f"\n</tbody></table>\n{folded}{_legend(stated)}</section>"
    )


_COLUMNS = ("Kind", "Name", "Runs", "Wanted at", "Longest wait")


def _workload(stated: Timeline, workload: Workload, reason: str) -> str:
    """One row; there may be a thousand, so everything that can be left to the style sheet is."""
    said = {State.DONE: "done", State.FAILED: "failed", State.IDLE: "none"}
    runs = said.get(workload.state, f"{workload.running}/{workload.wanted}")
    wait = workload.longest_wait
    waited = lasting(wait.seconds) if wait is not None else "none"
    why = f"<i>{escape(reason)}</i>" if reason else ""
    broken = " class=x" if workload.waiting and workload.promised else ""
    return (
        f"<tr><td>{escape(workload.kind)}<td>{escape(workload.title)}{why}"
        f"<td{broken}>{'deleted' if workload.deleted_at else runs}"
        f"<td>{_clock(stated, workload.wanted_at)}<td>{waited}<td>{_bar(stated, workload.spans)}"
    )


def _reason(workload: Workload) -> str:
    wait: Wait | None = workload.current_wait or workload.longest_wait
    if wait is None or len(wait.why) <= LONGEST_REASON:
        return wait.why if wait is not None else ""
    return wait.why[: LONGEST_REASON - 1] + "…"


def _bar(stated: Timeline, spans: Iterable[Span]) -> str:
    strokes: dict[str, str] = {}
    for span in spans:
        begin, end = _x(stated, span.start), _x(stated, span.end)
        name = _STATES[span.state][0]
        strokes[name] = strokes.get(name, "") + f"M{begin} 5H{max(end, begin + 2)}"
    paths = "".join(f'<path class={name} d="{path}"/>' for name, path in strokes.items())
    return f'<svg viewBox="0 0 {_ACROSS} 10" preserveAspectRatio=none>{paths}</svg>'


def _x(stated: Timeline, at: datetime) -> int:
    whole = (stated.end - stated.start).total_seconds() or 1.0
    return round((at - stated.start).total_seconds() / whole * _ACROSS)


def _axis(stated: Timeline) -> str:
    marks = (stated.start + (stated.end - stated.start) * i / _TICKS for i in range(_TICKS))
    several = (stated.end - stated.start).days > 1
    labels = (f"{at:%b %d %H:%M}" if several else f"{at:%H:%M}" for at in marks)
    return '<span class="t">' + "".join(f"<span>{label}</span>" for label in labels) + "</span>"


def _legend(stated: Timeline) -> str:
    seen = {span.state for workload in stated.workloads for span in workload.spans}
    items = "".join(
        f'<li><svg viewBox="0 0 30 10" aria-hidden="true"><path class="{name}" d="M0 5H30"/></svg>'
        f"{meaning}</li>"
        for state, (name, meaning) in _STATES.items()
        if state in seen
    )
    return f'<ul class="legend">{items}</ul>'


def _use(stated: Timeline) -> str:
    shown = [each for each in stated.use.series if any(each.allocatable)]
    if not shown:
        return ""
    queues = [_waiting("pods", stated.use.waiting), _waiting("tickets", stated.use.waiting_tickets)]
    figures = "\n".join([*map(_figure, shown), *filter(None, queues)])
    return (
        "<section><h2>How full the cluster was<small>requested, against what its nodes have"
        f"</small></h2>\n{figures}\n{_numbers(stated, shown)}</section>"
    )


def _figure(series: Series) -> str:
    most, have = max(series.peak), max(series.allocatable)
    stated = f"{amount(series.resource, most)} of {amount(series.resource, have)} at most"
    label = escape(f"{series.resource}: {stated}", quote=True)
    top = max(most, have)
    return (
        f"<figure><figcaption>{escape(series.resource)}<span>{stated}</span></figcaption>"
        f'<svg class="u grid" viewBox="0 0 {_ACROSS} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="{label}"><path class="area" d="{curve(series.requested, top, _ACROSS)}V100H0Z"/>'
        f'<path class="peak" d="{curve(series.peak, top, _ACROSS)}"/>'
        f'<path class="have" d="{curve(series.allocatable, top, _ACROSS)}"/></svg></figure>'
    )


def _waiting(noun: str, counts: Sequence[int]) -> str:
    most = max(counts, default=0)
    if not most:
        return ""
    path = curve(counts, most, _ACROSS)
    return (
        f"<figure><figcaption>waiting {noun}<span>{most:,} at most</span></figcaption>"
        f'<svg class="u grid late" viewBox="0 0 {_ACROSS} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="waiting {noun}: {most:,} at most"><path class="area" d="{path}V100H0Z"/></svg></figure>'
    )


def _numbers(stated: Timeline, shown: Sequence[Series]) -> str:
    """The same as a table of at most 24 rows."""
    count = len(stated.use.waiting)
    step = max(-(-count // 24), 1)
    queues = {"pods": stated.use.waiting}
    if any(stated.use.waiting_tickets):
        queues["tickets"] = stated.use.waiting_tickets
    titles = [*(each.resource for each in shown), *(f"Waiting {noun}" for noun in queues)]
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    rows = []
    for begin in range(0, count, step):
        part = slice(begin, begin + step)
        cells = "".join(
            f'<td class="n">{amount(each.resource, max(each.peak[part]))}</td>' for each in shown
        )
        at = stated.start + (stated.end - stated.start) * begin / count
        waiting = "".join(f"<td>{max(counts[part])}</td>" for counts in queues.values())
        rows.append(f'<tr><td class="n">{_clock(stated, at)}</td>{cells}{waiting}</tr>')
    return (
        "<details><summary>The same in numbers: the most requested from each instant on, and how many "
        f'{" and ".join(queues)} waited</summary>\n<table><thead><tr><th scope="col">From</th>{heads}'
        "</tr></thead><tbody>\n" + "\n".join(rows) + "\n</tbody></table></details>"
    )


def _happenings(stated: Timeline) -> str:
    kept, half, skipped = list(stated.happenings), MOST_HAPPENINGS // 2, stated.happenings_left_out
    if not kept:
        return ""
    if len(kept) > MOST_HAPPENINGS:
        skipped += len(kept) - MOST_HAPPENINGS
        kept = kept[:half] + kept[-half:]
    rows = [_happening(stated, each) for each in kept]
    if skipped:
        rows.insert(half, f'<tr><td><td colspan="2">… {skipped:,} more …')
    return (
        '<section><h2>What happened when</h2>\n<table><thead><tr><th scope="col">At</th>'
        '<th scope="col">Who</th><th scope="col">What</th></tr></thead><tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table></section>"
    )


def _happening(stated: Timeline, happening: Happening) -> str:
    bad = ' class="x"' if happening.bad else ""
    return (
        f'<tr{bad}><td class="n">{_clock(stated, happening.at)}<td class="w"><span class="k">'
        f'{escape(happening.kind)}</span> {escape(happening.name)}<td class="w">{escape(happening.text)}'
    )


def _clock(stated: Timeline, at: datetime) -> str:
    return clock(at, stated.start, stated.end)


def _day(at: datetime) -> str:
    return f"{at:%A} {at.day} {at:%B %Y}"


def _stamp(at: datetime) -> str:
    return f"{_day(at)}, {at:%H:%M:%S} UTC"
