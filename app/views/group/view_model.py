"""One consumer group in detail, prepared for its page: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import polars as pl

from alerting.inputs.facts import complete_sum
from alerting.rules.lifecycle import State
from alerting.status.explain import Feature
from alerting.status.model import STEADY_RATIO, Status
from app.data.history import TIME
from app.style.columns import NEVER, NONE
from app.style.format import clock, clock_after, count, duration, listing
from app.ui.group_badges import BADGE_STYLES
from app.ui.group_list import NOT_NOW
from app.ui.incident_rows import alert_of, labels_of
from app.ui.incidents import LOSES_DATA
from app.views.group.fresh_rates import SINCE_RETURN
from lake.schemas.bronze import IN_TOTALS

SINCE = {Status.LOSING_DATA: "First lost", Status.CATCHING_UP: "Catching up since"}
"""What began at the moment that a status has, where "since" alone may be taken for another."""

HEATMAP_ROWS = 60
"""Most partitions of one heatmap: those with the highest lag."""


def evaluated(samples: pl.DataFrame, row: Mapping[str, Any]) -> pl.DataFrame:
    """Return samples up to the poll that the newest evaluation was of: a page is of one moment.

    Args:
        samples: Rows of a bronze table.
        row: The group's row of ``group_status``.
    """
    polled_at = row["observed_at"]
    return samples if polled_at is None else samples.filter(pl.col("observed_at") <= polled_at)


def read_earlier(offsets: pl.DataFrame, row: Mapping[str, Any]) -> datetime | None:
    """Return when offsets were read that are of a poll before the one that was evaluated."""
    at, polled_at = offsets["observed_at"].max(), row["observed_at"]
    return at if isinstance(at, datetime) and polled_at is not None and at < polled_at else None


def partition_rows(status: pl.DataFrame, offsets: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Return one row a partition with its status, offsets and why something is unknown.

    Args:
        status: The group's rows of ``group_partition_status``; none of a group that is OK.
        offsets: Its rows of ``group_offsets`` of the newest poll.
        now: The present.
    """
    order = [one.value for one in BADGE_STYLES]
    labels = [badge_style.label for badge_style in BADGE_STYLES.values()]
    read = offsets.filter(IN_TOTALS).select(
        "topic",
        "partition",
        "committed",
        "log_end",
        "lag",
        "lost_messages",
        pl.coalesce("client_id", "member_id").alias("member"),
        ((pl.lit(now) - pl.col("committed_at")).dt.total_milliseconds() / 1000)
        .clip(lower_bound=0)
        .alias("commit_age_seconds"),
        "commits_per_second",
        pl.when(pl.col("open_since").is_not_null()).then("last_stable").alias("last_stable"),
        ((pl.lit(now) - pl.col("open_since")).dt.total_milliseconds() / 1000)
        .clip(lower_bound=0)
        .alias("open_seconds"),
        "unknown_reason",
        pl.col("time_lag_seconds").alias("read_time_lag_seconds"),
    )
    decided = status.select("topic", "partition", "status", "reason", "time_lag_seconds")
    is_ok = pl.when(pl.col("lag").is_not_null()).then(pl.lit(Status.OK.value))
    state = pl.coalesce("status", is_ok if status.is_empty() else pl.lit(None, pl.String))
    return (
        read.join(decided, on=["topic", "partition"], how="left")
        .with_columns(state.fill_null(Status.UNKNOWN.value).alias("status"))
        .with_columns(
            pl.col("status").replace_strict(order, range(len(order)), default=0).alias("order"),
            pl.concat_list(pl.col("status").replace_strict(order, labels, default="unknown")).alias(
                "label"
            ),
            pl.coalesce("time_lag_seconds", "read_time_lag_seconds").alias("time_lag_seconds"),
        )
        .sort("order", "lag", "topic", "partition", descending=[False, True, False, False])
        .drop("order")
    )


def feature_rows(features: Sequence[Feature]) -> pl.DataFrame:
    """Return what was measured of a partition and its group; nothing of one without samples."""
    columns = dict.fromkeys(("of", "name", "value", "compared"), pl.String())
    return pl.DataFrame([asdict(one) for one in features], schema=columns)


def drained_in(row: Mapping[str, Any]) -> tuple[str, str]:
    """Say in how long what waits is drained, in a word and a clause.

    Args:
        row: A row of ``group_status`` with ``drain_seconds`` and ``grows`` as ``group_list`` adds
            them.
    """
    drain, loses = row["drain_seconds"], row["status"] == Status.LOSING_DATA
    if loses:  # what is deleted counts as consumed
        return "not drained", "retention deletes some"
    if drain == NEVER:
        # What it does at these rates tells nothing of a backlog that comes and goes in waves.
        return NOT_NOW, "it grew lately" if row["grows"] else "at the last rates"
    if drain == NONE:
        if row["lag"] != 0 and row["grows"]:
            return "not late", "its lag grows"
        if row["lag"] and row["status"] == Status.OK and _drained_lately(row):
            return "caught up", "a backlog was drained lately"
        return "nothing waits" if row["lag"] == 0 else "steady", "at these rates"
    return duration(drain), "at these rates"


