"""The list of consumer groups, prepared for its page: pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from alerting.inputs.facts import slowest_first
from alerting.status.model import LATE, STEADY_RATIO, Status
from alerting.status.on_time import BEYOND_OBJECTIVE
from app.data.history import TIME
from app.style.columns import NEVER, NONE
from app.style.format import count, duration, exact, listing, short
from app.ui import loss_words
from app.ui.group_badges import BADGE_STYLES

WINDOW = (
    "Messages a second, the mean of the last five minutes; of less after a start or a pause, and "
    "while the group catches up."
)
"""What the present rates of a group are."""

STATUS_WINDOW = (
    "Of the partition that does worst. Whether it falls behind or catches up is told by its last "
    "five minutes, or by more where these do not tell. Rates are sums of all partitions."
)
"""Why a status may differ from the rates beside it."""

NOT_NOW = "not now"
"""In how long a backlog is drained that is not, at the present rates: nobody knows of others."""

_TREND_POINTS = 40


def sentence(groups: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it, from rows of ``group_status``."""
    late = groups.filter(is_late())
    unknown = groups.filter(pl.col("status") == Status.UNKNOWN.value)["group"].sort().to_list()
    total = groups.height
    counted = dict(groups.group_by("status").len().iter_rows())
    said = [
        f"{counted[status.value]} {style.word}"
        for status, style in BADGE_STYLES.items()
        if status is not Status.OK and status.value in counted
    ]
    if said:
        title = f"Of {count(total, 'group')}: {', '.join(said)}"
    else:
        title = _all_keep_up(groups)
    lag = groups["lag"].drop_nulls()
    parts = [_waiting(lag) or "How much waits is unknown"]
    if lag.len() and (without := unread(groups)):
        parts.append(without)
    slowest = slowest_first(late.drop_nulls("time_lag_seconds")).head(1)
    for name, seconds in slowest.select("group", "time_lag_seconds").iter_rows():
        parts.append(f"furthest behind is {name} by {duration(seconds)}")
    if unknown:
        parts.append(f"unknown: {listing(unknown)}")
    return title, "; ".join(parts) + "."


def _all_keep_up(groups: pl.DataFrame) -> str:
    """Say that no group has trouble, and how many are later than they should be even so."""
    total = groups.height
    later = int(groups["reason"].str.starts_with(BEYOND_OBJECTIVE).sum())
    if total == 1:
        return "The group keeps up" + (", later than its objective" if later else "")
    if not later:
        return f"All {total} groups keep up"
    return f"{total} groups keep up, {later} of them later than {_its(later)} objective"


def _its(number: int) -> str:
    return "its" if number == 1 else "their"


def unread(groups: pl.DataFrame) -> str:
    """Say of how many groups the lag is not known in full, and what it was when it last was.

    Args:
        groups: Rows of ``group_status``.

    Returns:
        A clause, such as ``without 2 groups that cannot be read in full, they had 5.1 k when last
        read``; nothing where the lag of all is known.
    """
    rows = groups.filter(pl.col("unknown_partitions") > 0)
    if rows.is_empty():
        return ""
    had = rows["known_lag"].drop_nulls()
    who = "they" if rows.height > 1 else "it"
    who = who if had.len() == rows.height else f"{exact(had.len())} of them"
    before = f", {who} had {short(int(had.sum()))} when last read" if had.len() else ""
    return f"without {count(rows.height, 'group')} that cannot be read in full{before}"


def _waiting(lag: pl.Series) -> str:
    """Say how many messages wait; nothing where no lag is known."""
    return count(int(lag.sum()), "message waits", "messages wait") if lag.len() else ""


def is_late() -> pl.Expr:
    """Return whether a row is of a group that does not do its work as it should."""
    return pl.col("status").is_in([status.value for status in LATE])


def loss(row: Mapping[str, Any], now: datetime) -> str:
    """Say how soon a group loses data, or how long ago it did.

    Nothing where that is not known, or far away.

    Args:
        row: Of ``group_status``.
        now: The present.
    """
    if row["status"] == Status.LOSING_DATA:
        return loss_words.lost(row["last_lost_at"], now, goes_on=row["loses_now"])
    return loss_words.deadline(row["data_loss_at"], now)


