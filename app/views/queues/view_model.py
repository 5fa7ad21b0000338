"""RabbitMQ's queues, prepared for their page: pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from alerting.inputs.facts import RATE_SECONDS
from alerting.status.model import Status, StatusRules
from app.style import theme
from app.style.columns import NEVER, NONE
from app.style.format import count, exact
from app.style.theme import BadgeStyle
from app.ui.alert_list import CRITICAL, WARNING
from app.ui.group_badges import BADGE_STYLES as GROUP_BADGE_STYLES
from app.ui.incident_rows import labels_of

DROPPED = BadgeStyle(
    word="loses dead letters",
    symbol="●",
    icon=":material/error:",
    colour="red",
    meaning="Its dead-letter exchange leads to no queue: each is lost.",
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
    word="clients poll it",
    symbol="↻",
    icon=":material/sync:",
    colour="gray",
    meaning="No consumer is registered; what is delivered is asked for message by message "
    "(basic.get).",
)
FALLING_BEHIND = GROUP_BADGE_STYLES[Status.FALLING_BEHIND]
UNSURE, OK = theme.UNSURE, theme.OK
BADGE_STYLES = (DROPPED, CRITICAL, WAITING, IDLE, WARNING, FALLING_BEHIND, UNSURE, POLLED, OK)
"""Every status of a queue, the worst first."""
_RANKS = {style: number for number, style in enumerate(BADGE_STYLES)}

RATES = "RabbitMQ's own rate, of its newest samples: of some seconds, not of five minutes."
"""Of what time published, delivered, acknowledged and redelivered messages are."""

HOW_TO_CONFIGURE = """rabbitmq:
  - name: rabbit
    url: http://rabbitmq:15672
    username: headroom            # with the tag "monitoring"
    password: {env: RABBITMQ_PASSWORD}
"""

_DEAD = pl.col("kind") == "dead letter"
DEPTH = pl.col("ready") + pl.col("unacknowledged")
"""What waits: a message that a consumer holds goes back unless it is acknowledged."""
_KNOWN_DEPTH = pl.col("ready").fill_null(0) + pl.col("unacknowledged").fill_null(0)
_IS_STREAM = pl.col("kind") == "stream"
_CERTAIN_ERRORS = 3.0
"""Standard errors of its slope that a rise must exceed: what only swings does so once in hundreds
of polls."""
_FEWEST_POLLS = 3
"""Fewer say nothing of how much they scatter around a line."""
_FALLS_BEHIND = (pl.col("kind") == "plain") & pl.col("grows")
"""Whether more arrives than is consumed; what waits for a retry is not consumed."""


def with_growth(rows: pl.DataFrame, recent: pl.DataFrame) -> pl.DataFrame:
    """Add how fast what waits in each queue grows, over the last five minutes.

    That is the slope of a straight line through its polls. A queue is steady where the line moves
    by no more than they scatter, or where the later half of this time differs from the earlier one,
    on average, by so few messages that they are no trend for a group either.

    Args:
        rows: Rows of ``queues`` of the newest poll.
        recent: Rows of the last minutes, those of the newest poll too.

    Returns:
        Besides the rows: ``growth_per_second``, 0 of a steady queue, ``NEVER`` of a stream, null
        where too few polls tell, or of one half alone; ``grows``, false where that is not known.
    """
    key, at = ("vhost", "queue"), pl.col("observed_at")
    window = timedelta(seconds=RATE_SECONDS)
    newest, depth = at.max(), pl.col("depth")
    is_later = at > newest - window / 2
    seconds = (at - at.first()).dt.total_microseconds() / 1e6
    slope = pl.cov(seconds, depth) / seconds.var()
    later, earlier = (depth.filter(half).mean() for half in ("is_later", ~pl.col("is_later")))
    is_apart = (later - earlier) * slope.sign() > StatusRules().minimum_messages
    fits = pl.corr(seconds, depth) ** 2
    is_certain = fits * (pl.len() - 2) > _CERTAIN_ERRORS**2 * (1 - fits)
    moves = (is_apart & is_certain).fill_null(value=False)
    found = (
        recent.filter(at >= newest - window)
        .with_columns(DEPTH.alias("depth"), is_later.alias("is_later"))
        .drop_nulls("depth")
        .sort("observed_at")
        .group_by(key)
        .agg(
            pl.when(earlier.is_not_null(), pl.len() >= _FEWEST_POLLS)
            .then(pl.when(moves).then(slope).otherwise(0.0))
            .alias("growth_per_second"),
            (moves & (slope > 0)).alias("grows"),
        )
    )
    return rows.join(found, on=key, how="left", maintain_order="left").with_columns(
        pl.when(_IS_STREAM).then(NEVER).otherwise("growth_per_second").alias("growth_per_second"),
        pl.col("grows").fill_null(value=False) & _IS_STREAM.not_(),
    )


def sentence(rows: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it, from rows of ``with_growth``."""
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
    if idle := rows.filter(_state() == _RANKS[IDLE]).height:
        parts.append(f"nobody consumes {count(idle, 'queue')}")
    if behind := rows.filter(_state() == _RANKS[FALLING_BEHIND]).height:
        parts.append(f"{count(behind, 'queue falls', 'queues fall')} behind")
    if unknown:
        parts.append(f"the depth of {count(unknown, 'dead-letter queue')} is unknown")
    title = ", ".join(parts) or "No dead letter waits or is lost"
    virtual_hosts = rows["vhost"].n_unique()
    backlog = rows.filter(~_IS_STREAM)
    missing = backlog["ready"].null_count()
    detail = (
        f"{count(rows.height, 'queue')}"
        + (f" in {count(virtual_hosts, 'virtual host')}: " if virtual_hosts > 1 else ": ")
        + f"{exact(total(backlog, 'ready'))} messages ready, "
        f"{exact(total(backlog, 'unacknowledged'))} unacknowledged"
    )
    if missing:
        detail += f", the depth of {count(missing, 'queue')} unknown"
    return f"{title[0].upper()}{title[1:]}", f"{detail}."


