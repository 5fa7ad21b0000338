"""Alerts grouped by cause, and the order that they are listed in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.current.rows import alert_rows
from alerting.inputs.frames import Frames
from alerting.rules.lifecycle import Alert, State, Told
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import SCALING_STEP
from app.data.context import View
from app.ui.alert_list import OVER_BADGE_STYLES, as_said
from app.ui.incident_list import (
    badge_of,
    items,
    numbers,
    span,
)
from app.ui.incident_order import in_order
from app.ui.incident_rows import of_rows, with_rows
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import Incident, incidents, parted_by_span
from app.ui.symptoms import MOST_SYMPTOMS, limited
from app.views.alerts.view_model import matching
from config.integrations import RabbitMQSettings
from lake.schemas.current import GROUP_STATUS, READERS
from tests import alert_of

NOW = datetime.fromtimestamp(2000.0, UTC)
WARNING = AlertSeverity.WARNING


def alert(name: str, began: float, ended: float | None = None, **given: Any) -> Alert:
    given = {"fired_at": None if ended is None else began} | given
    labels = {"cluster": "c", "broker": name}
    of_all = {"fingerprint": name, "severity": WARNING, "labels": labels, "what": name}
    return alert_of.alert(started_at=began, resolved_at=ended, **of_all | given)


def test_symptoms_stand_under_the_cause_of_their_cause() -> None:
    broker = alert("broker", 100.0)
    offline = alert("offline", 110.0, inhibited_by="broker")
    group = alert("group", 120.0, inhibited_by="offline")
    (found,) = incidents([group, offline, broker])
    assert found.cause == broker
    assert found.symptoms == (offline, group)


@pytest.mark.parametrize(
    ("began", "said"),
    [
        pytest.param(alert("dated", 1000.0, since=900.0), "since 00:15", id="dated"),
        pytest.param(alert("seen", 1000.0), "since 00:16", id="seen to begin"),
        pytest.param(
            alert("found", 1000.0, began_before=True), "since before 00:16", id="found to be so"
        ),
        pytest.param(
            alert("first", 1000.0, since=900.0, began_before=True),
            "since before 00:15",
            id="so in the first sample",
        ),
        pytest.param(
            alert("over", 1000.0, ended=1360.0), "00:16, lasted\u00a06\u00a0min", id="over"
        ),
        pytest.param(
            alert("over", 1000.0, ended=1360.0, began_before=True),
            "before 00:16, lasted\u00a06\u00a0min",
            id="over, found to be so",
        ),
        pytest.param(
            alert("mends", 1000.0, check="stopped", status="CATCHING_UP"),
            "in trouble since 00:16",
            id="catching up since later",
        ),
    ],
)
def test_an_incident_says_since_when_as_the_overview_does(
    view: View, began: Alert, said: str
) -> None:
    (found,) = incidents([began])
    assert span(found, replace(view, now=NOW)) == said


def test_an_alert_of_a_source_beside_the_clusters_names_its_kind(view: View) -> None:
    rabbit = RabbitMQSettings(name="eu", url="http://localhost:15672")
    settings = view.settings.model_copy(update={"rabbitmq": [rabbit]})
    given = [alert(name, 1000.0, labels={"cluster": name}) for name in ("eu", "west")]
    rows = items(incidents(given), replace(view, now=NOW, settings=settings))
    assert {row.what: row.note for row in rows} == {"eu": "in RabbitMQ eu", "west": "in west"}


def test_what_may_never_fire_is_listed_as_pending(view: View) -> None:
    (found,) = incidents([alert("a", 1990.0, state=State.PENDING)])
    (row,) = items([found], replace(view, now=NOW))
    assert row.badge is not None
    assert (row.badge.word, row.note) == ("pending", "watch if it lasts, in c")


def test_what_recovers_has_a_mark_of_its_own_and_no_number(view: View) -> None:
    mends = alert(
        "mends",
        1900.0,
        severity=AlertSeverity.CRITICAL,
        last_true_at=1990.0,
        recovering_since=1990.0,
        deadline=2060.0,
    )
    unsure = alert("unsure", 1990.0, state=State.PENDING, severity=AlertSeverity.CRITICAL)
    fires = alert("fires", 1000.0)
    symptom = alert("too", 1000.0, inhibited_by="over", recovering_since=1990.0)
    over = alert("over", 900.0, ended=1950.0)
    found = in_order(incidents([unsure, mends, fires, symptom, over]), NOW)
    rows = items(found, replace(view, now=NOW))
    assert [(row.what, row.badge and row.badge.word) for row in rows] == [
        *(("mends", "recovering"), ("unsure", "pending")),
        *(("fires", "watch"), ("over", "recovering")),
    ]
    assert (rows[0].when, rows[0].note) == ("00:31, lasted\u00a01\u00a0min\u00a030\u00a0s", "in c")
    assert numbers(found) == "Nothing needs you now, 1 to watch, 1 pending"
    assert numbers(found[:1]) == "Nothing needs you now"


def test_what_was_mended_before_it_was_over_lasted_so_long(view: View) -> None:
    was = Told(until=1180.0, severity=WARNING, what="g stopped", detail="", step="")
    (found,) = incidents([alert("g catches up", 1000.0, ended=1330.0, before_mending=was)])
    said = span(found, replace(view, now=NOW)).replace("\u00a0", " ")
    assert said == "00:16, lasted 3 min, alert over at 00:22"
    late = alert("late", 1100.0, ended=1900.0)
    outlived = replace(found, symptoms=(late,))
    assert span(outlived, replace(view, now=NOW)) == span(found, replace(view, now=NOW))
    bars = timeline_rows([outlived], NOW).select("severity", "to").rows()
    assert [(severity, to.timestamp()) for severity, to in bars] == [
        ("warning", 1180.0),
        ("mending", 1330.0),
        ("warning", 1900.0),
    ], "red until it was mended"


def test_a_bar_is_red_until_the_turn_while_what_is_left_is_worked_off(view: View) -> None:
    was = Told(until=1180.0, severity=WARNING, what="g stopped", detail="", step="")
    opened = alert("g catches up", 1000.0, fired_at=1000.0, before_mending=was)
    cause = alert("broker", 990.0, fired_at=990.0)
    for found in ([opened], [cause, replace(opened, inhibited_by=cause.fingerprint)]):
        bars = timeline_rows(incidents(found), NOW).select("severity", "from", "to").rows()[-2:]
        assert [(severity, to.timestamp()) for severity, _, to in bars] == [
            ("warning", 1180.0),
            ("mending", NOW.timestamp()),
        ]
        assert bars[0][2] == bars[1][1]
    again = alert("late", 1100.0, fired_at=1100.0)
    both = [cause, *(replace(one, inhibited_by=cause.fingerprint) for one in (opened, again))]
    ends = timeline_rows(incidents(both), NOW)["severity"].to_list()
    assert "mending" not in ends, "one of them goes on as it began"


def test_a_date_is_said_once_in_a_span(view: View) -> None:
    was = Told(until=1180.0, severity=WARNING, what="g stopped", detail="", step="")
    (found,) = incidents([alert("g catches up", 1000.0, ended=1330.0, before_mending=was)])
    said = span(found, replace(view, now=NOW + timedelta(days=1))).replace("\u00a0", " ")
    assert said == "1 Jan 00:16, lasted 3 min, alert over at 00:22"


def test_the_tables_of_the_present_and_the_store_tell_the_same(view: View) -> None:
    """Given one set of alerts, then Overview (tables) and Alerts (store) list the same rows."""
    behind = {"labels": {"cluster": "c", "group": "g"}, "check": "falling_behind"}
    store = [
        alert(
            "g falls behind",
            1500.0,
            since=1400.0,
            began_before=True,
            step=SCALING_STEP,
            flaps=1,
            **behind,
        ),
        alert("broker", 1000.0, severity=AlertSeverity.CRITICAL, check="broker_missing"),
        alert("h stopped", 1200.0, inhibited_by="broker"),
        alert("r loses data soon", 1990.0, state=State.PENDING, check="data_loss_deadline"),
        alert("rack", 1.0, ended=1990.0, check="broker_missing"),
        alert("i stopped", 1300.0, severity=AlertSeverity.CRITICAL, inhibited_by="rack"),
    ]
    group = {"cluster": "c", "group": "g", "status": "STALLED", "evaluated_at": NOW}
    group |= {"data_loss_at": NOW + timedelta(days=5), "since_at_least": False}
    groups = pl.DataFrame([group], schema=GROUP_STATUS.polars_schema)
    rows = alert_rows(store, groups, READERS.empty, Frames(cluster="c", now=2000.0, tables={}))
    rows = rows.with_columns(pl.lit("c").alias("cluster"))
    frame = replace(view, now=NOW)
    of_store = [one for one in incidents(store) if one.ended_at is None]
    listed = items(in_order(with_rows(of_store, rows), NOW), frame)
    assert items(in_order(of_rows(rows), NOW), frame) == listed
    assert [row.when for row in listed if "before" in row.when] == ["since before 00:23"]
    assert [row.until for row in listed] == ["", "", "loses data in 5 d", ""]
    assert [row.note for row in listed] == [
        *("in c", "after “rack” (over), in c"),
        *("in c, came back 1 time", "watch if it lasts, in c"),
    ]
    lost = groups.with_columns(pl.lit("LOSING_DATA").alias("status"))
    dated = [replace(store[0], deadline=9000.0)]
    frames = Frames(cluster="c", now=2000.0, tables={})
    (row,) = alert_rows(dated, lost, READERS.empty, frames).to_dicts()
    assert row["deadline_at"] is None, "what loses data has no loss to come"
    past = lost.with_columns(loses_now=False, last_lost_at=pl.lit(NOW))
    (row,) = alert_rows(dated, past, READERS.empty, frames).to_dicts()
    assert row["deadline_at"] is not None, "what lost data and loses none now may lose more"
    assert (row["loses_now"], row["last_lost_at"]) == (False, NOW)
    said = numbers(of_rows(rows))
    assert said == numbers(of_store) == "2 things need you now, 1 to watch, 1 pending"


def test_incidents_have_the_thousands_of_the_page(view: View) -> None:
    cause = alert("3,467 messages wait for g", 1000.0, fingerprint="c")
    symptom = alert("1,200 messages wait for h", 1001.0, inhibited_by="c")
    (row,) = items(incidents([cause, symptom]), replace(view, now=NOW), acknowledged={})
    assert row.link is not None
    assert row.what == row.link.label == "3\u202f467 messages wait for g"
    assert row.more[0].startswith("1\u202f200 messages")


@pytest.mark.parametrize(
    ("search", "severities", "names"),
    [
        pytest.param("", [], ["group", "broker"], id="all"),
        pytest.param(" OFF", [], ["broker"], id="by a symptom"),
        pytest.param("group", [], ["group"], id="by the cause"),
        pytest.param("", [AlertSeverity.WARNING], ["group"], id="by the cause's severity"),
        pytest.param("broker", [AlertSeverity.WARNING], [], id="both"),
    ],
)
def test_incidents_are_found_by_name_and_severity(
    search: str, severities: list[AlertSeverity], names: list[str]
) -> None:
    broker = alert("broker", 100.0, severity=AlertSeverity.CRITICAL)
    offline = alert("offline", 110.0, inhibited_by="broker")
    found = incidents([alert("group", 120.0), offline, broker])
    kept = matching(found, search=search, severities=severities)
    assert [one.cause.what for one in kept] == names


def test_a_symptom_belongs_to_the_time_that_its_cause_was_there() -> None:
    first, second = alert("broker", 100.0, 200.0), alert("broker", 1000.0, 1100.0)
    early = alert("early", 110.0, 190.0, inhibited_by="broker")
    late = alert("late", 1010.0, 1090.0, inhibited_by="broker")
    newest, oldest = incidents([first, second, late, early])
    assert (newest.cause, newest.symptoms) == (second, (late,))
    assert (oldest.cause, oldest.symptoms) == (first, (early,))


def test_a_symptom_without_its_cause_and_a_circle_stand_for_themselves() -> None:
    lonely = alert("lonely", 100.0, inhibited_by="gone")
    round_a = alert("a", 100.0, inhibited_by="b")
    round_b = alert("b", 100.0, inhibited_by="a")
    causes = {one.cause.fingerprint for one in incidents([lonely, round_a, round_b])}
    assert "lonely" in causes
    names = {
        alert.fingerprint
        for one in incidents([lonely, round_a, round_b])
        for alert in (one.cause, *one.symptoms)
    }
    assert names == {"lonely", "a", "b"}


def test_histories_have_the_newest_first_and_lists_the_worst() -> None:
    old = alert("old", 100.0, severity=AlertSeverity.CRITICAL)
    new = alert("new", 900.0, severity=AlertSeverity.CRITICAL)
    watch = alert("watch", 1500.0)
    over = alert("over", 1900.0, 1950.0, severity=AlertSeverity.CRITICAL)
    found = incidents([over, watch, old, new])
    assert [one.cause.what for one in found] == ["over", "watch", "new", "old"]
    going_on = [one for one in found if one.ended_at is None]
    assert [one.cause.what for one in in_order(going_on, NOW)] == ["new", "old", "watch"]


def test_an_incident_goes_on_while_a_symptom_does() -> None:
    cause = alert("cause", 100.0, 200.0)
    symptom = alert("symptom", 110.0, inhibited_by="cause")
    (found,) = incidents([cause, symptom])
    assert found.ended_at is None
    (ended,) = incidents([cause, alert("symptom", 110.0, 250.0, inhibited_by="cause")])
    assert ended.ended_at == 250.0


def test_the_timeline_has_a_bar_for_the_cause_and_one_for_all_its_symptoms() -> None:
    cause = alert("cause", 100.0, 200.0, severity=AlertSeverity.CRITICAL)
    symptoms = [
        alert(f"s{number}", 110.0 + number, 150.0, inhibited_by="cause") for number in range(18)
    ]
    rows = timeline_rows(incidents([*symptoms, cause]), NOW)
    assert [name.strip() for name in rows["what"]] == ["cause", "↳ 18 symptoms of cause"]
    assert rows["severity"].to_list() == ["critical", "warning"]
    assert (rows["to"][1] - rows["from"][1]).total_seconds() == 40.0


def test_a_bar_is_pending_until_its_alert_fired() -> None:
    cause = alert("cause", 1000.0, 1900.0, since=400.0, fired_at=1240.0)
    late = alert("late", 1100.0, 1800.0, fired_at=1300.0, inhibited_by="cause")
    rows = timeline_rows(incidents([cause, late]), NOW)
    drawn = rows.select(
        pl.col("what").str.strip_chars(), "severity", pl.col("from", "to").dt.epoch("s")
    ).rows()
    assert drawn == [
        ("cause", "pending", 400, 1240),
        ("cause", "warning", 1240, 1900),
        ("↳ 1 symptom of cause", "pending", 1100, 1300),
        ("↳ 1 symptom of cause", "warning", 1300, 1800),
    ]


def test_the_history_is_newest_first_whatever_is_still_open() -> None:
    old = alert("old", 100.0, severity=AlertSeverity.CRITICAL)
    symptom = alert("symptom", 1990.0, inhibited_by="old")
    found = incidents([old, symptom, alert("new", 1500.0, 1600.0)])
    bars = timeline_rows(found, NOW)["what"].to_list()
    assert [name.strip() for name in bars] == ["new", "old", "↳ 1 symptom of old"]


def test_counts_and_what_is_left_out_are_said() -> None:
    act, watch, more = (
        alert(name, 1.0, severity=severity)
        for name, severity in (("a", AlertSeverity.CRITICAL), ("w", WARNING), ("m", WARNING))
    )
    assert numbers(incidents([act, watch, more])) == "1 thing needs you now, 2 to watch"
    assert numbers(incidents([watch])) == "Nothing needs you now, 1 to watch"
    may_fire = replace(act, state=State.PENDING)
    assert numbers(incidents([may_fire])) == "Nothing needs you now, 1 pending"
    assert numbers([]) == "Nothing needs you"
    lines = [str(number) for number in range(MOST_SYMPTOMS + 3)]
    assert limited(lines)[-1] == "and 3 more"
    assert len(limited(lines)) == MOST_SYMPTOMS + 1


def test_what_is_over_says_how_bad_it_was_in_grey() -> None:
    given = {"severity": AlertSeverity.CRITICAL, "detail": "9 wait"}
    over, open_one = alert("over", 100.0, 200.0, **given), alert("open", 100.0, **given)
    found = [(badge_of(one).word, badge_of(one).colour) for one in incidents([over, open_one])]
    assert found == [("act now", "red"), ("was urgent", "gray")]
    assert {one.colour for one in OVER_BADGE_STYLES.values()} == {"gray"}
    assert as_said("9 wait", is_over=True) == "It said: 9 wait"
    assert as_said("9 wait", is_over=False) == "9 wait"
    assert as_said("", is_over=True) == ""


URGENT = {"severity": AlertSeverity.CRITICAL}


def test_what_fires_all_of_a_time_is_parted_from_what_began_or_ended_in_it() -> None:
    def one(what: str, began: float, ended: float | None = None) -> Incident:
        return Incident(cause=alert(what, began=began, ended=ended))

    given = [
        one("began in it", 1500.0),
        one("begins with it", 1010.0),
        one("before", 1.0),
        one("ended in it", 1.0, 1900.0),
    ]
    whole, rest = parted_by_span(given, 1000.0, 2000.0)
    assert [each.cause.what for each in whole] == ["begins with it", "before"]
    assert [each.cause.what for each in rest] == ["began in it", "ended in it"]
