"""What checks see of the monitor itself: pure functions."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from alerting.frames import KAFKA, STALE_INTERVALS, Frames, unix
from alerting.rules import Observation
from alerting.words import duration
from lake.tables import COLLECTIONS

STARTING_SECONDS = 60.0
"""What has not worked yet has this long from the monitor's start: it may be starting itself."""


def section_states(frames: Frames) -> pl.DataFrame:
    """Return each section's newest attempt with ``last_success_at``; a partial success counts."""
    worked = pl.col("status").is_in(["ok", "partial"])
    return (
        frames.rows(COLLECTIONS)
        .with_columns(pl.col("source").fill_null(KAFKA))
        .sort("observed_at")
        .group_by("source", "section", maintain_order=True)
        .agg(
            pl.all().last(),
            pl.col("observed_at").filter(worked).max().alias("last_success_at"),
        )
    )


def monitor_observations(frames: Frames) -> Iterable[Observation]:
    """Return what there is to say of the collection of one cluster's samples."""
    ages: list[float | None] = []
    states = section_states(frames)
    for row in states.iter_rows(named=True):
        if row["status"] == "skipped" or row["interval_seconds"] is None:
            continue
        success = unix(row["last_success_at"])
        age = _intervals_without(success, frames, row["interval_seconds"])
        ages.append(age)
        labels = {
            "cluster": frames.cluster,
            "source": row["source"],
            "section": row["section"],
        }
        name = row["section"] if row["source"] == KAFKA else f"{row['source']}: {row['section']}"
        said = f"{row['error'].rstrip('.')}; " if row["error"] else ""
        old = (
            f"last success {duration(frames.now - success)} ago."
            if success
            else "it has not worked yet."
        )
        if row["status"] == "failed":
            yield Observation(
                "collection_failed",
                labels,
                1.0,
                f"Collecting {name} fails",
                f"{said}{old}",
                success,
                row["error"] or "",
                "See Collection health; figures of this section are old or missing.",
                "health",
            )
        yield Observation(
            "data_stale",
            labels,
            age,
            f"{name} is {duration(frames.now - success)} old"
            if success
            else f"{name} was never collected",
            f"{said}{old}",
            success,
            row["error"] or "The collectors are stopped, or slower than their cadence.",
            "Check that the collectors run and reach it: python -m collectors check.",
            "health",
        )
    if "collections" in frames.errors:
        return
    known = [age for age in ages if age is not None]
    youngest = min(known, default=None)
    if not ages:
        youngest = _intervals_without(None, frames, frames.interval_seconds)
    successes = [at for at in states["last_success_at"].to_list() if at is not None]
    newest = unix(max(successes)) if successes else None
    age_words = (
        f"The newest data is {duration(frames.now - newest)} old."
        if newest
        else "Nothing was collected in the last hour."
    )
    yield Observation(
        "nothing_collected",
        {"cluster": frames.cluster},
        youngest,
        "Nothing is being collected",
        f"{age_words} What else is wrong there is not known.",
        newest,
        "The collectors are stopped, cannot reach the cluster, or cannot write to the lake.",
        "Check that the collectors run and reach the cluster: python -m collectors check.",
        "health",
    )


def _intervals_without(success: float | None, frames: Frames, interval: float) -> float | None:
    """Return how many intervals ago something worked, or how long it was waited for in vain.

    None while the monitor has not run for long enough to expect a success of its own time.
    """
    watched = frames.now - frames.watched_since
    if success is None:
        patience = max(STARTING_SECONDS, STALE_INTERVALS * interval)
        return watched / interval if watched > patience else None
    age = frames.now - success
    is_explained = watched <= STALE_INTERVALS * interval < age
    return None if is_explained else age / interval


def is_blind(frames: Frames, observations: Iterable[Observation]) -> bool:
    """Tell whether nothing is known of the cluster now."""
    return any(
        seen.check == "nothing_collected" and (seen.value or 0.0) > 4.0 for seen in observations
    )
