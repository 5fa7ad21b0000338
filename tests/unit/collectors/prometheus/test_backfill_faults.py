"""A backfill whose Prometheus fails on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.prometheus import backfill as module
from collectors.prometheus.backfill import Backfill, windows
from collectors.prometheus.command import DONE, FAILED, backfill_command
from config.settings import Settings
from lake.schemas.tables import GROUP_OFFSETS
from lake.storage.store import Lake
from tests.unit.collectors.ditto.answering import Answering, Reply, Request, answering, seconds_of

START = datetime(2026, 11, 20, 0, 0, tzinfo=UTC)
STEP = timedelta(minutes=1)
SPAN = ("2026-11-20T00:00Z", "2026-11-20T12:00Z", "60s", None)
COMMITTED, LAG = "kafka_consumergroup_current_offset", "kafka_consumergroup_lag"


def answer(request: Request, **more: Any) -> Reply:
    """Answer as Prometheus: one group partition that stands still."""
    if request.path.endswith("/values"):
        return Reply(json.dumps({"status": "success", "data": [COMMITTED, LAG]}).encode())
    start, end = float(request.query["start"]), float(request.query["end"])
    step = float(request.query["step"])
    points = [[start + number * step, "5"] for number in range(int((end - start) / step) + 1)]
    labels = {"instance": "e", "consumergroup": "g", "topic": "t", "partition": "0"}
    data = {"resultType": "matrix", "result": [{"metric": labels, "values": points}]}
    return Reply(json.dumps({"status": "success", "data": data, **more}).encode())


@pytest.fixture
def server() -> Iterator[Answering]:
    with answering(answer) as served:
        yield served


@pytest.fixture
def settings(server: Answering, tmp_path: Path) -> Settings:
    return Settings(
        clusters=[{"name": "production", "bootstrap_servers": "localhost:1"}],  # type: ignore[list-item]
        prometheus=[{"name": "mon", "url": server.url, "request_timeout_seconds": 2.0}],  # type: ignore[list-item]
        lake={"uri": str(tmp_path / "lake")},  # type: ignore[arg-type]
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a request take as long as the settings say, and not half a minute."""
    monkeypatch.setattr(module, "_REQUEST_SECONDS", 2.0)


def rows_of(settings: Settings) -> pl.DataFrame:
    return Lake(settings.lake).read(GROUP_OFFSETS)


def test_what_was_added_stays_and_the_next_run_goes_on(
    server: Answering, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    late = (START + timedelta(hours=4)).timestamp()

    def failing(request: Request) -> Reply:
        if float(request.query["start"]) >= late and request.path.endswith("/query_range"):
            return Reply(b"broken", 500)
        return answer(request)

    server.answer = failing
    assert backfill_command(settings, *SPAN) == FAILED
    said = capsys.readouterr().err
    assert "mon: 240 rows added to group_offsets" in said
    assert "answered 500: broken; what was added stays: run it again to go on" in said
    assert rows_of(settings).height == 240

    server.answer = answer
    assert backfill_command(settings, *SPAN) == DONE
    rows = rows_of(settings)
    assert rows.height == rows["observed_at"].n_unique() == 720
    assert rows.select("committed", "lag", "log_end").unique().rows() == [(5, 5, 10)]


def test_a_server_that_is_too_slow_for_a_window_is_asked_for_less(
    server: Answering, settings: Settings
) -> None:
    asked: list[int] = []

    def slow(request: Request) -> Reply:
        reply = answer(request)
        if not request.path.endswith("/query_range"):
            return reply
        seconds = float(request.query["end"]) - float(request.query["start"])
        asked.append(round(seconds / 60) + 1)
        return Reply(reply.body, delay_seconds=3.0 if seconds > 90 * 60 else 0.0)

    server.answer = slow
    backfill = Backfill(settings.prometheus[0], settings, Lake(settings.lake))
    backfill.run(list(windows(START, START + timedelta(hours=8), STEP)))
    backfill.close()
    assert rows_of(settings).height == 480
    assert asked[:3] == [240, 120, 60]
    assert max(asked[2:]) == 60, "what was too much once is not tried again"


def test_warnings_are_told_once(server: Answering, settings: Settings) -> None:
    server.answer = lambda request: answer(request, warnings=["store is down"])
    backfill = Backfill(settings.prometheus[0], settings, Lake(settings.lake))
    report = backfill.run(list(windows(START, START + timedelta(hours=8), STEP)))
    backfill.close()
    assert report.warnings == ["store is down"]


def test_a_server_that_is_gone_fails_soon(settings: Settings, server: Answering) -> None:
    server.answer = lambda _: Reply(b" " * 10, cut_after=1)
    codes = []
    took = seconds_of(lambda: codes.append(backfill_command(settings, *SPAN)))
    assert codes == [FAILED]
    assert took < 10
