"""Rows of the present that tell of brokers, replication and the cluster: pure functions."""

from __future__ import annotations

import polars as pl

from alerting.inputs.broker_loss import with_losses
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
    rows = brokers.join(since, on="broker_id", how="left")
    return with_losses(rows, partitions, decisive_brokers(frames)).sort("broker_id")


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
