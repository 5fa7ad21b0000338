"""The list of consumer groups, shaped for its page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from alerting.samples import GroupStatus, Status
from app.format import count, duration, exact, listing, thin
from app.groups import LATE, LOOKS
from app.history import TIME
from app.tables import NEVER, NONE
from scaling.facts import GroupFacts

_TREND_POINTS = 40


def sentence(statuses: Mapping[str, GroupStatus]) -> tuple[str, str]:
    """Return the page's headline and the sentence below it."""
    late = [group for group, status in statuses.items() if status.status in LATE]
    unknown = [group for group, status in statuses.items() if status.status is Status.UNKNOWN]
    total = len(statuses)
    if late:
        title = f"{len(late)} of {count(total, 'group')} {'is' if len(late) == 1 else 'are'} late"
    elif unknown:
        title = f"No group is known to be late, {len(unknown)} cannot be judged"
    else:
        title = f"No group is late: all {total} keep up" if total > 1 else "The group keeps up"
    lags = [status.numbers.lag for status in statuses.values()]
    known = [lag for lag in lags if lag is not None]
    partly = sum(1 for status in statuses.values() if status.unknown_partitions)
    worst = max(late, key=lambda group: statuses[group].numbers.behind_seconds or 0.0, default=None)
    parts = [f"{exact(sum(known))} messages wait" if known else "How much waits is unknown"]
    if partly and known:
        parts.append(f"without {count(partly, 'group')} that could not be read in full")
    if worst is not None and statuses[worst].numbers.behind_seconds:
        behind = duration(statuses[worst].numbers.behind_seconds)
        parts.append(f"furthest behind is {worst} by {behind}")
    if unknown:
        parts.append(f"unknown: {listing(unknown)}")
    return title, "; ".join(parts) + "."


def rows(facts: Mapping[str, GroupFacts], trend: pl.DataFrame | None) -> pl.DataFrame:
    """Return one row a group, worst first.

    Args:
        facts: What is known of each group.
        trend: History of groups (``time``, ``group``, ``lag``); None where it cannot be read.
    """
    order = list(LOOKS)
    frame = pl.DataFrame(
        [
            {
                "group": group,
                "status": fact.status.status.value,
                "order": order.index(fact.status.status),
                "label": [LOOKS[fact.status.status].label],
                "why": thin(fact.status.reason),
                "lag": fact.status.numbers.lag,
                "behind_seconds": fact.status.numbers.behind_seconds,
                "arrival": fact.status.numbers.arrival_per_second,
                "consumption": fact.status.numbers.consumption_per_second,
                "drain_seconds": drain_seconds(fact.status),
                "members": fact.members,
                "idle": fact.idle_members,
                "partitions": len(fact.status.partitions),
                "unknown_partitions": fact.status.unknown_partitions,
                "kind": fact.kind,
                "type": fact.type,
            }
            for group, fact in facts.items()
        ],
        schema=_SCHEMA,
    )
    if trend is not None and not trend.is_empty():
        frame = frame.join(_trends(trend), on="group", how="left")
    else:
        frame = frame.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("trend"))
    return frame.sort(
        "order", "behind_seconds", "group", descending=[False, True, False], nulls_last=True
    ).drop("order")


def drain_seconds(status: GroupStatus) -> float | None:
    """Return how long a backlog lasts: for ever while it grows.

    ``NONE`` where nothing waits, or where it neither grows nor shrinks.
    """
    numbers = status.numbers
    if numbers.drain_seconds is not None:
        return numbers.drain_seconds
    if numbers.lag == 0:
        return NONE
    growth, arrival = numbers.growth_per_second, numbers.arrival_per_second
    if growth is None or arrival is None:
        return None
    # A backlog that breathes with the traffic neither grows nor is drained.
    return NEVER if growth > _STEADY_RATIO * arrival else NONE


_STEADY_RATIO = 0.02


_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "group": pl.String,
    "status": pl.String,
    "order": pl.Int64,
    "label": pl.List(pl.String),
    "why": pl.String,
    "lag": pl.Int64,
    "behind_seconds": pl.Float64,
    "arrival": pl.Float64,
    "consumption": pl.Float64,
    "drain_seconds": pl.Float64,
    "members": pl.Int64,
    "idle": pl.Int64,
    "partitions": pl.Int64,
    "unknown_partitions": pl.Int64,
    "kind": pl.String,
    "type": pl.String,
}


def _trends(history: pl.DataFrame) -> pl.DataFrame:
    """Return each group's course of lag in at most forty points."""
    lists = (
        history.sort(TIME)
        .group_by("group")
        .agg(pl.col("lag").drop_nulls().cast(pl.Float64).alias("trend"))
    )
    every = pl.max_horizontal(
        pl.lit(1), (pl.col("trend").list.len() / _TREND_POINTS).ceil().cast(pl.Int64)
    )
    return lists.with_columns(pl.col("trend").list.gather_every(every).alias("trend"))


def filtered(
    frame: pl.DataFrame, *, search: str, statuses: list[Status], kinds: list[str]
) -> pl.DataFrame:
    """Return the rows whose name holds ``search`` and whose status and kind are among those."""
    rows = frame
    if search.strip():
        rows = rows.filter(
            pl.col("group").str.to_lowercase().str.contains(search.strip().lower(), literal=True)
        )
    if statuses:
        rows = rows.filter(pl.col("status").is_in([status.value for status in statuses]))
    if kinds:
        rows = rows.filter(pl.col("kind").is_in(kinds))
    return rows


def is_quiet() -> pl.Expr:
    """Return whether a row is of a group without members for which nothing waits."""
    return (
        (pl.col("status") == Status.OK.value)
        & (pl.col("members").fill_null(-1) == 0)
        & (pl.col("lag").fill_null(-1) == 0)
    )


def totals(frame: pl.DataFrame) -> str:
    """Return the sums of the rows in a sentence."""
    lag, unknown = frame["lag"].drop_nulls(), int((frame["unknown_partitions"] > 0).sum())
    waits = f"{exact(int(lag.sum()))} messages wait" if lag.len() else "how much waits is unknown"
    without = (
        f" without {count(unknown, 'group')} not read in full" if unknown and lag.len() else ""
    )
    members = frame["members"].drop_nulls()
    consumers = f"{exact(int(members.sum()))} consumers" if members.len() else "consumers unknown"
    idle = int(frame["idle"].drop_nulls().sum())
    return f"{waits}{without}; {consumers}" + (f", {exact(idle)} idle" if idle else "")
