from __future__ import annotations

import multiprocessing
import random
import signal
import threading
from datetime import UTC, datetime, timedelta
from multiprocessing.synchronize import Event
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import polars as pl
import pytest
from deltalake import DeltaTable
from pyarrow.parquet import ParquetFile

from config.settings import LakeSettings
from config.storage import RetentionSettings
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, GROUP_OFFSETS, JOBS, TABLES
from lake.storage.store import Lake
from lake.storage.table_maintenance import Kept, Maintained, days_kept, maintain_table, oldest_kept
from runtime.spawning import nameless_main
from tests.selection import exhaustive

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
AT_ONCE = Kept(files=timedelta(0), log=timedelta(0))
KILLS = 5
FOR_EVER = RetentionSettings(raw_days=None, minute_days=None, hour_days=None)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path / "lake")))


def append(lake: Lake, at: datetime, broker: int = 1) -> None:
    row = {"cluster": ["c"], "observed_at": [at], "poll_id": ["p"], "broker_id": [broker]}
    lake.append(BROKERS, pl.DataFrame(row))


def maintenance(
    lake: Lake,
    table: Table = BROKERS,
    *,
    retention: RetentionSettings = FOR_EVER,
    now: datetime = NOW,
    kept: Kept = AT_ONCE,
) -> Maintained | None:
    return maintain_table(table, lake.uri(table), None, retention, now=now, kept=kept)


def files(lake: Lake, pattern: str, table: Table = BROKERS) -> int:
    return len(list(Path(lake.uri(table)).glob(pattern)))


def test_small_files_become_one_a_day_and_no_row_changes(lake: Lake) -> None:
    for number in range(12):
        append(lake, NOW - timedelta(hours=3 * number), number)
    before = lake.read(BROKERS).sort("broker_id")
    done = maintenance(lake)
    assert done == Maintained(table="brokers", compacted_files=12, deleted_files=12)
    assert lake.read(BROKERS).sort("broker_id").equals(before)
    days = before["date"].n_unique()
    assert files(lake, "date=*/*.parquet") == days
    # Nothing is left to be done: no further commit.
    version = DeltaTable(lake.uri(BROKERS)).version()
    assert maintenance(lake) == Maintained(table="brokers")
    assert DeltaTable(lake.uri(BROKERS)).version() == version


def test_days_beyond_retention_are_deleted_and_the_rest_is_not(lake: Lake) -> None:
    for days in range(10):
        append(lake, NOW - timedelta(days=days), days)
    done = maintenance(lake, retention=RetentionSettings(raw_days=7))
    assert done is not None
    assert done.expired_days == 2
    assert sorted(lake.read(BROKERS)["broker_id"]) == list(range(8))
    assert files(lake, "date=*/*.parquet") == 8


@pytest.mark.parametrize(
    ("days", "oldest"),
    [
        pytest.param(7, datetime(2026, 11, 13).date(), id="a week"),
        pytest.param(None, None, id="for ever"),
    ],
)
def test_the_oldest_date_that_is_kept(days: int | None, oldest: object) -> None:
    assert oldest_kept(days, NOW) == oldest


def test_retention_by_kind_of_table() -> None:
    retention = RetentionSettings(raw_days=3, minute_days=5, hour_days=6)
    found = {name: days_kept(table, retention) for name, table in TABLES.items()}
    assert found["group_offsets"] == 3
    assert found["jobs"] == 5
    assert found["recommendations"] == 6


def test_removed_files_and_commits_stay_for_those_who_still_read(lake: Lake) -> None:
    for number in range(4):
        append(lake, NOW, number)
    reader = pl.scan_delta(DeltaTable(lake.uri(BROKERS)))
    done = maintenance(lake, kept=Kept(files=timedelta(hours=3)))
    assert done is not None
    assert (done.compacted_files, done.deleted_files) == (4, 0)
    assert sorted(reader.collect()["broker_id"]) == [0, 1, 2, 3]
    assert files(lake, "_delta_log/*.json") > 4


def test_a_writer_and_a_reader_with_open_handles_go_on(lake: Lake, tmp_path: Path) -> None:
    reader = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    for number in range(30):
        append(lake, NOW, number)
        if number % 10 == 5:
            maintenance(lake)
        assert reader.read(BROKERS).height == number + 1


def test_beside_writers_nothing_is_lost(lake: Lake, tmp_path: Path) -> None:
    """Given two writers at full speed, when a third process tidies up again and again,
    then every row is there once."""
    append(lake, NOW, 0)
    failures: list[Exception] = []

    def write(first: int) -> None:
        own = Lake(LakeSettings(uri=str(tmp_path / "lake")))
        try:
            for number in range(first, first + 60):
                append(own, NOW, number)
        except LakeError as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(first,)) for first in (1000, 2000)]
    for writer in writers:
        writer.start()
    rounds = 0
    while any(writer.is_alive() for writer in writers) or not rounds:
        try:
            maintenance(lake, kept=Kept())
        except LakeError as error:
            failures.append(error)
        rounds += 1
    for writer in writers:
        writer.join()
    assert failures == []
    wanted = [0, *range(1000, 1060), *range(2000, 2060)]
    assert sorted(lake.read(BROKERS)["broker_id"]) == wanted


