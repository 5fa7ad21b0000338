"""Groups that the newest polls could not read: one or two of them that failed change nothing."""

from __future__ import annotations

import polars as pl

from alerting.inputs.frames import Frames
from alerting.status.model import Status
from alerting.status.phrases import duration
from lake.schemas.tables import GROUP_OFFSETS

NOT_READ = " Not read for "
"""Before how long ago the values of a row were read, at the end of its reason."""


def briefly_unread(
    groups: pl.DataFrame, previous: pl.DataFrame | None, frames: Frames
) -> pl.DataFrame:
    """Return the rows of the evaluation before of groups that were read in full just before.

    They say of when they are (``observed_at``), and their reason how long that is ago. A group that
    is found to do something else from what could be read is not among them.

    Args:
        groups: Rows of ``group_status`` of this evaluation.
        previous: Those of the evaluation before.
        frames: What was read of the cluster.
    """
    if previous is None or GROUP_OFFSETS.name in frames.errors:
        return groups.clear()  # a table that cannot be read is no poll that failed
    unknown = Status.UNKNOWN.value
    now = groups.select(
        "group", pl.col("status").alias("_status"), pl.col("unknown_partitions").alias("_unknown")
    )
    is_same = pl.col("_status") == pl.col("status")
    reads_less = pl.col("_unknown") > pl.col("unknown_partitions").fill_null(0)
    known = (
        previous.drop_nulls("observed_at")
        .filter(pl.col("status") != unknown)
        .join(now, on="group", how="inner", maintain_order="left")
        .filter((pl.col("_status") == unknown) | (is_same & reads_less))
        .drop("_status", "_unknown")
    )
    reasons = []
    is_brief = []
    for at, reason in known.select("observed_at", "reason").iter_rows():
        ago = frames.sampled_at - at.timestamp()
        is_brief.append(frames.is_brief(ago))
        reasons.append(f"{(reason or '').partition(NOT_READ)[0]}{NOT_READ}{duration(ago)}.")
    return known.with_columns(pl.Series("reason", reasons, dtype=pl.String)).filter(
        pl.Series(is_brief, dtype=pl.Boolean)
    )


def with_rows_of(
    rows: pl.DataFrame, before: pl.DataFrame | None, held: pl.DataFrame
) -> pl.DataFrame:
    """Return rows of a table with those of the evaluation before of the groups of ``held``."""
    names = held["group"].implode()
    kept = rows.filter(~pl.col("group").is_in(names))
    if before is None or held.is_empty():
        return rows if held.is_empty() else kept
    known = before.filter(pl.col("group").is_in(names))
    return pl.concat([kept, known.select(rows.columns).cast(rows.schema)])
