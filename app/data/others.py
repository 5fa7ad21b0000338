"""How much waits for all groups that a chart draws no line of: the sum of the same moments.

A history has the lag of the cluster and of each group at the last poll of a step. What some groups
have of the former, the others do not: the difference is their sum, and nothing else is to be read.
Of the highest lags in a step it would not be so, as each is of another poll.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from app.data import history_queries
from app.data.context import View
from app.data.history import TIME, Measure, in_steps, observed
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY

_AT_END = Measure(name="value", gold="lag_last", last=True)


def lag_of_others(view: View, named: Sequence[str]) -> pl.DataFrame:
    """Return the lag of all groups but some over the chosen range, at the end of each step.

    It ends with the history, some minutes ago.

    Args:
        view: The frame of the page.
        named: The groups that are left out.

    Returns:
        Rows of ``time`` and ``value``; see ``without``.

    Raises:
        LakeError: A table cannot be read.
    """
    cluster = history_queries.history(view, CLUSTER_HISTORY)
    groups = history_queries.history(view, GROUP_HISTORY, "group", named)
    rest = without(observed(cluster, view.range), observed(groups, view.range))
    return in_steps(rest, (), (_AT_END,), view.range.step_seconds)


def without(cluster: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the lag of a cluster without that of some groups; of what is known in both.

    It is unknown where a group was not read at some poll of the step: the last that is known of it
    may be of another poll than that of the cluster.

    Args:
        cluster: Rows of ``cluster_history``.
        groups: Rows of ``group_history`` of the same grain.
    """
    of_groups = groups.group_by("window_start").agg(
        pl.col("lag_last").sum().alias("named"),
        (pl.col("unknown_samples").fill_null(0).gt(0) & pl.col("lag_last").is_not_null())
        .any()
        .alias("is_torn"),
    )
    rest = pl.col("lag_last") - pl.col("named")
    return (
        cluster.join(of_groups, on="window_start")
        .select(
            pl.col("window_start").alias(TIME),
            pl.when(~pl.col("is_torn") & (rest >= 0)).then(rest).alias("value"),
        )
        .sort(TIME)
    )
