from __future__ import annotations

from collections.abc import Sequence

import pytest

from alerting.tools.benchmark.burrow import (
    INTERVALS,
    BurrowPartition,
    BurrowStatus,
    Commit,
    add_commit,
    burrow_group_status,
    burrow_partition_status,
)

STEP = 10_000
AHEAD = [10_000]


def commits(offsets: Sequence[int], lags: Sequence[int | None]) -> list[Commit]:
    return [
        Commit(offset, order, order * STEP, lag)
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


def test_group_takes_its_worst_partition_up_to_err() -> None:
    rising = BurrowPartition(commits(MOVING, (1, 2, 3, 4)), AHEAD, 4)
    fine = BurrowPartition(commits(MOVING * 3, (0,) * 12)[-INTERVALS:], AHEAD, 0)
    stalled = BurrowPartition(commits((9, 9), (1, 1)), AHEAD, 6)

    assert burrow_group_status([fine], 30_000).status is BurrowStatus.OK
    assert burrow_group_status([fine, rising], 30_000).status is BurrowStatus.WARN
    group = burrow_group_status([fine, rising, stalled], 20_000)
    assert group.status is BurrowStatus.ERR
    assert group.partitions == (BurrowStatus.OK, BurrowStatus.WARN, BurrowStatus.STALL)
    assert group.complete == pytest.approx(1 / 3)
    assert (group.total_lag, group.max_lag) == (10, 6)


def test_group_without_partitions_is_not_found() -> None:
    assert burrow_group_status([], 0).status is BurrowStatus.NOTFOUND


def test_codes_are_those_of_burrow() -> None:
    assert [status.code for status in BurrowStatus] == list(range(7))


def test_window_keeps_the_last_commits() -> None:
    window: tuple[Commit, ...] = ()
    for commit in commits(range(15), range(15)):
        window = add_commit(window, commit, 10**6)

    assert [commit.offset for commit in window] == list(range(5, 15))


def test_close_commit_replaces_but_keeps_the_time() -> None:
    window = add_commit((Commit(1, 1, 1000, 0),), Commit(5, 2, 1900, 3), 2000, min_distance_ms=1000)

    assert window == (Commit(5, 2, 1000, 3),)


def test_late_commit_is_inserted_without_lag() -> None:
    window = add_commit((Commit(1, 1, 0, 4), Commit(9, 9, 9, 5)), Commit(5, 5, 5, 3), 10)

    assert window == (Commit(1, 1, 0, 4), Commit(5, 5, 5, None), Commit(9, 9, 9, 5))


def test_late_commit_that_is_known_or_too_old_is_dropped() -> None:
    full = tuple(commits(range(INTERVALS), range(INTERVALS)))

    assert add_commit(full, Commit(77, 3, 3, 1), 10) == full
    assert add_commit(full, Commit(77, -1, 3, 1), 10) == full
    assert add_commit(full, Commit(77, 99, 3, 1), 700_000_000) == full
