"""Monitoring health, prepared for its page: pure functions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

import polars as pl

from alerting.inputs.facts import is_missing
from app.data.history import TIME
from app.style import theme
from app.style.format import UNKNOWN, age, clock, count, duration, exact, listing, size
from app.style.theme import Badge, BadgeStyle
from lake.schemas.tables import LOG_DIRECTORIES

_USUAL_SEEN = 5.0
"""An axis of durations that is cut shows so many times what 99 of 100 take at most."""
BADGE_STYLES: dict[str, BadgeStyle] = {
    "failed": BadgeStyle(
        word="failed",
        symbol="✖",
        icon=":material/error:",
        colour="red",
        meaning="Nothing of it was collected.",
    ),
    "late": BadgeStyle(
        word="late",
        symbol="●",
        icon=":material/history:",
        colour="red",
        meaning="Older than four polls.",
    ),
    "partial": BadgeStyle(
        word="partial",
        symbol="▲",
        icon=":material/warning:",
        colour="orange",
        meaning="A part is missing.",
    ),
    "skipped": BadgeStyle(
        word="skipped",
        symbol="▲",
        icon=":material/skip_next:",
        colour="orange",
        meaning="The poll came too late.",
    ),
    "unknown": theme.UNSURE,
    "over": BadgeStyle(
        word="over",
        symbol="·",
        icon=":material/history_toggle_off:",
        colour="gray",
        meaning="It happened; polls since then were collected.",
    ),
    "ok": BadgeStyle(
        word="ok", symbol="✓", icon=":material/check:", colour="gray", meaning="Collected in full."
    ),
}
"""How the states of sections look, worst first."""

_LATE_POLLS = 4

_MISHAPS = ("lake", "poll")
"""Sections that have a row only when rows were lost, or a poll was left out or failed."""


def unknown_disks(
    sections: pl.DataFrame, brokers: pl.DataFrame, zone: tzinfo, now: datetime
) -> str:
    """Say of which missing brokers the log directories are not known, and since when.

    Collectors ask the brokers that are there: that another one is missing fails no section.

    Args:
        sections: Rows of ``section_rows``.
        brokers: Rows of ``broker_status``.
        zone: The viewer's zone.
        now: The present.
    """
    missing = brokers.filter(is_missing).sort("broker_id")
    if missing.is_empty() or sections.filter(_tells_disks()).is_empty():
        return ""
    said = [
        f"of broker {broker}, which is missing: not known"
        + ("" if since is None else f" since {clock(since, zone, now=now)}")
        for broker, since in missing.select("broker_id", "missing_since").iter_rows()
    ]
    return f"log directories {'; '.join(said)}"


def with_unknown_disks(sections: pl.DataFrame, unknown: str) -> pl.DataFrame:
    """Return sections of which that of log directories is partial where some are not known.

    Args:
        sections: Rows of ``section_rows``.
        unknown: What ``unknown_disks`` says of them.
    """
    if not unknown:
        return sections
    said = pl.concat_str(pl.lit(unknown), "error", separator="; ", ignore_nulls=True)
    return sections.with_columns(
        pl.when(_tells_disks()).then(value).otherwise(name).alias(name)
        for name, value in (("status", pl.lit("partial")), ("error", said))
    )


def _tells_disks() -> pl.Expr:
    return (pl.col("section") == LOG_DIRECTORIES.name) & pl.col("status").is_in(["ok", "partial"])


def sentence(
    sections: pl.DataFrame,
    now: datetime,
    interval_seconds: float,
    late: timedelta | None = None,
    unknown: str = "",
) -> tuple[str, str]:
    """Return the page's headline and the sentence below it.

    Args:
        sections: Rows of ``with_unknown_disks``.
        now: The present.
        interval_seconds: The cadence of polls.
        late: How late history is.
        unknown: What ``unknown_disks`` says.
    """
    rows = table_rows(sections, now, interval_seconds)
    going_on = rows.filter(pl.col("state") != "over")
    bad = going_on.filter(pl.col("state") != "ok")
    newest = sections["observed_at"].max()
    when = age((now - newest).total_seconds()) if isinstance(newest, datetime) else UNKNOWN
    if bad.is_empty():
        is_late = "" if late is None else f", history is {duration(late.total_seconds())} behind"
        return f"Everything is collected{is_late}", ""  # the tiles say when
    names = listing([name.replace("_", " ") for name in bad["section"].to_list()])
    if bad.height == going_on.height and set(bad["state"].to_list()) == {"late"}:
        return "Nothing is being collected", f"The newest poll was {when}: do the collectors run?"
    disks = f"{unknown[:1].upper()}{unknown[1:]}"
    if unknown and bad["error"].to_list() == [unknown]:
        return disks, f"All else is collected. The newest poll was {when}."
    of_all = f"{bad.height} of {count(rows.height, 'section')}"
    said = ". ".join(filter(None, (names, disks)))
    return f"{of_all} not collected in full", f"{said}. The newest poll was {when}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure of how collecting goes."""

    label: str
    value: str
    clause: str
    colour: Badge | Literal["off"] = "off"


