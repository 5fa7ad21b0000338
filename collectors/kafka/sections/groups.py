"""Consumer groups and their members."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.cluster.kinds import group_kind, streams_applications
from collectors.kafka.poll.cluster_reads import ClusterReads
from config.settings import ClusterSettings


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the tables ``groups`` and ``group_members``."""
    found = reads.groups.value
    reads.problems.extend(found.problems)
    partitions = reads.metadata.value.partitions
    reads.problems.extend(_unseen(partitions))
    streams = streams_applications(reads.topics.value.all)
    kinds = [
        group_kind(
            row["group"],
            type_=row["type"],
            protocol_type=row["protocol_type"] or "",
            protocol=row["protocol"],
            streams=streams,
            ditto=reads.ditto_groups,
        )
        for row in found.groups.select("group", "type", "protocol_type", "protocol").to_dicts()
    ]
    state_since = reads.state_since.value
    since = [state_since[group] for group in found.groups["group"]]
    rows = found.groups.with_columns(
        pl.Series("kind", kinds, pl.String()),
        pl.Series("state_since", since, pl.Datetime("us", "UTC")),
    ).drop("protocol_type")
    return {
        "groups": with_kinds_of_members(rows, found.members),
        "group_members": found.members,
    }


def with_kinds_of_members(rows: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Add how many members are idle, and how many static.

    Idle ones are unknown where a member's assignment is not known.
    """
    assigned = pl.col("assigned_partitions")
    idle = pl.when(assigned.null_count() == 0).then((assigned == 0).sum())
    static = pl.col("instance_id").is_not_null().sum()
    found = members.group_by("group").agg(idle_members=idle, static_members=static)
    return rows.join(found, on="group", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("members") == 0).then(0).otherwise(name).cast(pl.Int32()).alias(name)
        for name in ("idle_members", "static_members")
    )


def _unseen(partitions: pl.DataFrame) -> list[str]:
    """Say where groups may exist that no broker lists.

    A group lives in a partition of ``__consumer_offsets``. While that has no leader, nobody lists
    the group, and Kafka reports no error.
    """
    offsets = partitions.filter(pl.col("topic") == "__consumer_offsets")
    lost = offsets.filter(pl.col("leader").is_null()).height
    if not lost:
        return []
    return [
        f"{lost} of {offsets.height} partitions of __consumer_offsets have no leader: groups "
        "there cannot be seen"
    ]
