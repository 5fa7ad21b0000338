"""What share of the records fails."""

from __future__ import annotations

import pytest

from alerting.checks.model import CheckInput
from alerting.checks.registry import CHECKS
from alerting.inputs.frames import Frames
from alerting.status.phrases import rate, share
from lake.schemas.tables import DEAD_LETTERS
from tests.unit.alerting.checks.check_world import (
    FINE,
    at,
    frame,
)
from tests.unit.alerting.evaluate.polled_rows import classified


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (0.25, f"{share(0.25)} of its origin"),
        (None, "an unknown share of its origin"),
    ],
)
def test_what_share_fails_is_said_only_where_it_is_known(ratio: float | None, said: str) -> None:
    """Where dead letters arrive beside unknown arrivals, nobody can say that they are few."""
    rows = [
        (poll, {**FINE[DEAD_LETTERS], "arrival_ratio": ratio, "log_end": 9 + poll})
        for poll in (0, 1)
    ]
    frames = Frames(
        cluster="c", now=at(1).timestamp(), tables={"dead_letters": frame(DEAD_LETTERS, rows)}
    )
    (seen,) = CHECKS["dead_letter_ratio"].observe(CheckInput(frames=frames, classify=classified))
    assert seen.value == (1.0 if ratio is None else ratio)
    of_time = f"{rate(1 / 15)} over 1 min"
    assert seen.detail.startswith(f"{of_time}, {said}, "), "of the same time, which is said"


def test_the_reason_is_that_of_most_of_what_was_sampled() -> None:
    often, seldom = ([{"key": f"x.{name}", "value": 10}] for name in ("OftenError", "SeldomError"))
    rows = [
        (
            poll,
            {**FINE[DEAD_LETTERS], "log_end": 10 * poll, "reasons": seldom if poll == 4 else often},
        )
        for poll in range(5)
    ]
    frames = Frames(
        cluster="c", now=at(4).timestamp(), tables={"dead_letters": frame(DEAD_LETTERS, rows)}
    )
    (seen,) = CHECKS["dead_letter_ratio"].observe(CheckInput(frames=frames, classify=classified))
    assert ", mostly OftenError" in seen.detail
    assert seen.cause == "OftenError"


def test_the_most_frequent_reason_of_less_than_half_is_not_called_most() -> None:
    reasons = [{"key": f"x.{name}Error", "value": 10} for name in "abc"]
    rows = [
        (poll, {**FINE[DEAD_LETTERS], "log_end": 10 * poll, "reasons": reasons}) for poll in (0, 1)
    ]
    frames = Frames(
        cluster="c", now=at(1).timestamp(), tables={"dead_letters": frame(DEAD_LETTERS, rows)}
    )
    (seen,) = CHECKS["dead_letter_ratio"].observe(CheckInput(frames=frames, classify=classified))
    assert ", most often " in seen.detail
