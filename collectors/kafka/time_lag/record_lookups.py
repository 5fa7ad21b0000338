"""Asking brokers when records were written that lie further back than a partition was watched."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping

import polars as pl

from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.time_lag.record_times import LookedUp
from collectors.kafka.time_lag.timestamp_lookups import (
    COMPACTED,
    NO_TIMESTAMP,
    NOT_PERMITTED,
    NOTHING_SENT,
    Place,
    Wanted,
    fetch_times,
    first_from,
)

_REFUSAL_SECONDS = 600.0
_SEARCH_ROUNDS = 8
_LOOKUP_FRACTION = 0.25  # of what is left of the poll's time


def look_up(
    context: PollContext,
    chosen: Collection[Wanted],
    times: Mapping[Place, LookedUp],
    partitions: pl.DataFrame,
    refusals: dict[Wanted, str],
) -> None:
    """Ask brokers for records beyond the timelines; note why some are still not known."""
    now = context.now.timestamp()
    asked = partitions.filter(pl.col("topic").is_in({item.topic for item in chosen}))
    leaders = {
        (topic, partition): leader
        for topic, partition, leader in asked.select("topic", "partition", "leader").iter_rows()
        if leader is not None
    }
    by_search = [item for item in chosen if _is_refused(times[item.place], context.tick)]
    wanted = set(chosen).difference(by_search)
    outcomes = fetch_times(context.wire, wanted, leaders, context.deadline)
    for item, outcome in outcomes.items():
        if outcome == NOT_PERMITTED:
            times[item.place].refused_at = context.tick
            by_search.append(item)
        elif outcome == NOTHING_SENT:  # of a batch that is larger than what is asked for
            by_search.append(item)
        elif isinstance(outcome, str):
            refusals[item] = f"time lag: {outcome}"
        else:
            # It lies before everything that was watched, whatever its producer's clock says.
            known = times[item.place]
            known.records.add(item.offset, min(outcome, known.upper[1] if known.upper else now))
    _search(context, by_search, times, leaders, refusals)


def _is_refused(times: LookedUp, tick: float) -> bool:
    return times.refused_at is not None and tick - times.refused_at < _REFUSAL_SECONDS


def _search(
    context: PollContext,
    wanted: Iterable[Wanted],
    times: Mapping[Place, LookedUp],
    leaders: Mapping[Place, int],
    refusals: dict[Wanted, str],
) -> None:
    """Find the time of records by asking for offsets at times, which needs DESCRIBE alone.

    The first question is for the oldest record; each further one for the time at which the wanted
    record lies if records came evenly. The points found stay for the next polls. An answer that
    brings none nearer ends the search: the next question would be the same.
    """
    now = context.now.timestamp()
    open_items = {item.place: item for item in wanted}
    until = time.monotonic() + _LOOKUP_FRACTION * context.deadline.left_seconds
    for _ in range(_SEARCH_ROUNDS):
        if not open_items or time.monotonic() > until:
            return
        guesses = {}
        for place, item in open_items.items():
            known = times[place]
            around = known.records.bracket(item.offset, known.upper)
            if around is None:
                guesses[place] = 0.0
                continue
            (low, low_time), (high, high_time) = around
            share = (item.offset - low) / (high - low)
            # Never quite at an end: that question would be answered by the record known already.
            guesses[place] = low_time + (high_time - low_time) * min(0.95, max(0.05, share))
        answers = first_from(context.wire, guesses, leaders, context.deadline)
        for place, outcome in answers.items():
            item = open_items[place]
            known = times[place]
            if isinstance(outcome, str):
                refusals[item] = f"time lag: {outcome}"
                del open_items[place]
                continue
            before = known.records.bracket(item.offset, known.upper)
            if outcome is not None:
                upper = known.upper
                known.records.add(outcome[0], min(outcome[1], upper[1] if upper else now))
            if known.time_at(item.offset, now) is not None:
                del open_items[place]
            elif known.records.bracket(item.offset, known.upper) == before:
                refusals[item] = f"time lag: {_why_not(item, guesses[place], outcome)}"
                del open_items[place]


def _why_not(item: Wanted, guess: float, outcome: tuple[int, float] | None) -> str:
    """Say why the search ends with what a partition answered."""
    if guess > 0.0:
        return "no record nearer to it is found by its time"
    return NO_TIMESTAMP if outcome is None or outcome[0] <= item.offset else COMPACTED
