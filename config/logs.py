"""How services log: one line a record, without secrets."""

from __future__ import annotations

import logging
import sys

from config.secret import hide

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class _Hiding(logging.Formatter):
    """Leaves the configuration's secrets out, also of traces."""

    def format(self, record: logging.LogRecord) -> str:
        return hide(super().format(record))


def log_to_stderr(level: int = logging.INFO) -> None:
    """Log everything from a level on to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Hiding(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
