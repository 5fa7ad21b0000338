"""Committed offsets against the ends of the logs: lag."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.offsets import OFFSETS_SCHEMA
from collectors.kafka.groups.committed_offsets import NOT_INITIALISED
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.subscriptions import with_subscriptions
from collectors.kafka.poll.reads import PollView
from collectors.kafka.sections.commit_columns import with_commits
from collectors.kafka.sections.time_lag import time_lags
from config.settings import ClusterSettings

NEVER_COMMITTED = "nothing was ever committed"
NO_TOPIC = "the topic or partition does not exist"
FACTS = (NEVER_COMMITTED, NO_TOPIC, NOT_INITIALISED)
"""Reasons that are facts about the group, and not failures to read something."""

_KEY = ["group", "topic", "partition"]


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``group_offsets``.

    lag = log end - committed, 0 at least; lost messages = log start - committed, 0 at least. Either
    is null with ``unknown_reason`` where one of the two is not known.
    """
    found = client.groups
    rows = _rows(client, found)
    client.memory.group_partitions = rows.select(_KEY)
    rows = _with_ends(client, found, rows)
    rows = with_subscriptions(
        rows, found.subscriptions, client.all_topics, client.memory.topic_patterns
    )
    rows = time_lags(client, rows)
    rows = with_commits(client, rows, now)
    unknown = rows.filter(pl.col("lag").is_null() & ~pl.col("unknown_reason").is_in(FACTS)).height
    if unknown:
        client.problems.append(f"the lag of {unknown} of {rows.height} group partitions is unknown")
    if len(found.offsets_unknown):
        client.problems.append(
            f"the committed offsets of {len(found.offsets_unknown)} groups are unknown"
        )
    client.problems += found.problems
    return {"group_offsets": rows}


def _rows(client: PollView, found: Groups) -> pl.DataFrame:
    """Return one row a group and partition that is committed, assigned, or was so before."""
    rows = _joined(*found.take_offsets(client.groups_of_dead_letters))
    before = client.memory.group_partitions
    if before is not None and found.offsets_unknown:
        lost = before.filter(pl.col("group").is_in(list(found.offsets_unknown)))
        rows = rows.join(lost, on=_KEY, how="full", coalesce=True, validate="1:1")
    watched = client.watched_topics
    rows = rows.filter(pl.col("topic").is_in(watched) | ~pl.col("topic").is_in(client.all_topics))
    reasons = pl.col("group").replace_strict(
        dict(found.offsets_unknown), default=None, return_dtype=pl.String()
    )
    return rows.with_columns(
        pl.when(pl.col("committed").is_null())
        .then(pl.coalesce(reasons, "committed_unknown", pl.lit(NEVER_COMMITTED)))
        .alias("committed_unknown")
    ).sort(_KEY)


def _joined(committed: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    return committed.join(owners, on=_KEY, how="full", coalesce=True, validate="1:1")


def _with_ends(client: PollView, found: Groups, rows: pl.DataFrame) -> pl.DataFrame:
    try:
        ends = client.offsets
        missing = NO_TOPIC
    except CollectorError as error:
        ends = pl.DataFrame(schema=OFFSETS_SCHEMA)
        missing = str(error)
    known = ends.select(pl.col("topic"), pl.col("partition"), pl.lit(True).alias("exists"))
    rows = rows.join(
        ends.join(known, on=["topic", "partition"], validate="1:1"),
        on=["topic", "partition"],
        how="left",
        validate="m:1",
    )
    committed, start, end = pl.col("committed"), pl.col("log_start"), pl.col("log_end")
    shares = [group for group, ref in found.refs.items() if ref.type == "share"]
    return rows.with_columns(
        # What a share group has left is not all that follows its first open record.
        pl.when(pl.col("group").is_in(shares))
        .then("share_lag")
        .otherwise((end - committed).clip(lower_bound=0))
        .alias("lag"),
        (start - committed).clip(lower_bound=0).alias("lost_messages"),
        pl.coalesce(
            "committed_unknown",
            pl.when(pl.col("exists").is_null()).then(pl.lit(missing)),
            "offsets_unknown",
            pl.when(committed > end).then(
                pl.lit("committed beyond the end: the topic was recreated or truncated")
            ),
        ).alias("unknown_reason"),
    ).drop("committed_unknown", "offsets_unknown", "exists", "share_lag")
