"""Scaling has its rows in the order in which the Overview has their incidents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from alerting.rules.lifecycle import Alert
from app.ui.incident_order import in_order
from app.ui.incidents import incidents
from app.views.scaling import order
from lake.schemas.current import GROUP_STATUS
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Recommendation,
    Subject,
)
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)
HOUR = 3600.0


def alert(name: str, *, label: str = "group", **given: Any) -> Alert:
    labels = {"cluster": "east", label: name}
    of_all = {"fingerprint": name, "labels": labels, "what": name, "started_at": 1000.0}
    return alert_of.alert(**of_all | given)


def advised(*names: str, severity: AdviceSeverity = AdviceSeverity.ACT_NOW) -> pl.DataFrame:
    """Return advice on groups, and on a connector where a name begins with that word."""
    return recommendation_frame(
        recommendation_rows(
            [
                Recommendation(
                    kind=AdviceKind.START_CONSUMERS,
                    cluster="east",
                    subject=name,
                    subject_kind=Subject.CONNECTOR if name[:4] == "conn" else Subject.GROUP,
                    severity=severity,
                    confidence=Confidence.HIGH,
                    reason="Nobody consumes.",
                )
                for name in names
            ],
            at=NOW,
        )
    )


def test_rows_are_in_the_order_of_the_incidents_of_their_subjects() -> None:
    now = NOW.timestamp()
    looked_after = alert("looked after", check="losing_data")
    found = in_order(
        incidents(
            [
                alert("soon", deadline=now + HOUR),
                alert("connector", label="connector", deadline=now + 2 * HOUR),
                alert("its reader", inhibited_by="connector"),
                alert("lost data", check="losing_data"),
                looked_after,
            ]
        ),
        NOW,
        {looked_after.id},
    )
    urgent = advised("none", "looked after", "its reader", "soon", "connector", "lost data")
    rows = pl.concat([urgent, advised("watched", severity=AdviceSeverity.WATCH)])
    # As the incidents say: what the status has of losses and deadlines changes nothing.
    for deadlines in ({}, {"none": NOW, "soon": NOW + timedelta(hours=9)}):
        listed = order.in_order(rows, order.places(found), deadlines, NOW, {"watched"})
        assert listed["subject"].to_list() == [
            *("lost data", "soon", "its reader", "connector", "looked after", "none", "watched")
        ]
    assert order.in_order(rows.clear(), {}, {}, NOW).is_empty()


def test_what_is_over_gives_no_place() -> None:
    over = alert("mended", resolved_at=1500.0)
    assert order.places(incidents([over])) == {}


def test_without_incidents_comes_first_what_lost_data_then_the_nearest_deadline() -> None:
    rows = advised("none", "hours", "minutes sooner", "also none", "lost")
    deadlines = {
        "hours": NOW + timedelta(hours=6, minutes=8),
        "minutes sooner": NOW + timedelta(hours=6, minutes=4),
        "also none": None,
    }
    listed = order.in_order(rows, {}, deadlines, NOW, {"lost"})
    assert listed["subject"].to_list() == [
        *("lost", "hours", "minutes sooner", "none", "also none")
    ]


def test_what_lost_data_in_the_last_hour_counts_as_losing() -> None:
    groups = GROUP_STATUS.empty.clear(4).with_columns(
        pl.Series("group", ["now", "lately", "long ago", "never"]),
        pl.Series("status", ["LOSING_DATA", "OK", "OK", "STOPPED"]),
        pl.Series(
            "last_lost_at",
            [None, NOW - timedelta(minutes=59), NOW - timedelta(minutes=61), None],
            pl.Datetime("us", "UTC"),
        ),
    )
    assert order.losers(groups, NOW) == {"now", "lately"}
