"""Rows of the decision table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from alerting.checks.retention_deadline import Retention
from alerting.status.phrases import time_left
from app.data.context import View
from app.style.format import thin
from app.ui.advice import advice_cards
from app.ui.advice.overtaken import OLDER, WITHDRAWN, Overtaken
from app.views.scaling import brief, decisions, view_model, what_if
from lake.schemas.current import GROUP_STATUS
from lake.schemas.tables import GROUP_HISTORY
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.advisers.retention import group_deadline
from tests.unit.alerting.status.scenarios import constant
from tests.unit.scaling.advisers.advising import advice_on, facts, six

NOW = datetime(2026, 11, 25, tzinfo=UTC)


def test_the_rows_on_a_group_have_its_deadline_from_one_source_and_once() -> None:
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=Retention(seconds=1200.0),
    )
    advice = advice_on(late)
    rows = recommendation_frame(recommendation_rows(advice, at=NOW))
    at = NOW + timedelta(minutes=12)
    found = decisions.items(rows, {late.group: at}, picked=None, now=NOW, zone=UTC)
    assert {one.kind for one in advice} == {
        AdviceKind.RETENTION_DEADLINE,
        AdviceKind.ADD_CONSUMERS,
    }
    assert [one.until for one in found] == ["loses data in 12 min"]
    assert advice_cards.summary(rows) == ("Advice on 1 group: 1 to act on now"), "one row"
    # What advice says is kept with it, and would stand beside another number.
    first = group_deadline(late)
    assert first is not None
    said = time_left(first[1].seconds or 0.0)
    assert said == "in 14 min"
    assert not any(said in text for one in advice for text in (one.reason, one.consequence or ""))
    unknown = decisions.items(rows, {}, picked=None, now=NOW, zone=UTC)
    assert [one.until for one in unknown] == [""]


def test_the_headline_does_not_say_of_a_trend_that_a_peak_comes() -> None:
    """The same limit is behind what the last quarter of an hour and what a day's forecast says."""
    rows = frame(replace(ADD, limiting_factor="forecast"))
    assert advice_cards.summary(rows) == "Advice on 1 group: 1 before more arrives"


def test_a_subject_may_have_colons_in_its_name() -> None:
    assert decisions.subject_of("group:team:orders:keep:0") == ("group", "team:orders")


def test_a_consumer_that_takes_minutes_for_a_message_has_a_capacity() -> None:
    assert what_if.rounded(0.04) == 0.04
    assert what_if.rounded(123.456) == 123.5
    assert what_if.rounded(None) is None


def test_a_what_if_replays_no_generated_minutes(view: View) -> None:
    minutes = [
        {
            "cluster": "east",
            "group": "a",
            "grain_seconds": 60,
            "window_start": view.now - timedelta(minutes=ago),
            "arrival_per_second": float(ago),
            "generated": generated,
        }
        for ago, generated in ((3, True), (2, None), (1, None))
    ]
    view.lake.append(GROUP_HISTORY, pl.DataFrame(minutes, infer_schema_length=None))
    found = what_if.measured_minutes(view.cache_key, "east", "a", view.now, view)
    assert [one.arrival_per_second for one in found] == [2.0, 1.0]


def test_a_group_that_loses_data_has_no_deadline_to_come() -> None:
    later = NOW + timedelta(hours=1)
    groups = GROUP_STATUS.empty.clear(3).with_columns(
        pl.Series("group", ["a", "b", "c"]),
        pl.Series("status", ["LOSING_DATA", "STOPPED", "OK"]),
        pl.Series("data_loss_at", [None, later, None], pl.Datetime("us", "UTC")),
    )
    deadlines = decisions.deadlines_of(groups)
    assert deadlines == {"a": decisions.LOST, "b": later, "c": None}
    advice = Recommendation(
        kind=AdviceKind.DATA_LOST,
        cluster="east",
        subject="a",
        severity=AdviceSeverity.ACT_NOW,
        confidence=Confidence.HIGH,
        reason="Retention deleted.",
    )
    rows = recommendation_frame(recommendation_rows([advice], at=NOW))
    (row,) = decisions.items(rows, deadlines, picked=None, now=NOW, zone=UTC)
    assert row.until == "loses data now"
    past = groups.with_columns(loses_now=False, last_lost_at=pl.lit(NOW - timedelta(minutes=6)))
    (row,) = decisions.items(
        rows,
        decisions.deadlines_of(past),
        lost=decisions.lost_lately(past, NOW),
        picked=None,
        now=NOW,
        zone=UTC,
    )
    assert (row.until, row.is_far) == ("lost data 6 min ago", True)


