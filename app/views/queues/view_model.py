"""RabbitMQ's queues, prepared for their page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import polars as pl

from app.style import theme
from app.style.format import count, exact
from app.style.theme import BadgeStyle
from app.ui.alert_list import CRITICAL, WARNING
from app.ui.tables import NONE

DROPPED = BadgeStyle(
    word="loses dead letters",
    symbol="●",
    icon=":material/error:",
    colour="red",
    meaning="Its dead-letter exchange leads to no queue: what dies is lost without a trace.",
)
WAITING = BadgeStyle(
    word="dead letters wait",
    symbol="▲",
    icon=":material/mark_email_unread:",
    colour="orange",
    meaning="It holds messages that failed elsewhere.",
)
IDLE = BadgeStyle(
    word="nobody consumes",
    symbol="▲",
    icon=":material/visibility:",
    colour="orange",
    meaning="Messages wait, there is no consumer, and nothing is taken.",
)
POLLED = BadgeStyle(
    word="polled",
    symbol="↻",
    icon=":material/sync:",
    colour="gray",
    meaning="No consumer is registered; what is delivered is asked for message by message "
    "(basic.get).",
)
UNSURE, OK = theme.UNSURE, theme.OK
BADGE_STYLES = (DROPPED, CRITICAL, WAITING, IDLE, WARNING, UNSURE, POLLED, OK)
"""Every status of a queue, the worst first."""

HOW_TO_CONFIGURE = """rabbitmq:
  - name: rabbit
    url: http://rabbitmq:15672
    username: headroom            # with the tag "monitoring"
    password: {env: RABBITMQ_PASSWORD}
"""

_DEAD = pl.col("kind") == "dead letter"
DEPTH = pl.col("ready") + pl.col("unacknowledged")
"""What waits: a message that a consumer holds goes back unless it is acknowledged."""
_IS_STREAM = pl.col("kind") == "stream"


def sentence(rows: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it, from the newest rows of ``queues``."""
    dropping = rows.filter(pl.col("dead_letter_target_missing")).height
    dead = rows.filter(_DEAD)
    waiting = int(total(dead, DEPTH) or 0)
    unknown = dead.select(DEPTH).to_series().null_count()
    parts = []
    if dropping:
        verb = "loses its" if dropping == 1 else "lose their"
        parts.append(f"{count(dropping, 'queue')} {verb} dead letters")
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        parts.append(f"{count(waiting, 'dead letter')} {verb}")
    if unknown:
        parts.append(f"the depth of {count(unknown, 'dead-letter queue')} is unknown")
    title = ", ".join(parts) or "No dead letter waits or is lost"
    virtual_hosts = rows["vhost"].n_unique()
    backlog = rows.filter(~_IS_STREAM)
    missing = backlog["ready"].null_count()
    detail = (
        f"{count(rows.height, 'queue')} in {count(virtual_hosts, 'virtual host')}: "
        f"{exact(total(backlog, 'ready'))} messages ready, "
        f"{exact(total(backlog, 'unacknowledged'))} with a consumer"
    )
    if missing:
        detail += f", the depth of {count(missing, 'queue')} unknown"
    return f"{title[0].upper()}{title[1:]}", f"{detail}."


def total(rows: pl.DataFrame, column: str | pl.Expr) -> float | None:
    """Return the sum of what is known of a column; None where nothing is."""
    known = rows.select(column).to_series().drop_nulls()
    return float(known.sum()) if known.len() else None


def deepest(rows: pl.DataFrame, limit: int) -> list[tuple[str, str]]:
    """Return virtual host and name of the queues with most messages ready; no streams."""
    waiting = rows.filter(~_IS_STREAM).sort(
        "ready", "vhost", "queue", descending=[True, False, False], nulls_last=True
    )
    return waiting.select("vhost", "queue").head(limit).rows()


def with_names(course: pl.DataFrame) -> pl.DataFrame:
    """Add each queue's ``name``; where there are several virtual hosts, it says of which."""
    several = course["vhost"].n_unique() > 1
    name = pl.format("{} ({})", "queue", "vhost") if several else pl.col("queue")
    return course.with_columns(name.alias("name"))


