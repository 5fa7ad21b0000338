"""What the last minutes were, an evaluation at a time: charts end with it, before history is there.

Pure.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from alerting.current.flows import UNKNOWN, Flows
from alerting.status.model import LATE
from config.storage import COURSE_KEPT
from lake.schemas.current import CLUSTER_COURSE, GROUP_COURSE

GROUPS_FOLLOWED = 1000
"""The groups that are late, then those with the most waiting messages: people look at these.

To write the course of each of ten thousand groups would slow down every evaluation.
"""

_OF_CLUSTER = (
    *("lag", "time_lag_seconds", "under_replicated", "under_min_isr", "offline"),
    *("topics", "groups"),
)


_LATE = pl.col("status").is_in([one.value for one in LATE])

_LACKS_LAG = (
    (pl.col("lag").is_null() | (pl.col("unknown_partitions") > 0)) & (pl.col("known_lag") > 0)
).fill_null(value=False)
"""Whether messages waited for a group that cannot be read in full now: a sum would look fallen."""


def cluster_course(
    known: pl.DataFrame,
    status: pl.DataFrame,
    groups: pl.DataFrame,
    now: datetime,
    flows: Flows = UNKNOWN,
) -> pl.DataFrame:
    """Return the rows of ``cluster_course``: what groups sum up to is null where one lacks.

    Args:
        known: Its rows of the evaluation before.
        status: The row of ``cluster_status``.
        groups: The rows of ``group_status``.
        now: The moment of this evaluation.
        flows: What arrived and was consumed up to its newest poll.
    """
    missing = pl.col("missing_brokers").list.len()
    if not groups.filter(_LACKS_LAG).is_empty():
        status = status.with_columns(
            pl.lit(None).alias(name) for name in ("lag", "time_lag_seconds")
        )
        flows = flows._replace(consumption_per_second=None)
    rows = status.select(
        pl.col("newest_poll_at").alias("observed_at"),
        *_OF_CLUSTER,
        (pl.col("brokers") - missing).alias("brokers_alive"),
        pl.col("brokers").alias("brokers_known"),
        **{name: pl.lit(value, pl.Float64) for name, value in flows._asdict().items()},
    )
    rows = rows.filter(
        pl.any_horizontal(pl.col("lag", "under_replicated", "brokers_known").is_not_null())
    )
    return _followed(known, rows, CLUSTER_COURSE.polars_schema, (), now)


def group_course(known: pl.DataFrame, status: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return the rows of ``group_course``: of groups that are late, or furthest behind.

    A group that cannot be read in full has none of this evaluation.

    Args:
        known: Its rows of the evaluation before.
        status: The rows of ``group_status``.
        now: The moment of this evaluation.
    """
    rows = (
        status.drop_nulls(["lag", "observed_at"])
        .filter(~_LACKS_LAG)
        .top_k(GROUPS_FOLLOWED, by=[_LATE, pl.col("lag")])
        .select("observed_at", "group", "lag", "time_lag_seconds", "members")
    )
    return _followed(known, rows, GROUP_COURSE.polars_schema, ("group",), now)


def _followed(
    known: pl.DataFrame,
    rows: pl.DataFrame,
    schema: pl.Schema,
    key: tuple[str, ...],
    now: datetime,
) -> pl.DataFrame:
    """Put what was found now behind what is known, and forget what history tells by now."""
    typed = rows.drop_nulls("observed_at").select(
        pl.col(name).cast(schema[name]) for name in rows.columns
    )
    before = known.select(typed.columns).filter(pl.col("observed_at") >= now - COURSE_KEPT)
    # A poll that is evaluated twice is one point, as it was last said.
    moment = ["observed_at", *key]
    return pl.concat([before.join(typed, on=moment, how="anti", maintain_order="left"), typed])
