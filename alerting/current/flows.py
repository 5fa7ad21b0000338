"""How much arrived in a cluster and was consumed between its two newest polls: pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import polars as pl

from alerting.inputs.frames import Frames
from lake.differences import reach_of
from lake.schemas.bronze import IN_TOTALS
from lake.schemas.tables import GROUP_OFFSETS, PARTITIONS


class Flows(NamedTuple):
    """Messages a second; None: not known."""

    arrival_per_second: float | None = None
    consumption_per_second: float | None = None


UNKNOWN = Flows()


def cluster_flows(frames: Frames, polled_at: datetime | None) -> Flows:
    """Return what all topics received and all groups consumed, as history by the minute has it.

    Args:
        frames: What was read of the cluster.
        polled_at: When its newest poll began, or that of a source beside it.
    """
    if polled_at is None:
        return UNKNOWN
    seconds = frames.interval_seconds
    newest_since = polled_at - timedelta(seconds=seconds)
    near = pl.col("observed_at") >= newest_since - reach_of(seconds)
    partitions = frames.rows(PARTITIONS).filter(near)
    offsets = frames.rows(GROUP_OFFSETS).filter(near).filter(IN_TOTALS)
    return Flows(
        _per_second(partitions, ("topic", "partition"), "log_end", newest_since),
        _per_second(offsets, ("group", "topic", "partition"), "committed", newest_since),
    )


def _per_second(
    rows: pl.DataFrame, series: tuple[str, ...], counter: str, newest_since: datetime
) -> float | None:
    """Return how fast the sum of counters grew up to a table's newest poll; None: not known.

    So it is where that poll is too old, or could not read one that the poll before could: the sum
    of the others would look like a fall. What is new or gone is not counted, nor what went back, as
    in ``lake.differences``.
    """
    at = rows["observed_at"].max()
    if not isinstance(at, datetime) or at < newest_since:
        return None
    before_at = rows.filter(pl.col("observed_at") < at)["observed_at"].max()
    if not isinstance(before_at, datetime):
        return None
    newest, before = (
        rows.filter(pl.col("observed_at") == moment).select(*series, counter)
        for moment in (at, before_at)
    )
    both = before.drop_nulls(counter).join(newest, on=series, suffix="_now")
    gains = both.select(pl.col(f"{counter}_now") - pl.col(counter)).to_series()
    gained = gains.filter(gains >= 0)
    if gains.null_count() or gained.is_empty():
        return None
    return float(gained.sum()) / ((at - before_at) / timedelta(seconds=1))
