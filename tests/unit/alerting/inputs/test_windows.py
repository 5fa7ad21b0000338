from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from alerting.inputs.windows import GroupKey, build_windows
from alerting.status.group_status import Status, group_status
from lake.schemas.tables import GROUP_OFFSETS, GROUPS

BEGIN = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def offsets(
    polls: int, *, group: str = "billing", partition: int = 0, **more: object
) -> list[dict[str, object]]:
    return [
        {
            "cluster": "demo",
            "observed_at": BEGIN + timedelta(seconds=15 * poll),
            "poll_id": f"p{poll}",
            "group": group,
            "topic": "orders",
            "partition": partition,
            "committed": 100 * poll,
            "log_start": 0,
            "log_end": 100 * poll + 5,
            "lag": 5,
            "member_id": "m1",
            **more,
        }
        for poll in range(polls)
    ]


def groups(polls: range, **more: object) -> list[dict[str, object]]:
    return [
        {
            "cluster": "demo",
            "observed_at": BEGIN + timedelta(seconds=15 * poll),
            "poll_id": f"p{poll}",
            "group": "billing",
            "state": "stable",
            "members": 2,
            **more,
        }
        for poll in polls
    ]


def offsets_frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**GROUP_OFFSETS.polars_schema})


def groups_frame(rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={**GROUPS.polars_schema})


KEY = GroupKey("demo", "billing")


def test_rows_become_windows_in_order_of_time() -> None:
    frame = offsets_frame(offsets(4)).sample(fraction=1.0, shuffle=True, seed=1)

    [window] = build_windows(frame, groups_frame(groups(range(4))))[KEY]

    assert [s.committed for s in window.samples] == [0, 100, 200, 300]
    assert window.samples[0].at == BEGIN.timestamp()
    assert {(s.members, s.state, s.assigned) for s in window.samples} == {(2, "stable", True)}


def test_partitions_are_sorted_and_groups_apart() -> None:
    frame = offsets_frame(
        offsets(2, partition=10) + offsets(2, partition=2) + offsets(2, group="mail")
    )

    windows = build_windows(frame)

    assert [w.partition for w in windows[KEY]] == [2, 10]
    assert len(windows[GroupKey("demo", "mail")]) == 1


@pytest.mark.parametrize(
    ("member", "group_rows", "assigned"),
    [
        pytest.param("m1", True, True, id="held"),
        pytest.param(None, True, False, id="not held"),
        pytest.param(None, False, None, id="members unknown"),
    ],
)
def test_assigned_is_unknown_where_members_are(
    member: str | None, group_rows: bool, assigned: bool | None
) -> None:
    facts = groups_frame(groups(range(1))) if group_rows else None

    [window] = build_windows(offsets_frame(offsets(1, member_id=member)), facts)[KEY]

    assert window.samples[0].assigned is assigned


def test_older_samples_are_left_out() -> None:
    [window] = build_windows(offsets_frame(offsets(100)), window_seconds=60)[KEY]

    assert [s.committed for s in window.samples] == [9500, 9600, 9700, 9800, 9900]


def test_partition_that_is_gone_is_left_out() -> None:
    frame = offsets_frame(offsets(10, partition=0) + offsets(5, partition=1))

    assert [w.partition for w in build_windows(frame)[KEY]] == [0]


def test_group_whose_offsets_could_not_be_read_now_is_unknown_at_once() -> None:
    frame = offsets_frame(offsets(10))
    facts = groups_frame(
        groups(range(10))
        + groups(range(10, 11), state="unknown", members=None, unknown_reason="no coordinator")
    )

    status = group_status(build_windows(frame, facts)[KEY])

    assert status.status is Status.UNKNOWN
    assert "no coordinator" in status.reason


def test_no_rows_give_no_windows() -> None:
    assert build_windows(offsets_frame([])) == {}


def test_a_topic_that_is_read_no_more_is_left_out() -> None:
    left_over = [
        *offsets(3, partition=1, is_subscribed=True),
        *(
            {**row, "is_subscribed": False, "observed_at": BEGIN + timedelta(seconds=45)}
            for row in offsets(1, partition=1)
        ),
    ]
    found = build_windows(offsets_frame([*offsets(4), *left_over]))
    assert [window.partition for window in found[KEY]] == [0]
