"""Advice between two rounds, on groups that do something else by now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake

from alerting.inputs.windows import GroupKey
from alerting.status.model import Status
from config.scaling import ScalingSettings
from config.settings import LakeSettings
from lake.schemas.current import CHANGED_ADVICE
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.advice.stored_advice import Standing, standing
from spark_metrics.derived.advice import given_lately
from spark_metrics.derived.changed_groups import ChangedGroups, Doing, changed
from tests.late_group import write_late_group, write_statuses

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
ROUND_AT = NOW - timedelta(minutes=4)
WELL = Doing(Status.OK, False, True)
LATE = GroupKey("demo", "late")


def _keep(group: str) -> Recommendation:
    return Recommendation(
        kind=AdviceKind.KEEP,
        cluster="demo",
        subject=group,
        severity=AdviceSeverity.INFO,
        confidence=Confidence.MEDIUM,
        reason="The group keeps up: no reason to change its consumers.",
        quantity="consumers",
        current=1,
        proposed=1,
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with samples of a late group, and a round of advice that found all well."""
    found = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    write_late_group(found, NOW)
    rows = recommendation_rows([_keep("late"), _keep("other")], at=ROUND_AT)
    frame = conform(RECOMMENDATIONS, recommendation_frame(rows))
    write_deltalake(
        found.uri(RECOMMENDATIONS), frame.to_arrow(), mode="append", partition_by=["date"]
    )
    return found


def _after_round(lake: Lake) -> ChangedGroups:
    groups = ChangedGroups(lake, ScalingSettings())
    groups.after_round(given_lately(lake), {LATE: WELL, GroupKey("demo", "other"): WELL})
    return groups


def _of(given: Standing, group: str) -> list[str]:
    return given.rows.filter(pl.col("subject") == group)["kind"].to_list()


def test_a_group_that_changed_is_advised_on_at_once_and_once(lake: Lake) -> None:
    groups = _after_round(lake)
    write_statuses(lake, NOW, late=Status.FALLING_BEHIND, other=Status.OK)
    assert groups.advise(NOW) == 1
    given = standing(lake, "demo", NOW)
    assert _of(given, "late") == ["add_consumers"]
    assert _of(given, "other") == ["keep"]
    assert given.as_of == ROUND_AT
    assert given.changed == {"late"}
    assert given.changed_at == NOW
    assert groups.advise(NOW + timedelta(seconds=30)) == 0


def test_a_group_that_is_well_again_is_so_until_the_next_round(lake: Lake) -> None:
    groups, later = _after_round(lake), NOW + timedelta(seconds=40)
    write_statuses(lake, NOW, late=Status.FALLING_BEHIND, other=Status.OK)
    groups.advise(NOW)
    write_statuses(lake, later, late=Status.OK, other=Status.OK)
    assert groups.advise(later) == 1
    assert _of(standing(lake, "demo", later), "late") == ["keep"]


def test_the_next_round_counts_and_keeps_since_when_advice_stands(lake: Lake) -> None:
    groups = _after_round(lake)
    write_statuses(lake, NOW, late=Status.FALLING_BEHIND, other=Status.OK)
    groups.advise(NOW)
    lately = given_lately(lake).sort("subject", "valid_from")
    assert lately.select("subject", "kind", "valid_from").rows() == [
        ("late", "keep", ROUND_AT),
        ("late", "add_consumers", NOW),
        ("other", "keep", ROUND_AT),
    ]

    rows = recommendation_rows([_keep("late"), _keep("other")], at=NOW + timedelta(minutes=6))
    frame = conform(RECOMMENDATIONS, recommendation_frame(rows))
    write_deltalake(lake.uri(RECOMMENDATIONS), frame.to_arrow(), mode="append")
    given = standing(lake, "demo", NOW + timedelta(minutes=7))
    assert given.changed == frozenset()
    assert _of(given, "late") == ["keep"]


@pytest.mark.parametrize(
    ("minutes", "goes_on"),
    [
        pytest.param(20, True, id="missing in one round"),
        pytest.param(70, False, id="missing for more than an hour"),
    ],
)
def test_advice_goes_on_that_is_back_within_an_hour(
    lake: Lake, minutes: int, *, goes_on: bool
) -> None:
    """Given a round that gave the advice, and a later one that gave it not."""
    at = ROUND_AT + timedelta(minutes=minutes)
    between = recommendation_frame(recommendation_rows([_keep("other")], at=at))
    lake.append(RECOMMENDATIONS, between)
    again = at + timedelta(minutes=10)
    standing_rows = given_lately(lake).rows(named=True)
    rows = recommendation_rows([_keep("late")], at=again, standing=standing_rows)
    assert [row["valid_from"] for row in rows] == [ROUND_AT if goes_on else again]


def test_without_a_round_nobody_is_advised_on(lake: Lake) -> None:
    write_statuses(lake, NOW, late=Status.FALLING_BEHIND)
    assert ChangedGroups(lake, ScalingSettings()).advise(NOW) == 0
    assert lake.current.read(CHANGED_ADVICE, "demo") is None


def test_the_worst_come_first_and_what_is_unknown_is_nothing_new() -> None:
    names = {
        "falls": Status.FALLING_BEHIND,
        "stopped": Status.STOPPED,
        "unread": Status.UNKNOWN,
        "new": Status.OK,
        "same": Status.OK,
    }
    now = {GroupKey("demo", name): Doing(status, False, True) for name, status in names.items()}
    then = {GroupKey("demo", name): WELL for name in ("falls", "stopped", "unread", "same")}
    assert [key.group for key in changed(then, now)] == ["stopped", "falls", "new"]


def test_members_that_are_back_are_a_change() -> None:
    then = {LATE: Doing(Status.STOPPED, False, False)}
    assert changed(then, {LATE: Doing(Status.STOPPED, False, True)}) == [LATE]


def test_a_lag_that_is_known_again_is_a_change_and_one_that_is_not_is_none() -> None:
    known = Doing(Status.STOPPED, False, False)
    unread = known._replace(is_lag_known=False)
    assert changed({LATE: unread}, {LATE: known}) == [LATE]
    assert changed({LATE: known}, {LATE: unread}) == []
    assert changed({LATE: WELL}, {LATE: unread}) == [LATE]
