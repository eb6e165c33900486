"""How a korder process logs: a constant message with keys and values, as text for people or JSON for machines."""

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
