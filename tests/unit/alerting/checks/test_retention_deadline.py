from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.checks.retention_deadline import (
    DeadlineState,
    PartitionBacklog,
    Retention,
    data_loss_deadline,
)

HOUR = 3600.0


def backlog(**more: object) -> PartitionBacklog:
    return PartitionBacklog(
        **{  # type: ignore[arg-type]
            "lag": 36_000,
            "age_seconds": HOUR,
            "lost_messages": 0,
            "arrival_per_second": 10.0,
            "consumption_per_second": 0.0,
            "bytes_per_message": 100.0,
            **more,
        }
    )


@pytest.mark.parametrize(
    ("waits", "kept", "seconds"),
    [
        pytest.param({}, {"seconds": 4 * HOUR}, 3 * HOUR, id="time, nothing read"),
        pytest.param(
            {"consumption_per_second": 5.0}, {"seconds": 4 * HOUR}, 6 * HOUR, id="time, half read"
        ),
        pytest.param(
            {"arrival_per_second": 0.0}, {"seconds": 4 * HOUR}, 3 * HOUR, id="time, idle topic"
        ),
        pytest.param(
            {"arrival_per_second": 0.0, "consumption_per_second": 5.0},
            {"seconds": 4 * HOUR},
            6 * HOUR,
            id="time, idle topic, the backlog's own rate",
        ),
        pytest.param({"age_seconds": 5 * HOUR}, {"seconds": 4 * HOUR}, 0.0, id="time, overdue"),
        pytest.param({}, {"bytes_per_partition": 7_200_000}, 3600.0, id="size, nothing read"),
        pytest.param(
            {"consumption_per_second": 5.0},
            {"bytes_per_partition": 7_200_000},
            7200.0,
            id="size, half read",
        ),
        pytest.param({}, {"bytes_per_partition": 1000}, 0.0, id="size, overdue"),
        pytest.param(
            {},
            {"seconds": 4 * HOUR, "bytes_per_partition": 7_200_000},
            3600.0,
            id="the earlier of the two",
        ),
        pytest.param(
            {"bytes_per_message": None},
            {"seconds": 4 * HOUR, "bytes_per_partition": 7_200_000},
            3 * HOUR,
            id="one limit is unknown",
        ),
    ],
)
def test_time_left(waits: dict[str, object], kept: dict[str, object], seconds: float) -> None:
    found = data_loss_deadline(backlog(**waits), Retention(**kept))  # type: ignore[arg-type]

    assert found.state is DeadlineState.COMING
    assert found.seconds == pytest.approx(seconds)


def test_a_limit_that_cannot_be_told_is_said() -> None:
    found = data_loss_deadline(
        backlog(bytes_per_message=None), Retention(seconds=4 * HOUR, bytes_per_partition=1)
    )

    assert found.limit == "time"
    assert "may come earlier: the size of the unread messages is unknown" in found.reason


@pytest.mark.parametrize(
    ("waits", "kept", "state", "why"),
    [
        pytest.param(
            {"lost_messages": 12}, {"seconds": HOUR}, DeadlineState.LOST, "12 messages", id="lost"
        ),
        pytest.param(
            {"lag": 0}, {"seconds": HOUR}, DeadlineState.NONE, "nothing waits", id="empty"
        ),
        pytest.param({"lag": None}, {"seconds": HOUR}, DeadlineState.UNKNOWN, "lag", id="no lag"),
        pytest.param({}, {}, DeadlineState.NONE, "keeps everything", id="no limit"),
        pytest.param(
            {},
            {"seconds": HOUR, "deletes": False},
            DeadlineState.NONE,
            "compacted",
            id="compacted only",
        ),
        pytest.param(
            {},
            {"unknown_reason": "not authorized"},
            DeadlineState.UNKNOWN,
            "not authorized",
            id="retention unknown",
        ),
        pytest.param(
            {"age_seconds": None}, {"seconds": HOUR}, DeadlineState.UNKNOWN, "age", id="no age"
        ),
        pytest.param(
            {"consumption_per_second": None},
            {"seconds": HOUR},
            DeadlineState.UNKNOWN,
            "rates",
            id="no rate",
        ),
        pytest.param(
            {"consumption_per_second": 10.0},
            {"seconds": HOUR},
            DeadlineState.NONE,
            "keeps up",
            id="keeps up by time",
        ),
        pytest.param(
            {"consumption_per_second": 10.0},
            {"bytes_per_partition": 1},
            DeadlineState.NONE,
            "do not grow",
            id="keeps up by size",
        ),
        pytest.param(
            {"bytes_per_message": None},
            {"bytes_per_partition": 1},
            DeadlineState.UNKNOWN,
            "size",
            id="no size",
        ),
        pytest.param(
            {"arrival_per_second": 1e-9, "bytes_per_message": 1.0, "lag": 1},
            {"bytes_per_partition": 10**15},
            DeadlineState.NONE,
            "ten years",
            id="far away",
        ),
    ],
)
def test_where_there_is_no_deadline_the_reason_is_given(
    waits: dict[str, object], kept: dict[str, object], state: DeadlineState, why: str
) -> None:
    found = data_loss_deadline(backlog(**waits), Retention(**kept))  # type: ignore[arg-type]

    assert found.state is state
    assert found.seconds is None
    assert found.limit is None
    assert why in found.reason


amounts = st.none() | st.floats(0, 1e12, allow_nan=False)


@given(
    st.builds(
        PartitionBacklog,
        lag=st.none() | st.integers(0, 10**12),
        age_seconds=amounts,
        lost_messages=st.none() | st.integers(0, 10),
        arrival_per_second=amounts,
        consumption_per_second=amounts,
        bytes_per_message=amounts,
    ),
    st.builds(
        Retention,
        seconds=amounts,
        bytes_per_partition=st.none() | st.integers(0, 10**15),
        deletes=st.booleans(),
        unknown_reason=st.none() | st.just("not authorized"),
    ),
)
def test_deadline_is_never_negative_or_endless(waits: PartitionBacklog, kept: Retention) -> None:
    found = data_loss_deadline(waits, kept)

    assert found.reason
    assert (found.seconds is not None) == (found.state is DeadlineState.COMING)
    if found.seconds is not None:
        assert found.seconds >= 0
        assert math.isfinite(found.seconds)
        assert found.limit is not None
