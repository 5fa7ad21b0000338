"""What the what-if says: how late a group would be, and what makes no difference."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from app.style.charts.advice import what_if_chart
from app.style.charts.base import Axis
from app.style.format import exact
from app.style.theme import LIGHT
from app.views.scaling import outcome
from scaling.whatif.queue_model import WhatIfChange, even_inputs
from scaling.whatif.queue_model import what_if as simulated
from scaling.whatif.replay import MeasuredMinute


@pytest.mark.parametrize(
    ("consumers", "keeps", "said"),
    [
        pytest.param(4, None, "With 4 consumers the time lag would be at most ", id="more"),
        pytest.param(2, None, "As it is, the time lag would be at most ", id="as many"),
        pytest.param(2, 60.0, "As it is, the time lag would be at most ", id="loss"),
    ],
)
def test_what_would_be_is_said_first(consumers: int, keeps: float | None, said: str) -> None:
    late = even_inputs(
        partitions=4, arrival_per_second=100.0, consumers=2, capacity_per_second=30.0
    )
    late = replace(late, retention_seconds=keeps)
    told = outcome.outcome(simulated(late, WhatIfChange(consumers=consumers), hours=0.5))
    assert told.startswith(said)
    assert ("; with 2 at most " in told) is (consumers == 4)
    assert (" messages deleted unread" in told) is (keeps is not None)


@pytest.mark.parametrize("consumers", [6, 3])
def test_consumers_without_a_partition_change_nothing(consumers: int) -> None:
    late = even_inputs(
        partitions=6, arrival_per_second=100.0, consumers=consumers, capacity_per_second=16.0
    )
    told = outcome.outcome(simulated(late, WhatIfChange(consumers=7), hours=0.5))
    assert told.endswith(". More than 6 consumers change nothing: there are 6 partitions.")
    assert "7" not in told.partition(" the time lag")[0]
    assert told.startswith("As it is, " if consumers == 6 else "With 6 consumers ")


def test_a_backlog_that_comes_back_is_not_said_to_be_drained() -> None:
    late = even_inputs(
        partitions=6, arrival_per_second=60.0, consumers=6, capacity_per_second=100.0, lag=90_000
    )
    waves = replace(
        late,
        course=lambda times: np.where(times % 1200 < 200, 1200.0, 0.0),
        course_seconds=3600.0,
    )
    found = simulated(waves, WhatIfChange())
    assert outcome.drained(found.now) == "comes back"
    assert "The backlog does not stay drained: as it is, it drains in " in outcome.outcome(found)
    stays = simulated(late, WhatIfChange(), hours=1)
    assert outcome.drained(stays.now) == "3 min 20 s"
    assert "does not stay" not in outcome.outcome(stays)


@pytest.mark.parametrize(
    ("lag", "is_said"),
    [
        pytest.param(1000, False, id="as measured"),
        pytest.param(1150, False, id="near it"),
        pytest.param(3000, True, id="far above"),
        pytest.param(None, False, id="not measured"),
    ],
)
def test_a_model_that_is_off_what_was_measured_says_so(lag: float | None, *, is_said: bool) -> None:
    idle = even_inputs(
        partitions=4, arrival_per_second=0.0, consumers=2, capacity_per_second=30.0, lag=1000
    )
    found = simulated(idle, WhatIfChange(), hours=0.5)
    minute = MeasuredMinute(at=0.0, arrival_per_second=0.0, lag=lag, time_lag_seconds=None)
    said = outcome.off_measured(found, [minute])
    assert bool(said) is is_said
    assert not is_said or said.startswith("Measured, the lag was at most 3")


def test_a_what_if_has_the_viewers_clock() -> None:
    begin = datetime(2026, 11, 25, 12, tzinfo=UTC)
    axis = Axis(start=begin, end=begin + timedelta(hours=6), zone=ZoneInfo("Europe/Berlin"))
    times = [axis.local(begin), axis.local(axis.end)]
    figure = what_if_chart(times, [1.0, 2.0], [1.0, 1.0], axis=axis, palette=LIGHT)
    assert figure.layout.xaxis.type == "date"
    assert [one.hour for one in figure.data[0].x] == [13, 19]


def test_a_loss_that_was_measured_is_said_where_the_model_is_far_from_it() -> None:
    late = even_inputs(
        partitions=4, arrival_per_second=100.0, consumers=2, capacity_per_second=30.0
    )
    found = simulated(replace(late, retention_seconds=60.0), WhatIfChange(), hours=0.5)
    lost = round(found.now.lost_messages)
    assert lost

    far = outcome.outcome(found, outcome.Lost(measured=3 * lost))
    assert f" Measured, {exact(3 * lost)} messages were deleted unread in 30 min;" in far
    assert f"{exact(lost)} messages" not in far.replace(f"{exact(3 * lost)}", "")
    near = outcome.outcome(found, outcome.Lost(measured=round(1.1 * lost)))
    assert near == outcome.outcome(found)


def test_no_loss_is_foretold_where_only_the_least_that_a_consumer_can_do_is_known() -> None:
    late = even_inputs(
        partitions=4, arrival_per_second=100.0, consumers=2, capacity_per_second=30.0
    )
    found = simulated(replace(late, retention_seconds=60.0), WhatIfChange(), hours=0.5)

    told = outcome.outcome(found, outcome.Lost(is_unknown=True))

    assert told.endswith(". How many messages would be deleted unread is not known.")
    assert f"{exact(round(found.now.lost_messages))}" not in told
    calm = simulated(replace(late, retention_seconds=None), WhatIfChange(), hours=0.5)
    assert "deleted" not in outcome.outcome(calm, outcome.Lost(is_unknown=True))
