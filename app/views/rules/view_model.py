"""Rules in words, for their page: pure functions."""

from __future__ import annotations

from app.style.format import duration


def when_alerts_fire(evaluated_every_seconds: float) -> str:
    """Say what a reader can rely on of the time that a rule must be true for.

    Args:
        evaluated_every_seconds: How often rules are evaluated.
    """
    return (
        f"Rules are evaluated about every {duration(evaluated_every_seconds)}. An alert fires at "
        "the first evaluation by which its rule was seen to be true for the time in the column "
        "“for”: never earlier, and later by as long as nobody had seen it. The status of a group "
        "waits by itself until it is sure: that a group falls behind is true only once it lasts "
        "and no passing peak explains it."
    )
