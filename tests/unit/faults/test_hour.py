"""The fault hour's own judgement: what it must call lost, doubled or false."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.schemas.tables import COLLECTIONS
from lake.storage.store import Lake
from tests.faults.hour.__main__ import GROWTH_LIMIT, growth
from tests.faults.hour.clock import Clock
from tests.faults.hour.evidence import duplicates, polls
from tests.faults.hour.schedule import CALM_SECONDS, WARM_SECONDS, Fault, Kind, plan
from tests.faults.hour.truth import HEALTHY, judge

BEGAN = 1_800_000_000.0
HOUR = 3600.0
KILLED = Fault(kind=Kind.BROKER_KILLED, at=200, ends=260, target="2")


def alert(rule: str, at: float, **labels: str) -> dict[str, Any]:
    key = f"{rule}{sorted(labels.items())}"
    return {
        **{"id": f"{key}{at}", "fingerprint": key, "rule": rule, "what": rule},
        **{"labels": {"cluster": "demo", **labels}, "started_at": BEGAN + at},
        "resolved_at": BEGAN + at + 60,
    }


def message(key: str, firing: Any = (), resolved: Any = ()) -> dict[str, Any]:
    return {"key": key, "firing": list(firing), "resolved": list(resolved)}


MISSING = alert("BrokerMissing", 210, broker="2")
AGAIN = alert("BrokerMissing", 250, broker="2")
EARLY = alert("BrokerMissing", 180, broker="2")
ENDING = alert("BrokerMissing", 150, broker="2")
OVER = alert("BrokerMissing", 130, broker="2")


@pytest.mark.parametrize(
    ("messages", "field", "count"),
    [
        pytest.param([message("a", [MISSING]), message("b", [], [MISSING])], "told_once", 1),
        pytest.param([message("a", [MISSING])], "not_resolved", 1),
        pytest.param([], "not_told", 1),
        pytest.param([message("a", [alert("BrokerMissing", 210, broker="1")])], "not_told", 1),
        pytest.param([message("a", [EARLY]), message("b", [], [EARLY])], "told_once", 1),
        pytest.param(
            [
                message("a", [ENDING]),
                message("b", [MISSING], [ENDING]),
                message("c", [], [MISSING]),
            ],
            "told_once",
            1,
        ),
        pytest.param(
            [
                message("a", [ENDING]),
                message("b", [MISSING], [ENDING]),
                message("c", [], [MISSING]),
            ],
            "told_twice",
            0,
        ),
        pytest.param([message("a", [OVER]), message("b", [], [OVER])], "not_told", 1),
        pytest.param(
            [message("a", [MISSING]), message("b", [AGAIN], [MISSING]), message("c", [], [AGAIN])],
            "told_twice",
            1,
        ),
        pytest.param(
            [message("a", [MISSING]), message("b", [], [MISSING]), message("c", [], [MISSING])],
            "told_twice",
            1,
        ),
        pytest.param([message("a", [MISSING]), message("a", [MISSING])], "repeated_keys", 1),
        pytest.param([message("a", [alert("BrokerMissing", 100, broker="2")])], "false", 1),
        pytest.param([message("a", [alert("GroupStalled", 100, group=HEALTHY[0])])], "false", 1),
        pytest.param([message("a", [alert("GroupStalled", 100, group="late")])], "false", 0),
    ],
)
def test_verdict(messages: list[Any], field: str, count: int) -> None:
    found = getattr(judge(messages, [KILLED], BEGAN, HOUR), field)
    assert (found if isinstance(found, int) else len(found)) == count


def test_an_alert_of_a_killed_dashboard_is_false() -> None:
    fault = Fault(kind=Kind.DASHBOARD_KILLED, at=200, ends=205)
    told = judge([message("a", [alert("DataStale", 203)])], [fault], BEGAN, HOUR)
    assert len(told.false) == 1


def test_what_came_back_again_and_again_may_go_on_for_longer() -> None:
    faults = [Fault(kind=Kind.DISK_FULL, at=at, ends=at + 30) for at in (200, 1000, 1800, 2600)]
    alerts = [alert("NothingCollected", fault.at + 20) for fault in faults]
    sent = [message(f"f{one['id']}", [one]) for one in alerts]
    sent += [message(f"r{one['id']}", [], [one]) for one in alerts[:-1]]

    assert judge(sent, faults, BEGAN, 3100).not_resolved == []
    assert len(judge(sent, faults, BEGAN, HOUR).not_resolved) == 1
    assert len(judge(sent[:-1], faults, BEGAN, HOUR).not_resolved) == 2


def test_a_group_that_came_back_once_may_be_away_as_long_again() -> None:
    def stopped(at: float, seconds: float, group: str) -> Fault:
        return Fault(kind=Kind.GROUP_STOPPED, at=at, ends=at + seconds, target=group)

    first = stopped(200, 100, HEALTHY[0])
    for again, not_told in (
        (stopped(1000, 100, HEALTHY[0]), 1),
        (stopped(1000, 100, HEALTHY[1]), 2),
        (stopped(1000, 300, HEALTHY[0]), 2),
    ):
        assert len(judge([], [first, again], BEGAN, HOUR).not_told) == not_told


def test_the_plan_is_the_seeds_and_has_every_kind_before_one_comes_again() -> None:
    faults = plan(3600, 5, list(Kind), HEALTHY)
    assert faults == plan(3600, 5, list(Kind), HEALTHY)
    assert faults != plan(3600, 6, list(Kind), HEALTHY)
    assert {fault.kind for fault in faults[: len(Kind)]} == set(Kind)
    assert all(one.ends < other.at for one, other in pairwise(faults))
    stopped = [
        one.target for one in plan(7200, 5, list(Kind), HEALTHY) if one.kind is Kind.GROUP_STOPPED
    ]
    assert len(set(stopped)) == len(stopped)
    assert faults[0].at >= WARM_SECONDS
    assert faults[-1].ends <= 3600 - CALM_SECONDS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path)))


START = datetime.fromtimestamp(BEGAN, UTC)


def poll(lake: Lake, *seconds: float, status: str = "ok") -> None:
    rows = [
        {
            **{"cluster": "demo", "observed_at": START + timedelta(seconds=at), "source": "kafka"},
            **{"poll_id": f"{at}", "section": "brokers", "status": status, "rows": 0},
        }
        for at in seconds
    ]
    lake.append(COLLECTIONS, pl.DataFrame(rows, schema_overrides={"rows": pl.Int64}))


def test_a_gap_is_a_fault_unless_it_is_recorded_or_nobody_could_poll(lake: Lake) -> None:
    poll(lake, 0, 5, 10, 20, 30, 60)
    poll(lake, 25, status="skipped")
    killed = Fault(kind=Kind.BOTH_COLLECTORS_KILLED, at=32, ends=37)
    found = polls(lake, [killed], START, 5)
    assert found.present == 6
    assert found.skipped == 1
    assert found.gaps == ["10 s from 10 s on"]
    assert found.explained == ["30 s from 30 s on: both collectors killed"]


STEPPED = Fault(kind=Kind.CLOCK_STEPPED, at=100, ends=140)
POLLED = [*range(0, 100, 5), *range(120, 160, 5), *range(140, 200, 5)]


def test_a_clock_that_jumped_explains_a_gap_of_its_step_and_no_other(lake: Lake) -> None:
    poll(lake, *[at + (0.1 if number > 27 else 0) for number, at in enumerate(POLLED)])
    found = polls(lake, [STEPPED], START, 5)
    assert found.explained == ["25 s from 95 s on: clock stepped"]
    assert found.gaps == found.out_of_step == []
    assert polls(lake, [], START, 5).gaps == ["25 s from 95 s on"]


def test_polls_that_wait_for_the_clock_to_come_back_are_out_of_step(lake: Lake) -> None:
    poll(lake, *range(0, 100, 5), *range(120, 200, 5))
    found = polls(lake, [STEPPED], START, 5)
    assert found.out_of_step == ["16 polls and not 20 from 80 s to 180 s"]


def test_rows_that_are_there_twice_are_counted(lake: Lake) -> None:
    poll(lake, 0, 5)
    assert duplicates(lake) == {}
    poll(lake, 5)
    assert duplicates(lake) == {COLLECTIONS.name: 1}


@pytest.mark.parametrize(
    ("lives", "grew"),
    [
        pytest.param([[150] * 60, [150] * 30 + [280] * 90, [280] * 60], False, id="takes over"),
        pytest.param([[280] * 60, [280] * 30 + [600] * 90], True, id="grows"),
    ],
)
def test_a_process_that_takes_the_work_over_does_not_grow(
    lives: list[list[int]], grew: bool
) -> None:
    seen = {
        (("alerting", "alerting-2")[number % 2], number): [
            (10.0 * step, size) for step, size in enumerate(sizes)
        ]
        for number, sizes in enumerate(lives)
    }
    found = growth(seen)
    assert [service for service, *_ in found] == ["alerting", "alerting-2"]
    assert any(last > GROWTH_LIMIT * warm for _, _, warm, last in found) is grew


def test_what_has_a_clock_of_its_own_sleeps_all_the_same(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "offset")
    if not clock.is_there:
        pytest.skip("needs Debian's libfaketime")
    clock.set(7200)
    code = "import time; began = time.monotonic(); time.sleep(0.2); "
    code += "print(time.time(), time.monotonic() - began)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **clock.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    now, slept = map(float, done.stdout.split())
    assert now - datetime.now(UTC).timestamp() == pytest.approx(7200, abs=60)
    assert slept >= 0.2
