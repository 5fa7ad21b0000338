"""Whether a lake's missing minutes are found."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from bench.cases.minutes import NothingToCompareError, measure
from config.settings import LakeSettings
from lake.schemas.tables import BROKERS, CLUSTER_HISTORY
from lake.storage.store import Lake
from tests.app.generated import write_gold

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TIME = BROKERS.polars_schema["observed_at"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with six minutes of polls of one broker."""
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    rows = [
        {
            "cluster": "c",
            "poll_id": str(poll),
            "broker_id": 1,
            "observed_at": NOON + poll * MINUTE / 2,
        }
        for poll in range(12)
    ]
    lake.append(
        BROKERS, pl.DataFrame(rows, schema_overrides={"observed_at": TIME, "broker_id": pl.Int32})
    )
    return lake


def write(lake: Lake, *minutes: int) -> None:
    rows = [
        {"cluster": "c", "grain_seconds": 60, "window_start": NOON + number * MINUTE}
        for number in minutes
    ]
    write_gold(lake, CLUSTER_HISTORY, pl.DataFrame(rows, schema_overrides={"window_start": TIME}))


def found(lake: Lake) -> dict[str, float]:
    figures = measure(lake, lambda _: None)
    return {
        one.name.removeprefix(f"{CLUSTER_HISTORY.name}: "): one.value
        for one in figures
        if one.name.startswith(CLUSTER_HISTORY.name)
    }


def test_a_whole_history_lacks_nothing(lake: Lake) -> None:
    write(lake, 0, 1, 2, 3, 4, 5)
    assert found(lake) == {"rows that it must have": 5, "missing": 0, "twice": 0}


def test_a_minute_that_is_missing_or_stands_twice_is_counted(lake: Lake) -> None:
    write(lake, 0, 1, 1, 3, 4, 5)
    assert found(lake) == {"rows that it must have": 5, "missing": 1, "twice": 1}


def test_a_lake_without_history_is_not_whole(lake: Lake) -> None:
    with pytest.raises(NothingToCompareError, match="no history from 2026-01-05 12:00"):
        measure(lake, lambda _: None)