def test_a_subject_has_one_row_and_its_further_advice_is_counted_there() -> None:
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=Retention(seconds=1200.0),
    )
    advice = [*advice_on(late)]
    advice += [replace(one, subject="another") for one in advice[:1]]
    rows = recommendation_frame(recommendation_rows(advice, at=NOW))
    rows = pl.concat([rows.filter(pl.col("subject") == name) for name in (late.group, "another")])
    picked = decisions.row_id(rows.row(1, named=True))
    found = decisions.items(rows, {}, picked=picked, now=NOW, zone=UTC)
    assert [one.what for one in found] == [late.group, "another"]
    first, other = found
    assert [link.parameters["advice"] for link in first.links] == [picked]
    change = advice_cards.change(advice[1])
    assert first.links[0].label == change
    assert first.more == [f"{change}: {brief.why(advice[1])}"]
    assert (first.is_chosen, other.is_chosen, other.links) == (True, False, [])


def test_a_row_that_is_older_than_what_its_group_does_says_so() -> None:
    late = facts(six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000))
    rows = recommendation_frame(recommendation_rows(advice_on(late), at=NOW))
    name = decisions.row_id(rows.row(0, named=True))
    newer = Overtaken(now="what the group does since 00:06: stopped", given="00:00", is_void=True)
    found = decisions.items(rows, {}, older={name: newer}, picked=None, now=NOW, zone=UTC)[0]
    assert found.badge is OLDER
    assert found.why == "Older than what the group does since 00:06: stopped"


@pytest.mark.parametrize(
    ("left", "also"),
    [
        pytest.param(timedelta(minutes=12), [], id="the deadline says so"),
        pytest.param(None, ["retention is close"], id="no deadline is known"),
    ],
)
def test_a_row_does_not_say_twice_that_retention_is_close(
    left: timedelta | None, also: list[str]
) -> None:
    start = replace(ADD, kind=AdviceKind.START_CONSUMERS)
    rows = frame(start, replace(start, kind=AdviceKind.RETENTION_DEADLINE, proposed=None))
    at = left and NOW + left
    (row,) = decisions.items(rows, {ADD.subject: at}, picked=None, now=NOW, zone=UTC)
    assert [link.label for link in row.links] == also
    assert len(row.more) == 1, "it is there once the row is opened"


def test_a_need_that_no_number_meets_is_said_not_drawn_as_nothing() -> None:
    advice = Recommendation(
        kind=AdviceKind.ADD_CONSUMERS,
        cluster="c",
        subject="g",
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.HIGH,
        reason="",
        limiting_factor="steady",
        evidence=(
            Evidence(name="steady need", value=3),
            Evidence(name="catch-up need", value=None),
            Evidence(name="arrival", value=9.0),
        ),
    )
    drawn, unmet = advice_cards.needs(advice)
    assert drawn.rows() == [("steady (limits)", 3)]
    assert unmet == ["catch-up"]
    assert advice_cards.needs(replace(advice, evidence=()))[0].is_empty()


ADD = Recommendation(
    kind=AdviceKind.ADD_CONSUMERS,
    cluster="east",
    subject="payments",
    severity=AdviceSeverity.WATCH,
    confidence=Confidence.HIGH,
    reason="More arrives than is consumed.",
    quantity="consumers",
    current=4,
    proposed=6,
)
KEEP = replace(
    ADD,
    kind=AdviceKind.KEEP,
    reason="The group keeps up: no reason to change its consumers.",
    proposed=4,
)