def tiles(
    rows: pl.DataFrame,
    now: datetime,
    interval_seconds: float,
    late: timedelta | None,
    lake: pl.DataFrame,
) -> list[Tile]:
    """Return the figures that the page begins with.

    Args:
        rows: Rows of ``table_rows``.
        now: The present.
        interval_seconds: The cadence of polls.
        late: How late history is.
        lake: Rows of ``lake_rows``.
    """
    newest = rows["observed_at"].max()
    seconds = (now - newest).total_seconds() if isinstance(newest, datetime) else None
    slow = seconds is not None and seconds > _LATE_POLLS * interval_seconds
    going_on = rows.filter(pl.col("state") != "over")
    bad = going_on.filter(pl.col("state") != "ok").height
    longest = going_on.drop_nulls("duration_seconds").sort("duration_seconds").tail(1)
    takes = longest["duration_seconds"][0] if longest.height else None
    of = longest["section"][0] if longest.height else ""
    sizes = lake["size_bytes"].drop_nulls()
    return [
        Tile(
            label="Newest poll",
            value=age(seconds) if seconds is not None else UNKNOWN,
            clause=f"every {duration(interval_seconds)}",
            colour="red" if slow else "off",
        ),
        Tile(
            label="Slowest section",
            value=duration(takes),
            clause=of.replace("_", " "),
        ),
        Tile(
            label="Sections",
            value=exact(going_on.height),
            clause=f"{bad} not in full" if bad else "all collected",
            colour="red" if bad else "off",
        ),
        Tile(
            label="History",
            value="in time" if late is None else duration(late.total_seconds()),
            clause="by the newest poll" if late is None else "behind the newest poll",
            colour="off" if late is None else "red",
        ),
        Tile(
            label="Lake",
            value=size(float(sizes.sum())) if sizes.len() else UNKNOWN,
            clause=count(lake.height, "table"),
        ),
    ]


def table_rows(sections: pl.DataFrame, now: datetime, interval_seconds: float) -> pl.DataFrame:
    """Add each section's state and the age of its newest success; the worst first."""
    age_seconds = (pl.lit(now) - pl.col("last_success_at")).dt.total_milliseconds() / 1000
    is_over = pl.col("section").is_in(_MISHAPS) & (
        pl.col("last_success_at").max() > pl.col("observed_at")
    )
    state = (
        pl.when(is_over)
        .then(pl.lit("over"))
        .when(pl.col("status") == "failed")
        .then(pl.lit("failed"))
        .when(
            pl.col("interval_seconds").is_not_null()
            & (pl.col("age_seconds").fill_null(1e9) > _LATE_POLLS * interval_seconds)
        )
        .then(pl.lit("late"))
        .when(pl.col("status").is_in(list(BADGE_STYLES)))
        .then(pl.col("status"))
        .otherwise(pl.lit("unknown"))
    )
    order = list(BADGE_STYLES)
    return (
        sections.with_columns(age_seconds.clip(lower_bound=0).alias("age_seconds"))
        .with_columns(state.alias("state"))
        .with_columns(
            pl.col("state")
            .map_elements(lambda name: [BADGE_STYLES[name].label], return_dtype=pl.List(pl.String))
            .alias("label"),
            pl.col("state").replace_strict(order, list(range(len(order)))).alias("order"),
        )
        .sort("order", "section")
    )


