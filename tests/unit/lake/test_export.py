"""The examples of docs/history.md that read the history without Headroom, as they are printed."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake.schemas.tables import GROUP_HISTORY
from lake.storage.append import conform

PAGE = Path(__file__).resolve().parents[3] / "docs" / "history.md"
AT = datetime(2026, 11, 20, 10, tzinfo=UTC)


def examples() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8").split("## Reading the history elsewhere")[1]
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return {"duckdb" if "duckdb" in block else "pandas": block for block in blocks}


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    rows = [
        {
            "cluster": "c",
            "grain_seconds": grain,
            "window_start": AT.replace(hour=hour),
            "group": group,
            "lag_max": lag + hour,
            "arrived": 100,
            "arrival_per_second": 0.5,
            "hour": 0,
        }
        for grain in (60, 3600)
        for hour in (10, 11)
        for group, lag in (("payments", 1000), ("orders", 10))
    ]
    frame = conform(GROUP_HISTORY, pl.DataFrame(rows, schema_overrides={"hour": pl.Int32}))
    frame.write_delta(
        tmp_path / "headroom-data/lake/gold/group_history",
        delta_write_options={"partition_by": ["date", "grain_seconds", "hour"]},
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    return names


def test_the_pandas_example_runs(found: dict[str, Any]) -> None:
    exec(examples()["pandas"], found)  # noqa: S102 (the page's own text)
    payments = found["payments"]
    assert payments["lag_max"].tolist() == [1010, 1011]
    assert set(payments["group"]) == {"payments"}


def test_the_duckdb_example_runs(found: dict[str, Any]) -> None:
    exec(examples()["duckdb"], found)  # noqa: S102 (the page's own text)
    worst = found["worst"]
    assert worst.values.tolist() == [["payments", 1011, 200], ["orders", 21, 200]]
