from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scaling.whatif.queue_model import (
    Campaign,
    LostConsumer,
    SimulationError,
    WhatIfChange,
    WhatIfInputs,
    even_inputs,
    what_if,
)
from simulation.assignors import Assignor


def _inputs(
    *, consumers: int = 8, lag: float = 0.0, arrival: float = 600.0, partitions: int = 24
) -> WhatIfInputs:
    return even_inputs(
        partitions=partitions,
        arrival_per_second=arrival,
        consumers=consumers,
        capacity_per_second=100.0,
        lag=lag,
    )


def test_no_change_changes_nothing() -> None:
    found = what_if(_inputs(lag=1000), WhatIfChange(), hours=1)
    assert np.array_equal(found.now.lag, found.changed.lag)
    assert found.now.consumer_hours == found.changed.consumer_hours == 8.0


def test_the_same_question_gets_the_same_answer() -> None:
    change = WhatIfChange(arrival_factor=1.4)
    one, other = (what_if(_inputs(), change, hours=1) for _ in range(2))
    assert np.array_equal(one.changed.lag, other.changed.lag)
    assert not np.array_equal(
        one.changed.lag, what_if(_inputs(), change, hours=1, seed=2).changed.lag
    )


def test_it_starts_with_the_present_backlog() -> None:
    found = what_if(_inputs(lag=100_007), WhatIfChange(), hours=1)
    assert found.now.lag[0] == 100_007
    assert found.now.time_lag_seconds[0] == pytest.approx(100_007 / 600)
    assert found.now.seconds[0] == 0
    assert found.now.seconds[-1] == 3600


def test_more_consumers_drain_a_backlog_sooner_and_cost_more() -> None:
    found = what_if(_inputs(lag=100_000), WhatIfChange(consumers=12), hours=2)
    assert found.now.drain_seconds is not None
    assert found.changed.drain_seconds is not None
    assert found.changed.drain_seconds < found.now.drain_seconds
    assert found.changed.consumer_hours == 24.0 > found.now.consumer_hours == 16.0
    # 100,000 wait, 200 a second are to spare; the slowest member takes longest.
    assert found.now.drain_seconds == pytest.approx(500, rel=0.5)


def test_too_few_consumers_never_drain_it() -> None:
    found = what_if(_inputs(), WhatIfChange(consumers=4), hours=2)
    assert found.changed.drain_seconds is None
    assert found.changed.lag_end == pytest.approx(200 * 7200, rel=0.05)
    assert found.changed.time_lag_end_seconds == pytest.approx(2400, rel=0.1)
    assert found.changed.violation_minutes > 90
    assert found.now.violation_minutes == 0


def test_without_any_consumer_everything_waits() -> None:
    found = what_if(_inputs(), WhatIfChange(consumers=0), hours=1)
    assert found.changed.lag_end == pytest.approx(600 * 3600, rel=0.02)
    assert found.changed.consumer_hours == 0


def test_twice_the_arrivals_overtake() -> None:
    found = what_if(_inputs(), WhatIfChange(arrival_factor=2.0), hours=1)
    assert found.changed.lag_end == pytest.approx(400 * 3600, rel=0.05)


def test_a_campaign_is_caught_up_with_afterwards() -> None:
    change = WhatIfChange(campaign=Campaign(factor=2.0, start_seconds=600, seconds=1200))
    found = what_if(_inputs(), change, hours=2)
    peak_at = found.changed.seconds[found.changed.lag.argmax()]
    assert peak_at == pytest.approx(1800, abs=60)
    assert found.changed.lag_peak == pytest.approx(400 * 1200, rel=0.1)
    assert found.changed.drain_seconds == pytest.approx(400 * 1200 / 200, rel=0.5)
    assert found.now.lag_peak < found.changed.lag_peak / 20


def test_a_lost_consumer_is_missed_until_another_is_there() -> None:
    inputs = _inputs(consumers=6, partitions=6, arrival=540.0)
    found = what_if(
        inputs, WhatIfChange(lost=LostConsumer(start_seconds=600, seconds=1800)), hours=2
    )
    assert found.changed.lag_peak > found.now.lag_peak + 50_000
    assert found.changed.lag_end < found.changed.lag_peak
    assert found.changed.consumer_hours == found.now.consumer_hours


def test_a_faster_consumer_needs_no_second_one() -> None:
    found = what_if(_inputs(consumers=4), WhatIfChange(capacity_per_second=200.0), hours=1)
    assert found.now.lag_end > 500_000
    assert found.changed.lag_end < 20_000


def test_both_runs_and_all_usual_questions_see_the_same_draw() -> None:
    inputs = _inputs(consumers=6, partitions=6, arrival=590.0)
    asked = [what_if(inputs, WhatIfChange(consumers=number), hours=1) for number in (5, 6, 7, 20)]
    assert all(np.array_equal(one.now.lag, asked[0].now.lag) for one in asked)
    assert np.array_equal(asked[2].changed.lag, asked[2].now.lag), "a seventh has no partition"
    assert [one.most_useful for one in asked] == [None, None, 6, 6]
    assert asked[2].changed.consumer_hours == 7.0, "it is paid for all the same"
    assert asked[2].spare == "more than 6 consumers change nothing: there are 6 partitions"


