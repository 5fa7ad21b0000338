"""What retention deletes of what a group has not read, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import pi, sin
from typing import Any

import polars as pl
import pytest

from alerting.checks.loss_deadline import (
    NextLoss,
    Retentions,
    deleted_within_objective,
    kept_by_topic,
    next_loss,
    next_losses,
)
from alerting.checks.model import CheckInput, Observation
from alerting.checks.registry import CHECKS
from alerting.checks.retention_deadline import DeadlineState, Retention
from alerting.current.rows import current_rows
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator
from alerting.evaluate.observations import CheckedCluster
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import GroupKey
from alerting.status.group_status import group_status
from alerting.status.model import GroupStatus, LagNumbers, PartitionStatus, Status
from config.settings import LakeSettings
from lake.schemas.current import GROUP_STATUS, READERS, TOPIC_STATUS
from lake.schemas.tables import GROUP_OFFSETS, TOPICS
from lake.storage.store import Lake
from tests.unit.alerting.checks.check_world import CASES, TRUE_UNTIL, Case, Row, always
from tests.unit.alerting.checks.polled_world import world
from tests.unit.alerting.evaluate.polled_rows import classified
from tests.unit.alerting.status.scenarios import constant, window

HOUR = 3600.0


def part(topic: str, status: Status, **numbers: Any) -> PartitionStatus:
    """Return a partition of which nothing is read while ten messages a second arrive."""
    waits = {"lag": 36_000, "behind_seconds": HOUR}
    rates = {"arrival_per_second": 10.0, "consumption_per_second": 0.0}
    return PartitionStatus(
        topic=topic,
        partition=0,
        status=status,
        reason="",
        since=None,
        began_before_window=False,
        numbers=LagNumbers(**{**waits, **rates, **numbers}),
    )


def losses(*parts: PartitionStatus, **kept: float) -> dict[str, NextLoss]:
    found = GroupStatus(
        status=parts[0].status, reason="", numbers=parts[0].numbers, partitions=parts
    )
    by_topic = {topic: Retention(seconds=hours * HOUR) for topic, hours in kept.items()}
    shortest = min(one.seconds or 0.0 for one in by_topic.values())
    return next_losses(
        found, Retentions(by_topic=by_topic, bytes_per_message={}, shortest_seconds=shortest)
    )


def test_each_topic_of_a_group_has_a_loss_of_its_own_and_the_first_is_that_of_the_group() -> None:
    found = losses(
        part("first", Status.STALLED),
        part("second", Status.STALLED),
        part("unread", Status.UNKNOWN),
        part("fine", Status.OK, lag=5, behind_seconds=1.0),
        first=4,
        second=9,
        unread=9,
        fine=9,
    )
    assert {topic: (one.state, one.seconds) for topic, one in found.items()} == {
        "first": (DeadlineState.COMING, 3 * HOUR),
        "second": (DeadlineState.COMING, 8 * HOUR),
        "unread": (DeadlineState.UNKNOWN, None),
    }
    first = next_loss(found)
    assert first.partition is not None
    assert (first.partition.topic, first.seconds, first.is_unknown) == ("first", 3 * HOUR, True)


def test_what_is_lost_already_has_no_time_to_come() -> None:
    lost = part("t", Status.LOSING_DATA)
    found = losses(lost, part("later", Status.STALLED), t=1, later=2)
    assert {topic: one.state for topic, one in found.items()} == {
        "t": DeadlineState.LOST,
        "later": DeadlineState.COMING,
    }
    assert next_loss(found).state is DeadlineState.LOST


def test_a_group_that_keeps_up_far_from_any_retention_loses_nothing() -> None:
    fine = part("t", Status.OK, behind_seconds=1.0)
    assert losses(fine, t=9) == {}
    assert next_loss({}).state is DeadlineState.NONE


BEHIND = {"consumption_per_second": 7.5}
"""Three of four messages are read: the oldest ages by a quarter of the time."""


@pytest.mark.parametrize(
    ("kept_hours", "is_lasting", "left"),
    [
        pytest.param(9, False, None, id="a peak that may pass, and hours left"),
        pytest.param(9, True, 32 * HOUR, id="it lasts"),
        pytest.param(1.75, False, 3 * HOUR, id="near, whether it lasts or not"),
        pytest.param(1.5, False, 2 * HOUR, id="most of the retention is used"),
    ],
)
def test_what_may_pass_with_its_peak_has_no_deadline_hours_ahead(
    kept_hours: float, is_lasting: bool, left: float | None
) -> None:
    late = replace(part("t", Status.FALLING_BEHIND, **BEHIND), is_lasting=is_lasting)
    assert next_loss(losses(late, t=kept_hours)).seconds == left


def test_a_group_that_reads_in_waves_has_no_deadline_that_comes_and_goes() -> None:
    """Given arrivals that swing by 90 around 110 a second, and a group that reads up to 150."""
    day = 600.0
    waves = window(
        arrival=lambda t: 110 + 90 * sin(2 * pi * t / day), capacity=constant(150), seconds=6 * day
    )
    polls = waves.samples
    ends = [at for at in range(20, len(polls)) if (polls[at].at - polls[0].at) % 30 == 0]
    found = [group_status([replace(waves, samples=polls[: at + 1])]) for at in ends]
    retentions = Retentions(
        by_topic={"orders": Retention(seconds=2 * HOUR)},
        bytes_per_message={},
        shortest_seconds=2 * HOUR,
    )
    assert any(one.status is Status.FALLING_BEHIND for one in found)
    assert [next_losses(one, retentions) for one in found] == [{}] * len(found)


KEPT = {"short": Retention(seconds=60.0), "long": Retention(seconds=7 * 24 * HOUR)}


@pytest.mark.parametrize(
    ("objective", "topics"),
    [
        pytest.param(300.0, ["long"], id="kept for longer"),
        pytest.param(60.0, ["short"], id="kept for as long"),
        pytest.param(None, ["short"], id="no objective"),
        pytest.param(300.0, ["unseen"], id="unknown"),
        pytest.param(300.0, [], id="no topic"),
    ],
)
def test_an_objective_that_is_missed_before_retention_deletes_is_not_mentioned(
    objective: float | None, topics: list[str]
) -> None:
    assert deleted_within_objective(objective, KEPT, topics) == ""


def test_an_objective_beyond_retention_names_the_topic_and_both_times() -> None:
    said = deleted_within_objective(300.0, KEPT, ["long", "short"])
    assert said.startswith(
        "short keeps messages for 1 min, less than the group's objective of 5 min: "
    )


def test_a_topic_that_is_only_compacted_deletes_nothing_by_age() -> None:
    row = {"cluster": "c", "topic": "t", "retention_seconds": 60.0, "cleanup_policy": "compact"}
    kept = kept_by_topic(pl.DataFrame([row], schema=TOPIC_STATUS.polars_schema))
    assert deleted_within_objective(300.0, kept, ["t"]) == ""


def losing(retention_seconds: float) -> Frames:
    """Return a cluster with a group that loses data."""
    true = CASES["losing_data"].true

    def late(poll: int) -> Row:
        seen = true[GROUP_OFFSETS](poll)
        return {**seen, "time_lag_seconds": 9e3} if seen else {}

    kept = always(retention_seconds=retention_seconds)
    return world(Case(true={**true, GROUP_OFFSETS: late, TOPICS: kept}), TRUE_UNTIL)


def seen(check: str, frames: Frames) -> Observation:
    """Return what a check says of the group."""
    given = CheckInput(frames=frames, classify=classified)
    (found,) = (one for one in CHECKS[check].observe(given) if one.value is not None)
    return found


def test_a_group_that_loses_data_is_never_said_to_do_so_soon() -> None:
    assert seen("losing_data", losing(1e4)).what == "g loses data"
    assert seen("data_loss_deadline", losing(1e4)).what == "g loses more data"


@pytest.mark.parametrize(
    ("ago", "loses_now"),
    [
        pytest.param(60.0, True, id="the newest polls saw it"),
        pytest.param(360.0, False, id="six minutes ago"),
        pytest.param(None, False, id="before anybody looked"),
    ],
)
def test_whether_a_group_loses_data_now_is_measured_and_its_name_stays(
    ago: float | None, *, loses_now: bool
) -> None:
    frames = losing(1e4)

    def since_then(given: Frames) -> dict[GroupKey, GroupStatus]:
        last = None if ago is None else given.sampled_at - ago
        return {
            key: replace(one, numbers=replace(one.numbers, last_lost_at=last))
            for key, one in classified(given).items()
        }

    given = CheckInput(frames=frames, classify=since_then)
    found = {
        check: one
        for check in ("losing_data", "data_loss_deadline")
        for one in CHECKS[check].observe(given)
        if one.value is not None
    }
    assert found["losing_data"].what == "g loses data", "losses come in bursts"
    assert (found["data_loss_deadline"].deadline is None) is loses_now
    evaluated = ClusterEvaluation(
        frames=frames,
        statuses=given.statuses,
        clear_partitions=pl.DataFrame(schema=PARTITION_LAG),
        losses=given.losses,
        seen=CheckedCluster(observations=()),
    )
    (row,) = current_rows(evaluated, (), {})[GROUP_STATUS].filter(group="g").to_dicts()
    assert row["loses_now"] is loses_now
    assert (row["data_loss_at"] is None) is loses_now
    assert (row["last_lost_at"] is None) is (ago is None)


@pytest.mark.parametrize("check", ["losing_data", "data_loss_deadline"])
def test_the_step_against_a_loss_says_where_the_objective_lets_it_happen(check: str) -> None:
    said = "Keep messages of t longer than 4 min: the group's objective is 5 min."
    assert said in seen(check, losing(240.0)).step
    assert "objective" not in seen(check, losing(1e4)).step


def test_readers_have_the_loss_of_each_group_on_each_topic() -> None:
    def readers(frames: Frames) -> tuple[pl.DataFrame, datetime | None]:
        evaluator = ClusterEvaluator(Lake(LakeSettings(uri="memory-only")), watched_since=0.0)
        written = current_rows(evaluator.evaluate_frames(frames), (), {})
        found = written[READERS].select("topic", "group", "loss", "data_loss_at")
        return found, written[GROUP_STATUS].filter(group="g")["data_loss_at"].item()

    coming, at = readers(world(CASES["data_loss_deadline"], TRUE_UNTIL))
    assert at is not None
    assert coming.rows() == [("other", "h", "none", None), ("t", "g", "coming", at)]
    lost, at = readers(losing(1e4))
    assert at is None
    assert lost.rows() == [("other", "h", "none", None), ("t", "g", "lost", None)]
