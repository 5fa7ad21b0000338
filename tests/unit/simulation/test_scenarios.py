from __future__ import annotations

from dataclasses import replace

import pytest

from simulation.scenarios.record import flat, observe, setting


@pytest.mark.parametrize(("load", "keeps_up"), [(0.95, True), (1.05, False)])
def test_a_group_keeps_up_until_its_busiest_member_is_full(load: float, keeps_up: bool) -> None:
    """Of three partitions, one of two members has two."""
    group = replace(setting("uneven", 0), partitions=3, members=2, burstiness=0.0)
    group = replace(group, consumers=replace(group.consumers, count=2))
    arrival = load * group.capacity

    last = observe(group.workload(flat(arrival), noise=0.0), 1, 15.0, 1200.0)[-1]

    lag = float((last.log_end - last.committed).max())
    assert (lag < arrival * 15.0) is keeps_up
    assert group.rate_for(group.capacity) == pytest.approx(group.consumers.rate_per_second)
