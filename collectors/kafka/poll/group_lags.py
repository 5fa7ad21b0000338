"""Committed offsets against the ends of the logs: lag."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.offsets import OFFSETS_SCHEMA
from collectors.kafka.groups.committed_offsets import NOT_INITIALISED
from collectors.kafka.groups.model import Groups
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.watched_topics import Topics

NEVER_COMMITTED = "nothing was ever committed"
NO_TOPIC = "the topic or partition does not exist"
FACTS = (NEVER_COMMITTED, NO_TOPIC, NOT_INITIALISED)
"""Reasons that are facts about the group, and not failures to read something."""

GROUP_PARTITION = ["group", "topic", "partition"]


def group_lags(
    groups: Groups,
    offsets: Outcome[pl.DataFrame],
    topics: Topics,
    before: pl.DataFrame | None,
    kept: Collection[str],
) -> pl.DataFrame:
    """Return one row a group and partition that is committed, assigned, or was so before.

    lag = log end - committed, 0 at least; lost messages = log start - committed, 0 at least. Either
    is null with ``unknown_reason`` where one of the two is not known.

    Args:
        groups: Their offsets are taken out of them.
        offsets: Of the watched partitions.
        topics: Those that there are.
        before: group, topic, partition of the rows of the poll before.
        kept: Groups whose committed offsets are needed further.
    """
    return _with_ends(groups, offsets, _rows(groups, topics, before, kept))


def _rows(
    found: Groups, topics: Topics, before: pl.DataFrame | None, kept: Collection[str]
) -> pl.DataFrame:
    rows = _joined(*found.take_offsets(kept))
    if before is not None and found.offsets_unknown:
        lost = before.select(GROUP_PARTITION).filter(
            pl.col("group").is_in(list(found.offsets_unknown))
        )
        rows = rows.join(lost, on=GROUP_PARTITION, how="full", coalesce=True, validate="1:1")
    # Those of topics that do not exist stay: nobody knows whether they would be watched.
    unwatched = list(topics.all.keys() - set(topics.watched))
    rows = rows.filter(~pl.col("topic").is_in(unwatched))
    reasons = pl.col("group").replace_strict(
        dict(found.offsets_unknown), default=None, return_dtype=pl.String()
    )
    return rows.with_columns(
        pl.when(pl.col("committed").is_null())
        .then(pl.coalesce(reasons, "committed_unknown", pl.lit(NEVER_COMMITTED)))
        .alias("committed_unknown")
    ).sort(GROUP_PARTITION)


def _joined(committed: pl.DataFrame, owners: pl.DataFrame) -> pl.DataFrame:
    return committed.join(owners, on=GROUP_PARTITION, how="full", coalesce=True, validate="1:1")


def _with_ends(found: Groups, offsets: Outcome[pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    try:
        ends = offsets.value
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
