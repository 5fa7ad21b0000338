"""Whether the minutes of history have what the samples have: of a lake that is there already."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import polars as pl

from bench.support.figures import Figure
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    PARTITIONS,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake

_SAMPLES_OF = {
    GROUP_PARTITION_HISTORY: GROUP_OFFSETS,
    GROUP_HISTORY: GROUPS,
    TOPIC_HISTORY: PARTITIONS,
    DEAD_LETTER_HISTORY: DEAD_LETTERS,
    CLUSTER_HISTORY: BROKERS,
}
"""The samples that each history table is made of."""


class NothingToCompareError(RuntimeError):
    """The lake has no samples, or no history of the time that they are of."""


def measure(lake: Lake, on_progress: Callable[[str], None]) -> list[Figure]:
    """Count the minutes of each series that samples have and history lacks or has twice.

    They are those from the first sample that is left to the newest minute of history, which is left
    out: it may be open.

    Raises:
        LakeError: A table cannot be read.
        NothingToCompareError: There is nothing to compare.
    """
    on_progress("reading history")
    firsts = [first for one in _SAMPLES_OF.values() if (first := _first(lake, one)) is not None]
    if not firsts:
        raise NothingToCompareError(f"there are no samples in {lake.uri(GROUP_OFFSETS)}")
    since = min(firsts).replace(second=0, microsecond=0)
    newest = _minutes(lake, CLUSTER_HISTORY, since)["window_start"].max()
    if not isinstance(newest, datetime):
        raise NothingToCompareError(f"there is no history from {since:%Y-%m-%d %H:%M} UTC on")
    figures = [_figure("time", (newest - since).total_seconds() / 60, "minutes")]
    for history, samples in _SAMPLES_OF.items():
        on_progress(f"comparing {history.name}")
        key = [name for name in history.series if name != "grain_seconds"]
        rows = _minutes(lake, history, since).filter(pl.col("window_start") < newest)
        read = lake.read(samples, since=since, until=newest, columns=[*key, "observed_at"])
        minute = pl.col("observed_at").dt.truncate("1m").alias("window_start")
        expected = read.select(*key, minute).unique()
        missing = expected.join(rows, on=[*key, "window_start"], how="anti", nulls_equal=True)
        figures += [
            _figure(f"{history.name}: rows that it must have", expected.height, "rows"),
            _figure(f"{history.name}: missing", missing.height, "rows", most=0),
            _figure(f"{history.name}: twice", rows.height - rows.unique().height, "rows", most=0),
        ]
    return figures


def _first(lake: Lake, table: Table) -> datetime | None:
    first = lake.scan(table).select(pl.col("observed_at").min()).collect().item()
    return first if isinstance(first, datetime) else None


def _minutes(lake: Lake, table: Table, since: datetime) -> pl.DataFrame:
    """Return the keys of a table's minutes as they lie in its files."""
    is_minute = pl.col("grain_seconds") == Grain.MINUTE.seconds
    rows = lake.scan(table, since=since).filter(is_minute)
    return rows.select(name for name in table.key if name != "grain_seconds").collect()


def _figure(name: str, value: float, unit: str, *, most: float | None = None) -> Figure:
    return Figure(name=name, value=value, unit=unit, most=most)