def frame(*advice: Recommendation, at: datetime = NOW) -> pl.DataFrame:
    return recommendation_frame(recommendation_rows(advice, at=at))


@pytest.mark.parametrize(
    ("newest", "why"),
    [
        pytest.param(
            replace(KEEP, current=5, proposed=5), "It has 5 consumers now, 4 then", id="other count"
        ),
        pytest.param(
            KEEP, "The group keeps up: no reason to change its consumers", id="the same count"
        ),
        pytest.param(replace(KEEP, subject="another"), "It is not there now", id="gone"),
        pytest.param(
            replace(KEEP, quantity="partitions", current=12),
            "The group keeps up: no reason to change its consumers",
            id="another quantity",
        ),
    ],
)
def test_a_change_that_is_withdrawn_says_why(newest: Recommendation, why: str) -> None:
    rows = frame(ADD)
    (row,) = rows.iter_rows(named=True)
    said = {decisions.row_id(row): decisions.why_withdrawn(row, frame(newest))}
    assert list(said.values()) == [why]
    (item,) = decisions.items(rows, {}, picked=None, now=NOW, zone=UTC, withdrawn=said)
    assert (item.why, item.when) == (why, "last given 00:00")
    assert item.badge == WITHDRAWN, "it is not urgent any more"


def test_what_a_topic_is_kept_as_it_is_for_is_not_why_retention_is_no_matter() -> None:
    was = replace(ADD, kind=AdviceKind.DATA_LOST, subject_kind=Subject.TOPIC, quantity="")
    kept = replace(was, kind=AdviceKind.KEEP, reason="1 broker may fail. No reason to change it.")
    (row,) = frame(was).iter_rows(named=True)

    assert decisions.why_withdrawn(row, frame(kept)) == "No loss was seen in the ten minutes before"
    (row,) = frame(replace(was, kind=AdviceKind.DURABILITY)).iter_rows(named=True)
    assert decisions.why_withdrawn(row, frame(kept)) == "What it followed from was not found again"
    unknown = replace(kept, kind=AdviceKind.UNKNOWN, unknown_reason="its offsets were not read")
    assert decisions.why_withdrawn(row, frame(unknown)) == "Its offsets were not read"


def test_a_row_says_when_it_was_measured_where_that_is_not_as_the_page_says_of_all() -> None:
    later = NOW + timedelta(minutes=3)
    rows = pl.concat([frame(ADD), frame(replace(ADD, subject="changed since"), at=later)])
    found = decisions.items(rows, {}, picked=None, now=later, zone=UTC, measured_at=NOW)
    assert [one.when for one in found] == ["", "measured 00:03"]


def told(kind: AdviceKind, limit: str | None = None, **figures: float | str) -> str:
    """Return why advice of a kind is given, from figures in messages a second or in words."""
    evidence = tuple(
        Evidence(
            name=name.replace("_", " "),
            value=value,
            unit="" if isinstance(value, str) or name == "lag" else "messages/s",
        )
        for name, value in figures.items()
    )
    return brief.why(replace(ADD, kind=kind, limiting_factor=limit, evidence=evidence))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(
            told(AdviceKind.ADD_CONSUMERS, "steady", busiest_consumer=57.0, allowed_for_it=53.0),
            "busiest consumer gets 57/s, 53/s allowed",
            id="its numbers",
        ),
        pytest.param(
            told(AdviceKind.ADD_CONSUMERS, "forecast", busiest_consumer=57.0, allowed_for_it=53.0),
            "busiest consumer may soon get 57/s, 53/s allowed",
            id="by what limits it",
        ),
        pytest.param(
            told(AdviceKind.ADD_CONSUMERS, "forecast", busiest_consumer=26.0, allowed_for_it=53.0),
            "More arrives than is consumed",
            id="what is measured now denies it",
        ),
        pytest.param(
            told(AdviceKind.ADD_CONSUMERS, "steady", arrival=90.0, consumption=80.0),
            "90/s arrive, 80/s consumed",
            id="without a capacity",
        ),
        pytest.param(
            told(AdviceKind.ADD_CONSUMERS, arrival=90.0, consumption=92.0),
            "More arrives than is consumed",
            id="rates that deny it",
        ),
        pytest.param(
            told(AdviceKind.PARTITION_BOUND, arrival=90.1, consumption=90.0),
            "More arrives than is consumed",
            id="rates that read alike",
        ),
        pytest.param(
            told(AdviceKind.BLOCKED_PARTITION, blocked_partitions="orders-2", lag=40.0),
            "no commit on orders-2, 40 messages wait",
            id="another kind",
        ),
        pytest.param(
            told(AdviceKind.BLOCKED_PARTITION, lag=40.0),
            "More arrives than is consumed",
            id="a figure is missing",
        ),
    ],
)
def test_why_is_said_in_the_figures_that_tell_most(found: str, said: str) -> None:
    assert found.replace("\u202f", "").replace("\u2009", "") == said


