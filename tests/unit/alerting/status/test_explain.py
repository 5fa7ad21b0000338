"""What explains a status can be found again in the samples."""

from __future__ import annotations

from alerting.status.explain import GROUP, explain
from alerting.status.model import PartitionWindow, Sample, StatusRules

_POLL, _POLLS = 5, 80


def _window(partition: int, lag_per_poll: int) -> PartitionWindow:
    """Return samples of a partition that keeps up for half of the time; then its lag rises."""
    samples = [
        Sample(
            at=1_000_000.0 + _POLL * number,
            log_end=1000 + 50 * number,
            log_start=0,
            committed=1000 + 50 * number - lag,
            lag=lag,
            time_lag_seconds=None,
            assigned=True,
            members=2,
            state="stable",
        )
        for number in range(_POLLS)
        for lag in [5 + lag_per_poll * max(0, number - _POLLS // 2)]
    ]
    return PartitionWindow(topic="t", partition=partition, samples=tuple(samples))


def test_a_growth_is_told_from_the_lowest_lag_to_that_of_now_and_for_the_whole_group() -> None:
    """Given two partitions whose lag rises, then the samples' own lags are told, and their sum."""
    windows = [_window(0, 10), _window(1, 20)]
    found = explain(windows, now=None, rules=StatusRules())
    grown = {one.of: one for one in found.features if one.name.startswith("growth")}
    risen = 39 * 10 + 39 * 20
    assert grown[GROUP].value == f"{risen:,} messages"
    (of_one,) = [one for of, one in grown.items() if of != GROUP]
    assert of_one.value.startswith(("from 5 messages to 785 in ", "from 5 messages to 395 in "))
    # A commit may come that takes back what came in the last minute.
    rest = {"t-0": 390 - 12 * 10, "t-1": 780 - 12 * 20}[of_one.of]
    assert of_one.compared.startswith(f"{rest} of them are no steps of commits")
    assert "last 1 min" in of_one.compared
