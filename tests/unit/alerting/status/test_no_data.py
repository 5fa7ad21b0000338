"""Samples that are missing, old or unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.status.group_status import (
    PartitionWindow,
    Sample,
    Status,
    group_status,
    partition_status,
)
from tests.unit.alerting.status.scenarios import START, changed, constant, window, without


def test_outage_of_the_monitor_leaves_the_rates_right() -> None:
    found = without(window(capacity=constant(50.0)), lambda t: 150 < t < 500)

    status = partition_status(found)

    assert status.status is Status.FALLING_BEHIND
    assert status.numbers.arrival_per_second == pytest.approx(100, rel=0.05)


def test_gap_does_not_count_as_frozen() -> None:
    found = without(window(poll=5.0), lambda t: 300 < t < 590)

    assert partition_status(found).status is Status.OK


def test_old_samples_say_nothing_about_now() -> None:
    found = window()

    assert partition_status(found, now=START + 630).status is Status.OK
    status = partition_status(found, now=START + 700)
    assert status.status is Status.UNKNOWN
    assert "1 min 40 s old" in status.reason


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"committed": None, "lag": None}, "no committed offset", id="no commit"),
        pytest.param({"log_end": None, "lag": None}, "the log end", id="no log end"),
        pytest.param({"lag": None}, "the lag", id="no lag"),
    ],
)
def test_unknown_newest_value_is_unknown(change: dict[str, None], why: str) -> None:
    found = changed(window(), lambda t, s: s._replace(**change) if t >= 585 else s)

    status = partition_status(found)

    assert status.status is Status.UNKNOWN
    assert why in status.reason
    assert status.since == START + 585
    assert status.numbers.lag is None


def test_collectors_reason_is_handed_on() -> None:
    found = replace(
        changed(window(), lambda t, s: Sample(s.at) if t == 600 else s),
        unknown_reason="the group's coordinator, broker 2, does not answer",
    )

    assert "broker 2" in partition_status(found).reason


def test_no_samples_is_unknown() -> None:
    assert (
        partition_status(PartitionWindow(topic="orders", partition=0, samples=())).status
        is Status.UNKNOWN
    )


def test_partitions_that_take_turns_leave_their_group_unknown_all_the_time() -> None:
    def part(number: int) -> PartitionWindow:
        return changed(
            window(partition=number, poll=15.0),
            lambda t, s: s._replace(lag=None) if t > 300 and t // 15 % 2 == number else s,
        )

    found = group_status([part(0), part(1)])

    assert found.status is Status.UNKNOWN
    assert found.since == START + 315
