"""Advice that the job writes: on groups by the workers, on topics and queues once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from config.scaling import ScalingSettings
from config.settings import Settings
from lake.store import Lake
from lake.tables import (
    CONNECTORS,
    DITTO_CONNECTIONS,
    GROUP_OFFSETS,
    GROUPS,
    QUEUES,
    RECOMMENDATIONS,
)
from lake.thinning import Thinning
from spark_metrics.derived.advice import recommend
from spark_metrics.derived.tables import DerivedTables
from tests.late_group import write_late_group

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def write_queue(lake: Lake, now: datetime) -> None:
    """Write a queue whose busy consumers do half of what comes."""
    polls = [now - timedelta(seconds=15 * number) for number in range(10)]
    rows = pl.DataFrame({"observed_at": polls, "ready": [2000 - 150 * n for n in range(10)]})
    lake.append(
        QUEUES,
        rows.with_columns(
            pl.lit("rabbit").alias("cluster"),
            pl.col("observed_at").cast(pl.String).alias("poll_id"),
            vhost=pl.lit("/"),
            queue=pl.lit("mails"),
            kind=pl.lit("plain"),
            publish_per_second=pl.lit(20.0),
            ack_per_second=pl.lit(10.0),
            consumers=pl.lit(2),
            consumer_capacity=pl.lit(0.5),
        ),
    )


def write_stopped_group(lake: Lake, *, polls: int, until: int) -> None:
    """Write a group that nobody runs any more, and whose topic goes on, without what repeats.

    Args:
        lake: The lake.
        polls: Polls until ``NOW``, every 15 s.
        until: All polls.
    """
    thinning = Thinning(GROUP_OFFSETS)
    for number in range(until):
        at = NOW + timedelta(seconds=15) * (number - polls + 1)
        stamp = {"cluster": "demo", "observed_at": at, "poll_id": f"p{number}"}
        rows = pl.DataFrame(
            [
                stamp
                | {
                    "group": "gone",
                    "topic": "orders",
                    "partition": partition,
                    "committed": 1000,
                    "log_start": 0,
                    "log_end": 1000 + 50 * number,
                    "lag": 50 * number,
                }
                for partition in range(2)
            ],
            schema_overrides=dict(GROUP_OFFSETS.polars_schema),
        )
        lake.append(GROUP_OFFSETS, thinning.thinned("demo", rows))
        group = pl.DataFrame([stamp | {"group": "gone", "state": "empty", "members": 0}])
        lake.append(GROUPS, group.cast({"members": pl.Int32}))


def write_named_by(lake: Lake, now: datetime, group: str) -> None:
    """Write a sink with twice as many tasks as its group's four partitions, and a connection."""
    poll = pl.DataFrame({"observed_at": [now]}).with_columns(
        cluster=pl.lit("demo"), poll_id=pl.lit("p0"), group=pl.lit(group)
    )
    lake.append(
        CONNECTORS,
        poll.with_columns(
            connect=pl.lit("connect"),
            connector=pl.lit("sink"),
            type=pl.lit("sink"),
            tasks_expected=pl.lit(8, pl.Int32),
            tasks=pl.lit(8, pl.Int32),
        ),
    )
    lake.append(
        DITTO_CONNECTIONS,
        poll.with_columns(
            ditto=pl.lit("ditto"),
            connection=pl.lit("things"),
            clients=pl.lit(1, pl.Int32),
            consumers=pl.lit(8, pl.Int32),
        ),
    )


def test_each_kind_of_subject_gets_its_advice(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    write_late_group(lake, NOW)
    write_queue(lake, NOW)
    write_named_by(lake, NOW, "late")
    tables = DerivedTables(spark, lake, settings.lake)

    recommend(tables, lake, NOW, ScalingSettings())
    first = lake.read(RECOMMENDATIONS)
    later = NOW + timedelta(seconds=10)
    recommend(tables, lake, later, ScalingSettings())
    second = lake.read(RECOMMENDATIONS)

    given = {(row["subject_kind"], row["subject"], row["kind"]) for row in first.rows(named=True)}
    assert given == {
        ("group", "late", "add_consumers"),
        ("topic", "orders", "durability"),
        ("queue", "mails", "queue_consumers"),
        ("connector", "sink", "connect_tasks"),
        ("connection", "things", "ditto_clients"),
    }
    (sink,) = first.filter(pl.col("subject") == "sink").rows(named=True)
    assert (sink["current"], sink["proposed"]) == (8, 4)
    # Unchanged advice has stood since the first round, and is confirmed by the second.
    assert set(first["valid_from"]) == set(second["valid_from"]) == {NOW}
    assert set(second["confirmed_at"]) == {later}
    assert second.height == first.height


def test_polls_made_meanwhile_say_nothing_of_the_moment(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given samples that leave out what repeats, when further polls come while advice is
    computed, then it is that of the moment: what stood then does not stand in the later polls."""
    tables = DerivedTables(spark, lake, settings.lake)
    write_stopped_group(lake, polls=40, until=40)
    recommend(tables, lake, NOW, ScalingSettings())
    before = lake.read(RECOMMENDATIONS).drop("confirmed_at")
    assert before["subject"].to_list() == ["gone"]

    Path(lake.uri(RECOMMENDATIONS)).rename(Path(lake.uri(RECOMMENDATIONS) + "-before"))
    Path(lake.uri(GROUP_OFFSETS)).rename(Path(lake.uri(GROUP_OFFSETS) + "-before"))
    write_stopped_group(lake, polls=40, until=70)
    recommend(tables, lake, NOW, ScalingSettings())
    assert lake.read(RECOMMENDATIONS).drop("confirmed_at").equals(before)


def test_no_sample_is_no_advice(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    recommend(DerivedTables(spark, lake, settings.lake), lake, NOW, ScalingSettings())

    assert not lake.exists(RECOMMENDATIONS)
