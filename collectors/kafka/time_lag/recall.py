"""Timelines of partitions from the samples of the polls before a restart.

Column by column: a large cluster has ten million samples in a quarter of an hour.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.kafka.time_lag.time_lags import TimeLags
from collectors.kafka.time_lag.timelines import CAPACITY, Timelines

_KEY = ["topic", "partition"]

_Mask = npt.NDArray[np.bool_]


def recalled_times(partitions: pl.DataFrame, group_offsets: pl.DataFrame) -> TimeLags:
    """Return what was known of the partitions that groups read before a restart.

    It is what ``TimeLags.record`` makes of the samples one by one.

    Args:
        partitions: topic, partition, topic_id, log_end, and of which polls that was read:
            observed_at, last_at.
        group_offsets: topic, partition of what groups read.
    """
    id_ = pl.struct(_KEY).hash().alias("series")
    wanted = group_offsets.select(_KEY).unique().select(id_).to_series()
    rows = partitions.with_columns(id_).filter(
        pl.col("log_end").is_not_null(), pl.col("series").is_in(wanted.implode())
    )
    if rows.is_empty():
        return TimeLags()
    if not _is_in_order(rows):
        rows = rows.sort("series", "observed_at")
    series, ends = rows["series"].to_numpy(), rows["log_end"].to_numpy()
    kept = np.flatnonzero(_since_last_reset(series, ends, _other_topic(rows["topic_id"])))
    series, ends = series[kept], ends[kept]
    first, last = (
        rows[name].dt.epoch("us").to_numpy()[kept] / 1e6 for name in ("observed_at", "last_at")
    )
    # An end that stays is two points: when it was seen first, and when it was seen last.
    runs = np.flatnonzero(_begins(series) | np.append(True, ends[1:] != ends[:-1]))
    first, last = first[runs], last[np.append(runs[1:], len(ends)) - 1]
    points = np.repeat(np.arange(len(runs)), np.where(last > first, 2, 1))
    is_second = np.append(False, points[1:] == points[:-1])
    seconds = np.where(is_second, last[points], first[points])
    ends, series = ends[runs][points], series[runs][points]
    starts = np.flatnonzero(_begins(series))
    stops = np.append(starts[1:], len(series))
    names = rows.select(*_KEY, "topic_id")[kept[runs[points[stops - 1]]]]
    counts = np.minimum(stops - starts, CAPACITY)
    newest = np.arange(len(ends)) >= np.repeat(stops - counts, stops - starts)
    return TimeLags(names, Timelines.of(counts, ends[newest], seconds[newest]))


def _is_in_order(rows: pl.DataFrame) -> bool:
    """Return whether each series' rows are together and in the order of time."""
    begins = _begins(rows["series"].to_numpy())
    times = rows["observed_at"].to_physical().to_numpy()
    is_later = np.append(True, times[1:] > times[:-1])
    return bool((is_later | begins).all()) and int(begins.sum()) == rows["series"].n_unique()


def _begins(series: npt.NDArray[np.uint64]) -> _Mask:
    """Return which rows are the first of their series."""
    return np.append(True, series[1:] != series[:-1])


def _other_topic(topic_ids: pl.Series) -> _Mask:
    """Return which rows have another topic id than the last one that is known before."""
    known = topic_ids.forward_fill().shift(1)
    return (topic_ids != known).fill_null(False).to_numpy()


def _since_last_reset(
    series: npt.NDArray[np.uint64], ends: npt.NDArray[np.int64], is_other: _Mask
) -> _Mask:
    """Return which rows follow the last time that their topic was made anew or cut back."""
    begins = _begins(series)
    went_back = np.append(False, ends[1:] < ends[:-1])
    run = np.cumsum(begins | went_back | is_other)
    number = np.cumsum(begins) - 1
    last = np.append(np.flatnonzero(begins)[1:], len(series)) - 1
    return np.asarray(run == run[last][number])