def total(rows: pl.DataFrame, column: str | pl.Expr) -> float | None:
    """Return the sum of what is known of a column; None where nothing is."""
    known = rows.select(column).to_series().drop_nulls()
    return float(known.sum()) if known.len() else None


def held_by(rows: pl.DataFrame) -> str:
    """Say who holds messages that are not acknowledged: how many consumers there are."""
    consumers = total(rows, "consumers")
    if consumers is None:
        return "consumers unknown"
    return f"with {count(int(consumers), 'consumer')}" if consumers else "0 consumers"


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
        rows: Rows of ``with_growth``.
        now: The present.
        alerts: Rows of ``open_alerts`` of this RabbitMQ: a queue is no better than those that fire.
    """
    targets = pl.col("dead_letter_queues").list.join(", ")
    return (
        rows.join(_alerted(alerts), on=["vhost", "queue"], how="left", maintain_order="left")
        .with_columns(
            pl.min_horizontal(_state(), "alerted").alias("rank"),
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
            # RabbitMQ says 0 where nobody consumes: there is no capacity then.
            pl.when(pl.col("consumers") == 0)
            .then(NONE)
            .otherwise("consumer_capacity")
            .alias("consumer_capacity"),
            # A stream has no backlog, so that none is missing.
            *(
                pl.when(_IS_STREAM).then(int(NONE)).otherwise(pl.col(name)).alias(name)
                for name in ("ready", "unacknowledged")
            ),
        )
        .sort("rank", _KNOWN_DEPTH, "vhost", "queue", descending=[False, True, False, False])
        .with_columns(
            pl.col("rank")
            .map_elements(lambda rank: [BADGE_STYLES[rank].label], return_dtype=pl.List(pl.String))
            .alias("status")
        )
    )


def state_of(rows: pl.DataFrame) -> list[BadgeStyle]:
    """Return the status of each row of ``with_growth``, whatever alerts say of it."""
    return [BADGE_STYLES[rank] for rank in rows.select(_state()).to_series()]


def _state() -> pl.Expr:
    """Return the rank of what a row of ``with_growth`` is, whatever alerts say of it."""
    taken = pl.col("deliver_per_second").fill_null(0) > 0
    unread = (pl.col("kind") == "plain") & (pl.col("consumers") == 0)
    return (
        pl.when(pl.col("dead_letter_target_missing"))
        .then(_RANKS[DROPPED])
        .when(_DEAD & (_KNOWN_DEPTH > 0))
        .then(_RANKS[WAITING])
        .when(unread & (_KNOWN_DEPTH > 0) & taken.not_())
        .then(_RANKS[IDLE])
        .when(_FALLS_BEHIND)
        .then(_RANKS[FALLING_BEHIND])
        .when(pl.col("ready").is_null() & _IS_STREAM.not_())
        .then(_RANKS[UNSURE])
        .when(unread & taken)
        .then(_RANKS[POLLED])
        .otherwise(_RANKS[OK])
    )


def _alerted(alerts: pl.DataFrame) -> pl.DataFrame:
    """Return the queues about which an alert fires, and the rank of the worst one."""
    ranks = {"critical": _RANKS[CRITICAL], "warning": _RANKS[WARNING]}
    fires = alerts.filter(
        pl.col("state") == "firing",
        pl.col("recovering_since").is_null(),
        pl.col("severity").is_in(list(ranks)),
    )
    found = [
        (labels.get("vhost"), labels.get("queue"), ranks[row["severity"]])
        for row in fires.iter_rows(named=True)
        if (labels := labels_of(row))
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
