"""Advice that the job writes: on groups by the workers, on topics and queues once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from alerting.status.model import Status
from config.scaling import ScalingSettings
from config.settings import Settings
from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.model import Table
from lake.schemas.tables import (
    ADVICE_STATE,
    CAPACITY,
    CONNECTORS,
    DITTO_CONNECTIONS,
    GROUP_OFFSETS,
    GROUPS,
    QUEUES,
    RECOMMENDATIONS,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.stored_advice import standing
from spark_metrics.derived.advice import recommend
from spark_metrics.derived.job import DerivedJob
from spark_metrics.derived.tables import DerivedTables
from tests.late_group import write_late_group, write_statuses

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
    encoder = ChangeEncoder(GROUP_OFFSETS)
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
        lake.append(GROUP_OFFSETS, encoder.compact("demo", rows))
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


def test_the_job_advises_at_a_cadence_of_its_own(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    now = datetime.now(UTC)
    write_late_group(lake, now)
    job = DerivedJob(spark, lake, settings)

    assert job.advise(now)
    assert lake.read(RECOMMENDATIONS)["subject"].to_list() == ["late", "orders"]
    assert not job.advise(now + timedelta(minutes=5))
    # In between, groups that do something else are advised on anew, and those alone.
    assert job.advise_changed(datetime.now(UTC)) == 0
    write_statuses(lake, datetime.now(UTC), late=Status.FALLING_BEHIND)
    assert job.advise_changed(datetime.now(UTC) + timedelta(minutes=1)) == 1
    given = standing(lake, "demo", datetime.now(UTC))
    assert given.changed == {"late"}
    assert sorted(given.rows["subject"]) == ["late", "orders"]
    assert job.advise(now + timedelta(days=1))


def test_no_sample_is_no_advice(spark: SparkSession, lake: Lake, settings: Settings) -> None:
    recommend(DerivedTables(spark, lake, settings.lake), lake, NOW, ScalingSettings())

    assert not lake.exists(RECOMMENDATIONS)


def write_over_provisioned(lake: Lake, *names: str) -> None:
    """Write an hour of groups with six consumers of which one would do, and what one can do."""
    for name in names:
        _append(
            lake,
            GROUP_OFFSETS,
            [
                {
                    "observed_at": at,
                    "group": name,
                    "topic": "orders",
                    "partition": partition,
                    "committed": 10 * second,
                    "log_start": 0,
                    "log_end": 10 * second,
                    "lag": 0,
                    "time_lag_seconds": 0.0,
                    "member_id": f"m{partition}",
                }
                for at, second in _hour()
                for partition in range(6)
            ],
        )
        _append(
            lake,
            GROUPS,
            [
                {
                    "observed_at": at,
                    "group": name,
                    "state": "stable",
                    "type": "classic",
                    "protocol": "range",
                    "members": 6,
                }
                for at, _ in _hour()
            ],
        )
    _append(
        lake,
        CAPACITY,
        [
            {
                "group": name,
                "status": "identified",
                "per_second": 275.0,
                "low": 250.0,
                "high": 300.0,
                "samples": 40,
                "episodes": 4,
                "as_of": NOW,
            }
            for name in names
        ],
    )


def _hour() -> list[tuple[datetime, int]]:
    return [(NOW + timedelta(seconds=30 * n), 30 * n) for n in range(-20, 100)]


def _append(lake: Lake, table: Table, rows: list[dict[str, object]]) -> None:
    stamped = [
        {"cluster": "demo", "poll_id": str(row.get("observed_at")), **row}
        if "observed_at" in row
        else {"cluster": "demo", **row}
        for row in rows
    ]
    frame = pl.DataFrame(stamped, schema_overrides=dict(table.polars_schema))
    stored = conform(table, frame).to_arrow()
    write_deltalake(lake.uri(table), stored, mode="append", partition_by=["date"])


def advised(lake: Lake, at: datetime) -> dict[str, tuple[str, int]]:
    """Return kind and number of the newest advice on each group."""
    rows = lake.read(RECOMMENDATIONS, pl.col("confirmed_at") == at)
    of_groups = rows.filter(pl.col("quantity") == "consumers")
    return {row["subject"]: (row["kind"], row["proposed"]) for row in of_groups.rows(named=True)}


def test_fewer_consumers_are_advised_once_they_were_enough_for_twenty_minutes(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Given groups with too many consumers, when the job advises every ten minutes and is started
    anew each time, then it keeps them at first and goes down after twenty minutes; one whose state
    was damaged begins anew and says so, and no other does."""
    write_over_provisioned(lake, "damaged", "whole")
    keep, remove = ("keep", 6), ("remove_consumers", 3)
    rounds = [NOW + timedelta(minutes=10 * number) for number in range(4)]
    for number, at in enumerate(rounds):
        tables = DerivedTables(spark, lake, settings.lake)
        recommend(tables, Lake(settings.lake), at, ScalingSettings())
        if number < 2:
            assert advised(lake, at) == {"damaged": keep, "whole": keep}
        elif number == 2:
            assert advised(lake, at) == {"damaged": remove, "whole": remove}
            damage_state(lake, "damaged")
        else:
            assert advised(lake, at) == {"damaged": keep, "whole": remove}
        said = lake.read(RECOMMENDATIONS, pl.col("confirmed_at") == at)
        lost = said.filter(pl.col("caveats").str.contains("could not be read"))
        assert lost["subject"].to_list() == (["damaged"] if number == 3 else [])

    states = lake.read(ADVICE_STATE)
    assert states.select("group", "evaluated_at").sort("group").rows() == [
        ("damaged", rounds[-1]),
        ("whole", rounds[-1]),
    ]


def damage_state(lake: Lake, group: str) -> None:
    """Cut a group's state in half."""
    half = pl.col("state").str.slice(0, 100)
    is_theirs = pl.col("group") == group
    rows = lake.read(ADVICE_STATE).with_columns(
        pl.when(is_theirs).then(half).otherwise("state").alias("state")
    )
    write_deltalake(
        lake.uri(ADVICE_STATE), rows.to_arrow(), mode="overwrite", partition_by=["date"]
    )
