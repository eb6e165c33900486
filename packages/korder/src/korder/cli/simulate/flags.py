"""What the flags of `korder simulate` mean: spans of time, shares, and where results go.

`simulate` reads its flags here. Every mistake is one sentence that names the flag, what was said and what is allowed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
import re
from typing import NamedTuple

from kubeloop.client.errors import KubeError
from kubeloop.objects import duration, instant

DEFAULT_START = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULT_LENGTH = timedelta(hours=24)
LONGEST = timedelta(days=366)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%")


class Mistake(KubeError):
    """Something was asked for that cannot be done; nothing has been played."""


class Form(StrEnum):
    """What a result looks like."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class Destination(NamedTuple):
    """A form, and the file it goes to; standard output if there is none."""

    form: Form
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The flags, as they were given; None where nothing was said."""

    files: Sequence[str] | None = None
    workload: int | None = None
    nodes: int | None = None
    node_shape: str | None = None
    like_cluster: bool | None = None
    begin: str | None = None
    end: str | None = None
    lasting: str | None = None
    jobs_take: str | None = None
    seed: int | None = None
    faults: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


FLAGS = {
    "files": "-f",
    "workload": "--workload",
    "nodes": "--nodes",
    "node_shape": "--node-shape",
    "like_cluster": "--like-cluster",
    "begin": "--from",
    "end": "--to",
    "lasting": "--for",
    "jobs_take": "--jobs-take",
    "seed": "--seed",
    "faults": "--faults",
    "kubeconfig": "--kubeconfig",
    "context": "--context",
}


def said(asked: Asked, names: Iterable[str] = FLAGS) -> list[str]:
    """Which of these flags were given."""
    return [FLAGS[name] for name in names if getattr(asked, name) is not None]


def window(
    begin: str | None, end: str | None, lasting: str | None, now: datetime
) -> tuple[datetime, datetime]:
    """When a run starts and ends."""
    if end is not None and lasting is not None:
        raise Mistake("--to and --for both say when the run ends; leave one out")
    start = DEFAULT_START if begin is None else _instant("--from", begin, now)
    length = DEFAULT_LENGTH if lasting is None else span("--for", lasting)
    stop = start + length if end is None else _instant("--to", end, now)
    if stop <= start:
        raise Mistake(f"--to {instant.render(stop)} is not after --from {instant.render(start)}")
    if stop - start > LONGEST:
        raise Mistake(
            f"a run of {(stop - start).days} days is too long; {LONGEST.days} days are the most"
        )
    return start, stop


def _instant(flag: str, text: str, now: datetime) -> datetime:
    if text == "now":
        return now.replace(microsecond=0)
    try:
        return instant.parse(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    except instant.InvalidInstant:
        raise Mistake(
            f"{flag}: {text[:64]!r} is no instant; write 2026-01-31T08:30:00Z, 2026-01-31 or now"
        ) from None


def span(flag: str, text: str) -> timedelta:
    """A length of time, more than none."""
    try:
        found = duration.parse(text).timedelta
    except duration.InvalidDuration as error:
        raise Mistake(f"{flag}: {error}") from None
    if found < timedelta(seconds=1):
        raise Mistake(f"{flag}: {text} is too short; a second is the least")
    if found > LONGEST:
        raise Mistake(f"{flag}: {text} is too long; {LONGEST.days * 24}h are the most")
    return found


def share(text: str) -> float:
    """How many of all requests are struck: `5%`, or 0.05."""
    percent = _PERCENT.fullmatch(text.strip())
    try:
        found = float(percent[1]) / 100 if percent else float(text)
    except ValueError:
        raise Mistake(f"--faults: {text[:64]!r} is no share; write 5% or 0.05") from None
    if not 0 <= found <= 0.5:
        hint = f", or is {text}% meant?" if not percent and 0.5 < found <= 50 else ""
        raise Mistake(f"--faults: {text} is not between 0% and 50%{hint}")
    return found


def destinations(texts: Sequence[str]) -> tuple[Destination, ...]:
    """Where results go: `text` to standard output if nothing else is said."""
    found = tuple(map(_destination, texts or ("text",)))
    shown = [each.form for each in found if each.file is None]
    if len(shown) > 1:
        raise Mistake(
            f"--output: {shown[0]} and {shown[1]} cannot both be shown; write {shown[1]}=FILE"
        )
    files = [each.file for each in found if each.file is not None]
    for file in files:
        check_writable("--output", file)
        if files.count(file) > 1:
            raise Mistake(f"--output: {file} is named twice")
    return found


def check_writable(flag: str, file: Path) -> None:
    """Makes sure, before a long run, that its result can be kept."""
    if file.is_dir():
        raise Mistake(f"{flag}: {file} is a folder; name a file")
    if not file.absolute().parent.is_dir():
        raise Mistake(f"{flag}: the folder {file.absolute().parent} is not there")


def _destination(text: str) -> Destination:
    word, equals, file = text.partition("=")
    if word not in set(Form):
        raise Mistake(
            f"--output: {word[:64]!r} is no form; there are {', '.join(Form)}, alone or as {Form.HTML}=FILE"
        )
    if equals and not file:
        raise Mistake(f"--output: {text} names no file; write {word}=FILE")
    return Destination(Form(word), Path(file) if file else None)
