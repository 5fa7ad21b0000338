"""Advice with a number: where capacity was measured, and never where more would not help."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import yaml

from lake.schemas.tables import RECOMMENDATIONS
from scaling.advice.advice_table import from_row, recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, AdviceSeverity, Recommendation
from scaling.advisers.busiest_consumer import ALLOWED, BUSIEST
from scaling.advisers.measured_size import size_advice
from scaling.advisers.recommend import recommend_group
from scaling.advisers.size_facts import inputs, size_facts, why_not_sized
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import Forecast, GroupFacts
from scaling.keda.scalers import KedaTrigger
from scaling.sizing.decide import Decision, DecisionHistory
from scaling.sizing.size import size
from scaling.sizing.stability import Stability
from tests.unit.alerting.status.scenarios import constant, window
from tests.unit.scaling.advisers.advising import advice_on, facts, kinds, six

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def measured(low: float, **more: object) -> Capacity:
    return Capacity(
        status=CapacityStatus.IDENTIFIED,
        reason="40 intervals",
        **{  # type: ignore[arg-type]
            "per_second": low * 1.1,
            "low": low,
            "high": low * 1.2,
            "samples": 40,
            "episodes": 4,
            **more,
        },
    )


def of(
    members: int, arrival: float, consumed: float, low: float, forecast: float | None = None
) -> GroupFacts:
    """Return six partitions, each with these messages per second, and a measured capacity."""
    group = facts(
        six(members=members, arrival=constant(arrival), capacity=constant(consumed)),
        holders=lambda p: f"m{p % members}",
    )
    peak = (
        Forecast()
        if forecast is None
        else Forecast(per_second=forecast, at=NOW.timestamp(), reason="")
    )
    return replace(group, capacity=measured(low), forecast=peak)


def first(
    group: GroupFacts, *of_kinds: AdviceKind, history: DecisionHistory | None = None
) -> Recommendation:
    found = recommend_group(group, history or DecisionHistory())
    return next(one for one in found.advice if one.kind in of_kinds)


def watched_for(group: GroupFacts, seconds: float) -> DecisionHistory:
    """Return the history of a group that nothing was advised on for some time."""
    now = group.windows[0].samples[-1].at
    return DecisionHistory(
        at=now - 600, consumers=group.members, stability=Stability(since=now - seconds)
    )


def fewer(group: GroupFacts) -> Recommendation:
    return first(group, AdviceKind.REMOVE_CONSUMERS, history=watched_for(group, 1200))


def test_a_late_group_gets_a_number_with_its_binding_need() -> None:
    advice = first(of(2, 100.0, 60.0, 250.0), AdviceKind.ADD_CONSUMERS)
    assert (advice.current, advice.proposed, advice.limiting_factor) == (2, 6, "catch-up")
    assert advice.unknown_reason is None and advice.consequence
    figures = {one.name: one.value for one in advice.evidence}
    assert figures["capacity of one consumer"] == pytest.approx(275.0)
    assert figures["steady need"] == 3


def test_what_is_left_unused_can_go_and_is_counted_as_saving() -> None:
    advice = fewer(of(6, 10.0, 100.0, 250.0, forecast=65.0))
    assert (advice.current, advice.proposed, advice.saving) == (6, 1, 5)
    assert advice.consequence == "3600 consumer-hours a month are spent for nothing."


def test_without_history_it_goes_down_one_useful_step() -> None:
    advice = fewer(of(6, 10.0, 100.0, 250.0))
    assert advice.proposed == 3
    assert any("too little history" in one.text for one in advice.caveats)


def test_a_figure_of_generated_history_says_so() -> None:
    group = of(2, 50.0, 50.0, 250.0, forecast=900.0)
    made = replace(group, forecast=replace(group.forecast, generated=True))
    for known, is_said in ((group, False), (made, True)):
        advice = first(known, AdviceKind.ADD_CONSUMERS)
        assert ("from generated history" in advice.reason) is is_said


def test_the_next_peak_is_prepared_for() -> None:
    advice = first(of(2, 50.0, 50.0, 250.0, forecast=900.0), AdviceKind.ADD_CONSUMERS)
    assert advice.limiting_factor == "forecast" and advice.severity is AdviceSeverity.WATCH
    assert advice.proposed == 6
    assert (
        "the next peak (Mon 12:00 UTC) may bring 900/s, the forecast's upper end for that hour: "
        "the busiest of 2 would get 450/s (50 %), "
        "more than the 238/s allowed (95 % of the 250/s that it processes at least). Have 6 by then"
    ) in advice.reason
    assert advice.consequence == "The group may fall behind when that much arrives."
    figures = {one.name: one.value for one in advice.evidence}
    assert (figures[BUSIEST], figures[ALLOWED]) == pytest.approx((450.0, 0.95 * 250.0))


def test_the_upper_end_of_a_forecast_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    group = of(2, 50.0, 50.0, 250.0)
    asked = inputs(group)
    assert asked is not None
    more = replace(asked, soon=asked.soon * 3)
    needed = size(more)
    found = Decision(
        inputs=more,
        group_size=needed,
        consumers=needed.consumers,
        reason="",
        history=DecisionHistory(),
    )
    monkeypatch.setattr("scaling.advisers.measured_size.decide", lambda *_: found)
    advice, _ = size_advice(group, DecisionHistory())
    assert advice is not None and advice.limiting_factor == "forecast"
    said = "300/s arrive (soon up to 900/s, by the last 15 min): the busiest of 2 would get 450/s"
    assert said in advice.reason


def test_what_one_consumer_may_get_is_said_where_the_mean_capacity_would_be_enough() -> None:
    """Given 114/s for two consumers that process 73/s each on average, and 66/s at least."""
    advice = first(of(2, 19.0, 19.0, 66.0), AdviceKind.ADD_CONSUMERS)
    assert advice.reason == (
        "Of the 114/s that arrive, the busiest of 2 gets 57/s (50 %), more than the 53/s allowed "
        "(80 % of the 66/s that it processes at least). One consumer processes 73/s (90 % "
        "interval: 66/s to 79/s)."
    )


def test_the_right_number_is_kept_with_the_need_that_binds() -> None:
    [advice] = advice_on(of(3, 80.0, 80.0, 250.0, forecast=490.0))
    assert advice.kind is AdviceKind.KEEP and advice.proposed == 3
    assert advice.limiting_factor == "steady" and advice.consequence is None


def test_a_rise_of_the_last_minute_keeps_the_number_and_says_what_it_may_need() -> None:
    risen = facts(
        six(members=2, arrival=lambda t: 60.0 if t < 540 else 150.0, capacity=constant(400.0)),
        holders=lambda p: f"m{p % 2}",
    )
    [advice] = advice_on(replace(risen, capacity=measured(250.0)))
    assert (advice.kind, advice.proposed) == (AdviceKind.KEEP, 2)
    assert advice.reason == (
        "Keep 2 consumers for now; 6 may be needed for what arrives: 2 of the last 4 evaluations "
        "ask for more, and 3 have to."
    )


def test_a_partition_beyond_a_consumers_capacity_is_named() -> None:
    advice = first(of(6, 300.0, 250.0, 250.0), AdviceKind.PARTITION_BOUND, AdviceKind.HOT_PARTITION)
    assert advice.proposed is None
    assert "More consumers cannot fix this" in advice.reason and advice.blockers


def test_a_shared_limit_gets_no_more_consumers() -> None:
    group = of(3, 100.0, 60.0, 250.0)
    shared = replace(
        measured(60.0), status=CapacityStatus.CONFLICT, helpful_members=2, limit_per_second=360.0
    )
    advice = first(replace(group, capacity=shared), AdviceKind.DOWNSTREAM)
    assert advice.proposed is None and "will not help" in advice.reason
    assert AdviceKind.ADD_CONSUMERS not in kinds(advice_on(replace(group, capacity=shared)))


@pytest.mark.parametrize("low", [50.0, 250.0, 2000.0])
def test_a_poison_partition_never_gets_more_consumers(low: float) -> None:
    windows = six(members=3)
    windows[4] = window(partition=4, poll=5.0, capacity=lambda t: 200.0 if t < 200 else 0.0)
    group = facts(windows, holders=lambda p: f"m{p % 3}")
    found = advice_on(replace(group, capacity=measured(low)))
    assert AdviceKind.BLOCKED_PARTITION in kinds(found)
    assert AdviceKind.ADD_CONSUMERS not in kinds(found)


def test_nothing_is_sized_from_what_is_unknown() -> None:
    group = of(3, 100.0, 60.0, 250.0)
    unmeasured, without_members = replace(group, capacity=None), replace(group, members=None)
    assert inputs(unmeasured) is None
    assert "was not measured" in why_not_sized(unmeasured)
    bound = Capacity(status=CapacityStatus.LOWER_BOUND, reason="never saturated", low=100.0)
    assert inputs(replace(group, capacity=bound)) is None
    assert inputs(without_members) is None
    assert "the group's members" in why_not_sized(without_members)
    assert inputs(replace(group, partitions=group.partitions[1:])) is None


def test_keda_stands_beside_with_the_reason() -> None:
    advice = first(of(2, 100.0, 60.0, 250.0), AdviceKind.ADD_CONSUMERS)
    assert advice.keda is not None
    assert advice.keda.lag_threshold == int(250.0 * 300.0 / 6)
    assert advice.keda.why


def test_the_autoscaler_is_one_that_keda_takes() -> None:
    advice = fewer(of(6, 10.0, 100.0, 250.0, forecast=65.0))
    by_name = {one.name: yaml.safe_load(one.text) for one in advice.artefacts}
    spec = by_name["KEDA ScaledObject"]["spec"]
    assert spec["maxReplicaCount"] == 6 and spec["minReplicaCount"] == 1
    KedaTrigger.from_metadata(
        spec["triggers"][0]["metadata"], environment={"BOOTSTRAP_SERVERS": "a:9092"}
    )
    assert by_name["HorizontalPodAutoscaler"]["spec"]["maxReplicas"] == 6


def test_rows_and_back() -> None:
    advice = advice_on(of(2, 100.0, 60.0, 250.0))
    rows = recommendation_rows(advice, at=NOW)
    frame = recommendation_frame(rows)
    assert [from_row(row) for row in frame.iter_rows(named=True)] == list(advice)


def test_unchanged_advice_keeps_its_beginning() -> None:
    advice = advice_on(of(2, 100.0, 60.0, 250.0))
    rows = recommendation_rows(advice, at=NOW)
    later = NOW + timedelta(hours=1)
    again = recommendation_rows(advice, at=later, standing=rows)
    assert {row["valid_from"] for row in again} == {NOW}
    assert {row["confirmed_at"] for row in again} == {later}
    assert {row["date"] for row in again} == {NOW.date()}
    other = recommendation_rows(
        [replace(one, proposed=(one.proposed or 0) + 1) for one in advice], at=later, standing=rows
    )
    assert {row["valid_from"] for row in other} == {later}


def test_two_of_a_kind_about_one_group_have_a_row_each() -> None:
    [one] = advice_on(of(2, 100.0, 60.0, 250.0))[:1]
    other = replace(one, reason="another topic", proposed=None)
    rows = recommendation_rows([one, other], at=NOW)
    keys = {tuple(row[name] for name in RECOMMENDATIONS.key) for row in rows}
    assert [row["number"] for row in rows] == [0, 1]
    assert len(keys) == 2
    assert [from_row(row) for row in rows] == [one, other]
    later = NOW + timedelta(hours=1)
    again = recommendation_rows([one, other], at=later, standing=rows)
    assert {row["valid_from"] for row in again} == {NOW}


def test_fewer_are_advised_only_after_they_were_enough_for_the_whole_window() -> None:
    group = of(6, 10.0, 100.0, 250.0, forecast=65.0)
    [new] = recommend_group(group, DecisionHistory()).advice
    [soon] = recommend_group(group, watched_for(group, 1100)).advice

    assert (new.kind, new.proposed) == (soon.kind, soon.proposed) == (AdviceKind.KEEP, 6)
    assert "must have been enough for 20 min" in new.reason
    assert fewer(group).proposed == 1


def test_what_comes_and_goes_is_advised_on_between_its_crests_too() -> None:
    group = of(members=2, arrival=20.0, consumed=200.0, low=200.0, forecast=120.0)
    asked = size_facts(group)
    assert asked is not None
    before = Stability(votes=((asked.at - 600.0, 3),))
    history = DecisionHistory(at=asked.at - 600.0, consumers=2, advised=3, stability=before)

    advice = first(group, AdviceKind.ADD_CONSUMERS, history=history)

    assert (advice.current, advice.proposed) == (2, 3)
    assert advice.severity is AdviceSeverity.WATCH
    assert advice.reason.startswith(
        "2 consumers are enough for the 120/s that arrive at the moment"
    )
    assert "as many were needed within the last 20 min" in advice.reason
