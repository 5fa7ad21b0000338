"""Whether the service lives, and whether it does its work."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.service.snapshot import OUTDATED_INTERVALS, SourceState
from collectors.service.writer import WriterState


def unready(states: Sequence[SourceState], clock: float, writer: WriterState) -> list[str]:
    """Return why the service does not do its work; nothing where it does.

    A source that cannot be reached does not count: its sections say that they failed. Otherwise one
    cluster that is down would hide the metrics of the others.
    """
    reasons = []
    for state in states:
        name = f"cluster {state.cluster}, source {state.source}"
        if state.polled_at is None:
            reasons.append(f"{name}: not polled yet")
        elif clock - state.polled_at > OUTDATED_INTERVALS * state.interval_seconds:
            reasons.append(
                f"{name}: the last poll ended {clock - state.polled_at:.0f} s ago, it is due "
                f"every {state.interval_seconds:g} s"
            )
    if writer.losing_because is not None:
        reasons.append(f"rows are being lost: {writer.losing_because}")
    return reasons
