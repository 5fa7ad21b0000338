"""The overview and what needs somebody, shaped from facts made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from alerting.status.descriptions import LATE_STEP, SCALING_STEP, WAIT_STEP
from app.data.context import View
from app.style.format import short
from app.ui import incident_list, incident_rows, open_alerts, open_incidents
from app.ui.alert_list import CRITICAL, WARNING
from app.ui.browser.items import Item
from app.ui.incident_order import in_order
from app.ui.incidents import Incident
from app.views.overview import view_model as overview_view_model
from lake.schemas.current import CLUSTER_STATUS, OPEN_ALERTS, RECENT_CHANGES
from tests.unit.app.views.made_rows import START, at, statuses


def alerts(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "cluster": "c",
                "evaluated_at": START,
                "rule": "R",
                "check": "lag",
                "severity": "warning",
                "state": "firing",
                "what": f"{one['fingerprint']} is late",
                "detail": "why",
                "cause": "",
                "step": "",
                "page": "group",
                "since": START,
                "started_at": START,
                "last_true_at": START,
                "labels": [{"key": "group", "value": one["fingerprint"]}],
                **one,
            }
            for one in given
        ],
        schema=OPEN_ALERTS.polars_schema,
    )


@pytest.mark.parametrize(
    ("urgent", "to_watch", "are_many"),
    [
        pytest.param(5, 4, False, id="five urgent ones keep two lines"),
        pytest.param(6, 0, True, id="six have one each"),
        pytest.param(0, 10, False, id="none is urgent"),
    ],
)
def test_rows_are_dense_where_many_are_urgent(urgent: int, to_watch: int, are_many: bool) -> None:
    badges = [*([CRITICAL] * urgent), *([WARNING] * to_watch)]
    rows = [Item(id=str(at), badge=badge, what="late") for at, badge in enumerate(badges)]
    assert overview_view_model.are_many(rows) is are_many


def listed(rows: pl.DataFrame) -> list[Incident]:
    return in_order(incident_rows.of_rows(rows), START)


def at_start(view: View) -> View:
    return replace(view, now=START)


def test_causes_come_first_with_their_symptoms_below_them(view: View) -> None:
    found = listed(
        alerts(
            {"fingerprint": "watch"},
            {"fingerprint": "symptom", "inhibited_by": "cause", "severity": "critical"},
            {"fingerprint": "cause", "severity": "critical"},
            {
                **{"fingerprint": "the same of two rules", "what": "symptom is late"},
                "labels": [{"key": "group", "value": "symptom"}],
                **{"inhibited_by": "cause", "severity": "critical"},
            },
            {"fingerprint": "orphan", "inhibited_by": "gone", "severity": "info"},
            {"fingerprint": "new", "severity": "critical", "since": at(-60)},
            {"fingerprint": "old", "severity": "critical", "since": at(-120)},
            {"fingerprint": "may fire", "severity": "critical", "state": "pending"},
            {"fingerprint": "mends", "severity": "critical", "recovering_since": START},
            {
                **{"fingerprint": "loses", "check": "losing_data", "what": "loses loses data"},
                **{"severity": "critical", "since": at(-999)},
            },
        )
    )
    names = [one.cause.fingerprint for one in found]
    assert names == ["loses", "cause", "new", "old", "mends", "may fire", "watch", "orphan"]
    row = incident_list.items(found, at_start(view), stored=False)[1]
    assert row.link is not None
    assert (row.link.page, row.link.parameters["group"]) == ("group", "cause")
    assert (row.more_label, row.more) == ("1 symptom", ["symptom is late: why"])
    assert not row.acts, "no service keeps it"
    (kept,) = incident_list.items(found[1:2], at_start(view))
    assert kept.link is not None and kept.link.label == kept.what
    assert (kept.link.page, kept.link.parameters) == ("incident", {"alert": kept.id})
    place = kept.acts[0]
    assert (place.label, place.page, place.parameters["group"]) == (
        *("group cause", "group", "cause"),
    )


def test_clusters_are_counted_as_their_overviews_count() -> None:
    open_now = alerts(
        {"fingerprint": "cause"},
        {"fingerprint": "symptom", "inhibited_by": "cause", "severity": "critical"},
        {"fingerprint": "orphan", "inhibited_by": "gone", "severity": "critical"},
        {"fingerprint": "may fire", "severity": "critical", "state": "pending"},
        {"fingerprint": "mends", "severity": "critical", "recovering_since": START},
    )
    known = listed(open_now)
    assert incident_list.numbers(known) == "1 thing needs you now, 1 to watch, 1 pending"
    status = pl.DataFrame([{"cluster": "c"}], schema=CLUSTER_STATUS.polars_schema)
    found = overview_view_model.cluster_rows(["c"], status, known, START)
    assert found.select("act_now", "watch").rows() == [(1, 1)]


def test_a_cause_that_is_over_says_so_and_is_no_trouble_of_its_group(view: View) -> None:
    given = {"fingerprint": "a", "state": "resolved", "last_true_at": at(-300)}
    symptom = {"fingerprint": "b", "inhibited_by": "a"}
    for recovers, what, note in (
        (None, "b is late", "after “a is late” (over), in c"),
        (at(-60), "a is late", "over, its symptoms recover, in c"),
    ):
        rows = alerts(given, symptom | {"recovering_since": recovers})
        (row,) = incident_list.items(listed(rows), at_start(view))
        assert (row.what, row.note) == (what, note)
    assert open_alerts.about(alerts(given), "group", "a", at_start(view)) == []


def test_what_two_rules_say_alike_of_a_group_stands_in_its_header_once(view: View) -> None:
    said = {"started_at": START, "what": "a loses data soon"}
    found = open_alerts.about(
        alerts(
            *(
                {**said, "fingerprint": severity, "severity": severity}
                | {"labels": [{"key": "group", "value": "a"}]}
                for severity in ("warning", "critical")
            )
        ),
        *("group", "a", at_start(view)),
    )
    assert [icon for icon, _ in found] == [":material/error:"]


def test_an_incident_of_a_group_stands_in_its_header_once(view: View) -> None:
    about = {"started_at": START, "labels": [{"key": "group", "value": "a"}]}
    found = open_alerts.about(
        alerts(
            {**about, "fingerprint": "loses", "what": "a loses data"},
            {**about, "fingerprint": "b", "what": "a loses more data", "inhibited_by": "loses"},
        ),
        *("group", "a", at_start(view)),
    )
    assert [target.label.partition(",")[0] for _, target in found] == ["a loses data"]


def test_a_topic_has_the_alerts_of_the_groups_that_read_it(view: View) -> None:
    found = alerts(
        *(
            {"fingerprint": name, "started_at": START, "what": f"{name} loses data"}
            | {"labels": [{"key": label, "value": name}]}
            for label, name in (("group", "reads"), ("group", "other"), ("topic", "orders"))
        )
    )
    listed = open_alerts.about(found, "topic", "orders", at_start(view), readers=["reads"])
    assert [target.label.partition(" ")[0] for _, target in listed] == ["orders", "reads"]


@pytest.mark.parametrize(
    ("at_least", "said"),
    [
        pytest.param(False, "a is late, since 08:00", id="seen to begin"),
        pytest.param(True, "a is late, since before 08:00", id="found to be so"),
    ],
)
def test_the_header_of_a_group_says_since_when_something_is_so(
    view: View, at_least: bool, said: str
) -> None:
    given = {
        **{"fingerprint": "a", "what": "a is late", "started_at": START, "since": START},
        **{"since_at_least": at_least, "labels": [{"key": "group", "value": "a"}]},
    }
    found = open_alerts.about(alerts(given), "group", "a", at_start(view))
    assert [target.label for _, target in found] == [said]


@pytest.mark.parametrize(
    ("seconds", "until", "note"),
    [
        pytest.param(-30, "loses data in 1 h", "in c", id="so now"),
        pytest.param(-61, "", "last seen 07:58, in c", id="kept open, and not so now"),
    ],
)
def test_an_alert_that_is_only_kept_open_says_so(
    view: View, seconds: float, until: str, note: str
) -> None:
    given = {"fingerprint": "a", "deadline_at": at(3600), "last_true_at": at(seconds)}
    (row,) = incident_list.items(listed(alerts(given)), at_start(view))
    assert (row.until, row.note) == (until, note)


def test_the_step_of_a_group_that_falls_behind_is_what_scaling_advises() -> None:
    given = {"slow": SCALING_STEP, "off": "Start it.", "mends": WAIT_STEP, "quiet": SCALING_STEP}
    found = listed(alerts(*({"fingerprint": name, "step": step} for name, step in given.items())))
    advised = {("c", name): f"advice on {name}" for name in ("slow", "off", "mends")}
    told = [open_incidents.advised_step(one, advised).cause for one in found]
    assert {one.fingerprint: one.step for one in told} == {
        **given,
        "slow": "Scaling advises: advice on slow",
        "quiet": LATE_STEP,
    }, "to keep what is there is no step"


def test_a_group_that_stopped_says_first_that_its_members_are_back(view: View) -> None:
    """Given consumers that were started again, then the row says so, whatever leads its group."""
    stopped = {"check": "stopped", "detail": "900 messages behind.", "severity": "critical"}
    found = listed(
        alerts(
            {"fingerprint": "back"} | stopped,
            {"fingerprint": "gone"} | stopped,
            {"fingerprint": "other", "detail": "900 messages behind."},
            {"fingerprint": "loses", "check": "losing_data", "detail": "3 lost."},
            {"fingerprint": "loses too", "inhibited_by": "loses"}
            | stopped
            | {"labels": [{"key": "group", "value": "loses"}]},
        )
    )
    flow = {"lag": 900, "arrival_per_second": 10.0}
    groups = statuses(
        {"group": "back", "members": 3, "growth_per_second": -5.0, "drain_seconds": 180.0} | flow,
        {"group": "gone", "members": 0, "growth_per_second": 10.0} | flow,
        {"group": "loses", "members": 1, "status": "LOSING_DATA", "drain_seconds": 60.0} | flow,
        {"group": "other", "members": 2} | flow,
        {"group": "never left", "members": 2, "status": "STOPPED"} | flow,
    )
    change = {"cluster": "c", "kind": "members", "name": "back", "evaluated_at": START}
    changes = pl.DataFrame(
        [
            change | {"before": 2, "after": 3, "changed_at": at(-60)},
            change | {"before": 0, "after": 2, "changed_at": at(-120)},
            change | {"before": 5, "after": 0, "changed_at": at(-600)},
        ],
        schema=RECENT_CHANGES.polars_schema,
    )
    said = open_incidents.members_back(groups, changes, at_start(view))
    assert said == {
        "back": "3 members are back since 07:58, lag goes down.",
        "loses": "1 member is back.",
        "other": "2 members are back.",
    }, "what retention deletes counts as consumed: that lag goes down tells nothing then"
    back = {("c", group): line for group, line in said.items()}
    told = {one.cause.fingerprint: open_incidents.with_members(one, back) for one in found}
    assert {name: one.cause.detail for name, one in told.items()} == {
        "back": "3 members are back since 07:58, lag goes down. 900 messages behind.",
        "gone": "900 messages behind.",
        "other": "900 messages behind.",
        "loses": "1 member is back. 3 lost.",
    }
    growing = groups.filter(group="back").with_columns(
        pl.lit(5.0).alias("growth_per_second"), pl.lit(None, pl.Float64).alias("drain_seconds")
    )
    (line,) = open_incidents.members_back(growing, changes.clear(), at_start(view)).values()
    assert line == "3 members are back, lag still grows."


def test_a_sum_that_lacks_a_part_is_the_least() -> None:
    assert overview_view_model.at_least("84 k", is_complete=True) == "84 k"
    assert overview_view_model.at_least("84 k", is_complete=False) == "≥\u202f84 k"
    assert overview_view_model.at_least("unknown", is_complete=False) == "unknown"


def test_nothing_to_act_on_is_folded_away() -> None:
    many = [{"fingerprint": f"c{number}", "severity": "critical"} for number in range(7)]
    few = [{"fingerprint": f"w{number}"} for number in range(3)]
    found = listed(alerts(*few, *many))
    seen, rest = overview_view_model.shown(found)
    assert [one.cause.severity for one in seen] == ["critical"] * 7
    assert overview_view_model.folded(rest) == "3 more: 3 to watch"
    assert incident_list.needs(found) == "c0 is late. 7 things need you now, 3 to watch"
    quiet = listed(alerts(*few))
    assert overview_view_model.shown(quiet) == (quiet, [])
    flood = [{"fingerprint": f"c{number}", "severity": "critical"} for number in range(12)]
    _, rest = overview_view_model.shown(listed(alerts(*flood)))
    assert overview_view_model.folded(rest) == "2 more: 2 to act on now"
    unsure = [{**one, "state": "pending"} for one in many]
    _, rest = overview_view_model.shown(listed(alerts(*few, *unsure)))
    assert overview_view_model.folded(rest) == "3 more: 3 to watch", "a row before it fires"
    mended = [{**one, "recovering_since": START} for one in many]
    seen, rest = overview_view_model.shown(listed(alerts(*few, *mended)))
    assert [one.is_recovering for one in seen] == [True, True, True, False]
    assert overview_view_model.folded(rest) == "6 more: 2 to watch, 4 recovering"


def test_the_sentence_of_the_overview() -> None:
    brokers = "Broker 2 is missing"
    groups = statuses(
        {"group": "a", "status": "STALLED", "lag": 900, "unknown_partitions": 1, "known_lag": 950},
        {"group": "b", "lag": 100},
    )
    found = listed(alerts({"fingerprint": "a", "severity": "critical"}))
    assert overview_view_model.headline(found, groups, brokers=brokers) == (
        "a is late. 1 thing needs you now",
        f"Lag total at least {short(1000)} without 1 group that cannot be read in full, it had 950 "
        "when last read, of 2 groups 1 stalled. Broker 2 is missing.",
    )
    nothing = overview_view_model.headline([], statuses(), brokers="All brokers are up")
    assert nothing == (
        "Nothing needs you",
        "No consumer group is known. All brokers are up.",
    )


@pytest.mark.parametrize(
    ("status", "is_so"), [("OK", True), ("CATCHING_UP", True), ("STALLED", False)]
)
def test_a_group_in_trouble_without_an_alert_keeps_the_page_from_saying_that_none_is(
    status: str, *, is_so: bool
) -> None:
    groups = statuses({"group": "fine"}, {"group": "g", "status": status})
    assert overview_view_model.none_is_late(groups) is is_so
