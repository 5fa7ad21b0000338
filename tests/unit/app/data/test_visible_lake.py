"""The newest samples of a few series are kept: what is read is what a whole read returns."""

from __future__ import annotations

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
from lake.schemas.tables import GROUP_OFFSETS, GROUPS, PARTITIONS
from lake.storage import kept_series
from lake.storage.store import Lake

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


def test_only_what_was_written_since_is_read_again(
    settings: LakeSettings, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = VisibleLake(settings, Viewer())
    begun: list[datetime | None] = []
    scan = lake.current.visible

    def note(table: Table, frame: pl.LazyFrame, cluster: str | None) -> pl.LazyFrame:
        begun.append(frame.select(pl.col("observed_at").min()).collect().item())
        return scan(table, frame, cluster)

    monkeypatch.setattr(lake.current, "visible", note)
    for _ in range(POLLS - 1):
        collector.poll()

    def read() -> datetime:
        """Return the oldest sample of the files that a look asked for."""
        since = collector.workload.next_at - timedelta(minutes=10)
        lake.read(GROUP_OFFSETS, GROUP, since=since, cluster=CLUSTER)
        oldest = begun.pop()
        assert oldest is not None
        return oldest

    newest = collector.workload.next_at - timedelta(seconds=INTERVAL_SECONDS)
    assert read() < newest - timedelta(minutes=15)
    collector.poll()
    assert read() == newest - kept_series.OVERLAP
    # Once it has passed, what came later still is found too.
    monkeypatch.setattr(kept_series, "ANEW_AFTER_SECONDS", 0.0)
    assert read() < newest - timedelta(minutes=15)


def test_a_sample_that_comes_late_is_found(settings: LakeSettings) -> None:
    lake, now = VisibleLake(settings, Viewer()), datetime.now(UTC).replace(microsecond=0)

    def write(at: datetime, lag: int) -> None:
        sample = {"cluster": CLUSTER, "observed_at": at, "poll_id": f"{at}", "group": "g"}
        row = pl.DataFrame(sample | {"topic": "t", "partition": 0, "lag": lag})
        Lake(settings).append(GROUP_OFFSETS, row)

    def lags() -> list[int]:
        since = now - timedelta(minutes=5)
        rows = lake.read(GROUP_OFFSETS, pl.col("group") == "g", since=since, cluster=CLUSTER)
        return rows.sort("observed_at")["lag"].to_list()

    write(now, 3)
    assert lags() == [3]
    write(now - timedelta(minutes=1), 2)
    write(now + timedelta(minutes=9), 4)  # by a clock that was wrong
    assert lags() == [2, 3, 4]
    write(now + timedelta(seconds=1), 5)
    assert lags() == [2, 3, 5, 4]
