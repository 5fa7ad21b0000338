from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from alerting.inputs.windows import GroupKey
from alerting.status.model import Status
from config.settings import LakeSettings
from lake.schemas.current import GROUP_STATUS
from lake.storage.current_store import read_statuses
from lake.storage.store import Lake
from scaling.facts.lake_reader import GroupFrames, facts_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path / "lake")))


def write_status(lake: Lake, *, status: Status, age: timedelta) -> None:
    row = {
        "group": "g",
        "status": status.value,
        "reason": "Stopped: nobody consumes.",
        "since": NOW - timedelta(hours=2),
        "evaluated_at": NOW - age,
    }
    rows = pl.DataFrame(
        [row], schema={name: GROUP_STATUS.polars_schema[name] for name in ("group", *list(row)[1:])}
    )
    whole = pl.concat(
        [pl.DataFrame(schema=GROUP_STATUS.polars_schema), rows], how="diagonal_relaxed"
    )
    lake.current.replace(GROUP_STATUS, "c", whole)


def frames(statuses: pl.DataFrame) -> GroupFrames:
    groups = pl.DataFrame(
        {"cluster": ["c"], "group": ["g"], "observed_at": [NOW], "poll_id": ["p"], "members": [1]}
    )
    typed = pl.concat([GroupFrames().groups, groups], how="diagonal_relaxed")
    return GroupFrames(groups=typed, statuses=statuses)


def test_advice_is_based_on_the_status_that_the_alerting_service_wrote(lake: Lake) -> None:
    write_status(lake, status=Status.STOPPED, age=timedelta(seconds=10))
    found = facts_of(
        frames(read_statuses(lake.current, ["c"], NOW)), now=NOW, objective=lambda group: 300.0
    )
    status = found[GroupKey("c", "g")].status
    assert (status.status, status.reason) == (Status.STOPPED, "Stopped: nobody consumes.")
    assert status.since == (NOW - timedelta(hours=2)).timestamp()


def test_a_status_of_long_ago_and_one_that_was_never_written_say_nothing(lake: Lake) -> None:
    assert read_statuses(lake.current, ["c"], NOW).is_empty()
    write_status(lake, status=Status.STOPPED, age=timedelta(hours=1))
    assert read_statuses(lake.current, ["c"], NOW).is_empty()


def test_a_broken_file_is_as_good_as_none(lake: Lake) -> None:
    write_status(lake, status=Status.STOPPED, age=timedelta(seconds=10))
    Path(lake.current.uri(GROUP_STATUS, "c")).write_bytes(b"PAR1 and nothing more")
    assert read_statuses(lake.current, ["c"], NOW).is_empty()