def _drained_lately(row: Mapping[str, Any]) -> bool:
    """Return whether the rates, means of the last minutes, are those of a catch-up that is over."""
    arrival, consumption = row["arrival_per_second"], row["consumption_per_second"]
    if arrival is None or consumption is None:
        return False
    return bool(consumption - arrival > STEADY_RATIO * arrival)


def lost_since(alerts: pl.DataFrame, group: str) -> tuple[datetime, bool] | None:
    """Return since when a group loses messages by its open alert, and whether since before that.

    The status is that of the last ten minutes: it is dated anew after each while without a loss,
    and the alert goes on.

    Args:
        alerts: Rows of ``open_alerts``.
        group: The group.
    """
    is_open = (pl.col("check") == LOSES_DATA) & (pl.col("state") != State.RESOLVED.value)
    losing = [
        alert_of(row)
        for row in alerts.filter(is_open, pl.col("since").is_not_null()).iter_rows(named=True)
        if labels_of(row).get("group") == group
    ]
    if not losing:
        return None
    first = min(losing, key=lambda one: one.first_began_at)
    return datetime.fromtimestamp(first.first_began_at, UTC), first.first_began_before


def last_left_at(rebalances: pl.DataFrame, since: datetime, within: timedelta) -> datetime | None:
    """Return when the last member left, of a group that polls found without one.

    The log of commits tells it to the second; a poll finds it up to a cadence later.

    Args:
        rebalances: The group's rows of ``rebalances``.
        since: The first poll that found no member.
        within: How long before it the last one may have left.
    """
    left = rebalances.filter(
        pl.col("members") == 0, pl.col("rebalanced_at").is_between(since - within, since)
    )
    at = left["rebalanced_at"].max()
    return at if isinstance(at, datetime) else None


def also_left(left_at: datetime | None, since: datetime, *, zone: tzinfo, now: datetime) -> str:
    """Return a clause on when the last member left; nothing where that is not known or the same.

    Args:
        left_at: When it left.
        since: Since when the group is stopped.
        zone: The viewer's.
        now: The present.
    """
    if left_at is None or clock(left_at, zone, now=now) == clock(since, zone, now=now):
        return ""
    at = clock_after(left_at, since, zone, now=now)
    return f" as polls saw it; the last member left at **{at}**"


_RATE = re.compile(r"\d/(?:s|min|h|d)\b")
_WINDOW, _BRIEF_WINDOW = "5 min", "1 to 5 min"


def rates_window(row: Mapping[str, Any]) -> str:
    """Return of how long the group's present rates are means.

    A group that catches up at each poll is seen to do so within a minute.

    Args:
        row: Of ``group_status``, as ``with_fresh_rates`` returns it.
    """
    if (seconds := row.get(SINCE_RETURN)) is not None:
        return f"over {duration(seconds)}"
    return _BRIEF_WINDOW if row["status"] == Status.CATCHING_UP else _WINDOW


NOBODY_CONSUMES = (Status.STOPPED, Status.NO_MEMBERS)
"""Of a group that does this the rate of consumption is 0 at once."""


def of_window(row: Mapping[str, Any]) -> str:
    """Return a sentence on the rates that a group's reason tells; nothing where it tells none."""
    # What the reason tells was told from the status's own rates.
    is_told = row.get(SINCE_RETURN) is None and _RATE.search(row["reason"] or "") is not None
    return f" Rates are means of {rates_window(row)}." if is_told else ""


CONNECT_PREFIX = "connect-"
"""Kafka Connect names the group of a sink connector so, unless its settings have another name."""


def of_connector(group: str, connectors: pl.DataFrame) -> tuple[str, bool] | None:
    """Say of which sink connector of Kafka Connect a group is, and whether that is known.

    Args:
        group: The group.
        connectors: Rows of ``connectors``; none where no Kafka Connect is watched.

    Returns:
        None where nothing says that it is of one.
    """
    names = connectors.filter(pl.col("group") == group)["connector"].unique().sort().to_list()
    if names:
        which = f"connector{'s' if len(names) > 1 else ''} {listing(names)}"
        return f"It is the consumer group of the Kafka Connect sink {which}.", True
    name = group.removeprefix(CONNECT_PREFIX)
    if name in (group, ""):
        return None
    return (
        f"By its name it is the consumer group of a Kafka Connect sink connector {name}, if there "
        "is one.",
        False,
    )