def test_figures_of_a_row_are_of_now_as_those_of_other_pages() -> None:
    oldest = Evidence(name="oldest unread message", value=9, unit="s")
    then = (Evidence(name="lag", value=40), oldest)
    stopped = replace(ADD, kind=AdviceKind.START_CONSUMERS, evidence=then)
    status = GROUP_STATUS.empty.select(
        "group", "lag", "time_lag_seconds", "arrival_per_second", "consumption_per_second"
    )
    row = pl.DataFrame([(ADD.subject, 400, 90.0, 4.0, None)], schema=status.schema, orient="row")
    figures = brief.figures_of(row)

    [item] = decisions.items(frame(stopped), {}, figures=figures, picked=None, now=NOW, zone=UTC)

    assert item.why == thin("400 messages wait, the oldest for 1 min 30 s")
    unread = {ADD.subject: {"lag": None, "oldest unread message": None}}
    [item] = decisions.items(frame(stopped), {}, figures=unread, picked=None, now=NOW, zone=UTC)
    assert "40" not in item.why, "what cannot be read now is not what it was"


def test_what_overtook_changes_stands_in_one_line() -> None:
    rows = frame(ADD, KEEP, *(replace(ADD, subject=name) for name in ("a", "b", "c")))
    newer = Overtaken(now="the number of its consumers: 3", given="00:00", is_void=True)
    older = {decisions.row_id(row): newer for row in rows.iter_rows(named=True)}
    said = decisions.overtaken_line(rows, older)
    by = "(4 → 6 consumers) by the number of its consumers: 3"
    assert said == f"Overtaken: payments {by}; a {by}; b {by}; 1 more."
    assert decisions.overtaken_line(frame(KEEP), older) == "", "nothing to change is no loss"


def test_when_advice_on_a_subject_was_last_given() -> None:
    rows = pl.concat([frame(ADD), frame(ADD, at=NOW - timedelta(hours=1))])
    assert decisions.last_given(rows, "group:payments:hot_partition:0") == NOW
    assert decisions.last_given(rows, "topic:payments:add_partitions:0") is None


def test_the_evidence_of_a_group_is_that_of_the_advice_on_its_consumers() -> None:
    hot = replace(ADD, kind=AdviceKind.HOT_PARTITION, quantity="", current=None, proposed=None)
    rows = frame(hot, ADD, replace(hot, subject="only hot"))
    found = view_model.first_of(rows, "payments")
    assert (found["proposed"], found["reason"]) == (6, ADD.reason)
    assert view_model.first_of(rows, "only hot")["quantity"] == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        pytest.param(30.0, "It is known once the polls cover 1 min.", id="just after a start"),
        pytest.param(600.0, "The log ends of its partitions are unknown.", id="not read"),
    ],
)
def test_what_arrives_in_partitions_is_unknown_for_a_reason(seconds: float, said: str) -> None:
    assert view_model.why_no_rates(facts(six(seconds=seconds))) == said
