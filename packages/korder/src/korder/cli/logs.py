"""How a korder process logs: a constant message with keys and values, as text for people or JSON for machines."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
import logging
import sys

import structlog


class LogFormat(StrEnum):
    """What log lines look like."""

    TEXT = "text"
    JSON = "json"


def configure(style: LogFormat, *, quiet: bool = False) -> None:
    """Sends all logging of this process to standard error in one style; quietly, only what may need attention."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: structlog.typing.Processor
    if style is LogFormat.JSON:
        shared.append(structlog.processors.dict_tracebacks)
        last = structlog.processors.JSONRenderer()
    else:
        last = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    structlog.configure(
        processors=[*shared, last],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.WARNING if quiet else logging.INFO
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


@contextmanager
def silent() -> Iterator[None]:
    """Keeps back all logging but of catastrophes while the block runs."""
    before = structlog.get_config()
    nothing = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=nothing, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
