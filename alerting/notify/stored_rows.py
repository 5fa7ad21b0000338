"""Rows of the alert store as values: one that cannot be read is left out and said."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from alerting.notify.json_codec import matchers_from_json
from alerting.rules.matchers import Silence

T = TypeVar("T")
_log = logging.getLogger(__name__)


class RowReader:
    """Reads rows; threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unreadable: dict[str, float] = {}

    def read(self, row: str, read: Callable[[str], T], body: str) -> T | None:
        """Return what a row says; None where it cannot be read, which is logged once."""
        try:
            return read(body)
        except ValueError as error:
            line = f"{row} in the alert store cannot be read and was left out: {error}"
            with self._lock:
                if line not in self._unreadable:
                    _log.error("%s", line)
                    self._unreadable[line] = time.time()
            return None

    def unreadable(self, since: float) -> list[str]:
        """Return which rows were found to be unreadable since a moment, a line each."""
        with self._lock:
            return [line for line, at in self._unreadable.items() if at >= since]


def silence_of(row: Sequence[Any]) -> Silence:
    """Return the silence of a row: id, matchers, start, end, author, comment, making.

    One whose matchers cannot be read keeps the reason in their place, so that it can be ended.
    """
    id_, matchers, starts_at, ends_at, author, comment, created_at = row
    whole = (starts_at, ends_at, author, comment, created_at)
    try:
        return Silence(id_, matchers_from_json(matchers), *whole)
    except ValueError as error:
        return Silence(id_, (), *whole, problem=str(error))
