"""What a message says beside an alert: the lag of the last hour, what changed before. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter

import polars as pl

from alerting.inputs.event_phrases import event_phrase
from alerting.status.model import PartitionWindow
from alerting.status.phrases import short

LOOKED_BACK_SECONDS = 3600.0
"""So much before an alert is told of."""

_BLOCKS = "▁▂▃▄▅▆▇█"
_COLUMNS = 24
_SHOWN = 3
_time = attrgetter("at")


def sparkline(values: Sequence[float | None]) -> str:
    """Return a line of block characters, the highest value as a full block; a dot is unknown."""
    highest = max((value for value in values if value is not None), default=0.0)
    return "".join(
        "·"
        if value is None
        else _BLOCKS[min(len(_BLOCKS) - 1, int(len(_BLOCKS) * value / (highest or 1.0)))]
        for value in values
    )


def lag_note(windows: Sequence[PartitionWindow], now: float) -> str | None:
    """Return the lag of a group over the last hour as text; None where none is known."""
    step = LOOKED_BACK_SECONDS / _COLUMNS
    lags = [_lag_at(windows, now - step * left) for left in reversed(range(_COLUMNS))]
    known = [lag for lag in lags if lag is not None]
    if len(known) < 2:
        return None
    return f"Lag, last hour: {sparkline(lags)} {short(known[0])} → {short(known[-1])} messages"


def _lag_at(windows: Sequence[PartitionWindow], at: float) -> int | None:
    """Return the group's lag at a moment; None where it is unknown of every partition."""
    lags = []
    for window in windows:
        index = bisect_right(window.samples, at, key=_time)
        if index and window.samples[index - 1].lag is not None:
            lags.append(window.samples[index - 1].lag or 0)
    return sum(lags) if lags else None


def changes_note(
    group: str | None, began_at: float, rebalances: pl.DataFrame, events: pl.DataFrame
) -> str | None:
    """Return what changed in the hour before an alert began; None: nothing that is known.

    Args:
        group: The alert's group; None where it is about something else.
        began_at: When it began, in Unix seconds.
        rebalances: Rows of ``rebalances``.
        events: Rows of ``cluster_events``, such as changed configurations and missing brokers.
    """
    # A deploy of another group explains nothing here.
    concerns = pl.col("group").is_null() | (pl.col("group") == (group or ""))
    found = sorted([*_rebalances(group, rebalances), *_events(events.filter(concerns))])
    before = [(at, text) for at, text in found if began_at - LOOKED_BACK_SECONDS <= at <= began_at]
    if not before:
        return None
    told = [f"{datetime.fromtimestamp(at, UTC):%H:%M} {text}" for at, text in before[-_SHOWN:]]
    more = f" (and {len(before) - _SHOWN} earlier)" if len(before) > _SHOWN else ""
    return f"Changed before: {'; '.join(told)}{more}"


def _rebalances(group: str | None, rows: pl.DataFrame) -> Iterator[tuple[float, str]]:
    for row in rows.filter(pl.col("group") == (group or "")).iter_rows(named=True):
        if row["rebalanced_at"] is not None:
            reason = f", {row['reason']}" if row["reason"] else ""
            yield row["rebalanced_at"].timestamp(), f"rebalance{reason}"


def _events(rows: pl.DataFrame) -> Iterator[tuple[float, str]]:
    for row in rows.iter_rows(named=True):
        yield row["observed_at"].timestamp(), event_phrase(row)
