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

COLUMNS = ["observed_at", "group", "topic", "partition", "lag"]
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "history-internals.md"
_START = datetime(2026, 1, 5, 23, 58, tzinfo=UTC)


def example(language: str) -> str:
    """Return the example of the chapter on change-only encoding that is in a language."""
    chapter = _PAGE.read_text(encoding="utf-8").split("## Change-only encoding")[1]
    found = re.findall(rf"```{language}\n(.*?)```", chapter.split("\n## ")[0], re.DOTALL)
    (text,) = found
    return str(text)


def write_polls(folder: Path) -> pl.DataFrame:
    """Write polls of two collectors over midnight, every row twice; return them whole.

    A partition is idle, one is not, one is deleted, one comes later, of one nothing is known for
    two polls; between two polls an append is lost, and one poll is complete by itself.
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
    alone = _poll(_START + timedelta(seconds=22), "c", {0: 99})
    lake.append(GROUP_OFFSETS, alone)
    double(lake, GROUP_OFFSETS)
    return pl.concat([*whole, alone]).select(COLUMNS)


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
