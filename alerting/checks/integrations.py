"""What checks see of Kafka Connect and RabbitMQ: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from alerting.checks.model import CheckInput, CheckResult, check
from alerting.inputs.facts import since_when, task_failure, without_package
from alerting.inputs.frames import unix
from alerting.status.phrases import messages, plural, rate
from lake.schemas.tables import CONNECTOR_TASKS, CONNECTORS, QUEUES


@check(
    unit="1",
    meaning="1 while a connector has failed",
    labels=("connect", "connector"),
    sources=(CONNECTORS, CONNECTOR_TASKS),
    is_observed=True,
)
def connector_failed(given: CheckInput) -> Iterable[CheckResult]:
    """Return the connectors that failed, or of which nothing is known."""
    for row, error in _connectors(given):
        if row["state"] not in (None, "FAILED"):
            continue
        yield CheckResult(
            labels=given.labels(connect=row["connect"], connector=row["connector"]),
            value=None if row["state"] is None else 1.0,
            what=f"Connector {row['connector']} failed",
            detail=_why(error),
            since=_since(given, row, _HAS_FAILED),
            cause=error or "",
            step="Fix what its error names, then restart it: the Connect page has the command.",
            page="connect",
            related=_group(row),
        )


@check(
    unit="tasks",
    meaning="failed tasks of a connector",
    labels=("connect", "connector"),
    sources=(CONNECTORS, CONNECTOR_TASKS),
    is_observed=True,
)
def tasks_failed(given: CheckInput) -> Iterable[CheckResult]:
    """Return how many tasks of each connector failed."""
    for row, error in _connectors(given):
        count = row["tasks_failed"]
        yield CheckResult(
            labels=given.labels(connect=row["connect"], connector=row["connector"]),
            value=None if count is None else float(count),
            what=f"{plural(count or 0, 'task')} of {row['connector']} failed",
            detail=_why(error),
            since=_since(given, row, _LACKS_TASKS) if count else None,
            cause=error or "",
            step="Fix what their error names, then restart them: the Connect page has the command.",
            page="connect",
            related=_group(row),
        )


def _connectors(given: CheckInput) -> Iterable[tuple[Mapping[str, Any], str | None]]:
    """Return the newest row of each connector, and the error of it or of its first failed task."""
    key = ("connect", "connector", "poll_id")
    tasks = given.frames.rows(CONNECTOR_TASKS).filter(pl.col("state") == "FAILED")
    failed = tasks.drop_nulls("error").reverse().select(*key, task_failure())
    errors = {tuple(found[:3]): found[3] for found in failed.iter_rows()}
    connectors = given.frames.newest(CONNECTORS).with_columns(without_package("error"))
    for row in connectors.iter_rows(named=True):
        yield row, row["error"] or errors.get(tuple(row[name] for name in key))


_HAS_FAILED = pl.col("state") == "FAILED"
_LACKS_TASKS = pl.col("tasks_failed") > 0


def _since(given: CheckInput, row: Mapping[str, Any], is_so: pl.Expr) -> float | None:
    """Return since when something is so of a connector; None where it may be since earlier."""
    of_it = given.frames.rows(CONNECTORS).filter(
        pl.col("connect") == row["connect"], pl.col("connector") == row["connector"]
    )
    return unix(since_when(of_it, is_so))


def _why(error: str | None) -> str:
    return f"{error.rstrip('.')}." if error else "The worker gave no reason."


def _group(row: Mapping[str, Any]) -> dict[str, str]:
    return {"group": row["group"]} if row["group"] else {}


@check(
    unit="1",
    meaning="1 while a queue's dead letters go nowhere and are lost",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
    is_observed=True,
)
def queue_target_missing(given: CheckInput) -> Iterable[CheckResult]:
    """Return the queues whose dead letters go nowhere."""
    for row in given.frames.newest(QUEUES).iter_rows(named=True):
        is_missing, exchange = row["dead_letter_target_missing"], row["dead_letter_exchange"]
        may_be = is_missing is None and bool(exchange is not None or row["unknown_reason"])
        if not is_missing and not may_be:
            continue
        yield CheckResult(
            labels=_queue(given, row),
            value=1.0 if is_missing else None,
            what=f"{row['queue']} loses its dead letters",
            detail=f"Its dead-letter exchange {exchange or '(default)'} leads to no queue: each is "
            "lost.",
            cause="The dead-letter queue or its binding was never made, or deleted.",
            step="Create the queue and bind it to the exchange.",
            page="queues",
        )


@check(
    unit="messages",
    meaning="messages ready in a queue",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
)
def queue_backlog(given: CheckInput) -> Iterable[CheckResult]:
    """Return how many messages wait in each queue that is read."""
    for row in _plain_queues(given):
        ready, delivered = row["ready"], row["deliver_per_second"] or 0.0
        is_polled = row["consumers"] == 0 and delivered > 0
        how = " by basic.get, no consumer is registered" if is_polled else ""
        yield CheckResult(
            labels=_queue(given, row),
            value=None if ready is None else float(ready),
            what=f"{messages(ready or 0)} wait in {row['queue']}",
            detail=f"{rate(row['publish_per_second'] or 0.0)} are published, "
            f"{rate(delivered)} delivered{how}.",
            cause="Its consumers are too slow or too few.",
            step="See consumers and their capacity on the Queues page.",
            page="queues",
        )


@check(
    unit="messages",
    meaning="messages that wait in a queue without a consumer, unless it is polled (basic.get)",
    labels=("vhost", "queue"),
    sources=(QUEUES,),
)
def queue_no_consumers(given: CheckInput) -> Iterable[CheckResult]:
    """Return what waits in queues without a consumer."""
    for row in _plain_queues(given):
        consumers, ready, taken = row["consumers"], row["ready"], row["unacknowledged"]
        if consumers or (row["deliver_per_second"] or 0.0) > 0:
            continue
        waiting = None if ready is None or consumers is None else ready + (taken or 0)
        yield CheckResult(
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
    connector_failed,
    tasks_failed,
    queue_backlog,
    queue_no_consumers,
    queue_target_missing,
)
