"""What checks see of dead letters: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import polars as pl

from alerting.checks.model import CheckInput, CheckResult, check
from alerting.inputs.facts import dead_letter_rows, short_class
from alerting.inputs.frames import KAFKA, Frames, unix
from alerting.inputs.windows import GroupKey
from alerting.status.model import Status
from alerting.status.phrases import duration, messages, minute_rate, plural, share
from lake.schemas.tables import DEAD_LETTERS, GROUP_OFFSETS, GROUPS, TOPICS

_RATIO_SECONDS = 60.0
"""Over how long the share of dead letters is taken: at least this, and at least four polls."""

_NEW_SECONDS = 900.0
"""An exception class is new for this long."""

_MOST = 0.5

_NOT_WORKING = frozenset({Status.STOPPED, Status.STALLED})


@check(
    unit="ratio",
    meaning="messages that fail, of those that arrive in the main topic",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_ratio(given: CheckInput) -> Iterable[CheckResult]:
    """Return how many messages of each origin fail, of those that arrive."""
    frames = given.frames
    if frames.newest(DEAD_LETTERS).is_empty():
        return
    ratios, seconds = _ratios(frames), _ratio_seconds(frames)
    # Pages show the mean of five minutes: the time of these numbers is said.
    window = f" over {duration(seconds)}"
    for row in dead_letter_rows(frames.rows(DEAD_LETTERS), TOPICS.empty).iter_rows(named=True):
        failing = ratios.get((row["source"], row["name"]), _Failing())
        measured, arriving = failing.measured, failing.per_second
        # A reader that catches up reads more than arrives, and more fails: the base is said.
        how_many = "an unknown share" if measured is None else share(measured)
        parts = (
            f"{minute_rate(arriving)}{window}" if arriving else "",
            f"{how_many} of {row['origin'] or 'its origin'}",
            _commonest(row),
        )
        said = ", ".join(filter(None, parts))
        yield CheckResult(
            labels=_labels(given, row),
            value=failing.assumed,
            what=f"Dead letters arrive in {row['name']}",
            detail=f"{said[0].upper()}{said[1:]}"
            + ("." if row["redrive_group"] else "; nobody redrives them."),
            cause=row["top_reason"] or "",
            step="Look at the reasons, fix the cause, then redrive."
            if row["redrive_group"]
            else "Look at the reasons and decide who redrives them.",
            page="dead_letters",
            related=_related(row),
        )


@check(
    unit="classes",
    meaning="exception classes not seen in the day before",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_new_reason(given: CheckInput) -> Iterable[CheckResult]:
    """Return where exception classes are new; unknown where no headers could be read."""
    new = _new_reasons(given.frames)
    for row in _dead_letters(given):
        found = new.get((row["source"], row["name"]), [])
        if not found and row["reasons"] is not None:
            continue
        classes = ", ".join(short_class(name) for name in found)
        yield CheckResult(
            labels=_labels(given, row),
            value=float(len(found)) if found else None,
            what=f"{row['name']} has a new reason: {classes}",
            detail=f"{plural(len(found), 'exception class', 'exception classes')} not seen in the "
            "day before.",
            cause="A deploy, or a message in a new format.",
            step="Look at the newest dead letters, and at what was deployed.",
            page="dead_letters",
            related=_related(row),
        )


@check(
    unit="seconds",
    meaning="how long a dead-letter topic that nobody redrives keeps a message",
    labels=("source", "name"),
    bad="below",
    sources=(DEAD_LETTERS, TOPICS),
)
def dead_letter_retention(given: CheckInput) -> Iterable[CheckResult]:
    """Return how long each dead-letter topic that nobody redrives keeps a message."""
    for row in _dead_letters(given):
        # What is redriven waits for nobody: how old it gets is told by other checks.
        if row["source"] != KAFKA or row["redrive_group"]:
            continue
        topic = given.topics.get(row["name"])
        kept = None if topic is None else topic["retention_seconds"]
        if topic is not None and kept is None and topic["unknown_reason"] is None:
            continue  # it keeps everything
        yield CheckResult(
            labels=_labels(given, row),
            value=kept,
            what=f"{row['name']} keeps dead letters for {duration(kept or 0.0)} only",
            detail="What nobody has looked at by then is gone.",
            cause="The topic has the retention of an ordinary one.",
            step="Raise retention.ms above the longest time until somebody looks.",
            page="dead_letters",
            related=_related(row),
        )


@check(
    unit="seconds",
    meaning="age of the oldest dead letter that its redrive group has not read",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_age(given: CheckInput) -> Iterable[CheckResult]:
    """Return how old the oldest dead letter is that its redrive group has not read."""
    for row in _dead_letters(given):
        group, waiting = row["redrive_group"], row["unprocessed"]
        if group is None:
            continue
        oldest = unix(row["oldest_unprocessed_at"])
        age = None if oldest is None else max(0.0, given.frames.now - oldest)
        yield CheckResult(
            labels=_labels(given, row),
            value=0.0 if waiting == 0 else age,
            what=f"The oldest dead letter in {row['name']} is {duration(age or 0.0)} old",
            detail=f"{_number(waiting)} wait for {group}.",
            since=oldest,
            cause="Its redrive group is slow, stopped, or fails on them again.",
            step=f"See what {group} does.",
            page="dead_letters",
            related=_related(row),
        )


@check(
    unit="messages",
    meaning="dead letters that wait while their redrive group does not work",
    labels=("source", "name"),
    sources=(DEAD_LETTERS, GROUPS, GROUP_OFFSETS),
)
def redrive_stopped(given: CheckInput) -> Iterable[CheckResult]:
    """Return where dead letters wait for a redrive group that does not work."""
    for row in _dead_letters(given):
        group, waiting = row["redrive_group"], row["unprocessed"]
        if group is None or waiting == 0:
            continue
        labels = _labels(given, row)
        status = given.statuses.get(GroupKey(given.frames.cluster, group))
        if status is None or status.status is Status.UNKNOWN:
            yield CheckResult(labels=labels, value=None)
        elif status.status in _NOT_WORKING or waiting is None:
            yield CheckResult(
                labels=labels,
                value=None if waiting is None else float(waiting),
                what=f"Nobody redrives {row['name']}",
                detail=f"{_number(waiting)} wait; {group}: {status.reason}",
                since=status.since,
                began_before=status.began_before_window,
                cause="The redrive group's consumers are gone or stuck.",
                step=f"Start {group}, or look at its log.",
                page="dead_letters",
                status=status.status.value,
                related=_related(row),
            )


def _dead_letters(given: CheckInput) -> Iterable[Mapping[str, Any]]:
    """Return the newest row of each dead-letter topic and queue."""
    return given.frames.newest(DEAD_LETTERS).iter_rows(named=True)


def _labels(given: CheckInput, row: Mapping[str, Any]) -> dict[str, str]:
    return given.labels(source=row["source"], name=row["name"])


def _related(row: Mapping[str, Any]) -> dict[str, str]:
    return {"group": row["redrive_group"]} if row["redrive_group"] else {}


def _commonest(row: Mapping[str, Any]) -> str:
    """Name the reason that most of those sampled have, or more than any other."""
    reason, of_all = row["top_reason"], row["top_share"] or 0.0
    return f"{'mostly' if of_all > _MOST else 'most often'} {reason}" if reason else ""


def _number(waiting: int | None) -> str:
    return "an unknown number of messages" if waiting is None else messages(waiting)


class _Failing(NamedTuple):
    """The share of messages that fail; where that is not known, what is assumed instead."""

    measured: float | None = None
    assumed: float | None = None
    per_second: float | None = None  # dead letters that arrive, over the same time


def _ratio_seconds(frames: Frames) -> float:
    return max(_RATIO_SECONDS, 4 * frames.interval_seconds)


def _ratios(frames: Frames) -> dict[tuple[str, str], _Failing]:
    """Return the share of messages that fail, over the last polls.

    Where dead letters arrive and the arrivals of the origin are unknown, it is assumed to be 1:
    nobody can say that they are few.
    """
    since = frames.at - timedelta(seconds=_ratio_seconds(frames))
    window = frames.rows(DEAD_LETTERS).filter(pl.col("observed_at") >= since)
    held = pl.coalesce("log_end", "retained")
    known_at = pl.col("observed_at").filter(held.is_not_null())
    found = (
        window.sort("observed_at")
        .group_by("source", "name")
        .agg(
            pl.col("arrival_ratio").mean().alias("ratio"),
            held.drop_nulls().diff().clip(lower_bound=0).sum().alias("arrived"),
            held.drop_nulls().len().alias("known"),
            ((known_at.last() - known_at.first()).dt.total_microseconds() / 1e6).alias("seconds"),
        )
    )
    ratios: dict[tuple[str, str], _Failing] = {}
    for source, name, ratio, arrived, known, seconds in found.iter_rows():
        assumed = None if known < 2 else 1.0 if arrived else 0.0
        ratios[source, name] = _Failing(
            ratio, assumed if ratio is None else ratio, arrived / seconds if seconds else None
        )
    return ratios


def _new_reasons(frames: Frames) -> dict[tuple[str, str], list[str]]:
    """Return exception classes that were first seen of late.

    What comes soon after the first sight of a source is new to us alone: it is not told of.
    """
    recent = frames.rows(DEAD_LETTERS)
    reasons = (
        recent.filter(pl.col("reasons").is_not_null())
        .explode("reasons")
        .select("source", "name", "observed_at", pl.col("reasons").struct.field("key"))
        .drop_nulls("key")
    )
    if reasons.is_empty():
        return {}
    seen = recent.group_by("source", "name").agg(pl.col("observed_at").min().alias("watched"))
    first = reasons.group_by("source", "name", "key").agg(pl.col("observed_at").min())
    since = frames.at - timedelta(seconds=_NEW_SECONDS)
    found: dict[tuple[str, str], list[str]] = {}
    new = first.join(seen, on=["source", "name"]).filter(
        (pl.col("observed_at") >= since)
        & (pl.col("observed_at") > pl.col("watched") + timedelta(seconds=_NEW_SECONDS))
    )
    for source, name, key in new.select("source", "name", "key").sort("key").iter_rows():
        found.setdefault((source, name), []).append(key)
    return found


CHECKS = (
    dead_letter_ratio,
    dead_letter_age,
    dead_letter_new_reason,
    redrive_stopped,
    dead_letter_retention,
)
