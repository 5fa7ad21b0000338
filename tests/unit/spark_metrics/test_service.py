from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from lake.errors import LakeError
from spark_metrics.errors import HistoryError
from spark_metrics.progress import MicroBatch
from spark_metrics.service import MOST_FAILURES, pause, serve, work_until_stopped


class Job:
    """Stands in for the job: each step is one of the given outcomes, the last one stops."""

    def __init__(self, stop: threading.Event, *outcomes: str | Exception) -> None:
        self.reported: list[str] = []
        self.steps = 0
        self._stop = stop
        self._outcomes = outcomes

    def step(self, *, everything: bool = False) -> MicroBatch:
        outcome = self._outcomes[self.steps]
        self.steps += 1
        if self.steps == len(self._outcomes):
            self._stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return MicroBatch(started_at=datetime.now(UTC), status=outcome)

    def failed(self, error: Exception, started_at: datetime) -> None:
        self.reported.append(str(error))


def no_maintenance() -> None:
    raise AssertionError("nothing is old enough")


@pytest.fixture
def stop() -> threading.Event:
    return threading.Event()


def serving(job: Job, stop: threading.Event) -> Callable[[], None]:
    return lambda: serve(job, stop, 0.001, no_maintenance)  # type: ignore[arg-type]


def test_a_failed_round_is_told_and_tried_again(stop: threading.Event) -> None:
    job = Job(stop, "ok", HistoryError("a table is locked"), LakeError("no disk"), "ok", "waiting")
    serving(job, stop)()
    assert job.steps == 5
    assert job.reported == ["a table is locked", "no disk"]


def test_too_many_failures_in_a_row_end_the_process(stop: threading.Event) -> None:
    job = Job(stop, *[HistoryError("Spark is gone")] * (MOST_FAILURES + 5))
    with pytest.raises(HistoryError, match="Spark is gone"):
        serving(job, stop)()
    assert job.steps == len(job.reported) == MOST_FAILURES


def test_a_failure_while_stopping_is_none(stop: threading.Event) -> None:
    job = Job(stop, "ok", HistoryError("the connection to Spark was closed"))
    serving(job, stop)()
    assert job.reported == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(HistoryError("Spark is gone"), "Spark is gone", id="expected"),
        pytest.param(RuntimeError("a bug"), "RuntimeError: a bug", id="unexpected"),
    ],
)
def test_whatever_ends_the_work_is_a_failure(
    stop: threading.Event, error: Exception, told: str
) -> None:
    def work() -> None:
        raise error

    failures: list[Exception] = []
    work_until_stopped(work, stop, failures)
    assert stop.is_set()
    assert [str(one) for one in failures] == [told]
    assert isinstance(failures[0], HistoryError)


@pytest.mark.parametrize(
    ("begun", "trigger", "wanted"),
    [
        pytest.param(600.0, 5.0, 5.0, id="short-rounds-follow-at-once"),
        pytest.param(620.0, 60.0, 60.0, id="in-step"),
        pytest.param(650.0, 60.0, 30.0, id="back-into-step"),
        pytest.param(621.0, 300.0, 299.0, id="long-rounds"),
    ],
)
def test_rounds_begin_when_a_minute_is_there(begun: float, trigger: float, wanted: float) -> None:
    assert pause(begun, trigger) == wanted
