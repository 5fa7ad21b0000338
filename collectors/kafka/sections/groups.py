"""Consumer groups and their members."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.cluster.kinds import group_kind, streams_applications
from collectors.kafka.poll.reads import PollView
from config.settings import ClusterSettings


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the tables ``groups`` and ``group_members``."""
    found = client.groups
    client.problems += found.problems
    client.problems += _unseen(client.metadata.partitions)
    streams = streams_applications(client.metadata.partitions["topic"].unique().to_list())
    ditto = client.shared.ditto_groups(client.settings.name)
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
    rows = found.groups.with_columns(pl.Series("kind", kinds, pl.String())).drop("protocol_type")
    return {
        "groups": with_kinds_of_members(_with_state_since(client, rows, now), found.members),
        "group_members": found.members,
    }


def _with_state_since(client: PollView, rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Add when the group's present state began.

    It is null where the state began before the group was watched, and while the state is unknown;
    the known date returns with the state.
    """
    before = client.memory.states
    states: dict[str, tuple[str | None, datetime | None]] = {}
    since: list[datetime | None] = []
    for group, state in rows.select("group", "state").iter_rows():
        known = before.get(group)
        if state == "unknown":
            if known is not None:
                states[group] = known
            since.append(None)
            continue
        if known is None:
            known = (state, None)
        states[group] = known if known[0] == state else (state, now)
        since.append(states[group][1])
    client.memory.states = states
    return rows.with_columns(pl.Series("state_since", since, pl.Datetime("us", "UTC")))


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
