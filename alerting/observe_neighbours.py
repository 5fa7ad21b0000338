"""What checks see of dead letters, Kafka Connect and RabbitMQ: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

import polars as pl

from alerting.facts import dead_letter_rows, short_class
from alerting.frames import Frames, unix
from alerting.rules import Observation
from alerting.samples import GroupStatus, Status
from alerting.windows import GroupKey
from alerting.words import duration, messages, plural, rate
from lake.tables import CONNECTOR_TASKS, CONNECTORS, DEAD_LETTERS, QUEUES, TOPICS

_RATIO_SECONDS = 60.0
"""Over how long the share of dead letters is taken: at least this, and at least four polls."""

_NEW_SECONDS = 900.0
"""An exception class is new for this long."""

_NOT_WORKING = frozenset({Status.STOPPED, Status.STALLED})


def dead_letter_observations(
    frames: Frames, statuses: Mapping[GroupKey, GroupStatus]
) -> Iterable[Observation]:
    """Return what there is to say of dead-letter topics and queues."""
    recent = frames.rows(DEAD_LETTERS)
    if frames.newest(DEAD_LETTERS).is_empty():
        return
    topics = frames.rows(TOPICS).sort("observed_at").unique("topic", keep="last")
    ratios = _ratios(frames, recent)
    new = _new_reasons(frames, recent)
    for row in dead_letter_rows(recent, topics).iter_rows(named=True):
        key = (row["source"], row["name"])
        labels = {"cluster": frames.cluster, "source": row["source"], "name": row["name"]}
        origin = f" of {row['origin']}" if row["origin"] else ""
        mostly = f", mostly {row['top_reason']}" if row["top_reason"] else ""
        arriving = row["arrival_per_second"]
        related = {"group": row["redrive_group"]} if row["redrive_group"] else {}
        ratio = ratios.get(key)
        share = f"{ratio:.2%}{origin} fail" if ratio is not None else f"Messages{origin} fail"
        yield Observation(
            "dead_letter_ratio",
            labels,
            ratio,
            f"Dead letters arrive in {row['name']}",
            f"{share}{mostly}"
            + (f"; {rate(arriving)} arrive" if arriving else "")
            + ("." if row["redrive_group"] else "; nobody redrives them."),
            None,
            row["top_reason"] or "",
            "Look at the reasons, fix the cause, then redrive."
            if row["redrive_group"]
            else "Look at the reasons and decide who redrives them.",
            "dead_letters",
            related=related,
        )
        if key in new:
            classes = ", ".join(short_class(name) for name in new[key])
            yield Observation(
                "dead_letter_new_reason",
                labels,
                float(len(new[key])),
                f"{row['name']} has a new reason: {classes}",
                f"{plural(len(new[key]), 'exception class', 'exception classes')} not seen in the "
                "day before.",
                None,
                "A deploy, or a message of a new shape.",
                "Look at the newest dead letters, and at what was deployed.",
                "dead_letters",
                related=related,
            )
        yield from _redrive(frames, labels, row, statuses, related)
        if row["retention_seconds"] is not None:
            kept = row["retention_seconds"]
            yield Observation(
                "dead_letter_retention",
                labels,
                kept,
                f"{row['name']} keeps dead letters for {duration(kept)} only",
                "What nobody has looked at by then is gone.",
                None,
                "The topic has the retention of an ordinary one.",
                "Raise retention.ms above the longest time until somebody looks.",
                "dead_letters",
                related=related,
            )


def _redrive(
    frames: Frames,
    labels: Mapping[str, str],
    row: Mapping[str, object],
    statuses: Mapping[GroupKey, GroupStatus],
    related: Mapping[str, str],
) -> Iterable[Observation]:
    group, waiting = row["redrive_group"], row["unprocessed"]
    if group is None:
        return
    oldest = unix(row["oldest_unprocessed_at"])
    age = 0.0 if waiting == 0 else None if oldest is None else max(0.0, frames.now - oldest)
    number = messages(waiting) if isinstance(waiting, int) else "an unknown number of messages"
    yield Observation(
        "dead_letter_age",
        labels,
        age,
        f"The oldest dead letter in {row['name']} is {duration(age or 0.0)} old",
        f"{number} wait for {group}.",
        oldest,
        "Its redrive group is slow, stopped, or fails on them again.",
        f"See what {group} does.",
        "dead_letters",
        related=related,
    )
    status = statuses.get(GroupKey(frames.cluster, str(group)))
    if status is not None and (status.status in _NOT_WORKING or waiting is None):
        yield Observation(
            "redrive_stopped",
            labels,
            float(waiting) if isinstance(waiting, int) else None,
            f"Nobody redrives {row['name']}",
            f"{number} wait; {group}: {status.reason}",
            status.since,
            "The redrive group's consumers are gone or stuck.",
            f"Start {group}, or look at its log.",
            "dead_letters",
            status=status.status.value,
            related=related,
        )


def _ratios(frames: Frames, recent: pl.DataFrame) -> dict[tuple[str, str], float | None]:
    """Return the share of messages that fail, over the last polls.

    Where the origin is unknown and dead letters arrive, all of the unknown share is taken: nobody
    can say that they are few.
    """
    length = max(_RATIO_SECONDS, 4 * frames.interval_seconds)
    window = recent.filter(pl.col("observed_at") >= frames.at - timedelta(seconds=length))
    held = pl.coalesce("log_end", "retained")
    found = (
        window.sort("observed_at")
        .group_by("source", "name")
        .agg(
            pl.col("arrival_ratio").mean().alias("ratio"),
            held.diff().clip(lower_bound=0).sum().alias("arrived"),
            held.drop_nulls().len().alias("known"),
        )
    )
    ratios: dict[tuple[str, str], float | None] = {}
    for source, name, ratio, arrived, known in found.iter_rows():
        if ratio is None:
            ratio = None if known < 2 else 1.0 if arrived else 0.0
        ratios[source, name] = ratio
    return ratios


def _new_reasons(frames: Frames, recent: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Return exception classes that were first seen of late, where there is an earlier time."""
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


