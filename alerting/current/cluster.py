"""Rows of the present that tell of brokers, replication and the cluster: pure functions."""

from __future__ import annotations

import polars as pl

from alerting.inputs.facts import (
    at_newest_poll,
    count_where,
    dead_letter_rows,
    is_missing,
    since_when,
    slowest_first,
)
from alerting.inputs.frames import Frames
from alerting.inputs.quorum import decisive_brokers
from alerting.status.model import LATE
from lake.schemas.bronze import IS_INTERNAL_TOPIC
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, COLLECTIONS, DEAD_LETTERS, GROUP_OFFSETS, GROUPS, TOPICS


def broker_rows(frames: Frames, partitions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``broker_status``."""
    recent = frames.rows(BROKERS)
    brokers = at_newest_poll(recent)
    missing = {
        number: since_when(recent.filter(pl.col("broker_id") == number), is_missing)
        for number in brokers.filter(is_missing)["broker_id"].to_list()
    }
    since = pl.DataFrame(
        {"broker_id": list(missing), "missing_since": list(missing.values())},
        schema={name: BROKER_STATUS.polars_schema[name] for name in ("broker_id", "missing_since")},
    )
    rows = (
        brokers.drop("leaders", "replicas")
        .join(since, on="broker_id", how="left")
        .join(_held(partitions), on="broker_id", how="left")
    )
    is_known = not partitions.is_empty()
    prefer_known = is_known and not partitions["preferred_leader"].null_count()
    held = [
        pl.col(name).fill_null(0) if known else pl.lit(None, pl.Int64).alias(name)
        for names, known in (
            (("leaders", "replicas"), is_known),
            (("preferred", "preferred_led"), prefer_known),
        )
        for name in names
    ]
    decisive = decisive_brokers(frames)
    unknown = pl.lit(None, pl.Boolean)
    ends = unknown if decisive is None else pl.col("broker_id").is_in(list(decisive))
    ends = pl.when("is_alive").then(ends).alias("ends_quorum_if_lost")
    found = rows.with_columns(*held, *_if_lost(partitions), ends)
    # Without a majority of controllers what it leads gets no other leader.
    stops = pl.max_horizontal("offline_if_lost", "leaders")
    offline = pl.when("ends_quorum_if_lost").then(stops).otherwise("offline_if_lost")
    return found.with_columns(offline.alias("offline_if_lost")).sort("broker_id")


def _held(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return what each broker holds, and what would be left without it."""
    in_sync = partitions.select(
        pl.col("in_sync_replicas").list.len().cast(pl.Int64).alias("left") - 1,
        "min_in_sync_replicas",
        pl.col("in_sync_replicas").alias("broker_id"),
    ).explode("broker_id")
    few = pl.col("left") < pl.col("min_in_sync_replicas")
    found = in_sync.group_by("broker_id").agg(
        (pl.col("left") == 0).sum().cast(pl.Int64).alias("offline_if_lost"),
        pl.when(few.null_count() == 0)
        .then(few.sum().cast(pl.Int64))
        .otherwise(-1)
        .alias("refused_if_lost"),
    )
    for column, name in (("leader", "leaders"), ("replicas", "replicas")):
        listed = partitions.select(pl.col(column).alias("broker_id"))
        of_each = listed.explode("broker_id") if column == "replicas" else listed
        found = found.join(
            of_each.group_by("broker_id").len(name), on="broker_id", how="full", coalesce=True
        )
    is_led = (pl.col("leader") == pl.col("preferred_leader")).fill_null(value=False)
    prefer = partitions.group_by(pl.col("preferred_leader").alias("broker_id")).agg(
        pl.len().cast(pl.Int64).alias("preferred"),
        is_led.sum().cast(pl.Int64).alias("preferred_led"),
    )
    found = found.join(prefer, on="broker_id", how="full", coalesce=True)
    return found.drop_nulls("broker_id")


def _if_lost(partitions: pl.DataFrame) -> list[pl.Expr]:
    """Return what would happen if each broker went, too; null where that is not known."""
    is_known = not partitions.is_empty() and not partitions["in_sync_replicas"].null_count()
    return [
        pl.when(pl.col("is_alive") & pl.lit(is_known))
        .then(pl.col(name).fill_null(0).replace(-1, None))
        .alias(name)
        for name in ("offline_if_lost", "refused_if_lost")
    ]


def risk_rows(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``partitions_at_risk``: those that are not in sync, the worst first."""
    return (
        partitions.filter(pl.col("replication") != "in sync")
        .sort("replication", "topic", "partition")
        .with_columns(pl.col("replication").cast(pl.String))
    )


def cluster_row(
    frames: Frames,
    *,
    groups: pl.DataFrame,
    topics: pl.DataFrame,
    brokers: pl.DataFrame,
    partitions: pl.DataFrame,
) -> pl.DataFrame:
    """Return the row of ``cluster_status``."""
    status = groups["status"]
    lags, late = groups["lag"].drop_nulls(), groups.drop_nulls("time_lag_seconds")
    slowest = slowest_first(late).head(1)
    led = partitions.filter(pl.col("preferred_leader").is_not_null())
    idle, idle_groups = _idle(groups)
    polls = frames.rows(COLLECTIONS)["observed_at"]
    letters = dead_letter_rows(frames.rows(DEAD_LETTERS), frames.last(TOPICS))
    internal = topics.filter(IS_INTERNAL_TOPIC)

    def is_unread(*tables: Table) -> bool:
        return any(table.name in frames.errors for table in tables)

    return pl.DataFrame(
        [
            {
                "brokers": brokers.height or None,
                "missing_brokers": brokers.filter(is_missing)["broker_id"].to_list(),
                "partitions": partitions.height or None,
                "preferred_led": (
                    int((led["leader"] == led["preferred_leader"]).fill_null(False).sum())
                    if led.height
                    else None
                ),
                "under_replicated": count_where(partitions, "is_under_replicated"),
                "under_min_isr": count_where(partitions, "is_under_min_isr"),
                "offline": count_where(partitions, "is_offline"),
                "topics": topics.height or None,
                "arrival_per_second": _complete_sum(
                    topics.filter(~IS_INTERNAL_TOPIC)["arrival_per_second"]
                ),
                "internal_arrival_per_second": _complete_sum(internal["arrival_per_second"])
                if internal.height or topics.is_empty()
                else 0.0,
                "groups": None if is_unread(GROUPS, GROUP_OFFSETS) else groups.height,
                "late_groups": int(status.is_in([status.value for status in LATE]).sum()),
                "lag": int(lags.sum()) if lags.len() else None,
                "incomplete_groups": groups.filter(
                    (pl.col("unknown_partitions") > 0) | pl.col("lag").is_null()
                ).height,
                "time_lag_seconds": slowest["time_lag_seconds"].to_list()[0]
                if late.height
                else None,
                "slowest_group": next(iter(slowest["group"]), None),
                "idle_members": idle,
                "idle_groups": idle_groups,
                "dead_letter_topics": None if is_unread(DEAD_LETTERS) else letters.height,
                "dead_letters_per_second": _complete_sum(letters["arrival_per_second"]),
                "newest_poll_at": polls.max(),
                "unreadable": [
                    {"key": table, "value": reason} for table, reason in frames.errors.items()
                ],
            }
        ],
        schema={
            name: type_
            for name, type_ in CLUSTER_STATUS.polars_schema.items()
            if name not in ("cluster", "evaluated_at")
        },
    )


def _idle(groups: pl.DataFrame) -> tuple[int | None, int | None]:
    """Return how many members are idle, and in how many groups: of those that are known.

    Nobody is known to be idle where that of a group is not known and no other has one.
    """
    is_known = pl.col("members").is_not_null() & pl.col("idle_members").is_not_null()
    idle = groups.filter(is_known)["idle_members"]
    if groups.is_empty() or (idle.len() < groups.height and not idle.sum()):
        return None, None
    return int(idle.sum()), int((idle > 0).sum())


def _complete_sum(values: pl.Series) -> float | None:
    """Return the sum; None where there is no value or one is unknown."""
    return None if values.is_empty() or values.null_count() else float(values.sum())
