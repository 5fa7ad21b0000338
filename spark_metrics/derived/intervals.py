"""What the members of groups did minute by minute, from samples: pure, on frames."""

from __future__ import annotations

import polars as pl

from scaling.facts.intervals import DEFAULT_CAPACITY_RULES

NEEDED = (
    "cluster",
    "group",
    "topic",
    "partition",
    "observed_at",
    "committed",
    "log_end",
    "lag",
    "member_id",
)
LONGEST_GAP_SECONDS = 600.0
"""Samples further apart tell nothing of what happened in between."""
_PARTITION = ("cluster", "group", "topic", "partition")
_GROUP = ("cluster", "group")
_MEMBER = ("cluster", "group", "member")
_SUSTAINED = "10m"


def gains(offsets: pl.DataFrame) -> pl.DataFrame:
    """Return what each partition's counters gained since the sample before.

    Args:
        offsets: Rows of ``group_offsets``, every poll filled in, with ``NEEDED``.

    Returns:
        The samples that have one before them, with minute, member, seconds, consumed, arrived,
        lag_before, and kept: whether the same member held the partition all the time and no
        counter went backwards.
    """
    ordered = offsets.filter(
        pl.col("committed").is_not_null(), pl.col("log_end").is_not_null()
    ).sort(*_PARTITION, "observed_at")

    def before(name: str) -> pl.Expr:
        return pl.col(name).shift(1).over(*_PARTITION)

    seconds = (pl.col("observed_at") - before("observed_at")).dt.total_microseconds() / 1e6
    return (
        ordered.with_columns(
            minute=pl.col("observed_at").dt.truncate("1m"),
            member=pl.col("member_id"),
            seconds=seconds,
            consumed=pl.col("committed") - before("committed"),
            arrived=pl.col("log_end") - before("log_end"),
            lag_before=before("lag"),
            same=pl.col("member_id").eq_missing(before("member_id")),
        )
        .filter(pl.col("seconds") > 0, pl.col("seconds") <= LONGEST_GAP_SECONDS)
        .with_columns(kept=pl.col("same") & (pl.col("consumed") >= 0) & (pl.col("arrived") >= 0))
        .drop("same")
    )


def member_intervals(gained: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return what members did in minutes in which nothing was assigned anew.

    Args:
        gained: What ``gains`` returns.
        groups: Rows of ``groups`` of the same time.

    Returns:
        The columns of ``scaling.facts.intervals.Intervals`` with cluster and group: every minute of
        a member that had a backlog in it, and of the others the best ten minutes of each hour; and
        ``blocked``, the partitions of the member that stood still in that hour.
    """
    partitions = (
        gained.group_by(*_PARTITION, "minute")
        .agg(
            pl.col("member").last(),
            pl.col("kept").all() & (pl.col("member").n_unique() == 1),
            pl.col("consumed", "arrived", "seconds").sum(),
            pl.col("lag_before").first().alias("lag_start"),
            pl.col("lag").last().alias("lag_end"),
        )
        .filter(pl.col("kept").all().over(*_GROUP, "minute"), pl.col("member").is_not_null())
    )
    # A partition that does not advance has nothing to keep its member busy, or is blocked.
    advances = pl.col("consumed") > 0
    members = partitions.group_by(*_MEMBER, "minute").agg(
        pl.col("consumed", "arrived").sum(),
        pl.col("seconds").max(),
        pl.col("lag_start", "lag_end").filter(advances).sum(),
    )
    counted = (
        groups.with_columns(minute=pl.col("observed_at").dt.truncate("1m"))
        .group_by(*_GROUP, "minute")
        .agg(pl.col("members").max(), pl.col("members").min().alias("fewest"))
        .filter(pl.col("members") == pl.col("fewest"))
        .drop("fewest")
    )
    whole = members.join(counted, on=[*_GROUP, "minute"]).rename({"minute": "started_at"})
    waits = pl.min_horizontal("lag_start", "lag_end") < DEFAULT_CAPACITY_RULES.max_poll_records
    busy = whole.filter(~waits)
    found = pl.concat([busy, _best_sustained(whole.filter(waits)).select(busy.columns)])
    hour = pl.col("started_at").dt.truncate("1h").alias("hour")
    return (
        found.with_columns(hour)
        .join(_blocked(gained), on=[*_MEMBER, "hour"], how="left")
        .drop("hour")
        .with_columns(pl.col("blocked").fill_null([]))
    )


def _best_sustained(minutes: pl.DataFrame) -> pl.DataFrame:
    """Return for each member and hour the ten minutes in which it got through most.

    They start with the first of the minutes that are counted: one that is none of these may be in
    the table by itself.
    """
    ten_minutes = (
        minutes.group_by(
            *_MEMBER,
            pl.col("started_at").dt.truncate(_SUSTAINED).alias("ten"),
            "members",
            maintain_order=True,
        )
        .agg(
            pl.col("started_at").min(),
            pl.col("consumed", "arrived", "seconds").sum(),
            pl.col("lag_start", "lag_end").min(),
        )
        .drop("ten")
        .filter(pl.col("seconds") >= DEFAULT_CAPACITY_RULES.sustained_seconds / 2)
    )
    hour = pl.col("started_at").dt.truncate("1h")
    fastest = (pl.col("consumed") / pl.col("seconds")).rank("ordinal", descending=True)
    return ten_minutes.filter(fastest.over(*_MEMBER, hour) == 1)


def _blocked(gained: pl.DataFrame) -> pl.DataFrame:
    """Return the partitions that stood still while their log grew and their member worked.

    Args:
        gained: What ``gains`` returns.

    Returns:
        cluster, group, member, hour, blocked (``topic-number``, sorted).
    """
    hour = pl.col("minute").dt.truncate("1h").alias("hour")
    totals = (
        gained.filter(pl.col("kept"), pl.col("member").is_not_null())
        .group_by(*_PARTITION, "member", hour)
        .agg(pl.col("consumed", "arrived").sum(), pl.col("lag_before").min())
    )
    works = pl.col("consumed").max().over(*_MEMBER, "hour") > 0
    stuck = totals.filter(
        works, pl.col("consumed") == 0, pl.col("arrived") > 0, pl.col("lag_before") > 0
    )
    name = pl.format("{}-{}", "topic", "partition")
    return stuck.group_by(*_MEMBER, "hour").agg(name.sort().alias("blocked"))