def connect_observations(frames: Frames) -> Iterable[Observation]:
    """Return what there is to say of connectors and their tasks."""
    rows = frames.rows(CONNECTORS)
    # Connect clusters are polled at moments of their own.
    newest = rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over("connect"))
    tasks = frames.rows(CONNECTOR_TASKS)
    for row in newest.iter_rows(named=True):
        labels = {
            "cluster": frames.cluster,
            "connect": row["connect"],
            "connector": row["connector"],
        }
        related = {"group": row["group"]} if row["group"] else {}
        failed = tasks.filter(
            (pl.col("connect") == row["connect"])
            & (pl.col("connector") == row["connector"])
            & (pl.col("poll_id") == row["poll_id"])
            & (pl.col("state") == "FAILED")
        )
        error = row["error"] or next(iter(failed["error"].drop_nulls()), None)
        why = f"{error.rstrip('.')}." if error else "The worker gave no reason."
        if row["state"] is None or row["state"] == "FAILED":
            yield Observation(
                "connector_failed",
                labels,
                None if row["state"] is None else 1.0,
                f"Connector {row['connector']} failed",
                why,
                None,
                error or "",
                "Mend what it says, then restart it; the Connect page has the command.",
                "connect",
                related=related,
            )
        count = row["tasks_failed"]
        yield Observation(
            "tasks_failed",
            labels,
            None if count is None else float(count),
            f"{plural(count or 0, 'task')} of {row['connector']} failed",
            why,
            None,
            error or "",
            "Mend what it says, then restart the failed tasks; the Connect page has the command.",
            "connect",
            related=related,
        )


def queue_observations(frames: Frames) -> Iterable[Observation]:
    """Return what there is to say of RabbitMQ's queues."""
    for row in frames.newest(QUEUES).iter_rows(named=True):
        labels = {
            "cluster": frames.cluster,
            "vhost": row["vhost"] or "",
            "queue": row["queue"],
        }
        name = row["queue"]
        if row["dead_letter_target_missing"]:
            yield Observation(
                "queue_target_missing",
                labels,
                1.0,
                f"{name} loses its dead letters",
                f"Its dead-letter exchange {row['dead_letter_exchange'] or '(default)'} leads to "
                "no queue: what dies is lost without a trace.",
                None,
                "The dead-letter queue or its binding was never made, or deleted.",
                "Create the queue and bind it to the exchange.",
                "queues",
            )
        if row["kind"] != "plain":
            continue
        ready = row["ready"]
        yield Observation(
            "queue_backlog",
            labels,
            None if ready is None else float(ready),
            f"{messages(ready or 0)} wait in {name}",
            f"{rate(row['publish_per_second'] or 0.0)} are published, "
            f"{rate(row['deliver_per_second'] or 0.0)} delivered.",
            None,
            "Its consumers are too slow or too few.",
            "See consumers and their capacity on the Queues page.",
            "queues",
        )
        taken = (row["deliver_per_second"] or 0.0) > 0
        waiting = None if ready is None else ready + (row["unacknowledged"] or 0)
        if row["consumers"] == 0 and not taken:
            yield Observation(
                "queue_no_consumers",
                labels,
                None if waiting is None else float(waiting),
                f"Nobody consumes {name}",
                f"{messages(waiting or 0)} wait.",
                None,
                "Its consumers are stopped or cannot connect.",
                "Start its consumers.",
                "queues",
            )
