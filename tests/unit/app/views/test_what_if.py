"""What the what-if says: how late a group would be, and what makes no difference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.views.scaling import what_if
from scaling.whatif.queue_model import WhatIfChange, even_inputs
from scaling.whatif.queue_model import what_if as simulated


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
    told = what_if.outcome(simulated(late, WhatIfChange(consumers=consumers), hours=0.5))
    assert told.startswith(said)
    assert ("; with 2 at most " in told) is (consumers == 4)
    assert (" messages deleted unread" in told) is (keeps is not None)


@pytest.mark.parametrize("consumers", [6, 3])
def test_consumers_without_a_partition_change_nothing(consumers: int) -> None:
    late = even_inputs(
        partitions=6, arrival_per_second=100.0, consumers=consumers, capacity_per_second=16.0
    )
    told = what_if.outcome(simulated(late, WhatIfChange(consumers=7), hours=0.5))
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
    assert what_if.drained(found.now) == "comes back"
    assert "The backlog does not stay drained: as it is, it drains in " in what_if.outcome(found)
    stays = simulated(late, WhatIfChange(), hours=1)
    assert what_if.drained(stays.now) == "3 min 20 s"
    assert "does not stay" not in what_if.outcome(stays)
