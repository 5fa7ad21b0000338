"""History that lies in a real Prometheus, brought into a lake."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from collectors.prometheus.backfill import Backfill, Report, Window, windows
from collectors.prometheus.client import PrometheusClient, TooMuchError
from collectors.prometheus.lag import (
    BEYOND_THE_END,
    NEVER_COMMITTED,
    NO_COMMITTED,
    NO_LEADER,
    NO_TIME_LAG,
)
from config.integrations import PrometheusSettings
from config.settings import Settings
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import BROKER_METRICS, COLLECTIONS, GROUP_OFFSETS, PARTITIONS
from lake.storage.store import Lake
from runtime.processes import ProcessGroup
from tests.servers.prometheus.exporter_series import BYTES_IN, RULE_SETS, Line
from tests.servers.prometheus.server import Prometheus, create_blocks, history

STEP = timedelta(minutes=1)
UNTIL = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
SINCE = UNTIL - timedelta(hours=9)
TABLES = (BROKER_METRICS, GROUP_OFFSETS, PARTITIONS, COLLECTIONS)


def of(group: str, partition: int) -> str:
    return f'consumergroup="{group}",topic="orders",partition="{partition}"'


def at(partition: int) -> str:
    return f'topic="orders",partition="{partition}"'


EXPORTER = [
    Line("kafka_brokers", "", 3),
    Line("kafka_topic_partition_current_offset", at(0), 1000, 10),
    Line("kafka_topic_partition_oldest_offset", at(0), 100),
    Line("kafka_topic_partition_leader", at(0), 2),
    Line("kafka_topic_partition_leader_is_preferred", at(0), 1),
    Line("kafka_topic_partition_replicas", at(0), 3),
    Line("kafka_topic_partition_in_sync_replica", at(0), 2),
    # Partition 1 has no leader: the exporter tells neither leader nor offsets of it.
    Line("kafka_topic_partition_replicas", at(1), 3),
    Line("kafka_topic_partition_in_sync_replica", at(1), 0),
    Line("kafka_consumergroup_current_offset", of("billing", 0), 500, 8),
    Line("kafka_consumergroup_lag", of("billing", 0), 503, 2),  # read 3 messages later
    Line("kafka_consumergroup_current_offset", of("billing", 1), -1),
    Line("kafka_consumergroup_lag", of("billing", 1), -1),
    Line("kafka_consumergroup_current_offset", of("reset", 0), 90_000_000),
    Line("kafka_consumergroup_lag", of("reset", 0), -89_000_000, 10),
    Line("kafka_consumergroup_current_offset", of("hidden", 0), 1),
    Line("kafka_consumergroup_lag", of("hidden", 0), 1),
]
MINION = [
    Line(
        "kminion_kafka_consumer_group_topic_partition_lag",
        'group_id="night",topic_name="orders",partition_id="0"',
        0,
    ),
    # What kafka_exporter tells, too: its commit is worth more.
    Line(
        "kminion_kafka_consumer_group_topic_partition_lag",
        'group_id="billing",topic_name="orders",partition_id="0"',
        7,
    ),
    Line(
        "kminion_kafka_topic_partition_high_water_mark",
        'topic_name="orders",partition_id="0"',
        1000,
        10,
    ),
    Line(
        "kminion_kafka_topic_partition_low_water_mark",
        'topic_name="orders",partition_id="0"',
        100,
    ),
]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("history")
    jobs = {
        ("exporter", "exporter-1"): EXPORTER,
        ("minion", "minion-1"): MINION,
        ("kraft", "kafka-1:7071"): RULE_SETS["kraft"],
    }
    samples = (
        sample
        for (name, instance), lines in jobs.items()
        for sample in history(
            lines,
            {"instance": instance, "job": name},
            SINCE.timestamp(),
            UNTIL.timestamp(),
            every_seconds=60,
        )
    )
    create_blocks(samples, folder / "data")
    with ProcessGroup() as processes:
        yield Prometheus(processes, folder, jobs="  []\n")


def settings_of(prometheus: Prometheus, folder: Path, **more: object) -> Settings:
    return Settings(
        clusters=[  # type: ignore[list-item]
            {
                "name": "production",
                "bootstrap_servers": "localhost:1",
                "groups": {"exclude": ["hidden"]},
            }
        ],
        prometheus=[{"name": "mon", "url": prometheus.url, **more}],  # type: ignore[list-item]
        lake={"uri": str(folder / "lake")},  # type: ignore[arg-type]
    )


def fill(settings: Settings, parts: list[Window]) -> Report:
    backfill = Backfill(settings.prometheus[0], settings, Lake(settings.lake))
    try:
        return backfill.run(parts)
    finally:
        backfill.close()


def rows_of(settings: Settings, table: Table) -> pl.DataFrame:
    rows = Lake(settings.lake).read(table)
    order = ["observed_at", *(name for name in table.key if name in rows.columns)]
    return rows.sort(*(name for name in dict.fromkeys(order) if name != "labels"))


@pytest.fixture(scope="module")
def filled(prometheus: Prometheus, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = settings_of(prometheus, tmp_path_factory.mktemp("filled"))
    parts = list(windows(SINCE, UNTIL, STEP))
    assert len(parts) == 3
    report = fill(settings, parts)
    assert report.skipped == {}
    return settings


def one(rows: pl.DataFrame, minutes: int, **key: object) -> dict[str, object]:
    (row,) = rows.filter(
        pl.col("observed_at") == SINCE + minutes * STEP,
        *(pl.col(name) == value for name, value in key.items()),
    ).to_dicts()
    return row


def test_lag_is_what_kafka_exporter_told(filled: Settings) -> None:
    rows = rows_of(filled, GROUP_OFFSETS)
    row = one(rows, 90, group="billing", topic="orders", partition=0)
    committed, lag = 500 + 8 * 5400, 503 + 2 * 5400
    assert (row["committed"], row["lag"]) == (committed, lag)
    assert row["log_end"] == committed + lag, "the end that belongs to the commit"
    assert (row["log_start"], row["lost_messages"]) == (100, 0)
    assert (row["time_lag_seconds"], row["unknown_reason"]) == (None, NO_TIME_LAG)
    assert rows.filter(pl.col("group") == "billing", pl.col("partition") == 0).height == 540


def test_what_is_not_known_is_null_with_a_reason(filled: Settings) -> None:
    rows = rows_of(filled, GROUP_OFFSETS)
    never = one(rows, 5, group="billing", partition=1)
    assert (never["committed"], never["lag"]) == (None, None)
    assert never["unknown_reason"] == NEVER_COMMITTED
    beyond = one(rows, 5, group="reset")
    assert (beyond["lag"], beyond["unknown_reason"]) == (0, BEYOND_THE_END)
    minion = one(rows, 5, group="night")
    assert (minion["committed"], minion["lag"], minion["time_lag_seconds"]) == (None, 0, 0.0)
    assert (minion["log_end"], minion["unknown_reason"]) == (1000 + 3000, NO_COMMITTED)


def test_groups_that_are_not_watched_are_left_out(filled: Settings) -> None:
    assert set(rows_of(filled, GROUP_OFFSETS)["group"]) == {"billing", "reset", "night"}


def test_partitions_have_as_many_replicas_as_were_told(filled: Settings) -> None:
    rows = rows_of(filled, PARTITIONS)
    row = one(rows, 10, topic="orders", partition=0)
    assert (row["log_end"], row["log_start"]) == (1000 + 6000, 100)
    assert (row["leader"], row["preferred_leader"]) == (2, 2)
    assert row["replicas"] == [None, None, None], "how many, and not which"
    assert row["in_sync_replicas"] == [None, None]
    lost = one(rows, 10, topic="orders", partition=1)
    assert (lost["leader"], lost["log_end"], lost["in_sync_replicas"]) == (None, None, [])
    assert lost["unknown_reason"] == NO_LEADER


def test_broker_metrics_have_canonical_names_and_rates(filled: Settings) -> None:
    rows = rows_of(filled, BROKER_METRICS)
    row = one(rows, 60, metric="bytes_in_per_second", broker="kafka-1:7071")
    assert row["value"] == pytest.approx(BYTES_IN, rel=0.01)
    assert (row["prometheus"], row["is_backfilled"]) == ("mon", True)
    handler = one(rows, 60, metric="request_handler_idle_ratio")
    assert handler["value"] == 0.75
    assert rows["value"].null_count() == 0


def test_history_is_told_how_far_samples_are_apart(filled: Settings) -> None:
    rows = rows_of(filled, COLLECTIONS)
    assert rows.height == 540
    assert set(rows["source"]) == {"prometheus/mon"}
    assert set(rows["interval_seconds"]) == {60.0}
    assert set(rows["section"]) == {"backfill"}
    assert rows["rows"].min() > 10  # type: ignore[operator]


def test_poll_ids_are_those_of_moments(filled: Settings) -> None:
    pairs = pl.concat(
        rows_of(filled, table).select("observed_at", "poll_id").unique() for table in TABLES
    ).unique()
    assert pairs.height == pairs["poll_id"].n_unique() == 540


def test_a_second_run_adds_nothing(filled: Settings) -> None:
    before = {table.name: rows_of(filled, table) for table in TABLES}
    report = fill(filled, list(windows(SINCE, UNTIL, STEP)))
    assert report.added == {}
    assert report.skipped["group_offsets"] == 540
    for table in TABLES:
        assert_frame_equal(rows_of(filled, table), before[table.name], check_row_order=False)


def test_a_coarser_run_adds_nothing_either(filled: Settings) -> None:
    report = fill(filled, list(windows(SINCE, UNTIL, timedelta(minutes=10))))
    assert report.added == {}


def test_a_run_that_was_cut_short_is_completed_by_the_next(
    prometheus: Prometheus, filled: Settings, tmp_path: Path
) -> None:
    settings = settings_of(prometheus, tmp_path)
    parts = list(windows(SINCE, UNTIL, STEP))
    fill(settings, parts[:1])
    fill(settings, [Window(first=parts[1].first, last=parts[1].first + 7 * STEP, step=STEP)])
    fill(settings, parts)
    for table in (BROKER_METRICS, GROUP_OFFSETS, PARTITIONS):
        assert_frame_equal(rows_of(settings, table), rows_of(filled, table), check_row_order=False)


class FailingLake(Lake):
    """A lake that takes no partitions."""

    def append(
        self, table: Table, frame: pl.DataFrame, tokens: Mapping[str, int] | None = None
    ) -> int:
        if table is PARTITIONS:
            raise LakeError("the disk is full")
        return super().append(table, frame, tokens)


def test_a_run_that_was_cut_short_between_tables_is_completed_by_the_next(
    prometheus: Prometheus, filled: Settings, tmp_path: Path
) -> None:
    settings = settings_of(prometheus, tmp_path)
    parts = list(windows(SINCE, UNTIL, STEP))
    backfill = Backfill(settings.prometheus[0], settings, FailingLake(settings.lake))
    with pytest.raises(LakeError, match="the disk is full"):
        backfill.run(parts)
    backfill.close()
    assert not rows_of(settings, GROUP_OFFSETS).is_empty()
    fill(settings, parts)
    for table in (BROKER_METRICS, GROUP_OFFSETS, PARTITIONS):
        assert_frame_equal(rows_of(settings, table), rows_of(filled, table), check_row_order=False)
    reported = rows_of(settings, COLLECTIONS).select("poll_id", "rows", "interval_seconds")
    before = rows_of(filled, COLLECTIONS).select("poll_id", "rows", "interval_seconds")
    assert_frame_equal(reported, before, check_row_order=False)


def test_what_was_seen_live_is_left_alone(prometheus: Prometheus, tmp_path: Path) -> None:
    settings = settings_of(prometheus, tmp_path)
    seen = SINCE + 10 * STEP + timedelta(seconds=10)
    live = {"cluster": "production", "observed_at": seen, "poll_id": "live", "group": "billing"}
    other = {**live, "cluster": "another", "observed_at": SINCE + 20 * STEP}
    schema = {name: GROUP_OFFSETS.polars_schema[name] for name in live}
    Lake(settings.lake).append(GROUP_OFFSETS, pl.DataFrame([live, other], schema=schema))
    report = fill(settings, [Window(first=SINCE, last=SINCE + 29 * STEP, step=STEP)])
    rows = rows_of(settings, GROUP_OFFSETS).filter(pl.col("cluster") == "production")
    near = rows.filter((pl.col("observed_at") - seen).abs() < 2 * STEP)
    assert near["poll_id"].to_list() == ["live"], "what an exporter reported may be older"
    assert report.skipped == {"group_offsets": 4}
    assert rows["observed_at"].n_unique() == 30 - 4 + 1
    assert rows_of(settings, PARTITIONS)["observed_at"].n_unique() == 30


def test_metrics_that_were_unknown_live_are_filled(prometheus: Prometheus, tmp_path: Path) -> None:
    settings = settings_of(prometheus, tmp_path)
    unknown = {
        "cluster": "production",
        "observed_at": SINCE + STEP,
        "poll_id": "live",
        "prometheus": "mon",
        "metric": "bytes_in_per_second",
    }
    schema = {name: BROKER_METRICS.polars_schema[name] for name in unknown}
    Lake(settings.lake).append(BROKER_METRICS, pl.DataFrame([unknown], schema=schema))
    fill(settings, [Window(first=SINCE, last=SINCE + 5 * STEP, step=STEP)])
    found = rows_of(settings, BROKER_METRICS).drop_nulls("value")
    assert found["observed_at"].n_unique() == 6


def test_before_the_first_sample_there_is_nothing(prometheus: Prometheus, tmp_path: Path) -> None:
    settings = settings_of(prometheus, tmp_path)
    early = SINCE - timedelta(hours=3)
    report = fill(settings, list(windows(early, early + timedelta(hours=1), STEP)))
    assert (report.added, report.skipped) == ({}, {})


def test_labels_keep_other_clusters_out(prometheus: Prometheus, tmp_path: Path) -> None:
    settings = settings_of(
        prometheus, tmp_path, labels={"job": "kraft"}, exporter_labels={"job": "minion"}
    )
    fill(settings, [Window(first=SINCE, last=SINCE + 2 * STEP, step=STEP)])
    assert set(rows_of(settings, GROUP_OFFSETS)["group"]) == {"night", "billing"}
    assert rows_of(settings, GROUP_OFFSETS)["committed"].null_count() == 6
    assert rows_of(settings, PARTITIONS).is_empty(), "KMinion tells no leaders"


def test_prometheus_refuses_more_than_11000_points(prometheus: Prometheus) -> None:
    client = PrometheusClient(PrometheusSettings(name="mon", url=prometheus.url))
    client.begin_poll(30)
    second = timedelta(seconds=1)
    assert client.query_range("kafka_brokers", SINCE, SINCE + 10_999 * second, second)
    with pytest.raises(TooMuchError, match="11,000 points"):
        client.query_range("kafka_brokers", SINCE, SINCE + 11_001 * second, second)
    client.close()


def test_windows_stay_below_11000_points() -> None:
    parts = list(windows(SINCE, UNTIL, timedelta(seconds=1)))
    assert max(part.moments for part in parts) < 11_000
    assert sum(part.moments for part in parts) == 9 * 3600


def test_what_is_too_much_at_once_is_asked_for_in_parts(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    """Given a server that takes 1,000 samples a query, a window of 240 moments is too much."""
    source = Path(prometheus.child.log).parent / "data"
    for block in source.glob("01*"):
        shutil.copytree(block, tmp_path / "small" / "data" / block.name)
    with ProcessGroup() as processes:
        small = Prometheus(
            processes, tmp_path / "small", jobs="  []\n", flags=["--query.max-samples=1000"]
        )
        settings = settings_of(small, tmp_path)
        fill(settings, [Window(first=SINCE, last=SINCE + 239 * STEP, step=STEP)])
    rows = rows_of(settings, GROUP_OFFSETS)
    assert rows["observed_at"].n_unique() == 240
    assert rows.height == 240 * 4


def command(settings: Settings, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    config = folder / "headroom.yaml"
    config.write_text(
        "clusters: [{name: production, bootstrap_servers: 'localhost:1'}]\n"
        f"prometheus: [{{name: mon, url: '{settings.prometheus[0].url}'}}]\n"
        f"lake: {{uri: '{settings.lake.uri}'}}\n",
        encoding="utf-8",
    )
    return subprocess.run(
        [sys.executable, "-m", "collectors", "backfill", "--config", str(config), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_fills_and_says_what_it_did(prometheus: Prometheus, tmp_path: Path) -> None:
    settings = settings_of(prometheus, tmp_path)
    until = SINCE + timedelta(hours=1)
    span = ("--from", SINCE.isoformat(), "--to", until.isoformat(), "--step", "5m")
    done = command(settings, tmp_path, *span)
    assert done.returncode == 0, done.stderr
    assert "mon: 60 rows added to group_offsets" in done.stderr
    assert "python -m spark_metrics backfill --from" in done.stderr
    again = command(settings, tmp_path, *span)
    assert again.returncode == 0, again.stderr
    assert "rows added" not in again.stderr
    assert "mon: 12 moments of group_offsets left alone" in again.stderr