def may_pass() -> pl.Expr:
    """Return whether a row is of a group that falls behind, and so far not for long.

    What arrives in waves makes a group do so at each crest; alerts wait until it lasts.
    """
    is_behind = pl.col("status") == Status.FALLING_BEHIND.value
    return is_behind & pl.col("is_lasting").eq_missing(False)


def with_known_rates(groups: pl.DataFrame, partitions: pl.DataFrame) -> pl.DataFrame:
    """Show the known part of the rates of groups of which that of some partition is unknown.

    Args:
        groups: Rows of ``group_status``.
        partitions: Rows of ``group_partition_status``.

    Returns:
        The rows; ``rates_of`` says which part: ``5 of 6 partitions``, null where rates are whole.
    """
    rates = ("arrival_per_second", "consumption_per_second")
    known = pl.col(rates[0]).is_not_null()
    parts = (
        partitions.filter("is_subscribed", "decides")
        .group_by("group")
        .agg(pl.col(rates).sum().name.prefix("known_"), known.sum().alias("known"), pl.len())
    )
    in_part = ~known & (pl.col("known") > 0)
    return (
        groups.join(parts, on="group", how="left", maintain_order="left")
        .with_columns(
            *(pl.when(in_part).then(f"known_{one}").otherwise(one).alias(one) for one in rates),
            pl.when(in_part)
            .then(pl.format("{} of {} partitions", "known", "len"))
            .alias("rates_of"),
        )
        .drop(parts.columns[1:])
    )


def with_known_part(groups: pl.DataFrame) -> pl.DataFrame:
    """Add of how many partitions lag and rates are known: ``5 of 6``; null where of all.

    Args:
        groups: Rows of ``with_known_rates``.
    """
    known = pl.col("partitions") - pl.col("unknown_partitions")
    return groups.with_columns(
        pl.when(pl.col("unknown_partitions") > 0)
        .then(pl.format("{} of {}", known, "partitions"))
        .otherwise(pl.col("rates_of").str.strip_suffix(" partitions"))
        .alias("known_of")
    )


def rows(groups: pl.DataFrame) -> pl.DataFrame:
    """Return one row a group of ``group_status``, worst first."""
    order = [status.value for status in BADGE_STYLES]
    labels = [badge_style.label for badge_style in BADGE_STYLES.values()]
    keys = ["order", "time_lag_seconds", "group"]
    return (
        groups.with_columns(
            pl.col("status").replace_strict(order, range(len(order)), default=0).alias("order"),
            pl.concat_list(pl.col("status").replace_strict(order, labels, default="unknown")).alias(
                "label"
            ),
            drain_seconds().alias("drain_seconds"),
        )
        .sort(keys, descending=[False, True, False], nulls_last=True)
        .drop("order")
    )


def with_total_losses(groups: pl.DataFrame, lost: Mapping[str, str]) -> pl.DataFrame:
    """Say in the reason of a group that loses data what it lost in all: one number on all pages.

    Args:
        groups: Rows of ``group_status``.
        lost: What ``losses.by_group`` says.
    """
    reasons = [
        _LOST_OF_LATE.sub(_in_all(lost[group]), _LOST_OF_ONE.sub(f"{lost[group]}.", reason))
        if group in lost and status == Status.LOSING_DATA and reason
        else reason
        for group, status, reason in groups.select("group", "status", "reason").iter_rows()
    ]
    return groups.with_columns(pl.Series("reason", reasons, dtype=pl.String))


def _in_all(lost: str) -> Callable[[re.Match[str]], str]:
    """Return what writes a total, and where some was lost of late: it may have been elsewhere."""
    return lambda found: f"{lost}, lately {_OF_ONE.sub('', found[1])}"


