"""The list of consumer groups, shaped for its page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from alerting.samples import GroupStatus, Status
from app.format import count, duration, exact, listing
from app.groups import LATE, LOOKS
from app.history import TIME
from app.tables import NEVER

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


def rows(
    statuses: Mapping[str, GroupStatus],
    groups: pl.DataFrame,
    members: pl.DataFrame | None,
    trend: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return one row a group, worst first.

    Args:
        statuses: What each group is doing.
        groups: Rows of ``groups`` of the newest poll.
        members: Members of that poll; None where they cannot be read.
        trend: History of groups (``time``, ``group``, ``lag``); None where it cannot be read.
    """
    order = list(LOOKS)
    frame = pl.DataFrame(
        [
            {
                "group": group,
                "status": status.status.value,
                "order": order.index(status.status),
                "label": [LOOKS[status.status].label],
                "why": status.reason,
                "lag": status.numbers.lag,
                "behind_seconds": status.numbers.behind_seconds,
                "arrival": status.numbers.arrival_per_second,
                "consumption": status.numbers.consumption_per_second,
                "drain_seconds": _drain(status),
                "partitions": len(status.partitions),
                "unknown_partitions": status.unknown_partitions,
            }
            for group, status in statuses.items()
        ],
        schema=_SCHEMA,
    )
    facts = groups.select("group", "kind", "state", "type", "members").unique("group")
    frame = frame.join(facts, on="group", how="left")
    if members is not None:
        idle = members.group_by("group").agg(
            (pl.col("assigned_partitions") == 0).sum().cast(pl.Int64).alias("idle")
        )
        frame = frame.join(idle, on="group", how="left")
    else:
        frame = frame.with_columns(pl.lit(None, pl.Int64).alias("idle"))
    if trend is not None and not trend.is_empty():
        frame = frame.join(_trends(trend), on="group", how="left")
    else:
        frame = frame.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("trend"))
    return frame.sort(
        "order", "behind_seconds", "group", descending=[False, True, False], nulls_last=True
    ).drop("order")


def _drain(status: GroupStatus) -> float | None:
    """Return how long a backlog lasts: zero without one, for ever while it grows."""
    numbers = status.numbers
    if numbers.lag == 0:
        return 0.0
    if numbers.drain_seconds is None and (numbers.growth_per_second or 0.0) > 0:
        return NEVER
    return numbers.drain_seconds


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
    "partitions": pl.Int64,
    "unknown_partitions": pl.Int64,
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
