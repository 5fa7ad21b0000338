"""The history job as tests run it."""

from __future__ import annotations

from spark_metrics.streaming import HistoryJob


def catch_up(job: HistoryJob) -> None:
    job.step(everything=True)
    while not job.is_done:
        job.step(everything=True)
