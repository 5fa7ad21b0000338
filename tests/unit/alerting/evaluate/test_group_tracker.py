from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from alerting.evaluate.group_tracker import LagWatch
from alerting.inputs.windows import GroupKey, build_windows
from alerting.status.group_status import Status, group_status
from lake.schemas.tables import GROUP_OFFSETS, GROUPS
from simulation.scenarios import families
from simulation.scenarios.model import Scenario
from tests.selection import exhaustive

BEGIN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FAMILIES = (
    "broker_outage",
    "poison_partition",
    "steady",
    *exhaustive(
        "deploy",
        "log_cut",
        "monitor_outage",
        "partition_added",
        "transaction_markers",
        "unsubscribed_topic",
    ),
)


def polls(scenario: Scenario) -> Iterator[tuple[float, pl.DataFrame, pl.DataFrame]]:
    """Yield the time, the rows of group_offsets and of groups of each poll."""
    by_time = [{s.t: s for s in part.samples} for part in scenario.partitions]
    for at in scenario.times:
        shared = {
            "cluster": "c",
            "observed_at": BEGIN + timedelta(seconds=at),
            "poll_id": str(at),
            "group": scenario.group,
        }
        offsets, groups = [], {}
        for part, samples in zip(scenario.partitions, by_time, strict=True):
            seen = samples.get(at)
            if seen is None:
                continue
            known = seen.log_end is not None and seen.committed is not None
            offsets.append(
                {
                    **shared,
                    "topic": part.topic,
                    "partition": part.partition,
                    "committed": seen.committed,
                    "log_start": seen.log_start,
                    "log_end": seen.log_end,
                    "lag": max(0, (seen.log_end or 0) - (seen.committed or 0)) if known else None,
                    "member_id": "m" if seen.assigned else None,
                }
            )
            groups = {**shared, "members": seen.members, "state": seen.state}
        yield (
            (BEGIN + timedelta(seconds=at)).timestamp(),
            pl.DataFrame(offsets, schema=GROUP_OFFSETS.polars_schema),
            pl.DataFrame([groups] if groups else [], schema=GROUPS.polars_schema),
        )


@pytest.mark.parametrize("family", FAMILIES)
def test_first_pass_says_what_the_rules_say_in_full(family: str) -> None:
    scenario = families()[family](0)
    watch = LagWatch("c")
    key = GroupKey("c", scenario.group)
    skipped = 0

    for index, (at, offsets, groups) in enumerate(polls(scenario)):
        watch.add(offsets, groups)
        if index > 120:
            break
        if index % 6 or key not in (found := watch.statuses(at)):
            continue
        in_full = watch.classify(scenario.group, at)
        assert found[key].status is in_full.status, in_full.reason
        assert found[key].numbers.lag == in_full.numbers.lag
        assert found[key].unknown_partitions == in_full.unknown_partitions
        if in_full.partitions and not isinstance(found[key].partitions, tuple):
            skipped += 1
            assert found[key].numbers.behind_seconds == pytest.approx(
                in_full.numbers.behind_seconds, abs=0.01
            )
    if family in ("steady", "deploy"):
        assert skipped > 3, "the first pass settled nothing"


def test_within_ten_minutes_the_samples_are_those_of_the_rows() -> None:
    scenario = families()["poison_partition"](0)
    watch = LagWatch("c")
    rows: list[tuple[float, pl.DataFrame, pl.DataFrame]] = []
    for poll in polls(scenario):
        rows.append(poll)
        if poll[0] - rows[0][0] > 590:
            break
    for _, offsets, groups in rows:
        watch.add(offsets, groups)

    [expected] = build_windows(
        pl.concat([offsets for _, offsets, _ in rows]), pl.concat([groups for *_, groups in rows])
    ).values()

    assert watch.windows(scenario.group) == expected
    assert group_status(expected).status is watch.classify(scenario.group).status


def test_what_is_known_already_is_not_added_again() -> None:
    scenario = families()["steady"](0)
    seen = list(polls(scenario))[:10]
    everything = pl.concat([offsets for _, offsets, _ in seen])
    watch = LagWatch("c")
    for _ in range(3):
        watch.add(everything)

    assert len(watch.windows(scenario.group)[0].samples) == 10


def test_old_polls_say_nothing_about_now() -> None:
    scenario = families()["steady"](0)
    watch = LagWatch("c")
    seen = list(polls(scenario))[:50]
    for _, offsets, groups in seen:
        watch.add(offsets, groups)

    at = seen[-1][0]
    key = GroupKey("c", scenario.group)
    assert watch.statuses(at)[key].status is Status.OK
    stale = watch.statuses(at + 120)[key]
    assert stale.status is Status.UNKNOWN
    assert "2 min old" in stale.reason


@pytest.mark.exhaustive
def test_memory_is_thinned() -> None:
    scenario = families()["message_an_hour"](0)
    watch = LagWatch("c")
    for _, offsets, groups in polls(scenario):
        watch.add(offsets, groups)

    [samples] = {len(window.samples) for window in watch.windows(scenario.group)}
    assert 40 < samples < 110
