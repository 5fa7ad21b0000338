"""A status of any samples: what holds whatever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alerting.status.group_status import (
    PartitionWindow,
    Sample,
    Status,
    group_status,
    partition_status,
)
from tests.unit.alerting.status.scenarios import START

offsets = st.none() | st.integers(0, 10_000)


samples = st.builds(
    Sample,
    at=st.just(0.0),
    committed=offsets,
    log_start=offsets,
    log_end=offsets,
    lag=offsets,
    time_lag_seconds=st.none() | st.floats(0, 1e6),
    assigned=st.none() | st.booleans(),
    members=st.none() | st.integers(0, 5),
    state=st.sampled_from([None, "stable", "empty", "dead", "preparing_rebalance", "unknown"]),
)


@st.composite
def windows(draw: st.DrawFn) -> PartitionWindow:
    drawn = draw(st.lists(samples, max_size=12))
    at, placed = START, []
    for sample in drawn:
        at += draw(st.floats(0.001, 300))
        placed.append(sample._replace(at=at))
    return PartitionWindow(topic="orders", partition=draw(st.integers(0, 3)), samples=tuple(placed))


@given(windows())
def test_any_samples_give_a_status_and_unknown_is_never_ok(found: PartitionWindow) -> None:
    status = partition_status(found)

    assert status.reason.endswith(".")
    if not found.samples or found.samples[-1].lag is None:
        assert status.status is Status.UNKNOWN
        assert status.numbers.lag is None
    if status.since is not None:
        assert found.samples[0].at <= status.since <= found.samples[-1].at


@given(st.lists(windows(), max_size=5))
def test_group_is_never_better_than_its_lag_is_known(found: list[PartitionWindow]) -> None:
    status = group_status(found)

    known = [w.samples[-1].lag for w in found if w.samples and w.samples[-1].lag is not None]
    if not known:
        assert status.status is Status.UNKNOWN
        assert status.numbers.lag is None
    assert len(status.partitions) == len(found)
