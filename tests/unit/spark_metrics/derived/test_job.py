"""Which hours are over and complete, and a thread that goes on."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from lake.errors import LakeError
from spark_metrics.derived.job import closed_until, keep
from spark_metrics.progress import MINUTE, MicroBatch, Progress, TimeRange

NINE = datetime(2026, 1, 6, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEN = NINE + HOUR
ELEVEN = TEN + HOUR
NOW = TEN + 2 * MINUTE


@pytest.mark.parametrize(
    ("end", "history", "wanted"),
    [
        pytest.param(TEN, None, TEN, id="no-job-ever-worked"),
        pytest.param(ELEVEN, None, TEN, id="an-hour-that-goes-on"),
        pytest.param(TEN, Progress(newest=NOW), TEN, id="complete"),
        pytest.param(TEN, Progress(newest=TEN - MINUTE), NINE, id="samples-are-yet-to-come"),
        pytest.param(
            TEN,
            Progress(newest=NOW, pending=(TimeRange(start=TEN - MINUTE, end=NOW),)),
            NINE,
            id="its-last-minute-waits",
        ),
        pytest.param(
            TEN,
            Progress(newest=NOW, pending=(TimeRange(start=TEN, end=NOW),)),
            TEN,
            id="a-later-minute-waits",
        ),
        pytest.param(
            TEN, Progress(newest=NOW, hours=frozenset({NINE})), NINE, id="not-rolled-up-since"
        ),
        pytest.param(
            TEN,
            Progress(newest=NOW, hours=frozenset({NINE, NINE - HOUR, NINE - 5 * HOUR})),
            NINE - HOUR,
            id="older-hours-that-wait-hold-up-nothing",
        ),
    ],
)
def test_an_hour_is_closed_when_the_history_job_has_all_of_it(
    end: datetime, history: Progress | None, wanted: datetime
) -> None:
    assert closed_until(end, history, NOW) == wanted


def test_a_cluster_that_fell_silent_holds_no_hour_open() -> None:
    silent = Progress(newest=TEN - MINUTE)
    assert closed_until(TEN, silent, NOW + 5 * MINUTE) == TEN


class Job:
    """Stands in for the job: each step is one of the given outcomes, the last one stops."""

    def __init__(self, stop: threading.Event, *outcomes: str | Exception) -> None:
        self.steps = 0
        self._stop = stop
        self._outcomes = outcomes

    def step(self) -> MicroBatch:
        outcome = self._outcomes[self.steps]
        self.steps += 1
        if self.steps == len(self._outcomes):
            self._stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return MicroBatch(started_at=NOW, status=outcome)


def test_whatever_a_step_raises_the_next_one_is_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("spark_metrics.derived.job.LOOK_EVERY_SECONDS", 0.001)
    stop = threading.Event()
    job = Job(stop, LakeError("no disk"), RuntimeError("a bug"), "ok")
    keep(job, stop)  # type: ignore[arg-type]
    assert job.steps == 3
    assert "no disk" in caplog.text
    assert "RuntimeError: a bug" in caplog.text
