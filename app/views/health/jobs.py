"""The background jobs that write history, prepared for Monitoring health: pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from app.data.history import USUAL_DELAY
from app.style import theme
from app.style.format import duration
from app.style.theme import BadgeStyle
from app.views.health.view_model import BADGE_STYLES

_HISTORY, _HOURLY, _BEHIND = "history", "derived", "behind"
"""The jobs that write history and what is derived from it, and their state while they are late."""
_JOB_WORDS = {
    _HISTORY: "history by the minute",
    _HOURLY: "forecasts and advice, hourly",
    "maintenance": "clean-up of old files",
}
"""What the jobs do, for those who do not know their names."""
_HISTORY_TAKES = timedelta(minutes=15)
"""After an hour ended: until the history has all of it, and what is derived from it is written."""

JOB_BADGE_STYLES: dict[str, BadgeStyle] = {
    **BADGE_STYLES,
    _BEHIND: BadgeStyle(
        word="behind",
        symbol="●",
        icon=":material/history:",
        colour="red",
        meaning="It is later than it should be: the newest of what it writes is missing.",
    ),
    "read": BadgeStyle(
        word="read",
        symbol="✓",
        icon=":material/check:",
        colour="gray",
        meaning="It has read new samples; their minutes follow.",
    ),
    "waiting": BadgeStyle(
        word="waiting",
        symbol="·",
        icon=":material/hourglass:",
        colour="gray",
        meaning="There was nothing to do.",
    ),
}
"""How the states of background jobs look."""


def job_rows(jobs: pl.DataFrame, late: timedelta | None, now: datetime) -> pl.DataFrame:
    """Return the newest run of each background job and what its runs of the day came to.

    The job that derives from history works once an hour: it is due when the next hour has ended,
    and behind only once the history had time to get that hour.

    Args:
        jobs: Rows of ``jobs``.
        late: How late the history is; None: it is not.
        now: The present.
    """
    is_history, is_hourly = pl.col("job") == _HISTORY, pl.col("job") == _HOURLY
    failed = pl.col("status") == "failed"
    delay = pl.duration(microseconds=(pl.col("delay_seconds") * 1e6).cast(pl.Int64))
    hour = pl.when(failed).then(timedelta()).otherwise(timedelta(hours=1))
    overdue = (pl.lit(now) - pl.col("due_at")).dt.total_milliseconds() / 1000
    late_seconds = pl.lit(None if late is None else late.total_seconds(), pl.Float64)
    is_late = is_history & late_seconds.is_not_null()
    behind = (
        pl.when(is_late)
        .then(late_seconds)
        .when(is_hourly)
        .then(pl.when(overdue > _HISTORY_TAKES.total_seconds()).then(overdue))
        .otherwise("delay_seconds")
    )
    is_behind = is_late | (is_hourly & behind.is_not_null())
    return (
        jobs.sort("started_at")
        .group_by("job", maintain_order=True)
        .agg(
            pl.all().last(),
            pl.len().alias("runs"),
            failed.sum().alias("failures"),
        )
        .with_columns(
            pl.col("job").replace(_JOB_WORDS).alias("does"),
            pl.when(is_hourly).then(pl.col("finished_at") - delay + hour).alias("due_at"),
            ((pl.col("finished_at") - pl.col("started_at")).dt.total_milliseconds() / 1000).alias(
                "took_seconds"
            ),
        )
        .with_columns(
            pl.when(is_behind & ~failed).then(pl.lit(_BEHIND)).otherwise("status").alias("status"),
            behind.alias("delay_seconds"),
        )
        .with_columns(
            pl.col("status")
            .map_elements(
                lambda status: [JOB_BADGE_STYLES.get(status, theme.UNSURE).label],
                return_dtype=pl.List(pl.String),
            )
            .alias("label"),
        )
        .sort("job")
    )


def late_history(jobs: pl.DataFrame, late: timedelta, now: datetime) -> tuple[str, str]:
    """Say how late history is, and what to do about it.

    Args:
        jobs: Rows of ``jobs``.
        late: How late it is.
        now: The present.
    """
    runs = jobs.filter(pl.col("job") == _HISTORY)
    said = f"behind by {duration(late.total_seconds())}"
    last = runs["finished_at"].max()
    if not isinstance(last, datetime) or now - last > USUAL_DELAY:
        return said, "It does not run: python -m spark_metrics run starts it."
    if runs.sort("finished_at")["status"][-1] == "failed":
        return said, "It failed and tries again: what was said is in the table."
    return said, (
        "It runs, the newest minutes first: wait while this gets less. Where it grows, the job "
        "lacks cores: its log says how long each step takes."
    )
