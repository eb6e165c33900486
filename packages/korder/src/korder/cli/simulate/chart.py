"""A timeline for the terminal: bars for workloads, curves for the cluster, what happened when, and the verdict.

`simulate` prints it. Everything can be told apart without colours and fits in the width given; long stories are cut, the other forms
have all of it.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
import textwrap
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from pocketkube.simulation.report.curves import amount
from pocketkube.simulation.report.timeline import (
    Happening,
    Series,
    Span,
    State,
    Timeline,
    Workload,
    clock,
)

WIDTH = 100
MOST_BARS = 40
MOST_LINES = 40

_BARS = {
    State.IDLE: ("·", "dim", "none wanted"),
    State.DONE: ("─", "dim", "complete"),
    State.RUNNING: ("█", "green", "all there"),
    State.SHORT: ("▒", "yellow", "some are missing"),
    State.WAITING: ("░", "red", "none there"),
    State.FAILED: ("x", "red", "failed"),
}
"""Sign, colour and meaning; where two states share a cell the later one in this list is shown."""
_LEVELS = " ▁▂▃▄▅▆▇█"
_FULL = 0.95
_GAP = "  "
_LONGEST = (11, 28, 12)
_TICKS = 4


class _Row(NamedTuple):
    """Three labels and a picture beside them."""

    labels: tuple[str, str, str]
    picture: Text


def lines(stated: Timeline, width: int = WIDTH) -> list[Text]:
    """The whole timeline, line by line."""
    chosen = _chosen(stated.workloads)
    used = [each for each in stated.use.series if any(each.allocatable)]
    waiting = list(_waiting(stated))
    titles = [*map(_titles, chosen), *map(_amounts, used), *(_waits(*each) for each in waiting)]
    widths = [
        min(max((cell_len(labels[i]) for labels in titles), default=0), most)
        for i, most in enumerate(_LONGEST)
    ]
    room = max(width - sum(widths) - len(widths) * len(_GAP), 10)
    bars = [_Row(_titles(each), _bar(stated, each.spans, room)) for each in chosen]
    curves = [_Row(_amounts(each), _curve(_shares(each), room)) for each in used]
    queues = [_Row(_waits(*each), _queue(each[1], room)) for each in waiting]
    return [
        _line(_Row(("", "", ""), _axis(stated, room)), widths),
        *(_line(row, widths) for row in bars),
        *_others(stated, len(chosen)),
        _legend(chosen),
        Text(),
        *(_line(row, widths) for row in [*curves, *queues]),
        Text(),
        *_story(stated, width),
        Text(),
        *_verdict(stated, width),
    ]


def _chosen(workloads: Sequence[Workload]) -> list[Workload]:
    """Those that fit; what is promised or in trouble before the others, in the order in which they were wanted."""
    first = sorted(workloads, key=lambda each: (not each.promised, not _is_in_trouble(each)))
    shown = {(each.kind, each.title) for each in first[:MOST_BARS]}
    return [each for each in workloads if (each.kind, each.title) in shown]


def _is_in_trouble(workload: Workload) -> bool:
    trouble = (State.WAITING, State.SHORT, State.FAILED)
    return workload.deleted_at is None and workload.state in trouble


def _titles(workload: Workload) -> tuple[str, str, str]:
    counts = f"{workload.running}/{workload.wanted}"
    said = {State.DONE: "done", State.FAILED: "failed", State.IDLE: "-"}.get(workload.state, counts)
    return workload.kind, workload.title, "deleted" if workload.deleted_at else said


def _amounts(series: Series) -> tuple[str, str, str]:
    most = max(series.peak, default=0.0)
    share = max(_shares(series), default=0.0)
    offered = [
        amount(series.resource, each) for each in (min(series.allocatable), max(series.allocatable))
    ]
    stated = " to ".join(dict.fromkeys(offered))
    return series.resource, f"{amount(series.resource, most)} of {stated}", f"{share:.0%}"


def _shares(series: Series) -> list[float]:
    """How much of what there was, was requested, at the most."""
    return [
        min(peak / offered, 1.0) if offered else 0.0
        for peak, offered in zip(series.peak, series.allocatable, strict=True)
    ]


def _bar(stated: Timeline, spans: Iterable[Span], room: int) -> Text:
    cells: list[State | None] = [None] * room
    whole = (stated.end - stated.start).total_seconds() or 1.0
    order = list(_BARS)
    for span in sorted(spans, key=lambda each: order.index(each.state)):
        begin, end = (
            (instant - stated.start).total_seconds() / whole * room
            for instant in (span.start, span.end)
        )
        for cell in range(int(begin), max(round(end), int(begin) + 1)):
            if cell < room:
                cells[cell] = span.state
    text = Text()
    for state, run in groupby(cells):
        sign, style, _ = _BARS[state] if state is not None else (" ", "", "")
        text.append(sign * len(list(run)), style)
    return text


def _curve(shares: Sequence[float], room: int) -> Text:
    """A value between 0 and 1 for each cell: the largest of those that fall into it."""
    borders = [round(i * len(shares) / room) for i in range(room + 1)]
    most = [
        max(shares[begin : max(end, begin + 1)], default=0.0) for begin, end in pairwise(borders)
    ]
    text = Text()
    for is_full, run in groupby(most, key=lambda share: share > _FULL):
        text.append("".join(map(_level, run)), "red" if is_full else "cyan")
    return text


def _level(share: float) -> str:
    return _LEVELS[min(int(share * 7.999) + 1, 8) if share > 0 else 0]


def _waiting(stated: Timeline) -> Iterable[tuple[str, Sequence[int]]]:
    """What waited, part by part: pods and tickets; that nothing did is said once."""
    pods, tickets = stated.use.waiting, stated.use.waiting_tickets
    if any(pods) or not any(tickets):
        yield "pod", pods
    if any(tickets):
        yield "ticket", tickets


def _waits(noun: str, counts: Sequence[int]) -> tuple[str, str, str]:
    most = max(counts, default=0)
    return "waiting", f"{most} {noun}{'s' if most != 1 else ''} at most", ""


def _queue(counts: Sequence[int], room: int) -> Text:
    most = max(counts, default=0)
    curve = _curve([count / most if most else 0.0 for count in counts], room)
    return Text(curve.plain, style="yellow")


def _axis(stated: Timeline, room: int) -> Text:
    several = (stated.end - stated.start).days > 1
    cells = [" "] * room
    for tick in range(_TICKS):
        at = stated.start + (stated.end - stated.start) * tick / _TICKS
        label = f"{at:%b %d}" if several else f"{at:%H:%M}"
        begin = room * tick // _TICKS
        cells[begin : begin + len(label)] = label
    return Text("".join(cells[:room]), style="dim")


def _line(row: _Row, widths: Sequence[int]) -> Text:
    text = Text(no_wrap=True, overflow="ignore")
    for label, width in zip(row.labels, widths, strict=True):
        text.append(_fitted(label, width)).append(_GAP)
    text.append_text(row.picture)
    text.rstrip()
    return text


def _fitted(label: str, width: int) -> str:
    if cell_len(label) <= width:
        return set_cell_size(label, width)
    return set_cell_size(label, width - 1) + "…"


def _others(stated: Timeline, shown: int) -> list[Text]:
    rest = len(stated.workloads) - shown
    texts = [f"and {rest} more workloads"] if rest else []
    texts += [f"and {each.count} more of kind {each.kind}, gone again" for each in stated.folded]
    return [Text(text, style="dim") for text in texts]


def _legend(workloads: Iterable[Workload]) -> Text:
    seen = {span.state for workload in workloads for span in workload.spans}
    stated = Text()
    for state, (sign, style, meaning) in _BARS.items():
        if state in seen:
            stated.append(sign, style).append(f" {meaning}   ", "dim")
    stated.rstrip()
    return stated


def _story(stated: Timeline, width: int) -> list[Text]:
    kept, half = list(stated.happenings), MOST_LINES // 2
    skipped = stated.happenings_left_out
    if len(kept) > MOST_LINES:
        skipped += len(kept) - 2 * half
        kept = kept[:half] + kept[-half:]
    shown = [_happening(stated, each, width) for each in kept]
    if skipped:
        shown.insert(half, [Text(f"… {skipped} more …", style="dim")])
    return [line for each in shown for line in each]


def _happening(stated: Timeline, happening: Happening, width: int) -> list[Text]:
    when = clock(happening.at, stated.start, stated.end)
    who = f"{happening.kind} {happening.name}"
    margin = len(when) + len(_GAP)
    first, *more = textwrap.wrap(
        f"{who}: {_plain(happening.text)}",
        max(width - margin, 20),
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
    text = Text(when, style="dim").append(_GAP)
    body = Text(first, style="red" if happening.bad else "", no_wrap=True, overflow="ignore")
    body.stylize("bold", 0, len(who))
    style = "red" if happening.bad else ""
    return [
        Text.assemble(text, body, no_wrap=True, overflow="ignore"),
        *(Text(" " * margin + line, style=style) for line in more),
    ]


def _verdict(stated: Timeline, width: int) -> list[Text]:
    broken = [] if stated.violations else [each for each in stated.promises if not each.kept]
    style = "green" if stated.kept else "bold red"
    sign = "kept: " if stated.kept else "not kept: "
    wrapped = textwrap.wrap(
        sign + _plain(stated.verdict), width, subsequent_indent="  ", break_on_hyphens=False
    )
    others = [
        line
        for each in broken[1:MOST_LINES]
        for line in textwrap.wrap(
            f"also: {each.kind} {each.namespace}/{each.name} {_plain(each.text)}",
            width,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
    ]
    return [
        *(Text(line, style="red") for line in others),
        *(Text(line, style=style) for line in wrapped),
    ]


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)
