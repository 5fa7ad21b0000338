"""What is read off samples that stand still is the same, however it is read off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alerting.status.features import _measured, _standing_still, _stands_still
from alerting.status.model import PartitionWindow, Sample, StatusRules

MEMBERS = st.sampled_from([(3, "stable"), (0, "empty"), (None, None), (2, "preparing_rebalance")])


@given(
    steps=st.lists(st.tuples(st.sampled_from([1, 15, 15, 60, 400]), MEMBERS), max_size=60),
    end=st.integers(0, 1000),
    start=st.one_of(st.none(), st.integers(0, 1000)),
    assigned=st.sampled_from([None, True, False]),
)
def test_a_partition_that_stands_still_is_measured_like_any_other(
    steps: list[tuple[int, tuple[int | None, str | None]]],
    end: int,
    start: int | None,
    assigned: bool | None,
) -> None:
    at, samples = 1_000_000.0, []
    for step, (members, state) in [(0, (3, "stable")), *steps]:
        at += step
        samples.append(Sample(at, end, start, end, 0, 0.0, assigned, members, state))
    window = PartitionWindow(topic="t", partition=0, samples=tuple(samples))
    assert _stands_still(window.samples)
    assert _standing_still(window, StatusRules()) == _measured(window, StatusRules())


def test_what_moves_or_waits_or_is_unknown_does_not_stand_still() -> None:
    still = Sample(0.0, 5, 0, 5, 0)
    for change in (
        {"committed": 4, "lag": 1},
        {"log_end": 6, "lag": 1},
        {"log_start": 1},
        {"committed": None, "lag": None},
    ):
        assert not _stands_still([still, still._replace(at=1.0, **change)])
        assert not _stands_still([still._replace(**change), still._replace(at=1.0)])
    waits = still._replace(log_end=6, lag=1)
    assert not _stands_still([waits, waits._replace(at=1.0)])
