"""What checks see of dead letters, Kafka Connect and RabbitMQ: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import polars as pl

from alerting.checks.model import Check, CheckInput, Observation
from alerting.inputs.facts import dead_letter_rows, short_class
from alerting.inputs.frames import KAFKA, Frames, unix
from alerting.inputs.windows import GroupKey
from alerting.status.model import Status
from alerting.status.phrases import duration, messages, plural, rate
from lake.schemas.tables import (
    CONNECTOR_TASKS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    QUEUES,
    TOPICS,
)

_RATIO_SECONDS = 60.0
"""Over how long the share of dead letters is taken: at least this, and at least four polls."""

_NEW_SECONDS = 900.0
"""An exception class is new for this long."""

_NOT_WORKING = frozenset({Status.STOPPED, Status.STALLED})


@partial(
    Check,
    name="dead_letter_ratio",
    unit="ratio",
    meaning="messages that fail, of those that arrive in the main topic",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_ratio(given: CheckInput) -> Iterable[Observation]:
    """Return how many messages of each origin fail, of those that arrive."""
    frames = given.frames
    if frames.newest(DEAD_LETTERS).is_empty():
        return
    ratios = _ratios(frames)
    no_topics = pl.DataFrame(schema=TOPICS.polars_schema)
    for row in dead_letter_rows(frames.rows(DEAD_LETTERS), no_topics).iter_rows(named=True):
        origin = f" of {row['origin']}" if row["origin"] else ""
        mostly = f", mostly {row['top_reason']}" if row["top_reason"] else ""
        arriving, ratio = row["arrival_per_second"], ratios.get((row["source"], row["name"]))
        share = f"{ratio:.2%}{origin} fail" if ratio is not None else f"Messages{origin} fail"
        yield Observation(
            check="dead_letter_ratio",
            labels=_labels(given, row),
            value=ratio,
            what=f"Dead letters arrive in {row['name']}",
            detail=f"{share}{mostly}"
            + (f"; {rate(arriving)} arrive" if arriving else "")
            + ("." if row["redrive_group"] else "; nobody redrives them."),
            cause=row["top_reason"] or "",
            step="Look at the reasons, fix the cause, then redrive."
            if row["redrive_group"]
            else "Look at the reasons and decide who redrives them.",
            page="dead_letters",
            related=_related(row),
        )


@partial(
    Check,
    name="dead_letter_new_reason",
    unit="classes",
    meaning="exception classes not seen in the day before",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_new_reason(given: CheckInput) -> Iterable[Observation]:
    """Return where exception classes are new; unknown where no headers could be read."""
    new = _new_reasons(given.frames)
    for row in _dead_letters(given):
        found = new.get((row["source"], row["name"]), [])
        if not found and row["reasons"] is not None:
            continue
        classes = ", ".join(short_class(name) for name in found)
        yield Observation(
            check="dead_letter_new_reason",
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


@partial(
    Check,
    name="dead_letter_retention",
    unit="seconds",
    meaning="how long a dead-letter topic keeps a message",
    labels=("source", "name"),
    bad="below",
    sources=(DEAD_LETTERS, TOPICS),
)
def dead_letter_retention(given: CheckInput) -> Iterable[Observation]:
    """Return how long each dead-letter topic keeps a message."""
    for row in _dead_letters(given):
        if row["source"] != KAFKA:
            continue
        topic = given.topics.get(row["name"])
        kept = None if topic is None else topic["retention_seconds"]
        if topic is not None and kept is None and topic["unknown_reason"] is None:
            continue  # it keeps everything
        yield Observation(
            check="dead_letter_retention",
            labels=_labels(given, row),
            value=kept,
            what=f"{row['name']} keeps dead letters for {duration(kept or 0.0)} only",
            detail="What nobody has looked at by then is gone.",
            cause="The topic has the retention of an ordinary one.",
            step="Raise retention.ms above the longest time until somebody looks.",
            page="dead_letters",
            related=_related(row),
        )


@partial(
    Check,
    name="dead_letter_age",
    unit="seconds",
    meaning="age of the oldest dead letter that its redrive group has not read",
    labels=("source", "name"),
    sources=(DEAD_LETTERS,),
)
def dead_letter_age(given: CheckInput) -> Iterable[Observation]:
    """Return how old the oldest dead letter is that its redrive group has not read."""
    for row in _dead_letters(given):
        group, waiting = row["redrive_group"], row["unprocessed"]
        if group is None:
            continue
        oldest = unix(row["oldest_unprocessed_at"])
        age = None if oldest is None else max(0.0, given.frames.now - oldest)
        yield Observation(
            check="dead_letter_age",
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


@partial(
    Check,
    name="redrive_stopped",
    unit="messages",
    meaning="dead letters that wait while their redrive group does not work",
    labels=("source", "name"),
    sources=(DEAD_LETTERS, GROUPS, GROUP_OFFSETS),
)
def redrive_stopped(given: CheckInput) -> Iterable[Observation]:
    """Return where dead letters wait for a redrive group that does not work."""
    for row in _dead_letters(given):
        group, waiting = row["redrive_group"], row["unprocessed"]
        if group is None or waiting == 0:
            continue
        labels = _labels(given, row)
        status = given.statuses.get(GroupKey(given.frames.cluster, group))
        if status is None or status.status is Status.UNKNOWN:
            yield Observation(check="redrive_stopped", labels=labels, value=None)
        elif status.status in _NOT_WORKING or waiting is None:
            yield Observation(
                check="redrive_stopped",
                labels=labels,
                value=None if waiting is None else float(waiting),
                what=f"Nobody redrives {row['name']}",
                detail=f"{_number(waiting)} wait; {group}: {status.reason}",
                since=status.since,
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


def _number(waiting: int | None) -> str:
    return "an unknown number of messages" if waiting is None else messages(waiting)


def _ratios(frames: Frames) -> dict[tuple[str, str], float | None]:
    """Return the share of messages that fail, over the last polls.

    Where dead letters arrive and the arrivals of the origin are unknown, the ratio is 1: nobody can
    say that they are few.
    """
    length = max(_RATIO_SECONDS, 4 * frames.interval_seconds)
    since = frames.at - timedelta(seconds=length)
    window = frames.rows(DEAD_LETTERS).filter(pl.col("observed_at") >= since)
    held = pl.coalesce("log_end", "retained")
    found = (
        window.sort("observed_at")
        .group_by("source", "name")
        .agg(
            pl.col("arrival_ratio").mean().alias("ratio"),
            held.drop_nulls().diff().clip(lower_bound=0).sum().alias("arrived"),
            held.drop_nulls().len().alias("known"),
        )
    )
    ratios: dict[tuple[str, str], float | None] = {}
    for source, name, ratio, arrived, known in found.iter_rows():
        if ratio is None:
            ratio = None if known < 2 else 1.0 if arrived else 0.0
        ratios[source, name] = ratio
    return ratios


def _new_reasons(frames: Frames) -> dict[tuple[str, str], list[str]]:
    """Return exception classes that were first seen of late, where there is an earlier time."""
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
        (pl.col("observed_at") >= since) & (pl.col("watched") < since)
    )
    for source, name, key in new.select("source", "name", "key").sort("key").iter_rows():
        found.setdefault((source, name), []).append(key)
    return found


@partial(
    Check,
    name="connector_failed",
    unit="1",
    meaning="1 while a connector has failed",
    labels=("connect", "connector"),
    sources=(CONNECTORS, CONNECTOR_TASKS),
)
def connector_failed(given: CheckInput) -> Iterable[Observation]:
    """Return the connectors that failed, or of which nothing is known."""
    for row, error in _connectors(given):
        if row["state"] not in (None, "FAILED"):
            continue
        yield Observation(
            check="connector_failed",
            labels=given.labels(connect=row["connect"], connector=row["connector"]),
            value=None if row["state"] is None else 1.0,
            what=f"Connector {row['connector']} failed",
            detail=_why(error),
            cause=error or "",
            step="Mend what it says, then restart it; the Connect page has the command.",
            page="connect",
            related=_group(row),
        )


@partial(
    Check,
    name="tasks_failed",
    unit="tasks",
    meaning="failed tasks of a connector",
    labels=("connect", "connector"),
    sources=(CONNECTORS, CONNECTOR_TASKS),
)
def tasks_failed(given: CheckInput) -> Iterable[Observation]:
    """Return how many tasks of each connector failed."""
    for row, error in _connectors(given):
        count = row["tasks_failed"]
        yield Observation(
            check="tasks_failed",
            labels=given.labels(connect=row["connect"], connector=row["connector"]),
            value=None if count is None else float(count),
            what=f"{plural(count or 0, 'task')} of {row['connector']} failed",
            detail=_why(error),
            cause=error or "",
            step="Mend what it says, then restart the failed tasks; the Connect page has the "
            "command.",
            page="connect",
            related=_group(row),
        )


def _connectors(given: CheckInput) -> Iterable[tuple[Mapping[str, Any], str | None]]:
    """Return the newest row of each connector, and the error of it or of its first failed task."""
    key = ("connect", "connector", "poll_id")
    tasks = given.frames.rows(CONNECTOR_TASKS).filter(pl.col("state") == "FAILED")
    failed = tasks.drop_nulls("error").reverse()
    errors = {tuple(found[:3]): found[3] for found in failed.select(*key, "error").iter_rows()}
    for row in given.frames.newest(CONNECTORS).iter_rows(named=True):
        yield row, row["error"] or errors.get(tuple(row[name] for name in key))


def _why(error: str | None) -> str:
    return f"{error.rstrip('.')}." if error else "The worker gave no reason."


def _group(row: Mapping[str, Any]) -> dict[str, str]:
    return {"group": row["group"]} if row["group"] else {}


@partial(
    Check,
    name="queue_target_missing",
    unit="1",
    meaning="1 while a queue's dead letters go nowhere and are lost",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
)
def queue_target_missing(given: CheckInput) -> Iterable[Observation]:
    """Return the queues whose dead letters go nowhere."""
    for row in given.frames.newest(QUEUES).iter_rows(named=True):
        is_missing, exchange = row["dead_letter_target_missing"], row["dead_letter_exchange"]
        may_be = is_missing is None and bool(exchange is not None or row["unknown_reason"])
        if not is_missing and not may_be:
            continue
        yield Observation(
            check="queue_target_missing",
            labels=_queue(given, row),
            value=1.0 if is_missing else None,
            what=f"{row['queue']} loses its dead letters",
            detail=f"Its dead-letter exchange {exchange or '(default)'} leads to no queue: what "
            "dies is lost without a trace.",
            cause="The dead-letter queue or its binding was never made, or deleted.",
            step="Create the queue and bind it to the exchange.",
            page="queues",
        )


@partial(
    Check,
    name="queue_backlog",
    unit="messages",
    meaning="messages ready in a queue",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
)
def queue_backlog(given: CheckInput) -> Iterable[Observation]:
    """Return how many messages wait in each queue that is read."""
    for row in _plain_queues(given):
        ready = row["ready"]
        yield Observation(
            check="queue_backlog",
            labels=_queue(given, row),
            value=None if ready is None else float(ready),
            what=f"{messages(ready or 0)} wait in {row['queue']}",
            detail=f"{rate(row['publish_per_second'] or 0.0)} are published, "
            f"{rate(row['deliver_per_second'] or 0.0)} delivered.",
            cause="Its consumers are too slow or too few.",
            step="See consumers and their capacity on the Queues page.",
            page="queues",
        )


@partial(
    Check,
    name="queue_no_consumers",
    unit="messages",
    meaning="messages that wait in a queue without a consumer",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
)
def queue_no_consumers(given: CheckInput) -> Iterable[Observation]:
    """Return what waits in queues without a consumer."""
    for row in _plain_queues(given):
        consumers, ready, taken = row["consumers"], row["ready"], row["unacknowledged"]
        if consumers or (row["deliver_per_second"] or 0.0) > 0:
            continue
        waiting = None if ready is None or consumers is None else ready + (taken or 0)
        yield Observation(
            check="queue_no_consumers",
            labels=_queue(given, row),
            value=None if waiting is None else float(waiting),
            may_be_worse=taken is None,
            what=f"Nobody consumes {row['queue']}",
            detail=f"{messages(waiting or 0)} wait.",
            cause="Its consumers are stopped or cannot connect.",
            step="Start its consumers.",
            page="queues",
        )


def _plain_queues(given: CheckInput) -> Iterable[Mapping[str, Any]]:
    """Return the queues that are neither dead-letter, retry nor stream."""
    plain = pl.col("kind").fill_null("plain") == "plain"
    return given.frames.newest(QUEUES).filter(plain).iter_rows(named=True)


def _queue(given: CheckInput, row: Mapping[str, Any]) -> dict[str, str]:
    return given.labels(vhost=row["vhost"] or "", queue=row["queue"])


CHECKS = (
    dead_letter_ratio,
    dead_letter_age,
    dead_letter_new_reason,
    redrive_stopped,
    dead_letter_retention,
    connector_failed,
    tasks_failed,
    queue_backlog,
    queue_no_consumers,
    queue_target_missing,
)
