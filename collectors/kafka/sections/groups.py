"""Consumer groups and their members."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.kinds import group_kind, streams_applications
from collectors.kafka.view import View
from config.settings import ClusterSettings


def collect(client: View, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the tables ``groups`` and ``group_members``."""
    found = client.groups
    client.problems += found.problems
    client.problems += _unseen(client.metadata.partitions)
    streams = streams_applications(client.metadata.partitions["topic"].unique().to_list())
    ditto = client.exchange.ditto_groups(client.settings.name)
    kinds = [
        group_kind(
            row["group"],
            type_=row["type"],
            protocol_type=row["protocol_type"] or "",
            protocol=row["protocol"],
            streams=streams,
            ditto=ditto,
        )
        for row in found.groups.select("group", "type", "protocol_type", "protocol").to_dicts()
    ]
    return {
        "groups": found.groups.with_columns(pl.Series("kind", kinds, pl.String())).drop(
            "protocol_type"
        ),
        "group_members": found.members,
    }


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
