"""What a group is doing after a time in which nobody polled."""

from __future__ import annotations

import pytest

from alerting.inputs.windows import downsampled
from alerting.status.group_status import PartitionWindow, Status, partition_status
from tests.unit.alerting.status.test_absences import polled


@pytest.mark.parametrize("since", [5, 10, 15, 30, 60])
def test_a_time_that_nobody_saw_is_no_usual_pause_between_commits(since: int) -> None:
    """Given ten minutes without a poll over which a group did not commit, then it is late."""

    def committed(t: int) -> int:
        return 100_000 + 60 * (t if t < 1200 else 1195 + max(0, t - 1790))

    times = [*range(0, 1201, 5), *range(1790, 1791 + since, 5)]
    samples = downsampled([polled(t, 100_000 + 60 * t, committed(t), 3) for t in times])
    status = partition_status(PartitionWindow(topic="orders", partition=0, samples=samples))
    assert status.numbers.behind_seconds == pytest.approx(595, abs=1)
    said = "Consuming again: 35,700 messages wait."
    assert (status.status, status.reason) == (Status.CATCHING_UP, said)
    assert (status.numbers.commit_period_seconds or 0.0) < 60
