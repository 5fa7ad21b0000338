"""The history job on a lake that was restored: it goes on as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import Settings
from lake.maintenance.backup import backup, restore
from lake.schemas.tables import GROUP_HISTORY
from lake.storage.store import Lake
from spark_metrics.streaming import HistoryJob
from tests.selection import MARK
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed
from tests.spark.pasts import eventful

LATE_SECONDS = 120.0
"""Shorter than the past: after a restore all samples are looked at again, old ones are late."""


def moved(settings: Settings, folder: Path) -> Settings:
    """Return the settings of a lake and a state in another folder."""
    state, uri = str(folder / "alerts.sqlite"), str(folder / "lake")
    return settings.model_copy(
        update={
            "lake": settings.lake.model_copy(update={"uri": uri}),
            "alerting": settings.alerting.model_copy(update={"state": state}),
            "spark": settings.spark.model_copy(update={"late_after_seconds": LATE_SECONDS}),
        }
    )


@pytest.mark.parametrize(
    "noted",
    [pytest.param(True, id="read", marks=MARK), pytest.param(False, id="unread", marks=MARK)],
)
def test_history_goes_on_after_a_restore(
    spark: SparkSession, settings: Settings, tmp_path: Path, noted: bool
) -> None:
    """Given a backup whose history lacks its newest samples, noted by the job or not, when it is
    restored elsewhere and further samples come in, then no minute is missing and none is there
    twice."""
    here, there = moved(settings, tmp_path / "here"), moved(settings, tmp_path / "there")
    polls = eventful(seed=31, polls=60)
    lake = Lake(here.lake)
    bronze.append(lake, *polls[:30])
    job = HistoryJob(spark, lake, here)
    job.step(everything=True)
    bronze.append(lake, *polls[30:40])
    if noted:
        job.step()  # minutes that are not closed yet are noted and not computed
    backup(here, tmp_path / "backup", lambda _: None)
    bronze.append(lake, *polls[40:44])  # lost with the old lake

    restore(there, tmp_path / "backup", lambda _: None)
    restored = Lake(there.lake)
    before = restored.read(GROUP_HISTORY)["window_start"].max()
    bronze.append(restored, *polls[44:])
    job = HistoryJob(spark, restored, there)
    job.step(everything=True)
    while not job.is_done:
        job.step(everything=True)
    assert restored.read(GROUP_HISTORY)["window_start"].max() > before
    assert_recomputed(restored, [*polls[:40], *polls[44:]])
