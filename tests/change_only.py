"""Polls in change-only encoding, and the documented queries that read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from config.settings import LakeSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.tables import GROUP_OFFSETS
from lake.storage.store import Lake
from tests.support import double

COLUMNS = ["observed_at", "cluster", "group", "topic", "partition", "lag"]
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "history-internals.md"
_START = datetime(2026, 1, 5, 23, 58, tzinfo=UTC)
_ASKED = _START + timedelta(minutes=1)


def example(language: str) -> str:
    """Return the example of the chapter on change-only encoding that is in a language."""
    chapter = _PAGE.read_text(encoding="utf-8").split("## Change-only encoding")[1]
    found = re.findall(rf"```{language}\n(.*?)```", chapter.split("\n## ")[0], re.DOTALL)
    (text,) = found
    return str(text)


def write_polls(folder: Path) -> pl.DataFrame:
    """Write polls of two collectors over midnight, every row twice.

    A partition is idle, one is not, one is deleted, one comes later, of one nothing is known for
    two polls; between two polls an append is lost. Two polls of each of two clusters, of the same
    moments, are complete by themselves.

    Returns:
        The polls from 23:59 to 00:01, whole: the queries ask for them.
    """
    lake = Lake(LakeSettings(uri=str(folder)))
    encoders, whole = {"a": ChangeEncoder(GROUP_OFFSETS), "b": ChangeEncoder(GROUP_OFFSETS)}, []
    for number in range(16):
        for collector, encoder in encoders.items():
            lags: dict[int, int | None] = {0: 7, 1: 10 * number, 4: None if number in (5, 6) else 3}
            lags |= {2: 1} if number < 9 else {3: 2}
            at = _START + timedelta(seconds=15 * number + (5 if collector == "b" else 0))
            rows = _poll(at, collector, lags)
            written = encoder.compact(collector, rows)
            if number == 11 and collector == "a":
                encoder.forget(collector)
                continue
            lake.append(GROUP_OFFSETS, written)
            whole.append(rows)
    seconds = (timedelta(seconds=one) for one in (22, 82))
    alone = pl.concat([_poll(_START + one, "c", {0: 99}) for one in seconds])
    other = alone.with_columns(pl.lit("other").alias("cluster"))
    for rows in (alone, other):
        lake.append(GROUP_OFFSETS, rows)
    double(lake, GROUP_OFFSETS)
    rows = pl.concat([*whole, alone, other]).select(COLUMNS)
    asked = pl.col("observed_at").is_between(_ASKED, _ASKED + timedelta(minutes=2), closed="left")
    return rows.filter(asked)


def _poll(at: datetime, collector: str, lags: dict[int, int | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "cluster": "demo",
                "observed_at": at,
                "poll_id": f"{collector}{at.timestamp()}",
                "group": "g",
                "topic": "t",
                "partition": partition,
                "lag": lag,
            }
            for partition, lag in lags.items()
        ],
        schema_overrides={name: GROUP_OFFSETS.polars_schema[name] for name in COLUMNS},
    )
