"""Computing a time range of history again from the samples that are still there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_metrics.errors import HistoryError
from spark_metrics.gold import hours
from spark_metrics.history_tables import HistoryTables
from spark_metrics.progress import MINUTE, TimeRange, minute_of
from spark_metrics.streaming import CHUNK_HOURS


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a backfill did.

    Attributes:
        time_range: The minutes that were computed anew.
        chunks: In how many batches.
    """

    time_range: TimeRange
    chunks: int


def backfill(
    tables: HistoryTables,
    start: datetime,
    end: datetime,
    *,
    on_progress: Callable[[TimeRange, int, int], None] | None = None,
) -> Rebuilt:
    """Compute all history from start to end anew; the rows are those that streaming gives.

    Minutes before the first sample that is still there are left as they are: their samples have
    been deleted, their history has not.

    Args:
        tables: The tables.
        start: The first moment; its whole minute is computed.
        end: The last moment, exclusive.
        on_progress: Called before each piece with it, its number and how many there are.

    Raises:
        HistoryError: There are no samples in that time, or Spark failed.
        LakeError: The lake cannot be read.
    """
    earliest = tables.earliest()
    if earliest is None:
        raise HistoryError("there are no samples yet: start the collectors first")
    first = max(minute_of(start), minute_of(earliest))
    last = minute_of(end - timedelta(microseconds=1)) + MINUTE
    if first >= last:
        raise HistoryError(
            f"there are no samples before {earliest:%Y-%m-%d %H:%M} UTC: nothing to compute anew"
        )
    touched = hours(first, last)
    chunks = [touched[at : at + CHUNK_HOURS] for at in range(0, len(touched), CHUNK_HOURS)]
    for number, chunk in enumerate(chunks, start=1):
        piece = TimeRange(max(first, chunk[0]), min(last, chunk[-1] + timedelta(hours=1)))
        if on_progress is not None:
            on_progress(piece, number, len(chunks))
        tables.compute(piece)
        tables.roll_up(chunk)
    return Rebuilt(TimeRange(first, last), len(chunks))
