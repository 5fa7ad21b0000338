"""The newest samples of a few series are kept: what is read is what a whole read returns."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from app.data.viewer import Viewer
from app.data.visible_lake import VisibleLake
from bench.support.samples import CLUSTER, INTERVAL_SECONDS, Collector, Workload
from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS, PARTITIONS
from lake.storage.store import Lake
from tests.support import compact

POLLS = 75
GROUP = pl.col("group") == "team-0.service-1"
TOPIC = pl.col("topic").is_in(["events.domain-1.v1", "events.domain-2.v1"])


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"))


@pytest.fixture
def collector(settings: LakeSettings) -> Collector:
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=INTERVAL_SECONDS) * POLLS
    return Collector(Lake(settings), Workload(groups=4, partitions=3, idle_ratio=0.7, start=start))


QUESTIONS: list[tuple[Table, list[pl.Expr]]] = [
    (GROUP_OFFSETS, [GROUP]),
    (GROUP_OFFSETS, [GROUP, pl.col("lag") >= 0]),
    (PARTITIONS, [TOPIC]),
    (GROUPS, [GROUP]),
    (COLLECTIONS, []),
]


def test_kept_rows_are_those_of_a_whole_read(settings: LakeSettings, collector: Collector) -> None:
    lake, whole = VisibleLake(settings, Viewer()), collector.lake
    for poll in range(POLLS):
        at = collector.workload.next_at
        collector.poll()
        if poll < POLLS - 12 or poll % 4:
            continue
        for table, wanted in QUESTIONS:
            for minutes in (5, 10):
                since = at - timedelta(minutes=minutes)
                found, expected = (
                    one.read(table, *wanted, since=since, cluster=CLUSTER) for one in (lake, whole)
                )
                assert found.height > 0
                assert_frame_equal(found, expected, check_row_order=False)


def test_only_new_files_are_read_again(
    settings: LakeSettings, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = VisibleLake(settings, Viewer())
    begun: list[datetime | None] = []
    shown = lake.current.visible

    def note(table: Table, frame: pl.LazyFrame, cluster: str | None) -> pl.LazyFrame:
        begun.append(frame.select(pl.col("observed_at").min()).collect().item())
        return shown(table, frame, cluster)

    monkeypatch.setattr(lake.current, "visible", note)
    for _ in range(POLLS - 2):
        collector.poll()

    def read() -> list[datetime | None]:
        """Return the oldest sample of each part of the table that a look read."""
        begun.clear()
        since = collector.workload.next_at - timedelta(minutes=10)
        lake.read(GROUP_OFFSETS, GROUP, since=since, cluster=CLUSTER)
        return list(begun)

    (oldest,) = read()
    assert oldest is not None
    assert oldest < collector.workload.next_at - timedelta(minutes=15)
    assert read() == []
    for _ in range(2):
        at = collector.workload.next_at
        collector.poll()
        assert read() == [at]


def test_rows_of_many_looks_are_in_one_piece(settings: LakeSettings, collector: Collector) -> None:
    lake = VisibleLake(settings, Viewer())
    for _ in range(5):
        at = collector.workload.next_at
        collector.poll()
        since = at - timedelta(minutes=10)
        names = ["observed_at", "group"]
        rows = lake.as_written(GROUPS, [], names, since=since, until=None, cluster=CLUSTER)
        assert rows.n_chunks() == 1


def test_other_columns_and_a_longer_time_of_the_same_series_are_not_read_anew(
    settings: LakeSettings, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = VisibleLake(settings, Viewer())
    read: list[pl.Series] = []
    shown = lake.current.visible

    def note(table: Table, frame: pl.LazyFrame, cluster: str | None) -> pl.LazyFrame:
        read.append(frame.select("observed_at").collect()["observed_at"])
        return shown(table, frame, cluster)

    for _ in range(POLLS):
        collector.poll()
    # A change-only table is read from a quarter of an hour before on.
    short, long = (collector.workload.next_at - timedelta(minutes=length) for length in (1, 10))
    lake.read(GROUP_OFFSETS, GROUP, since=short, cluster=CLUSTER, columns=["lag"])
    monkeypatch.setattr(lake.current, "visible", note)
    found = lake.read(GROUP_OFFSETS, GROUP, since=short, cluster=CLUSTER, columns=["log_end"])
    assert read == []
    assert found.height > 0
    longer = lake.read(GROUP_OFFSETS, GROUP, since=long, cluster=CLUSTER)
    (before,) = read
    newest = before.max()
    assert isinstance(newest, datetime)
    assert newest < short
    whole = collector.lake.read(GROUP_OFFSETS, GROUP, since=long, cluster=CLUSTER)
    assert_frame_equal(longer, whole, check_row_order=False)


def test_rows_stand_once_after_a_compaction(settings: LakeSettings, collector: Collector) -> None:
    lake = VisibleLake(settings, Viewer())

    def is_whole(table: Table, wanted: list[pl.Expr]) -> bool:
        since = collector.workload.next_at - timedelta(minutes=5)
        found, expected = (
            one.read(table, *wanted, since=since, cluster=CLUSTER).sort(table.identity)
            for one in (lake, collector.lake)
        )
        return found.height > 0 and found.equals(expected)

    for _ in range(POLLS - 2):
        collector.poll()
    assert all(is_whole(*question) for question in QUESTIONS)
    collector.poll()
    for table in (GROUP_OFFSETS, PARTITIONS, GROUPS, COLLECTIONS):
        compact(collector.lake, table)
    assert all(is_whole(*question) for question in QUESTIONS)
    collector.poll()
    assert all(is_whole(*question) for question in QUESTIONS)


def test_a_sample_is_found_however_late_it_comes(settings: LakeSettings) -> None:
    lake, now = VisibleLake(settings, Viewer()), datetime.now(UTC).replace(microsecond=0)

    def write(at: datetime, lag: int) -> None:
        sample = {"cluster": CLUSTER, "observed_at": at, "poll_id": f"{at}", "group": "g"}
        row = pl.DataFrame(sample | {"topic": "t", "partition": 0, "lag": lag})
        Lake(settings).append(GROUP_OFFSETS, row)

    def lags(minutes: int = 5) -> list[int]:
        since = now - timedelta(minutes=minutes)
        rows = lake.read(GROUP_OFFSETS, pl.col("group") == "g", since=since, cluster=CLUSTER)
        return rows.sort("observed_at")["lag"].to_list()

    write(now, 3)
    assert lags() == [3]
    write(now - timedelta(minutes=1), 2)
    write(now + timedelta(minutes=9), 4)  # by a clock that was wrong
    assert lags() == [2, 3, 4]
    write(now + timedelta(seconds=1), 5)
    write(now - timedelta(minutes=4), 1)
    write(now - timedelta(minutes=6), 0)
    compact(Lake(settings), GROUP_OFFSETS)
    write(now - timedelta(minutes=3), 6)
    assert lags() == [1, 6, 2, 3, 5, 4]
    # Who looks further back finds what was too old for others.
    assert lags(10) == [0, 1, 6, 2, 3, 5, 4]
    assert lags() == [1, 6, 2, 3, 5, 4]


def test_a_table_that_was_made_anew_has_its_own_rows_alone(settings: LakeSettings) -> None:
    lake, now = VisibleLake(settings, Viewer()), datetime.now(UTC).replace(microsecond=0)
    since = now - timedelta(minutes=5)

    def states() -> list[str]:
        return lake.read(GROUPS, GROUP, since=since, cluster=CLUSTER)["state"].to_list()

    def write(state: str) -> None:
        sample = {"cluster": CLUSTER, "observed_at": now, "poll_id": state, "state": state}
        row = pl.DataFrame(sample | {"group": "team-0.service-1"})
        Lake(settings).append(GROUPS, row)

    write("stable")
    assert states() == ["stable"]
    shutil.rmtree(lake.uri(GROUPS))
    assert states() == []
    write("empty")
    assert states() == ["empty"]
