"""The samples of a few series, kept in memory: each look reads what was written since the last."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

import polars as pl

from lake.schemas.model import moment

OVERLAP = timedelta(minutes=2)
"""Rows that arrive this late are still found: sections of a poll are written one by one."""

ANEW_AFTER_SECONDS = 300.0
"""So long rows that were written later still, or of another table, may be missed."""

MOST_KEPT = 64
MOST_ROWS = 20_000
"""Of one answer: what is larger is no few series, and is read anew each time."""

LONGEST = timedelta(hours=1)
"""Samples that go back further are not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    rows: pl.DataFrame
    first: datetime  # from here on all of them are there
    newest: datetime
    read_at: float  # anew, by the monotonic clock


class KeptSeries:
    """Answers to questions for the newest samples of some series; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[object, _Kept] = OrderedDict()

    def read(
        self,
        key: object,
        time_column: str,
        since: datetime,
        read: Callable[[datetime], pl.DataFrame],
    ) -> pl.DataFrame:
        """Return rows from a moment on.

        Args:
            key: What is asked for, without the moment.
            time_column: The column of the rows that tells the moment.
            since: The first moment.
            read: Reads the same rows from a moment on.

        Raises:
            LakeError: What ``read`` raises.
        """
        at = pl.col(time_column)
        with self._lock:
            kept = self._kept.get(key)
        now = time.monotonic()
        if kept is None or since < kept.first or now - kept.read_at > ANEW_AFTER_SECONDS:
            rows, first, read_at = read(since), since, now
        else:
            # A poll of the future, by a clock that was wrong, hides none that come.
            near = max(since, min(kept.newest, datetime.now(UTC)) - OVERLAP)
            rows = pl.concat([kept.rows.filter(at < moment(near)), read(near)])
            first, read_at = kept.first, kept.read_at
        newest: Any = rows[time_column].max()
        with self._lock:
            self._kept.pop(key, None)
            if newest is not None and rows.height <= MOST_ROWS:
                self._kept[key] = _Kept(rows=rows, first=first, newest=newest, read_at=read_at)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return rows.filter(at >= moment(since))
