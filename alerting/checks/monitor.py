"""What checks see of the monitor itself: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from alerting.checks.model import CheckInput, CheckResult, check
from alerting.inputs.frames import KAFKA, STALE_INTERVALS, Frames, unix
from alerting.status.phrases import duration
from lake.schemas.tables import COLLECTIONS

SHORTEST_INTERVAL_SECONDS = 8.0
"""From such an interval on, a standby takes over within two polls: docs/sources.md, "Several
collectors of one cluster". With a shorter one, polls that lack are counted as if it were this."""

STARTING_SECONDS = 120.0
"""What has not worked yet has this long from the monitor's start: it may be starting itself, on a
cold machine with brokers and Spark beside it (`make demo` from nothing: 115 s)."""


@check(
    unit="1",
    meaning="1 while a section of the collection fails",
    labels=("source", "section"),
    sources=(COLLECTIONS,),
)
def collection_failed(given: CheckInput) -> Iterable[CheckResult]:
    """Return the sections whose newest attempt failed."""
    for row in _attempts(given):
        if row["status"] != "failed":
            continue
        yield CheckResult(
            labels=_labels(given, row),
            value=1.0,
            what=f"Collecting {_name(row)} fails",
            detail=_detail(given, row),
            since=unix(row["last_success_at"]),
            cause=row["error"] or "",
            step="See Monitoring health; figures of this section are old or missing.",
            page="health",
        )


@check(
    unit="intervals",
    meaning="age of a section's newest success, in its polling intervals",
    labels=("source", "section"),
    sources=(COLLECTIONS,),
)
def data_stale(given: CheckInput) -> Iterable[CheckResult]:
    """Return how old the newest success of each section is."""
    for row in _attempts(given):
        success = unix(row["last_success_at"])
        yield CheckResult(
            labels=_labels(given, row),
            value=_intervals_without(success, given.frames, row["interval_seconds"]),
            what=f"{_name(row)} is {duration(given.frames.now - success)} old"
            if success
            else f"{_name(row)} was never collected",
            detail=_detail(given, row),
            since=success,
            cause=row["error"] or "The collectors are stopped, or slower than their cadence.",
            step="Check that the collectors run and reach it: python -m collectors check.",
            page="health",
        )


@check(
    unit="intervals",
    meaning="age of the newest success of any section, in polling intervals",
    sources=(COLLECTIONS,),
)
def nothing_collected(given: CheckInput) -> Iterable[CheckResult]:
    """Return how old the newest success of any section is."""
    frames = given.frames
    if COLLECTIONS.name in frames.errors:
        return
    ages = [
        _intervals_without(unix(row["last_success_at"]), frames, row["interval_seconds"])
        for row in _attempts(given)
    ] or [_intervals_without(None, frames, frames.interval_seconds)]
    newest = unix(given.sections["last_success_at"].max())
    age = (
        f"The newest data is {duration(frames.now - newest)} old."
        if newest
        else "Nothing was collected in the last hour."
    )
    yield CheckResult(
        labels=given.labels(),
        value=min((age for age in ages if age is not None), default=None),
        what="Nothing is being collected",
        detail=f"{age} What else is wrong there is not known.",
        since=newest,
        cause="The collectors are stopped, cannot reach the cluster, or cannot write to the lake.",
        step="Check that the collectors run and reach the cluster: python -m collectors check.",
        page="health",
    )


def _attempts(given: CheckInput) -> Iterable[Mapping[str, Any]]:
    """Return the newest attempt of each section that is polled at a cadence."""
    for row in given.sections.iter_rows(named=True):
        if row["status"] != "skipped" and row["interval_seconds"] is not None:
            yield row


def _labels(given: CheckInput, row: Mapping[str, Any]) -> dict[str, str]:
    return given.labels(source=row["source"], section=row["section"])


def _name(row: Mapping[str, Any]) -> str:
    return row["section"] if row["source"] == KAFKA else f"{row['source']}: {row['section']}"


def _detail(given: CheckInput, row: Mapping[str, Any]) -> str:
    success = unix(row["last_success_at"])
    said = f": {row['error'].rstrip('.')}" if row["error"] else ""
    if success is None:
        return f"It has not worked yet{said}."
    return f"Last success {duration(given.frames.now - success)} ago{said}."


def _intervals_without(success: float | None, frames: Frames, interval: float) -> float | None:
    """Return how many intervals ago something worked, or how long it was waited for in vain.

    None while the monitor has not run long enough for a success to be due.
    """
    interval = max(interval, SHORTEST_INTERVAL_SECONDS)
    watched = frames.now - frames.watched_since
    if success is None:
        patience = max(STARTING_SECONDS, STALE_INTERVALS * interval)
        return watched / interval if watched > patience else None
    age = frames.now - success
    is_explained = watched <= STALE_INTERVALS * interval < age
    return None if is_explained else age / interval


CHECKS = (
    collection_failed,
    data_stale,
    nothing_collected,
)
