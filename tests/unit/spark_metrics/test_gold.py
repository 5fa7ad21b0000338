"""How a history table is written; what Spark makes of it, ``tests/spark`` says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession

from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schemas.tables import GROUP_HISTORY
from lake.storage.store import Lake
from spark_metrics import gold
from spark_metrics.gold import GoldTable

START = datetime(2026, 1, 5, 10, tzinfo=UTC)
ROWS = cast(DataFrame, None)


@pytest.fixture
def table(tmp_path: Path) -> GoldTable:
    """A table without a row: none of its windows has to be replaced."""
    return GoldTable(cast(SparkSession, None), Lake(LakeSettings(uri=str(tmp_path))), GROUP_HISTORY)


def write(table: GoldTable) -> None:
    table.replace_minutes(ROWS, START, START + timedelta(minutes=1))


def test_what_a_failed_write_may_still_append_is_replaced_by_the_next(
    table: GoldTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a server of Spark Connect that goes on after its client lost it, when the write is
    done again, then it replaces what the first one has appended since the table was looked at."""
    seen: list[tuple[str, int]] = []

    def save(*given: Any, **options: str) -> None:
        seen.append((given[-1], int(options["txnVersion"])))
        if len(seen) == 3:
            raise OSError("connection lost")

    monkeypatch.setattr(gold, "save", save)
    write(table)
    write(table)
    with pytest.raises(OSError, match="lost"):
        write(table)
    write(table)
    write(table)
    modes, numbers = zip(*seen, strict=True)
    assert modes == ("overwrite", "append", "append", "overwrite", "append")
    assert [number - numbers[0] for number in numbers] == [0, 1, 2, 3, 4]


def test_numbers_are_above_those_that_a_process_before_has_asked_for_in_vain(
    table: GoldTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Given a process that was killed before any of its writes was in the log, when another one
    writes, then none of these comes after it with a number as high, and keeps it from writing."""
    seen: list[int] = []
    monkeypatch.setattr(gold, "save", lambda *_, txnVersion, **__: seen.append(int(txnVersion)))
    write(table)
    write(table)
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    write(GoldTable(cast(SparkSession, None), lake, GROUP_HISTORY))
    assert seen[2] > max(seen[:2])


def test_a_log_that_cannot_be_read_just_then_fails_the_micro_batch_alone(
    table: GoldTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of delta-rs would end the history job, as one that nobody expected."""

    def unreadable(_: str) -> int:
        raise DeltaError("the store is away")

    handle = SimpleNamespace(transaction_version=unreadable)
    monkeypatch.setattr(Lake, "handle", lambda *_: handle)
    monkeypatch.setattr(Lake, "files", lambda *_: GROUP_HISTORY.empty)
    with pytest.raises(LakeError, match="group_history: cannot be read: the store is away"):
        write(table)
