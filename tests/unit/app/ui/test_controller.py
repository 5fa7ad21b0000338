"""Controllers that moved with a broker are told by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from app.ui.changes import controller
from app.ui.changes.events import of_changes
from lake.schemas.tables import CLUSTER_EVENTS

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def event(seconds: float, kind: str, subject: str = "2", **given: Any) -> dict[str, Any]:
    at = START + timedelta(seconds=seconds)
    return {"observed_at": at, "kind": kind, "subject": subject, **given}


def moved(seconds: float, before: str, after: str) -> dict[str, Any]:
    return event(seconds, "controller changed", "controller", before=before, after=after)


def told(*given: dict[str, Any]) -> list[str]:
    rows = pl.DataFrame(list(given), schema=CLUSTER_EVENTS.polars_schema)
    return [": ".join(filter(None, (one.what, one.detail))) for one in of_changes(rows)]


def test_a_controller_that_moves_with_a_broker_is_told_by_it() -> None:
    missing, back = event(100, "broker missing"), event(400, "broker back")
    said = ["broker 2 is missing: controller moved to 3", "broker 2 is back"]
    for seconds in (100, 60, 220):  # seen with it, before it, after it
        assert told(missing, back, moved(seconds, "2", "3")) == said
    assert told(missing, moved(101, "2", "3"), moved(130, "3", "1")) == [
        "broker 2 is missing: controller moved to 3, then to 1"
    ]


def test_it_belongs_to_the_broker_that_changed_nearest_to_it() -> None:
    missing, back = event(100, "broker missing"), event(160, "broker back", detail="fenced")
    assert told(missing, back, moved(150, "2", "3")) == [
        "broker 2 is missing",
        "broker 2 is back: fenced, controller moved to 3",
    ]


def test_a_controller_that_moves_by_itself_keeps_its_line() -> None:
    apart = controller.WITHIN.total_seconds() + 1
    alone = "controller moved to 3: from 1"
    assert told(event(0, "broker missing"), moved(apart, "1", "3"))[-1] == alone
    assert told(moved(0, "1", "3")) == [alone]
    # A broker that was added, and replicas that fall behind, move no controller.
    others = event(0, "broker added", "4"), event(0, "isr shrunk")
    assert alone in told(*others, moved(0, "1", "3"))


def test_nothing_else_changes_and_the_order_stays() -> None:
    given = [event(0, "isr shrunk"), moved(9, "2", "3"), event(8, "broker missing"), event(5, "x")]
    rows = pl.DataFrame(given, schema=CLUSTER_EVENTS.polars_schema)
    found = controller.folded(rows)
    assert found.schema == rows.schema
    assert found["kind"].to_list() == ["isr shrunk", "broker missing", "x"]
    assert found["detail"].to_list() == [None, "controller moved to 3", None]
    assert controller.folded(rows.clear()).is_empty()
