"""What the page of rules draws of a rule that is tried."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from alerting.inputs.broker_loss import one_more_loss, with_one_more_loss
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State, Worst
from alerting.rules.model import AlertSeverity, Rule
from alerting.tools.rule_trial import Tried
from app.ui.alert_list import (
    alert_rows,
    as_said,
    at_worst,
    how_bad,
    value_rows,
    worst_first,
)
from app.views.rules.view_model import condition, rule_rows
from tests.alert_of import alert


@pytest.mark.parametrize(("since", "note"), [(None, ""), (900.0, "no data for 1 min 40 s")])
def test_an_alert_that_went_blind_says_so(since: float | None, note: str) -> None:
    blind = alert(started_at=500.0, last_true_at=880.0, no_data_since=since)
    rows = alert_rows([blind], datetime.fromtimestamp(1000.0, UTC))
    assert rows["note"].to_list() == [note]


LESS = alert(detail="3 lost", worst=Worst(at=1500.0, value=90.0, detail="90 lost"))


@pytest.mark.parametrize(
    ("given", "was", "is_now", "cell"),
    [
        pytest.param(
            *(LESS, "At worst: 90 lost", "3 lost", "at worst: 90 lost"),
            id="it was worse",
        ),
        pytest.param(
            replace(LESS, check="dead_letter_ratio"),
            "At worst (old messages included): 90 lost",
            "3 lost",
            "at worst (old messages included): 90 lost",
            id="a share of what arrives, while a backlog was read",
        ),
        pytest.param(
            *(replace(LESS, detail="90 lost"), "It said: 90 lost", "90 lost", "90 lost"),
            id="at the end",
        ),
        pytest.param(
            *(replace(LESS, worst=None), "It said: 3 lost", "3 lost", "3 lost"), id="not known"
        ),
        pytest.param(alert(), "", "", "", id="nothing was said"),
    ],
)
def test_what_is_over_is_told_by_its_worst_and_what_goes_on_as_it_is(
    given: Alert, was: str, is_now: str, cell: str
) -> None:
    assert (how_bad(given, is_over=True), how_bad(given, is_over=False)) == (was, is_now)
    assert at_worst(given) == cell
    over = replace(given, state=State.RESOLVED, resolved_at=2100.0)
    rows = alert_rows([given, over], datetime.fromtimestamp(2200.0, UTC))
    assert rows["detail"].to_list() == [is_now, cell]


def test_a_begin_that_nobody_saw_is_noted() -> None:
    rows = alert_rows([alert(), alert(began_before=True)], datetime.fromtimestamp(2200.0, UTC))
    assert rows["began_before"].to_list() == [False, True]


def test_what_came_back_goes_on_since_its_first_time() -> None:
    back = alert(fired_at=1000.0, flaps=1, first_at=400.0, first_before=True)
    rows = alert_rows(
        [back, replace(back, state=State.RESOLVED, resolved_at=1900.0)],
        datetime.fromtimestamp(2200.0, UTC),
    )
    assert rows["began_at"].dt.epoch("s").to_list() == [400, 1000]
    assert rows["began_before"].to_list() == [True, False]
    assert rows["lasts_seconds"].to_list() == [1800.0, 900.0]


def test_what_is_pending_under_a_cause_is_pending_in_the_table() -> None:
    alerts = [alert(state=state, inhibited_by="c") for state in (State.PENDING, State.FIRING)]
    rows = alert_rows(alerts, datetime.fromtimestamp(2200.0, UTC))
    assert rows["state"].to_list() == ["pending", "symptom"]


def test_what_never_had_a_value_is_not_drawn() -> None:
    points = ((0.0, "late", 5.0), (15.0, "late", None), (0.0, "fine", None), (15.0, "fine", None))

    found = value_rows(Tried(alerts=(), points=points, messages=0, evaluations=2))

    # A gap within a line stays.
    assert found["thing"].to_list() == ["late", "late"]
    assert found["value"].to_list() == [5.0, None]


@pytest.mark.parametrize(
    ("check", "threshold", "said"),
    [
        pytest.param("broker_missing", 0, "a broker that was there is gone", id="yes or no"),
        pytest.param(
            "queue_no_consumers",
            1000,
            "more than 1\u202f000 messages wait in a queue without a consumer, unless it is "
            "polled (basic.get)",
            id="a count",
        ),
        pytest.param(
            "stopped",
            0,
            "messages wait while the group is stopped, which takes 30 s without members or more",
            id="any at all",
        ),
        pytest.param(
            "redrive_stopped",
            0,
            "dead letters wait while their redrive group does not work",
            id="any of two words",
        ),
        pytest.param(
            "objective_missed",
            0,
            "the oldest unread message of a group that falls behind is older than its objective",
            id="a time over nothing",
        ),
        pytest.param(
            "time_lag",
            300,
            "age of the oldest message that the group has not read: over 5 min",
            id="a time",
        ),
        pytest.param(
            "disk_free",
            0.15,
            "free space of a broker's disks, of all: under 15\u202f%",
            id="a share",
        ),
        pytest.param(
            "lag",
            None,
            "messages that the group has not read: where an objective is set",
            id="no threshold",
        ),
    ],
)
def test_when_a_rule_is_true_is_a_sentence(check: str, threshold: float | None, said: str) -> None:
    rule = Rule(name="R", check=check, severity=AlertSeverity.WARNING, threshold=threshold)
    assert condition(rule) == said
    assert condition(replace(rule, enabled=False)).startswith("off (")


def test_no_default_rule_is_true_over_nothing() -> None:
    said = [condition(rule) for rule in DEFAULT_ALERT_RULES]
    assert not [one for one in said if "more than 0 " in one or "over 0 " in one]


def test_rules_that_fire_come_first() -> None:
    quiet, fires = DEFAULT_ALERT_RULES[:2]
    rows = rule_rows([quiet, fires], [alert(rule=fires.name)])
    assert rows["rule"].to_list() == [fires.name, quiet.name]


def test_alerts_are_in_the_order_of_their_severity_then_the_newest_first() -> None:
    note = alert(severity=AlertSeverity.INFO, started_at=900.0)
    urgent = alert(severity=AlertSeverity.CRITICAL, started_at=100.0)
    newer = alert(severity=AlertSeverity.CRITICAL, started_at=200.0)
    assert worst_first([note, urgent, newer]) == [newer, urgent, note]


@pytest.mark.parametrize("offline", [[0, 0], [3, 3], [2, 4]])
@pytest.mark.parametrize("refused", [0, 9])
@pytest.mark.parametrize("ends_quorum", [True, False])
def test_no_sentence_of_one_more_loss_is_said_of_what_is_over(
    offline: list[int], refused: int, ends_quorum: bool
) -> None:
    columns = {
        "broker_id": [1, 3],
        "is_alive": [True, True],
        "offline_if_lost": offline,
        "refused_if_lost": [0, refused],
        "ends_quorum_if_lost": [False, ends_quorum],
    }
    losses = one_more_loss(pl.DataFrame(columns))
    assert losses
    detail = f"{with_one_more_loss('2 are left.', losses)} 5 short."
    assert as_said(detail, is_over=True) == "It said: 2 are left. 5 short."
    worse = alert(detail="2 are left.", worst=Worst(at=1500.0, value=1.0, detail=detail))
    assert how_bad(worse, is_over=True) == "At worst: 2 are left. 5 short."
    assert at_worst(worse) == "at worst: 2 are left. 5 short."
    assert at_worst(alert(detail=detail)) == "2 are left. 5 short."
    assert as_said(detail, is_over=False) == detail
