"""Since when connectors fail, and what that means for the groups of sinks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from app.style.columns import DASH, NONE
from app.views.connect import view_model
from lake.schemas.current import OPEN_ALERTS
from lake.schemas.tables import COLLECTIONS, CONNECTOR_TASKS, CONNECTORS
from tests.unit.app.views.made_rows import rows, statuses

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
FAILED = {"state": "FAILED", "tasks_running": 0, "tasks_failed": 1}
HALTED = {"state": "PAUSED"}


def connectors(**given: dict[str, Any]) -> pl.DataFrame:
    """Rows of ``with_status`` by name: sinks that run unless told otherwise."""
    runs = {"connect": "main", "state": "RUNNING", "tasks": 1, "tasks_running": 1}
    named = [
        {**runs, "tasks_failed": 0, "connector": name, "group": f"connect-{name}", **row}
        for name, row in given.items()
    ]
    return view_model.with_status(rows(CONNECTORS, *named))


def alert(connector: str, minutes: float, **given: Any) -> dict[str, Any]:
    """A row of ``open_alerts``: a connector that has failed for so many minutes."""
    labels = {"connect": "main", "connector": connector}
    return {
        "labels": [{"key": key, "value": value} for key, value in labels.items()],
        "state": "firing",
        "since": NOW - timedelta(minutes=minutes),
        "since_at_least": False,
        **given,
    }


def attempt(minutes: float, count: int, **given: Any) -> dict[str, Any]:
    """A row of ``collections``: a poll of connectors so many minutes ago."""
    return {
        "source": "connect/main",
        "section": "connect/main: connectors",
        "observed_at": NOW - timedelta(minutes=minutes),
        "status": "ok",
        "rows": count,
        **given,
    }


def polled(minutes: float, **given: Any) -> dict[str, Any]:
    observed_at = NOW - timedelta(minutes=minutes)
    return {"connect": "main", "connector": "a", "observed_at": observed_at, **given}


@pytest.mark.parametrize(
    ("attempts", "minutes"),
    [
        pytest.param([attempt(2, 1), attempt(1, 1)], 1, id="newest"),
        pytest.param([attempt(2, 1), attempt(1, 1), attempt(0, 1)], 1, id="not read yet"),
        pytest.param([attempt(1, 1), attempt(0, 0)], None, id="removed"),
        pytest.param([attempt(1, 1), attempt(0, 0, status="failed")], 1, id="failed"),
    ],
)
def test_the_newest_poll_whose_rows_are_read_is_present(
    attempts: list[dict[str, Any]], minutes: float | None
) -> None:
    known = rows(CONNECTORS, polled(2), polled(1))
    found = view_model.present(known, rows(COLLECTIONS, *attempts), "connectors")
    expected = [] if minutes is None else [NOW - timedelta(minutes=minutes)]
    assert found["observed_at"].to_list() == expected


def test_a_connector_without_tasks_has_none_of_an_earlier_poll() -> None:
    tasks = rows(CONNECTOR_TASKS, polled(1, task=0), polled(1, task=0, connector="b"))
    found = rows(CONNECTORS, polled(0, tasks=0), polled(0, tasks=1, connector="b"))
    assert view_model.tasks_of(tasks, found)["connector"].to_list() == ["b"]


def since(found: pl.DataFrame, *alerts: dict[str, Any]) -> dict[str, str | None]:
    frame = pl.DataFrame(alerts, schema=OPEN_ALERTS.polars_schema)
    with_since = view_model.with_since(found, frame, zone=UTC, now=NOW)
    return dict(with_since.select("connector", "since").iter_rows())


def test_groups_of_sinks_are_those_with_the_highest_lag_first() -> None:
    found = connectors(a={}, b={}, c={}, source={"group": None}, gone={})
    groups = statuses(
        {"group": "connect-a", "lag": 5},
        {"group": "connect-b", "lag": None, "known_lag": 90},
        {"group": "connect-c", "lag": None},
        {"group": "payments", "lag": 1000},
    )
    named = ["connect-b", "connect-a", "connect-c"]
    assert view_model.groups_of_sinks(found, groups, 5) == named
    assert view_model.groups_of_sinks(found, groups, 2) == named[:2]
    assert view_model.groups_of_sinks(found, groups.clear(), 5) == []


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        pytest.param([alert("a", 9)], "since 11:51", id="a beginning"),
        pytest.param([alert("a", 9, since_at_least=True)], "since before 11:51", id="at the least"),
        pytest.param([alert("a", 9), alert("a", 20)], "since 11:40", id="the earliest of two"),
        pytest.param([alert("a", 9, state="pending")], "since 11:51", id="pending"),
        pytest.param([alert("a", 9, state="resolved")], None, id="that was another time"),
        pytest.param([alert("b", 9)], None, id="another connector"),
        pytest.param([], None, id="not known"),
    ],
)
def test_a_connector_fails_since_its_alert_says_so(
    alerts: list[dict[str, Any]], said: str | None
) -> None:
    assert since(connectors(a=FAILED), *alerts) == {"a": said}


def test_a_table_writes_since_when_a_connector_fails_briefly() -> None:
    alerts = pl.DataFrame(
        [alert("a", 9), alert("b", 9, since_at_least=True)], schema=OPEN_ALERTS.polars_schema
    )
    found = view_model.with_since(connectors(a=FAILED, b=FAILED), alerts, zone=UTC, now=NOW)
    assert found["failing"].to_list() == ["11:51", "≤ 11:51"]


def test_what_does_not_fail_does_so_since_no_time() -> None:
    """Given an alert that stays for a while, then the connector works again all the same."""
    found = connectors(fine={}, paused=HALTED, lost={"state": None})
    assert since(found, alert("fine", 9)) == {"fine": DASH, "paused": DASH, "lost": None}


def test_a_sink_tells_of_its_group_how_late_it_is_and_when_data_is_lost() -> None:
    groups = statuses(
        {
            **{"group": "connect-a", "status": "STOPPED", "time_lag_seconds": 600.0},
            "data_loss_at": NOW + timedelta(minutes=40),
        },
        {"group": "connect-b", "status": "LOSING_DATA"},
        {"group": "connect-c", "time_lag_seconds": 0.5},
        {"group": "connect-d", "status": "STALLED", "data_loss_at": NOW + timedelta(days=30)},
    )
    found = connectors(a={}, b={}, c={}, d={}, e={}, source={"group": None})
    told = view_model.with_groups(found, groups, NOW).sort("connector")
    assert dict(told.select("connector", "loss").iter_rows()) == {
        **{"a": "loses data in 40 min", "b": "loses data now"},
        **{"c": "", "d": "", "e": "", "source": ""},
    }
    assert told["time_lag_seconds"].to_list() == [600.0, None, 0.5, None, None, NONE]


FAILED_TASKS = pl.DataFrame(
    {"connect": ["main"], "connector": ["a"], "reason": ["JsonParseException"]}
)


@pytest.mark.parametrize(
    ("row", "headline"),
    [
        pytest.param(
            {**FAILED, "tasks": 2, "tasks_running": 1},
            "b failed: 1 of 2 tasks",
            id="a cause that is not known",
        ),
        pytest.param(
            {**FAILED, "tasks": None, "tasks_failed": 0, "error": "java.io.IOException: no route"},
            "b failed: IOException",
            id="the connector itself",
        ),
        pytest.param(
            {"tasks": 0, "tasks_running": 0}, "b has no task: it moves nothing", id="no task"
        ),
    ],
)
def test_the_headline_names_the_cause(row: dict[str, Any], headline: str) -> None:
    assert said(connectors(b=row), statuses())[0] == headline


def said(found: pl.DataFrame, groups: pl.DataFrame, *alerts: dict[str, Any]) -> tuple[str, str]:
    frame = pl.DataFrame(alerts, schema=OPEN_ALERTS.polars_schema)
    found = view_model.with_since(found, frame, zone=UTC, now=NOW)
    return view_model.sentence(view_model.with_groups(found, groups, NOW), FAILED_TASKS, None, 0)


def test_a_row_says_why_tasks_failed() -> None:
    tasks = rows(
        CONNECTOR_TASKS,
        *(
            {"connect": "main", "connector": name, "task": 0, "state": "FAILED"}
            | {"cause_class": f"com.acme.{name.upper()}Exception"}
            for name in ("a", "b", "paused")
        ),
    )

    def why(**given: dict[str, Any]) -> dict[str, str | None]:
        found = view_model.table_rows(connectors(**given), tasks)
        return dict(found.select("connector", "why").iter_rows())

    assert why(a=FAILED, b=FAILED) == {"a": "AException", "b": "BException"}
    assert why(paused={**HALTED, "tasks_failed": 1}) == {"paused": "PAUSEDException"}
    own = {**FAILED, "error": "java.io.IOException: no route"}
    assert why(a=own) == {"a": "IOException: no route"}


def test_the_sentence_says_since_when_the_only_one_fails_and_who_loses_data() -> None:
    soon = {"status": "STOPPED", "data_loss_at": NOW + timedelta(minutes=40)}
    groups = statuses({"group": "connect-a", **soon}, {"group": "connect-b", **soon})
    title, detail = said(connectors(a=FAILED, b={}), groups, alert("a", 9))
    assert title == "a failed: JsonParseException, 1 of 1 task"
    assert detail == (
        "Since 11:51; connect-a loses data in 40 min; "
        "2 connectors with 2 tasks, 1 running, 1 failed."
    )


def test_a_group_that_was_not_seen_is_named() -> None:
    seen = {"group": "connect-a", "status": "OK"}
    found = connectors(a={}, b={}, source={"group": None})
    assert said(found, statuses(seen))[1].startswith(
        "connect-b is not among the groups that were seen: lag unknown; 3 connectors"
    )
    both = said(found, statuses({"group": "other"}))[1]
    assert both.startswith("connect-a and connect-b are not among the groups that were seen")
    assert said(found, statuses())[1].startswith("3 connectors"), "no group was read"


def test_of_several_the_group_that_loses_data_first_is_named() -> None:
    late = {"group": "connect-a", "status": "STOPPED", "data_loss_at": NOW + timedelta(minutes=40)}
    groups = statuses(late, {"group": "connect-b", "status": "LOSING_DATA"})
    _, detail = said(connectors(a=FAILED, b=FAILED), groups, alert("a", 9))
    assert detail.startswith("connect-b loses data now; 2 connectors")