def with_last_failure(
    rows: pl.DataFrame, attempts: pl.DataFrame, *, by: str, at: str
) -> pl.DataFrame:
    """Add when each section or job failed last, and what was said: now, or at that time.

    Args:
        rows: Rows of ``table_rows`` or of ``jobs.job_rows``.
        attempts: Rows of ``collections`` or ``jobs``.
        by: The column that names the section or the job.
        at: The column that tells when an attempt was.

    Returns:
        Besides the rows: ``failed_at``, and ``said``, which is not known where nothing failed.
    """
    failed = (
        attempts.filter(pl.col("status") == "failed")
        .sort(at)
        .group_by(by)
        .agg(pl.col(at).last().alias("failed_at"), pl.col("error").last().alias("failed_why"))
    )
    return rows.join(failed, on=by, how="left", maintain_order="left").with_columns(
        pl.coalesce("error", "failed_why").alias("said")
    )


def collectors(collections: pl.DataFrame) -> pl.DataFrame:
    """Return which processes have polled, the newest first: collector, last_at."""
    return (
        collections.drop_nulls("collector")
        .group_by("collector")
        .agg(pl.col("observed_at").max().alias("last_at"))
        .sort("last_at", descending=True)
    )


def waiting(rows: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """Return the collectors that wait for the cluster: collector, observed_at.

    Args:
        rows: The newest rows of ``waiting_collectors``.
        processes: Those that have polled (``collectors``): one that polls since waits no more.
    """
    last = rows.join(processes, on="collector", how="left")
    since = pl.col("last_at").is_null() | (pl.col("last_at") < pl.col("observed_at"))
    return last.filter(since).select("collector", "observed_at").sort("collector")


_STEPS = (
    (
        ("which is missing",),
        "Start the broker again: see Brokers and replication.",
    ),
    (
        ("auth", "denied", "permission", "not authorized"),
        "Grant the monitoring user what docs list for this section: DESCRIBE, and READ for "
        "dead-letter headers.",
    ),
    (
        ("coordinator",),
        "The broker that coordinates these groups is away: see Brokers and replication.",
    ),
    (
        ("timed out", "timeout", "refused", "unreachable", "transport", "not connected", "resolve"),
        "The brokers do not answer: python -m collectors check says which address fails.",
    ),
)


def what_to_do(error: str) -> str:
    """Return what a person does next about an error of a collection."""
    lowered = error.lower()
    for words, step in _STEPS:
        if any(word in lowered for word in words):
            return step
    return "python -m collectors check tries each section and says what is missing."


def polls(collections: pl.DataFrame) -> pl.DataFrame:
    """Return the time between polls, a row a poll: at most 500 of the longest and newest."""
    times = collections.filter(pl.col("status") != "skipped").select(
        pl.col("observed_at").unique().sort().alias(TIME)
    )
    gaps = times.with_columns(
        (pl.col(TIME) - pl.col(TIME).shift(1)).dt.total_milliseconds().alias("gap")
    ).with_columns((pl.col("gap") / 1000).alias("gap_seconds"))
    return _downsampled(gaps.select(TIME, "gap_seconds"), "gap_seconds", ())


def durations(collections: pl.DataFrame) -> pl.DataFrame:
    """Return how long each section took, a row a poll and section."""
    rows = collections.filter(pl.col("duration_seconds").is_not_null()).select(
        pl.col("observed_at").alias(TIME), "section", "duration_seconds"
    )
    return _downsampled(rows, "duration_seconds", ("section",))


def cap(rows: pl.DataFrame, zone: tzinfo, now: datetime) -> tuple[float | None, str | None]:
    """Return where the axis of durations ends for one peak to flatten nothing, and that peak.

    Args:
        rows: Rows of ``durations``.
        zone: The viewer's zone.
        now: The present.

    Returns:
        The axis' end, and a sentence about what is above it; None where all is drawn.
    """
    usual = rows["duration_seconds"].quantile(0.99)
    if usual is None:
        return None, None
    longest = rows.sort("duration_seconds", TIME).row(-1, named=True)
    peak, end = longest["duration_seconds"], _USUAL_SEEN * usual
    if peak <= end or end <= 0:
        return None, None
    at = clock(longest[TIME], zone, now=now)
    return end, f"Not drawn whole: {longest['section']} took {duration(peak)} at {at}."


def _downsampled(
    rows: pl.DataFrame, value: str, by: tuple[str, ...], most: int = 300
) -> pl.DataFrame:
    """Keep the highest value of each time range."""
    first, last = rows[TIME].min(), rows[TIME].max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        return rows
    step = max(1, round((last - first).total_seconds() / most))
    return (
        rows.group_by(pl.col(TIME).dt.truncate(f"{step}s"), *by)
        .agg(pl.col(value).max())
        .sort(*by, TIME)
    )
