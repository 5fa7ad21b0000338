"""What is not so any more, while its alert is still open: how pages tell it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from alerting.current.rows import alert_rows as open_rows
from alerting.inputs.frames import Frames
from app.data.context import View
from app.ui.alert_list import alert_rows
from app.ui.incident_list import items, needs, span
from app.ui.incident_order import in_order
from app.ui.incident_rows import of_rows, with_rows
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import incidents, mended_at
from app.ui.open_incidents import in_past
from lake.schemas.current import GROUP_STATUS, READERS
from tests.unit.app.ui.test_incidents import NOW, URGENT, alert


def test_an_incident_lasted_until_the_first_evaluation_that_found_it_not_so(view: View) -> None:
    """Given a broker that was back a minute before its alert was over, then so on each page."""
    kept = {"last_true_at": 1120.0, "untrue_since": 1125.0}
    mends = alert("Broker 2", 1000.0, recovering_since=1125.0, **kept)
    over = alert("Broker 2", 1000.0, ended=1190.0, **kept)
    for one in (mends, over):
        (found,) = incidents([one])
        said = span(found, replace(view, now=NOW)).replace("\u00a0", " ")
        assert said == "00:16, lasted 2 min 5 s"
        assert [end.timestamp() for end in timeline_rows([found], NOW)["to"]] == [1125.0]
        assert alert_rows([one], NOW)["lasts_seconds"].to_list() == [125.0]
    assert mended_at(replace(mends, recovering_since=None)) is None, "a dip is none"


def test_a_broker_that_is_back_is_told_as_that_and_needs_nobody(view: View) -> None:
    labels = {"cluster": "c", "broker": "2"}
    given = {"check": "broker_missing", "labels": labels, "step": "Start it.", **URGENT}
    given |= {"detail": "2 of 3 brokers are left.", "last_true_at": 1980.0}
    late = alert("late", 1000.0)
    back = alert("Broker 2 is missing", 1860.0, recovering_since=1985.0, **given)
    found = in_order(map(in_past, incidents([back, late])), NOW)
    row = items(found, replace(view, now=NOW))[0]
    assert row.badge is not None
    assert (row.badge.word, row.what) == ("recovering", "Broker 2 is back since 00:33")
    assert (row.why, row.step, row.until) == ("", "", "")
    assert needs(found) == "Nothing needs you now, 1 to watch"
    gone = alert("Broker 2 is missing", 1860.0, **given)
    (row,) = items(incidents([gone]), replace(view, now=NOW))
    assert (row.what, row.step) == ("Broker 2 is missing", "Start it.")


def test_what_recovers_says_what_it_said() -> None:
    (found,) = incidents([alert("cause", 100.0, recovering_since=200.0, detail="2 are left.")])
    assert in_past(found).cause.detail == "It said: 2 are left."
    (goes_on,) = incidents([alert("cause", 100.0, detail="2 are left.")])
    assert in_past(goes_on) == goes_on


@pytest.mark.parametrize("status", ["CATCHING_UP", "STOPPED"])
def test_a_lone_loss_of_before_is_no_deadline_once_its_group_catches_up(
    view: View, status: str
) -> None:
    """Given a loss that was near at the evaluation before, and the same on each page."""
    labels = {"cluster": "c", "group": "g"}
    given = {"check": "data_loss_deadline", "labels": labels, "step": "Raise it.", **URGENT}
    loss = alert("g loses data soon", 1500.0, deadline=8600.0, last_true_at=1990.0, **given)
    group = {"cluster": "c", "group": "g", "status": status, "since_at_least": False}
    groups = pl.DataFrame([group], schema=GROUP_STATUS.polars_schema)
    frames = Frames(cluster="c", now=2000.0, tables={})
    rows = open_rows([loss], groups, READERS.empty, frames)
    rows = rows.with_columns(pl.lit("c").alias("cluster"))
    of_store = with_rows(incidents([loss]), rows)
    frame = replace(view, now=NOW)
    (row,) = items(map(in_past, of_store), frame)
    assert items(map(in_past, of_rows(rows)), frame) == [row]
    assert row.badge is not None
    catches_up = status == "CATCHING_UP"
    assert (row.badge.word == "recovering") is catches_up
    assert (row.until, row.step) == (
        ("", "") if catches_up else ("loses data in 1 h 50 min", "Raise it.")
    )
    new = replace(loss, last_true_at=2005.0)
    (newer,) = with_rows(incidents([new]), rows)
    assert not newer.is_recovering, "it was found again since"