def left_over(offsets: pl.DataFrame) -> str | None:
    """Say which topics the group has committed to and reads no more; None where there are none."""
    rows = offsets.filter(~IN_TOTALS)
    if rows.is_empty():
        return None
    topics = sorted(rows["topic"].unique())
    return (
        f"Left out: {count(rows.height, 'partition')} of {listing(topics, limit=5)}. The group has "
        "committed offsets there, and no member subscribes to it any more."
    )


def member_rows(
    members: pl.DataFrame, offsets: pl.DataFrame, status: pl.DataFrame, rates: pl.DataFrame
) -> pl.DataFrame:
    """Return one row a member with what it holds and reads; the idle ones come last.

    Args:
        members: The group's rows of ``group_members`` of the newest poll.
        offsets: Its rows of ``group_offsets`` of the newest poll.
        status: Its rows of ``group_partition_status``.
        rates: ``topic``, ``partition`` and ``consumption_per_second``.
    """
    key = ["topic", "partition"]
    held = (
        offsets.filter(IN_TOTALS, pl.col("member_id").is_not_null())
        .select("member_id", *key, "lag", "time_lag_seconds")
        .join(rates, on=key, how="left")
        .join(
            status.select(*key, pl.col("time_lag_seconds").alias("told_seconds")),
            on=key,
            how="left",
        )
    )

    # A member with a partition that is not known has no known sum.
    sums = held.group_by("member_id").agg(
        complete_sum(pl.col("consumption_per_second")),
        complete_sum(pl.col("lag")),
        pl.coalesce("told_seconds", "time_lag_seconds").max().alias("time_lag_seconds"),
    )
    rows = members.join(sums, on="member_id", how="left")
    idle = pl.col("assigned_partitions") == 0
    consumption = pl.col("consumption_per_second")
    return (
        rows.with_columns(
            pl.when(idle).then(0.0).otherwise(consumption).alias("consumption_per_second"),
            pl.when(idle).then(0).otherwise(pl.col("lag")).alias("lag"),
            pl.when(idle).then(pl.lit("idle")).otherwise(pl.lit("consumes")).alias("does"),
        )
        .with_columns((consumption / consumption.sum()).alias("load"))
        .sort("assigned_partitions", "client_id", "member_id", descending=[True, False, False])
    )


def rebalance_rows(rebalances: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``rebalances``, the newest first, with their members before and after."""
    before, after = pl.col("members_before"), pl.col("members")
    course = pl.when(before == after).then(after.cast(pl.String))
    return rebalances.sort("rebalanced_at", "generation", descending=True).with_columns(
        course.otherwise(pl.format("{} → {}", before, after)).alias("course")
    )


def heat_rows(history: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return the rows of a heatmap, and how many partitions there are in all.

    Returns:
        Rows with ``label`` and ``order``: of the partitions with the highest lag, in their order.
    """
    partitions = history.group_by("topic", "partition").agg(pl.col("lag").max().alias("peak"))
    kept = partitions.sort("peak", descending=True, nulls_last=True).head(HEATMAP_ROWS)
    several = partitions["topic"].n_unique() > 1
    label = (
        pl.format("{}-{}", "topic", "partition") if several else pl.col("partition").cast(pl.String)
    )
    ordered = kept.sort("topic", "partition").with_row_index("order").drop("peak")
    rows = history.join(ordered, on=["topic", "partition"]).with_columns(label.alias("label"))
    return rows.select(TIME, "label", "order", "lag", "time_lag_seconds"), partitions.height


def with_whole_delays(
    history: pl.DataFrame, partitions: pl.DataFrame, *, step_seconds: float
) -> pl.DataFrame:
    """Leave out the group's time lag where that of a partition with messages waiting is unknown.

    The highest of those that are known would look like the delay of the group.

    Args:
        history: History of the group.
        partitions: History of its partitions at the same steps: it may end before.
        step_seconds: These steps. One of the history that ends at a poll is of the step of the
            partitions in which that was.
    """
    lacking, end = _lacks_delay(partitions)["time"].unique(), partitions["time"].max()
    milliseconds = int(1000 * step_seconds)
    begin = pl.col("time") + timedelta(milliseconds=milliseconds, microseconds=-1)
    is_lacking = begin.dt.truncate(f"{milliseconds}ms").is_in(lacking.implode())
    if end in lacking:
        is_lacking |= pl.col("time") > end
    return history.with_columns(pl.when(~is_lacking).then("time_lag_seconds")).sort("time")


def lacks_delays(rows: pl.DataFrame) -> bool:
    """Return whether messages wait somewhere whose age is unknown."""
    return not _lacks_delay(rows).is_empty()


def _lacks_delay(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter((pl.col("lag") > 0) & pl.col("time_lag_seconds").is_null())


def neutral_lag(
    arrival_per_second: float | None, partitions: int, seconds: float, least: float = 10.0
) -> float:
    """Return how many messages arrive on one partition in that time, on average."""
    if arrival_per_second is None or not partitions:
        return least
    return max(least, arrival_per_second * seconds / partitions)
