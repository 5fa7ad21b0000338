"""How much arrives in the partitions that each broker leads."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.current.topics import arrivals
from alerting.inputs.facts import RATE_SECONDS, complete_sum
from app.data import queries
from app.data.context import View
from lake.schemas.tables import PARTITIONS


def per_second(view: View) -> dict[int, float | None]:
    """Return the messages a second of the last five minutes by broker; nothing of a part of them.

    Raises:
        LakeError: The partitions cannot be read.
    """
    if not view.viewer.sees_all_of(view.cluster):
        return {}
    return _of_cluster(view.cache_key, view.cluster, int(view.now.timestamp() // 60), view)


# Of all partitions of the cluster: once a minute is enough for a mean of five.
@st.cache_data(ttl=300, max_entries=16, show_spinner=False)
def _of_cluster(uri: str, cluster: str, minute: int, _view: View) -> dict[int, float | None]:
    return by_leader(queries.recent(_view, PARTITIONS))


def by_leader(partitions: pl.DataFrame) -> dict[int, float | None]:
    """Return the messages a second that arrive in what each broker leads now.

    Args:
        partitions: Rows of ``partitions`` of the last minutes.

    Returns:
        By broker; None where the rate of a partition that it leads is not known.
    """
    end = pl.col("observed_at").max()
    within = partitions.filter(pl.col("observed_at") > end - timedelta(seconds=RATE_SECONDS))
    key = ["topic", "partition"]
    leaders = (
        within.sort("observed_at")
        .group_by(key)
        .agg(pl.col("leader").last())
        .drop_nulls("leader")
        .join(arrivals(within), on=key, how="left")
        .group_by("leader")
        .agg(complete_sum(pl.col("arrival_per_second")))
    )
    return dict(leaders.select("leader", "arrival_per_second").iter_rows())
