from __future__ import annotations

from collections.abc import Sequence

import pytest

from alerting.tools.benchmark.burrow import (
    BurrowStatus,
    Commit,
    burrow_partition_status,
)

STEP = 10_000
AHEAD = [10_000]


def commits(offsets: Sequence[int], lags: Sequence[int | None]) -> list[Commit]:
    return [
        Commit(offset=offset, order=order, timestamp_ms=order * STEP, lag=lag)
        for order, (offset, lag) in enumerate(zip(offsets, lags, strict=True))
    ]


def at_last(found: Sequence[Commit]) -> int:
    return max(commit.timestamp_ms for commit in found)


MOVING = (10, 20, 30, 40)


@pytest.mark.parametrize(
    ("offsets", "lags", "lag", "allowed", "expected"),
    [
        pytest.param(MOVING, (1, 2, 3, 4), 0, 0, "OK", id="nothing waits now"),
        pytest.param(MOVING, (1, 2, 3, 4), 5, 5, "OK", id="as much waits as is allowed"),
        pytest.param(MOVING, (6, 7, 8, 9), 6, 5, "WARN", id="more waits than is allowed"),
        pytest.param(MOVING, (1, 2, 3, 4), 4, 0, "WARN", id="lag rises"),
        pytest.param(MOVING, (3, 3, 3, 3), 3, 0, "WARN", id="lag stays"),
        pytest.param(MOVING, (1, 3, 2, 4), 4, 0, "OK", id="one dip hides the rise"),
        pytest.param(MOVING, (1, None, 2, 4), 4, 0, "WARN", id="unknown lags are passed over"),
        pytest.param(MOVING, (3, None, 2, 4), 4, 0, "OK", id="dip across an unknown lag"),
        pytest.param(MOVING, (None,) * 4, 4, 0, "WARN", id="no lag known"),
        pytest.param((9, 9, 9, 9), (1, 2, 3, 4), 4, 0, "STALL", id="offsets stay"),
        pytest.param((9, 9, 9, 9), (0, 2, 3, 4), 4, 0, "OK", id="an old zero hides the stall"),
        pytest.param((9, 9, 9, 9), (5, 6, 7, 8), 8, 5, "OK", id="an allowed lag hides it too"),
        pytest.param((10, 20, 5, 8), (1, 1, 9, 8), 8, 0, "REWIND", id="went back"),
        pytest.param((10, 20, 5, 20), (1, 1, 9, 8), 8, 0, "OK", id="came again to where it was"),
        pytest.param((10, 20, 5, 19), (0, 1, 9, 8), 8, 0, "REWIND", id="despite an old zero"),
        pytest.param(
            (10, 20, 15, 25, 3), (1, 2, 1, 4, 9), 9, 0, "OK", id="only the first step back counts"
        ),
    ],
)
def test_partition(
    offsets: tuple[int, ...],
    lags: tuple[int | None, ...],
    lag: int,
    allowed: int,
    expected: str,
) -> None:
    found = commits(offsets, lags)

    status = burrow_partition_status(found, AHEAD, lag, at_last(found), allowed)

    assert status is BurrowStatus(expected)


@pytest.mark.parametrize(
    ("silence", "ends", "expected"),
    [
        pytest.param(30_000, AHEAD, "OK", id="as long as the window"),
        pytest.param(30_001, AHEAD, "STOP", id="longer than the window"),
        pytest.param(30_001, [40, 50], "OK", id="was at the end lately"),
        pytest.param(30_001, [39, 50], "OK", id="end offset below the commit"),
        pytest.param(30_001, [], "STOP", id="no end offset stored"),
    ],
)
def test_stop(silence: int, ends: list[int], expected: str) -> None:
    found = commits(MOVING, (0, 2, 3, 4))

    assert burrow_partition_status(found, ends, 4, at_last(found) + silence) == expected


def test_single_commit_is_a_stop_as_soon_as_time_passes() -> None:
    found = commits((10,), (5,))

    assert burrow_partition_status(found, AHEAD, 5, 0) is BurrowStatus.STALL
    assert burrow_partition_status(found, AHEAD, 5, 1) is BurrowStatus.STOP
    assert burrow_partition_status(found, [10, 15], 5, 1) is BurrowStatus.STALL


def test_stop_comes_before_rewind() -> None:
    found = commits((10, 20, 5, 8), (1, 1, 9, 8))

    assert burrow_partition_status(found, AHEAD, 8, 10**9) is BurrowStatus.STOP


def test_commits_are_taken_in_their_order() -> None:
    found = commits(MOVING, (1, 2, 3, 4))

    assert burrow_partition_status(found[::-1], AHEAD, 4, at_last(found)) is BurrowStatus.WARN


def test_no_commit_is_ok() -> None:
    assert burrow_partition_status([], AHEAD, 7, 0) is BurrowStatus.OK


def test_codes_are_those_of_burrow() -> None:
    assert [status.code for status in BurrowStatus] == list(range(7))
