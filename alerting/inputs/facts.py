"""From rows of the lake to the facts that decisions are taken from: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from alerting.inputs.dead_letter_reasons import most_frequent

RATE_SECONDS = 300.0
"""Over how much history a present rate is taken."""


is_missing = pl.col("is_alive").eq(False)
"""Whether a row of ``brokers`` is of a broker that does not answer."""

_PACKAGE = r"^([a-z_$][\w$]*\.)+"
"""What stands before the name of an exception's class."""


def since_when(rows: pl.DataFrame, is_so: pl.Expr) -> datetime | None:
    """Return the first poll of the unbroken run up to the newest in which any row is so.

    None where the newest poll is not so, or where every poll was: then the beginning is unknown.
    """
    polls = rows.group_by("observed_at").agg(is_so.any().alias("so")).sort("observed_at")
    if polls.is_empty() or not polls["so"].last():
        return None
    fine = polls.filter(~pl.col("so").fill_null(False))["observed_at"].max()
    if fine is None:
        return None
    moment = polls.filter(pl.col("observed_at") > fine)["observed_at"].min()
    return moment if isinstance(moment, datetime) else None


def complete_sum(value: pl.Expr) -> pl.Expr:
    """Return the sum; null where a value is unknown."""
    return pl.when(value.null_count() == 0).then(value.sum())


def slowest_first(groups: pl.DataFrame) -> pl.DataFrame:
    """Sort groups by how far they are behind: of those that are alike the first by name."""
    return groups.sort("time_lag_seconds", "group", descending=[True, False], nulls_last=True)


def at_newest_poll(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the newest poll among them."""
    return rows.filter(pl.col("observed_at") == pl.col("observed_at").max())


def same_polls(frames: Sequence[pl.DataFrame], tolerance: timedelta) -> list[pl.DataFrame]:
    """Return the tables' rows up to the newest poll that all of them have.

    Sections of a poll are written one by one, so that one table may have the newest poll before
    another. A table that is behind by more than the tolerance has failed; the others do not wait
    for it.

    Args:
        frames: Rows of bronze tables.
        tolerance: How far a table may be behind and still be waited for.
    """
    ends = [end for frame in frames if isinstance(end := frame["observed_at"].max(), datetime)]
    if not ends:
        return list(frames)
    newest = max(ends)
    common = min(end for end in ends if newest - end <= tolerance)
    if common == newest:
        return list(frames)
    return [frame.filter(pl.col("observed_at") <= common) for frame in frames]


def dead_letter_rows(recent: pl.DataFrame, topics: pl.DataFrame) -> pl.DataFrame:
    """Return the newest row of each dead-letter topic, with what is derived from it.

    Args:
        recent: Rows of ``dead_letters`` of the last minutes.
        topics: The newest row of each topic.

    Returns:
        The rows with ``arrival_per_second`` (over the last minutes, null where it is not known),
        ``top_reason`` with its ``top_share`` (of what arrived over the last minutes; of the newest
        sample where nothing did), and ``retention_seconds``.
    """
    key = ("source", "name")
    end = recent["observed_at"].max()
    window = recent
    if isinstance(end, datetime):
        window = recent.filter(
            pl.col("observed_at") >= pl.lit(end) - pl.duration(seconds=int(RATE_SECONDS))
        )
    grown = pl.col("log_end").last() - pl.col("log_end").first()
    passed = (
        pl.col("observed_at").last() - pl.col("observed_at").first()
    ).dt.total_microseconds() / 1e6
    rates = (
        window.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .group_by(*key)
        .agg(
            pl.when((pl.col("log_end").diff().min() >= 0) & (passed > 0))
            .then(grown / passed)
            .alias("arrival_per_second")
        )
    )
    retention = topics.select(pl.col("topic").alias("name"), "retention_seconds")
    rows = (
        at_newest_poll(recent)
        .join(rates, on=key, how="left")
        .join(retention, on="name", how="left")
        .sort("source", "name")
    )
    most = most_frequent(window)
    tops = [
        (short_class(most[series][0]), most[series][1]) if series in most else _top(reasons)
        for *series_of, reasons in rows.select(*key, "reasons").iter_rows()
        for series in [(series_of[0], series_of[1])]
    ]
    return rows.with_columns(
        pl.Series("top_reason", [name for name, _ in tops], dtype=pl.String),
        pl.Series("top_share", [share for _, share in tops], dtype=pl.Float64),
    )


def _top(reasons: list[dict[str, Any]] | None) -> tuple[str | None, float | None]:
    if not reasons:
        return None, None
    total = sum(reason["value"] or 0 for reason in reasons)
    first = max(reasons, key=lambda reason: reason["value"] or 0)
    if not total:
        return None, None
    return short_class(first["key"]), (first["value"] or 0) / total


def short_class(name: str) -> str:
    """Return a class without its package: ``ValueError``."""
    return name.rsplit(".", 1)[-1]


def without_package(column: str) -> pl.Expr:
    """Return what an exception says, its class without a package: ``ValueError: no number``."""
    return pl.col(column).str.replace(_PACKAGE, "")


def task_failure() -> pl.Expr:
    """Return why a task of a connector failed, from rows of ``connector_tasks``.

    The exception at the bottom of its trace comes first: the one at the top says of most failures
    that they were not tolerated.
    """
    error, cause = without_package("error"), without_package("cause_class")
    return pl.when(cause.is_null()).then(error).otherwise(pl.format("{}: {}", cause, error))


def section_rows(collections: pl.DataFrame) -> pl.DataFrame:
    """Return each section's newest attempt and its newest success.

    Returns:
        The newest row of each section with ``last_success_at``; a partial success counts, for most
        of it is there.
    """
    worked = pl.col("status").is_in(["ok", "partial"])
    return (
        collections.sort("observed_at")
        .group_by("section", maintain_order=True)
        .agg(
            pl.all().last(),
            pl.col("observed_at").filter(worked).max().alias("last_success_at"),
            pl.len().alias("attempts"),
            (pl.col("status") == "failed").sum().alias("failures"),
            (pl.col("status") == "skipped").sum().alias("skips"),
        )
        .sort("section")
    )


def count_where(rows: pl.DataFrame, column: str) -> int | None:
    """Return how many rows are so; None where there is no row or one of them does not tell."""
    if rows.is_empty() or rows[column].null_count():
        return None
    return int(rows[column].sum())
