"""For how long groups missed their objectives, and who does now, in the report of a week."""

from __future__ import annotations

from datetime import timedelta
from typing import cast

import polars as pl
import pytest

from app.data import present
from app.data.context import View
from app.data.late_hours import over_now, over_objective
from app.ui.tables import texts
from app.views.week import view_model
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY
from tests.unit.app.views.week_rows import END, START, Frame, by_group_of, hour, now_late


def test_each_group_is_held_against_its_own_objective() -> None:
    objective = {"fast": 10.0, "slow": 600.0}.__getitem__
    part = view_model.objective_part(
        by_group_of(
            hour("fast", 3, 11.0),
            hour("fast", 2, 40.0),
            hour("fast", 1, 10.0),
            hour("slow", 2, 500.0),
            objective=objective,
        )
    )
    assert part.rows["group"].to_list() == ["fast"]
    assert part.rows["over_seconds"].to_list() == [7200.0]
    assert "counts whole" in part.note
    assert part.rows["worst_seconds"].to_list() == [40.0]
    assert part.rows["worst_at"].to_list() == [END - timedelta(hours=2)]
    assert "Generated" not in part.note
    generated = view_model.objective_part(
        by_group_of(hour("fast", 1, 90.0, generated=True), objective=objective)
    )
    assert "Generated history is in it" in generated.note


def test_minutes_are_counted_where_they_are_kept(view: View) -> None:
    rows = [
        {
            "cluster": "east",
            "group": "late",
            "grain_seconds": grain,
            "window_start": view.now - timedelta(minutes=ago),
            "time_lag_seconds_max": lag,
        }
        for grain, ago, lag in (
            *((3600, 180, 400.0), (3600, 120, 450.0), (60, 61, 450.0)),
            *((60, 30, 350.0), (60, 29, 500.0), (60, 3, 1.0)),
        )
    ]
    view.lake.append(GROUP_HISTORY, pl.DataFrame(rows))
    late, until, first = over_objective(view, view.now - timedelta(days=7), view.now)
    assert (until, first) == (None, None), "nothing tells how far the history goes"
    found = late.select("group", "over_seconds", "whole_hours", "worst_seconds", "worst_at").rows()
    assert found == [("late", 3600.0 + 3 * 60, 1, 500.0, view.now - timedelta(minutes=29))]


def test_the_week_names_the_last_minute_of_history(view: View) -> None:
    rows = [
        {
            "cluster": "east",
            "grain_seconds": grain,
            "window_start": view.now.replace(second=0, microsecond=0) - timedelta(minutes=ago),
        }
        for grain, ago in ((60, 5), (60, 4), (3600, 1))
    ]
    view.lake.append(CLUSTER_HISTORY, pl.DataFrame(rows))
    late = over_objective(view, view.now - timedelta(days=7), view.now)
    assert late.until == view.now.replace(second=0, microsecond=0) - timedelta(minutes=3)
    part = view_model.objective_part(by_group_of(hour("fast", 1, 90.0)), until="15:40")
    assert "Counted is until 15:40, the last minute of history." in part.note
    assert "last minute" not in view_model.objective_part(by_group_of()).note


def test_that_no_group_was_late_is_said_of_what_was_measured_alone() -> None:
    part = view_model.objective_part(by_group_of(), is_measured=False)
    assert part.nothing == "Whether a group exceeded its objective is not known."
    none = view_model.incident_part([], START, END)
    assert view_model.headline({"incidents": none, "objectives": part})[0] == "0 incidents"
    late = view_model.objective_part(by_group_of(), now_late("slow"), is_measured=False)
    assert view_model.headline({"objectives": late})[0] == "1 group over its objective"


def test_a_group_that_is_late_now_is_said_although_its_hour_is_not_in_the_history() -> None:
    nothing = by_group_of()
    assert view_model.headline({"objectives": view_model.objective_part(nothing)}) == (
        *("No group over its objective", ""),
    )
    part = view_model.objective_part(nothing, now_late("slow"))
    assert view_model.headline({"objectives": part}) == (
        *("1 group over its objective", "It is over it now."),
    )
    more = view_model.objective_part(
        by_group_of(hour("fast", 1, 90.0)), now_late("fast", "slow", "slower")
    )
    assert "Over it now: fast, slow and slower." in more.note
    assert "Those that are not in the history yet are over it now." in more.note
    said, detail = view_model.headline({"objectives": more})
    assert said.startswith(f"{more.rows.height} groups over"), "the table has all that are counted"
    assert detail == "Longest over it: fast, 1 h. 3 of them are over it now."
    written = [row[:3] for row in texts(more.rows, more.columns, cast(View, Frame()))]
    assert written == [
        ("fast", "10 s", "1 h"),
        ("slow", "10 s", "not in the history yet"),
        ("slower", "10 s", "not in the history yet"),
    ]


def test_who_is_over_the_objective_now_is_told_by_the_present(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = view.settings.scaling.objective_seconds("any")
    groups = pl.DataFrame(
        {
            "group": ["well", "unknown", "late", "later", "alike"],
            "time_lag_seconds": [wanted, None, wanted + 1, wanted + 2, wanted + 1],
            "evaluated_at": [view.now] * 5,
        }
    )
    monkeypatch.setattr(present, "rows", lambda view, table: groups)
    found = over_now(view)
    assert found["group"].to_list() == ["later", "alike", "late"]
    assert found.row(0, named=True) == {
        **{"group": "later", "objective_seconds": wanted, "over_seconds": None},
        **{"whole_hours": 0, "worst_seconds": wanted + 2, "worst_at": view.now},
        "is_generated": False,
    }
    assert found.schema == by_group_of().schema, "rows of one table"