def table_rows(rows: pl.DataFrame, now: datetime, alerts: pl.DataFrame) -> pl.DataFrame:
    """Add what the table shows, the worst first: status, age of the oldest, targets as text.

    Args:
        rows: Rows of ``queues`` of the newest poll.
        now: The present.
        alerts: Rows of ``open_alerts`` of this RabbitMQ: a queue is no better than those that fire.
    """
    depth = pl.col("ready").fill_null(0) + pl.col("unacknowledged").fill_null(0)
    taken = pl.col("deliver_per_second").fill_null(0) > 0
    unread = (pl.col("kind") == "plain") & (pl.col("consumers") == 0)
    rank = {style: number for number, style in enumerate(BADGE_STYLES)}
    status = (
        pl.when(pl.col("dead_letter_target_missing"))
        .then(rank[DROPPED])
        .when(_DEAD & (depth > 0))
        .then(rank[WAITING])
        .when(unread & (depth > 0) & taken.not_())
        .then(rank[IDLE])
        .when(pl.col("ready").is_null() & _IS_STREAM.not_())
        .then(rank[UNSURE])
        .when(unread & taken)
        .then(rank[POLLED])
        .otherwise(rank[OK])
    )
    targets = pl.col("dead_letter_queues").list.join(", ")
    return (
        rows.join(_alerted(alerts, rank), on=["vhost", "queue"], how="left", maintain_order="left")
        .with_columns(
            pl.min_horizontal(status, "alerted").alias("rank"),
            (pl.lit(now) - pl.col("oldest_at"))
            .dt.total_seconds()
            .clip(lower_bound=0)
            .alias("oldest_seconds"),
            pl.when(pl.col("dead_letter_exchange").is_null())
            .then(pl.lit("–"))  # noqa: RUF001 (a dash, read by people)
            .when(pl.col("dead_letter_target_missing"))
            .then(pl.concat_str(pl.lit("nowhere: "), _exchange()))
            .when(pl.col("dead_letter_target_missing").is_null() & (targets != ""))
            .then(pl.concat_str(pl.lit("perhaps "), targets))
            .when(pl.col("dead_letter_target_missing").is_null())
            .then(None)
            .otherwise(targets)
            .alias("goes_to"),
            # A stream has no backlog, so that none is missing.
            *(
                pl.when(_IS_STREAM).then(int(NONE)).otherwise(pl.col(name)).alias(name)
                for name in ("ready", "unacknowledged")
            ),
        )
        .sort("rank", depth, "vhost", "queue", descending=[False, True, False, False])
        .with_columns(
            pl.col("rank")
            .map_elements(lambda rank: [BADGE_STYLES[rank].label], return_dtype=pl.List(pl.String))
            .alias("status")
        )
    )


def _alerted(alerts: pl.DataFrame, rank: Mapping[BadgeStyle, int]) -> pl.DataFrame:
    """Return the queues about which an alert fires, and the rank of the worst one."""
    ranks = {"critical": rank[CRITICAL], "warning": rank[WARNING]}
    found = [
        (labels.get("vhost"), labels.get("queue"), ranks[severity])
        for severity, entries in alerts.filter(
            pl.col("state") == "firing",
            pl.col("recovering_since").is_null(),
            pl.col("severity").is_in(list(ranks)),
        )
        .select("severity", "labels")
        .iter_rows()
        if (labels := {entry["key"]: entry["value"] for entry in entries or ()})
    ]
    schema = {"vhost": pl.String, "queue": pl.String, "alerted": pl.Int32}
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.group_by("vhost", "queue").agg(pl.col("alerted").min())


def _exchange() -> pl.Expr:
    """The exchange and the key of dead letters, as text."""
    name = pl.col("dead_letter_exchange")
    return (
        pl.when(name == "")
        .then(
            pl.concat_str(
                pl.lit("no queue "), pl.col("dead_letter_routing_key").fill_null("of its key")
            )
        )
        .otherwise(pl.concat_str(pl.lit("exchange "), name))
    )
