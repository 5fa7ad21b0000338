"""The samples of a few series, kept in memory: each look reads the data files that are new.

Rows are only ever added in files of their own. So what was read stands as long as all its files
are there, however late a row comes. A compaction, a deletion or a table that was made anew takes
files away: then all is read anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock

import polars as pl

from lake.schemas.model import moment

MOST_KEPT = 64
MOST_ROWS = 20_000
"""Of one answer: what is larger is no few series, and is read anew each time."""

ReadBetween = Callable[[datetime, datetime | None], pl.DataFrame]
ReadFiles = Callable[[frozenset[str], datetime], pl.DataFrame]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    rows: pl.DataFrame
    first: datetime  # from here on all of them are there
    length: timedelta  # the longest before the present that was asked for
    files: frozenset[str]  # that the rows were read from


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
        files: frozenset[str],
        read_between: ReadBetween,
        read_files: ReadFiles,
    ) -> pl.DataFrame:
        """Return rows from a moment on; a row of which there are several may be there twice.

        Args:
            key: What is asked for, without the moment.
            time_column: The column of the rows that tells the moment.
            since: The first moment.
            files: The data files of the table, listed before it is read.
            read_between: Reads the rows from a moment on, before another one if that is given.
            read_files: Reads those of some of the files.

        Raises:
            LakeError: What the reading raises.
        """
        at = pl.col(time_column)
        with self._lock:
            kept = self._kept.get(key)
        length = datetime.now(UTC) - since
        if kept is None or not kept.files <= files:
            rows, first = read_between(since, None), since
        else:
            length = max(length, kept.length)
            first = min(since, max(kept.first, datetime.now(UTC) - length))
            rows, new = kept.rows, files - kept.files
            if since < kept.first:
                rows = pl.concat([read_between(since, kept.first), rows], rechunk=True)
            if new:
                # Else each poll would be a chunk of its own: see ``in_few_chunks``.
                rows = pl.concat([rows, read_files(new, first)], rechunk=True)
            rows = rows.filter(at >= moment(first))
        with self._lock:
            self._kept.pop(key, None)
            if rows.height <= MOST_ROWS:
                self._kept[key] = _Kept(rows=rows, first=first, length=length, files=files)
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
        return rows.filter(at >= moment(since))
