"""Whether files and log stay bounded: a month of polls in compressed time, with maintenance.

Every poll is a real commit of the size of the smallest table's. Maintenance is given a simulated
time. Nothing is kept for readers, so that the counts are those of the newest versions and of half
an hour of appends.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from bench.support.figures import Figure
from config.settings import LakeSettings
from config.storage import RetentionSettings
from lake.schemas.tables import BROKERS
from lake.storage.store import Lake
from lake.storage.table_maintenance import Kept, keep_up

POLLS_A_HALF_HOUR = 120
START = datetime(2026, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=30)
_NOTHING = Kept(files=timedelta(0), log=timedelta(0))
# Each half hour leaves a file of the running date, and one of each whole date before.
_MOST_FILES = POLLS_A_HALF_HOUR + 2 + 7
# Half an hour of commits and what maintenance commits itself, beside checkpoints.
_MOST_LOG = POLLS_A_HALF_HOUR + 30


def measure(days: int, polls: int, notice: Callable[[str], None]) -> list[Figure]:
    """Append and keep up."""
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as folder:
        lake = Lake(LakeSettings(uri=f"{folder}/lake"))
        table = Path(lake.uri(BROKERS))
        files = log = 0
        appending = keeping = 0.0
        for half_hour in range(days * 48):
            now = START + _STEP * half_hour
            begun = time.process_time()
            for number in range(polls):
                lake.append(BROKERS, _rows(now + timedelta(seconds=15 * number)))
            appended = time.process_time()
            appending += appended - begun
            files = max(files, _count(table, "date=*/*.parquet"))
            log = max(log, _count(table, "_delta_log/*"))
            keep_up(
                BROKERS,
                lake.uri(BROKERS),
                None,
                RetentionSettings(),
                now=now + _STEP,
                kept=_NOTHING,
            )
            keeping += time.process_time() - appended
            notice(f"day {half_hour // 48 + 1} of {days}: {(half_hour + 1) * polls:,} commits")
        left = lake.read(BROKERS)
        rounds = days * 48
        return [
            Figure("commits", rounds * polls, "commits"),
            Figure("most files at once", files, "files", most=_MOST_FILES),
            Figure("most log entries at once", log, "files", most=_MOST_LOG),
            Figure("dates left", left["date"].n_unique(), "dates", most=8),
            Figure("an append", 1000 * appending / (rounds * polls), "ms of processor"),
            Figure("one maintenance run", 1000 * keeping / rounds, "ms of processor"),
        ]


def _rows(at: datetime) -> pl.DataFrame:
    brokers = [1, 2, 3]
    return pl.DataFrame(
        {
            "cluster": ["bench"] * 3,
            "observed_at": [at] * 3,
            "poll_id": [at.isoformat()] * 3,
            "broker_id": pl.Series(brokers, dtype=pl.Int32),
        }
    )


def _count(folder: Path, pattern: str) -> int:
    return sum(1 for _ in folder.glob(pattern))
