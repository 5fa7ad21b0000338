"""The queries of docs/history-internals.md say the same as ``expand``, as they are printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.change_only import COLUMNS, example, write_polls


def test_the_duckdb_query_gives_every_poll_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = write_polls(tmp_path / "headroom-data" / "lake")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example("python"), names)  # noqa: S102 (the page's own text)
    found: pl.DataFrame = names["samples"]
    assert found.sort(COLUMNS).rows() == lake.sort(COLUMNS).rows()