def test_a_consumer_without_a_partition_takes_over_from_a_lost_one() -> None:
    inputs = _inputs(consumers=6, partitions=6, arrival=540.0)
    lost = LostConsumer(start_seconds=600, seconds=1800)
    few, more = (what_if(inputs, WhatIfChange(consumers=n, lost=lost), hours=2) for n in (6, 7))
    assert more.changed.lag_peak < few.changed.lag_peak / 2
    assert more.most_useful is None


def test_added_partitions_do_not_drain_what_waits() -> None:
    inputs = _inputs(consumers=4, partitions=4, lag=200_000, arrival=300.0)
    found = what_if(inputs, WhatIfChange(partitions=8, consumers=8), hours=2)
    assert found.changed.partitions == 8
    # Four consumers work on 150 a second and what waits, the other four on new messages alone.
    assert found.changed.drain_seconds == pytest.approx(200_000 / 250, rel=0.3)
    assert any("stays" in note for note in found.notes)


def test_one_hot_partition_stays_late_whatever_the_number_of_consumers() -> None:
    rates = np.full(6, 20.0)
    rates[2] = 130.0
    hot = replace(_inputs(partitions=6, consumers=2), arrival_per_second=rates, lag=np.zeros(6))
    found = what_if(hot, WhatIfChange(consumers=6), hours=1)
    assert found.changed.drain_seconds is None
    assert found.changed.lag_end == pytest.approx(30 * 3600, rel=0.2)


def test_a_downstream_limit_holds_for_any_number() -> None:
    limited = replace(_inputs(), shared_limit_per_second=500.0)
    found = what_if(limited, WhatIfChange(consumers=24), hours=1)
    assert found.changed.lag_end == pytest.approx(found.now.lag_end, rel=0.1)
    assert found.changed.lag_end == pytest.approx(100 * 3600, rel=0.1)


def test_retention_loses_what_is_not_read_in_time() -> None:
    kept = replace(_inputs(consumers=3), retention_seconds=1800.0)
    found = what_if(kept, WhatIfChange(consumers=8), hours=3)
    assert found.now.lost_messages > 100_000
    assert found.changed.lost_messages == 0
    assert any("is rough" in note for note in found.notes)


def test_range_over_two_topics_is_simulated() -> None:
    two = WhatIfInputs(
        topics={"a": 3, "b": 3},
        arrival_per_second=np.full(6, 10.0),
        lag=np.zeros(6),
        time_lag_seconds=np.zeros(6),
        consumers=2,
        capacity_per_second=100.0,
        assignor=Assignor.RANGE,
    )
    assert what_if(two, WhatIfChange(consumers=3), hours=0.5).changed.lag_end < 200
    with pytest.raises(SimulationError, match="one topic"):
        what_if(two, WhatIfChange(partitions=12))


def test_long_horizons_take_longer_steps() -> None:
    found = what_if(_inputs(), WhatIfChange(), hours=72)
    assert found.now.seconds[-1] == pytest.approx(3 * 86400, abs=60)
    assert len(found.now.seconds) <= 181


def test_many_partitions_take_longer_steps_so_that_one_question_costs_no_minutes() -> None:
    found = what_if(_inputs(), WhatIfChange(partitions=9_996), hours=6)
    (last, before) = found.changed.seconds[-1], found.changed.seconds[-2]
    assert last == pytest.approx(6 * 3600, abs=10)
    assert 100 < last - before < 140
    assert found.changed.partitions == 9_996


def test_silence_costs_consumers_all_the_same() -> None:
    found = what_if(_inputs(arrival=0.0), WhatIfChange(consumers=1), hours=1)
    assert found.changed.lag_peak == 0
    assert found.changed.drain_seconds == 0
    assert found.changed.consumer_hours == 1.0


@pytest.mark.parametrize(
    ("change", "hours", "message"),
    [
        pytest.param(WhatIfChange(consumers=-1), 1, "consumers", id="negative consumers"),
        pytest.param(WhatIfChange(consumers=10**6), 1, "consumers", id="a million consumers"),
        pytest.param(WhatIfChange(partitions=12), 1, "cannot shrink", id="fewer partitions"),
        pytest.param(WhatIfChange(partitions=10_002), 1, "at most 10000", id="too many partitions"),
        pytest.param(WhatIfChange(capacity_per_second=0.0), 1, "capacity", id="no capacity"),
        pytest.param(WhatIfChange(capacity_per_second=1e308), 1, "capacity", id="no number"),
        pytest.param(WhatIfChange(arrival_factor=-1.0), 1, "negative", id="negative arrivals"),
        pytest.param(WhatIfChange(), 0, "hours", id="no time"),
        pytest.param(WhatIfChange(), 1e9, "hours", id="for ever"),
        pytest.param(
            WhatIfChange(consumers=0, lost=LostConsumer()), 1, "could be lost", id="none to lose"
        ),
    ],
)
def test_what_cannot_be_is_refused(change: WhatIfChange, hours: float, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        what_if(_inputs(), change, hours=hours)


def test_a_situation_needs_a_partition() -> None:
    with pytest.raises(SimulationError, match="partition"):
        _inputs(partitions=0)
