from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.schemas.tables import BROKERS, GROUPS
from lake.storage.store import Lake
from spark_metrics.bronze import BronzeTable
from spark_metrics.errors import HistoryError
from spark_metrics.files import for_spark
from tests.support import compact

AT = datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"))


@pytest.fixture
def lake(settings: LakeSettings) -> Lake:
    return Lake(settings)


@pytest.fixture
def table(lake: Lake, settings: LakeSettings) -> BronzeTable:
    return BronzeTable(lake, settings, BROKERS)


def append(lake: Lake, at: datetime, count: int = 1) -> None:
    rows = [
        {"cluster": "c", "observed_at": at, "poll_id": "p", "broker_id": number}
        for number in range(count)
    ]
    lake.append(BROKERS, pl.DataFrame(rows))


def test_there_is_no_position_before_the_first_rows(table: BronzeTable, lake: Lake) -> None:
    assert table.position() is None
    assert table.earliest() is None
    append(lake, AT)
    position = table.position()
    assert position is not None
    assert position.version == 0


def test_only_what_was_appended_since_is_new(table: BronzeTable, lake: Lake) -> None:
    append(lake, AT)
    before = table.position()
    append(lake, AT + timedelta(minutes=3), count=2)
    after = table.position()
    assert before is not None
    assert after is not None
    files, is_all = table.appended(before, after)
    assert not is_all
    (file,) = files
    assert file.rows == 2
    assert file.first <= AT + timedelta(minutes=3) <= file.last
    assert file.last - file.first < timedelta(seconds=1)
    assert table.appended(after, after) == ([], False)


def test_the_first_look_takes_everything(table: BronzeTable, lake: Lake) -> None:
    append(lake, AT)
    append(lake, AT + timedelta(minutes=3), count=2)
    position = table.position()
    assert position is not None
    files, is_all = table.appended(None, position)
    assert is_all
    assert sum(file.rows for file in files) == 3
    assert table.earliest() is not None
    assert table.earliest() <= AT  # type: ignore[operator]


def test_a_compaction_is_no_news(table: BronzeTable, lake: Lake) -> None:
    for number in range(3):
        append(lake, AT + timedelta(seconds=number))
    before = table.position()
    compact(lake, BROKERS)
    after = table.position()
    assert before is not None
    assert after is not None
    assert after.version > before.version
    assert table.appended(before, after) == ([], False)
    assert table.rows(AT, AT + timedelta(minutes=1)) == 3


def test_a_cleaned_log_means_looking_at_everything(
    table: BronzeTable, lake: Lake, settings: LakeSettings
) -> None:
    append(lake, AT)
    before = table.position()
    append(lake, AT, count=2)
    after = table.position()
    assert before is not None
    assert after is not None
    (Path(lake.uri(BROKERS)) / "_delta_log" / f"{1:020}.json").unlink()
    files, is_all = table.appended(before, after)
    assert is_all
    assert sum(file.rows for file in files) == 3


def test_a_table_made_anew_is_read_anew(
    table: BronzeTable, lake: Lake, settings: LakeSettings, tmp_path: Path
) -> None:
    append(lake, AT)
    before = table.position()
    another = Lake(LakeSettings(uri=str(tmp_path / "other")))
    append(another, AT, count=2)
    moved = BronzeTable(another, LakeSettings(uri=str(tmp_path / "other")), BROKERS)
    after = moved.position()
    assert before is not None
    assert after is not None
    files, is_all = moved.appended(before, after)
    assert is_all
    assert sum(file.rows for file in files) == 2


def test_late_samples_of_a_file_are_counted(table: BronzeTable, lake: Lake) -> None:
    now = datetime.now(UTC)
    rows = [
        {"cluster": "c", "observed_at": now - timedelta(minutes=minutes), "poll_id": "p"}
        for minutes in (90, 70, 50, 0)
    ]
    lake.append(BROKERS, pl.DataFrame(rows).with_columns(pl.lit(1).alias("broker_id")))
    position = table.position()
    assert position is not None
    files, _ = table.appended(None, position)
    assert sum(table.late(file, timedelta(hours=1)) for file in files) == 2
    assert sum(table.late(file, timedelta(minutes=30)) for file in files) == 3
    assert sum(table.late(file, timedelta(hours=2)) for file in files) == 0


def test_a_broken_log_is_said(lake: Lake, settings: LakeSettings) -> None:
    log = Path(lake.uri(GROUPS)) / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{broken\n")
    with pytest.raises(HistoryError, match="groups cannot be read"):
        BronzeTable(lake, settings, GROUPS).position()


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        pytest.param("s3://bucket/a", "s3a://bucket/a", id="s3"),
        pytest.param("/data/lake", "/data/lake", id="folder"),
    ],
)
def test_addresses_for_hadoop(address: str, wanted: str) -> None:
    assert for_spark(address) == wanted


def test_a_file_that_cannot_be_read_counts_no_late_sample(
    table: BronzeTable, lake: Lake, settings: LakeSettings
) -> None:
    """Were it an error, no round would ever get as far as leaving the file aside."""
    append(lake, AT)
    before = table.position()
    rows = [
        {"cluster": "c", "observed_at": at, "poll_id": "p", "broker_id": 1}
        for at in (AT, AT + timedelta(hours=2))
    ]
    lake.append(BROKERS, pl.DataFrame(rows))
    after = table.position()
    assert after is not None
    ((file,), _) = table.appended(before, after)
    limit = file.file.written_at - (AT + timedelta(hours=1))
    assert table.late(file, limit) == 1
    path = Path(lake.uri(BROKERS)) / file.file.path
    path.write_bytes(path.read_bytes()[:200])
    assert table.late(file, limit) == 0