def test_a_table_that_another_engine_writes_is_left_alone(lake: Lake) -> None:
    append(lake, NOW)
    log = Path(lake.uri(BROKERS)) / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace("delta-rs", "Apache-Spark"))
    assert maintenance(lake) is None
    assert maintenance(lake, GROUP_OFFSETS) is None  # not there at all


def test_what_cannot_be_read_is_said_in_one_line(lake: Lake) -> None:
    append(lake, NOW)
    (Path(lake.uri(BROKERS)) / "_delta_log" / f"{0:020}.json").write_text("{broken\n")
    with pytest.raises(LakeError, match="brokers: maintenance failed") as caught:
        maintenance(lake)
    assert "\n" not in str(caught.value)


@pytest.mark.exhaustive
def test_counts_stay_bounded_over_many_polls(lake: Lake) -> None:
    """Given tiny commits of a cadence, compressed to two polls a minute over twelve days,
    when maintenance runs twice a day, then files and log do not grow with time."""
    seen: list[tuple[int, int]] = []
    retention = RetentionSettings(raw_days=3)
    for half_day in range(24):
        now = NOW + timedelta(hours=12 * half_day)
        for number in range(25):
            append(lake, now + timedelta(seconds=number), number)
        maintenance(lake, retention=retention, now=now)
        seen.append((files(lake, "date=*/*.parquet"), files(lake, "_delta_log/*")))
    assert max(count for count, _ in seen) <= 5
    assert max(count for _, count in seen) <= 12
    assert max(seen[16:]) <= max(seen[:16])
    assert lake.read(BROKERS)["date"].n_unique() == 4


def test_jobs_are_kept_up_like_samples(lake: Lake) -> None:
    for number in range(3):
        row = {"job": ["history"], "started_at": [NOW + timedelta(seconds=number)]}
        lake.append(JOBS, pl.DataFrame(row))
    done = maintenance(lake, JOBS)
    assert done is not None
    assert done.compacted_files == 3
    assert lake.read(JOBS).height == 3


@pytest.mark.parametrize("seed", [5, *exhaustive(6, 7, 8)])
def test_killed_at_any_moment_it_loses_nothing_and_is_done_again(lake: Lake, seed: int) -> None:
    """Given a process that keeps up and is killed again and again on its way, then the rows are
    the same after each, and one that is let through leaves one file a day and none too many."""
    uri = lake.uri(BROKERS)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.unit.lake.storage.test_table_maintenance"])
    dice = random.Random(seed)  # noqa: S311 (no secret)
    kills = number = 0
    while kills < KILLS:
        for _ in range(6):
            append(lake, NOW - timedelta(hours=number % 60), number)
            number += 1
        started = context.Event()
        child = context.Process(target=maintain_and_wait, args=(uri, started))
        with nameless_main():  # tests of pages leave a page in its place
            child.start()
        assert started.wait(30)
        child.join(dice.uniform(0, 0.06))
        assert child.is_alive()
        child.kill()
        child.join(30)
        kills += 1
        assert sorted(Lake(LakeSettings(uri=uri.rsplit("/", 2)[0])).read(BROKERS)["broker_id"]) == (
            list(range(number))
        )
    assert maintenance(lake) is not None
    found = lake.read(BROKERS)
    assert sorted(found["broker_id"]) == list(range(number))
    assert files(lake, "date=*/*.parquet") == found["date"].n_unique()


def maintain_and_wait(uri: str, started: Event) -> None:
    """Keep up over and over, with something to do each time, until killed."""
    started.set()
    maintain_table(BROKERS, uri, None, FOR_EVER, now=NOW, kept=AT_ONCE)
    signal.pause()


def test_a_compacted_file_holds_each_of_very_many_member_ids_once(lake: Lake) -> None:
    count, polls = 30_000, 6
    members = [f"consumer-{uuid5(NAMESPACE_OID, str(number))}" for number in range(count)]
    for poll in range(polls):
        rows = pl.DataFrame({"group": members, "member_id": members}).with_columns(
            cluster=pl.lit("c"),
            observed_at=pl.lit(NOW + timedelta(seconds=15 * poll)),
            poll_id=pl.lit(f"p{poll}"),
            topic=pl.lit("t"),
            partition=pl.lit(0, pl.Int32),
            log_end=pl.int_range(pl.len(), dtype=pl.Int64) * 1000 + poll,
        )
        lake.append(GROUP_OFFSETS, rows)
    maintain_table(GROUP_OFFSETS, lake.uri(GROUP_OFFSETS), None, FOR_EVER, now=NOW, kept=AT_ONCE)
    (file,) = DeltaTable(lake.uri(GROUP_OFFSETS)).file_uris()
    metadata = ParquetFile(file).metadata
    assert metadata.num_rows == count * polls
    (row_group,) = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    column = next(
        one
        for one in map(row_group.column, range(metadata.num_columns))
        if one.path_in_schema == "member_id"
    )
    assert column.total_uncompressed_size < 2 * count * len(members[0])
