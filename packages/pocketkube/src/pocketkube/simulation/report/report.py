"""A run and what happened in it, as JSON for programs.

`korder simulate` writes it and can be asked for it again. The form is public and described field by field in docs/simulation.md: fields
may be added, none is renamed or taken away without another number in `format`.
"""

import msgspec

from pocketkube.simulation.report.timeline import Summary, Timeline

FORMAT = 1


class Run(Summary):
    """What was played, and how to play it again."""

    seed: int
    faults: float
    """How many of all requests were struck, 0.05 for one in twenty."""
    nodes: int
    manifests: int
    """How many objects were applied."""
    workload: int
    """How many pods of made-up users there were, on average."""
    strikes: int
    """How many requests were struck."""
    writes: int
    """How many times an object was written."""
    digest: str
    """Names the whole history; equal digests are equal histories."""
    command: str
    """What to type to see the same again."""


class Report(Summary):
    """Everything about a run."""

    run: Run
    timeline: Timeline
    format: int = FORMAT


def encode(report: Report) -> bytes:
    """Writes the public JSON form."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def decode(text: bytes) -> Report:
    """Reads what `encode` wrote."""
    return msgspec.json.decode(text, type=Report)