_LOST_OF_LATE = re.compile(
    r"^At least [\d,]+ messages? lost (?:evenly )?(on .+?), "
    r"(?:since the last commit|in the last \d+ \w+(?: or since the last commit)?)"
)
_LOST_OF_ONE = re.compile(
    r"^[\d,]+ messages? lost (?:since its last commit|in the last \d+ \w+)"
    r"(?:, at \d+ times)?\."
)
"""Of a group with one partition."""
_OF_ONE = re.compile(r" \(1 of \d+\)$")


def with_advice(
    groups: pl.DataFrame, advised: Mapping[str, str], objective: Callable[[str], float]
) -> pl.DataFrame:
    """Add the objective of each group, and what is advised on it in a line."""
    names = groups["group"].to_list()
    return groups.with_columns(
        pl.Series("objective_seconds", [objective(name) for name in names], dtype=pl.Float64),
        pl.Series("advice", [advised.get(name) for name in names], dtype=pl.String),
    )


def common_objective(*frames: pl.DataFrame) -> float | None:
    """Return the objective of all groups in seconds; None where they differ."""
    known = pl.concat([frame["objective_seconds"] for frame in frames]).unique()
    return float(known[0]) if known.len() == 1 else None


def drain_seconds() -> pl.Expr:
    """Return the time to drain, in seconds; ``NEVER`` while the backlog of a late group grows.

    So it is, too, where the status says that the group falls behind: it looks further back than
    these rates do. ``NONE`` where nothing waits, where the backlog neither grows nor shrinks, or
    where it grows and the group is not late: then nothing is to be drained yet.
    Of a group that loses data, what retention deletes counts as consumed: a backlog that does not
    shrink even so is never drained by reading, and of one that does nobody knows.
    """
    is_behind = pl.col("status") == Status.FALLING_BEHIND.value
    loses = pl.col("status") == Status.LOSING_DATA.value
    is_late_and_grows = grows() & (pl.col("status") != Status.OK.value)
    shrinks = pl.col("drain_seconds").is_not_null()
    return (
        pl.when(pl.col("lag") == 0)
        .then(NONE)
        .when(loses & (shrinks | grows().is_null()))
        .then(None)
        .when(shrinks)
        .then("drain_seconds")
        .when(is_behind | loses | is_late_and_grows)
        .then(NEVER)
        .when(grows().is_null())
        .then(None)
        .otherwise(NONE)
    )


def grows() -> pl.Expr:
    """Return whether the backlog of a row grows, as ``LagNumbers.grows`` says it of a group."""
    return pl.col("growth_per_second") > STEADY_RATIO * pl.col("arrival_per_second")


def with_trends(shown: pl.DataFrame, history: pl.DataFrame | None) -> pl.DataFrame:
    """Add each group's course of lag.

    Args:
        shown: The rows that are shown.
        history: History of these groups (``time``, ``group``, ``lag``); None: it cannot be read.
    """
    if history is None or history.is_empty():
        return shown.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("trend"))
    return shown.join(
        trends(history, "group", "lag"), on="group", how="left", maintain_order="left"
    )


def trends(history: pl.DataFrame, by: str, value: str) -> pl.DataFrame:
    """Return the course of a value of each series over the whole time in at most forty points."""
    lists = (
        history.sort(TIME)
        .group_by(by)
        .agg(pl.col(value).drop_nulls().cast(pl.Float64).alias("trend"))
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
        & (pl.col("members").eq_missing(0))
        & (pl.col("lag").eq_missing(0))
    )


def totals(frame: pl.DataFrame) -> str:
    """Return the sums of the rows in a sentence."""
    lag, unknown = (
        frame["lag"].drop_nulls(),
        int((frame["unknown_partitions"].fill_null(0) > 0).sum()),
    )
    waits = _waiting(lag) or "how much waits is unknown"
    without = (
        f" without {count(unknown, 'group')} not read in full" if unknown and lag.len() else ""
    )
    members = frame["members"].drop_nulls()
    consumers = count(int(members.sum()), "consumer") if members.len() else "consumers unknown"
    idle = int(frame["idle_members"].drop_nulls().sum())
    return f"{waits}{without}; {consumers}" + (f", {exact(idle)} idle" if idle else "")
