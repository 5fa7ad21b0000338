"""Groups that a poll could not read: one or two such polls change nothing, more are said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.checks.registry import CHECKS
from alerting.current.rows import current_rows
from alerting.evaluate.evaluation import ClusterEvaluation
from alerting.evaluate.observations import CheckedCluster
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import GroupKey
from alerting.status.model import GroupStatus, LagNumbers, PartitionStatus, Status
from lake.schemas.current import CLUSTER_STATUS, GROUP_PARTITION_STATUS, GROUP_STATUS, READERS
from lake.schemas.model import Table
from lake.schemas.tables import GROUPS
from tests.unit.alerting.current.sample_rows import NOW, rows

KEY = GroupKey("c", "g")
POLL = 15.0


def doing(status: Status, lag: int | None, since: float | None = None) -> GroupStatus:
    """Return a group of one partition that could be read, or could not."""
    numbers = LagNumbers(lag=lag)
    part = PartitionStatus(
        topic="t",
        partition=0,
        status=status,
        reason="",
        since=since,
        began_before_window=False,
        numbers=numbers,
    )
    return GroupStatus(
        status=status,
        reason=f"It is {status.value.lower()}.",
        since=since,
        numbers=numbers,
        unknown_partitions=int(lag is None),
        partitions=(part,),
    )


def evaluated(
    status: GroupStatus,
    seconds: float,
    before: Mapping[Table, pl.DataFrame],
    errors: Mapping[str, str] | None = None,
) -> dict[Table, pl.DataFrame]:
    at = NOW + timedelta(seconds=seconds)
    frames = Frames(
        cluster="c",
        now=at.timestamp(),
        tables={GROUPS.name: rows(GROUPS, {"group": "g", "members": 2}, ago=-seconds)},
        errors=errors or {},
    )
    found = ClusterEvaluation(
        frames=frames,
        statuses={KEY: status},
        clear_partitions=pl.DataFrame(schema=PARTITION_LAG),
        losses={},
        seen=CheckedCluster(observations=()),
    )
    return current_rows(found, (), before)


@pytest.mark.parametrize("before", [Status.OK, Status.STALLED])
def test_one_or_two_polls_that_fail_keep_what_was_known(before: Status) -> None:
    unread = doing(Status.UNKNOWN, None, NOW.timestamp() + POLL)
    known = evaluated(doing(before, 7), 0.0, {})
    at_first = known[GROUP_STATUS]["since"].item()
    said, now = [], known
    for poll in (1, 2):
        now = evaluated(unread, poll * POLL, now)
        (row,) = now[GROUP_STATUS].to_dicts()
        assert (row["status"], row["lag"], row["unknown_partitions"]) == (before.value, 7, 0)
        assert row["observed_at"] == NOW, "its values are of when they were read"
        assert row["since"] == at_first
        assert now[CLUSTER_STATUS]["lag"].item() == 7
        assert now[CLUSTER_STATUS]["incomplete_groups"].item() == 0
        assert now[READERS]["lag"].to_list() == [7]
        same = now[GROUP_PARTITION_STATUS].drop("evaluated_at")
        assert same.equals(known[GROUP_PARTITION_STATUS].drop("evaluated_at"))
        said.append(row["reason"])
    begin = f"It is {before.value.lower()}. Not read for"
    assert said == [f"{begin} 15 s.", f"{begin} 30 s."]

    lasting = evaluated(unread, 3 * POLL, now)
    (row,) = lasting[GROUP_STATUS].to_dicts()
    assert (row["status"], row["lag"], row["known_lag"]) == ("UNKNOWN", None, 7)
    assert row["known_status"] == before.value
    (back,) = evaluated(doing(before, 9), 4 * POLL, lasting)[GROUP_STATUS].to_dicts()
    assert (back["status"], back["lag"], back["reason"]) == (
        *(before.value, 9),
        f"It is {before.value.lower()}.",
    )


def test_what_can_be_told_from_a_part_is_told_at_once() -> None:
    known = evaluated(doing(Status.OK, 7), 0.0, {})
    stops = replace(doing(Status.STOPPED, 8), unknown_partitions=1)

    assert evaluated(stops, POLL, known)[GROUP_STATUS]["status"].item() == "STOPPED"


def test_what_is_bad_and_read_in_part_keeps_its_values() -> None:
    known = evaluated(doing(Status.STOPPED, 90), 0.0, {})
    in_part = replace(doing(Status.STOPPED, 8), unknown_partitions=1)
    now = evaluated(in_part, POLL, known)

    assert now[GROUP_STATUS]["lag"].item() == 90
    assert evaluated(in_part, 3 * POLL, now)[GROUP_STATUS]["lag"].item() == 8


def test_what_the_lake_cannot_read_is_unknown_at_once() -> None:
    known = evaluated(doing(Status.OK, 7), 0.0, {})
    unread = evaluated(doing(Status.UNKNOWN, None), POLL, known, errors={"group_offsets": "broken"})

    assert unread[GROUP_STATUS]["status"].item() == "UNKNOWN"


@pytest.mark.parametrize(
    ("ago", "value"),
    [
        pytest.param(0.0, None, id="the first poll that fails"),
        pytest.param(POLL, None, id="the second"),
        pytest.param(2 * POLL, 1.0, id="the third"),
    ],
)
def test_no_alert_begins_with_a_poll_that_fails(ago: float, value: float | None) -> None:
    found = doing(Status.UNKNOWN, None, NOW.timestamp() - ago)
    given = CheckInput(
        frames=Frames(cluster="c", now=NOW.timestamp(), tables={}), classify=lambda _: {KEY: found}
    )

    assert [one.value for one in CHECKS["unknown"].observe(given)] == [value]
