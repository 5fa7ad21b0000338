"""Dead letters, prepared for their page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from shlex import quote
from typing import Any

import polars as pl

from alerting.checks.retention_deadline import DeadlineState
from alerting.current.dead_letters import with_deletion
from alerting.current.topics import arrivals
from alerting.inputs.dead_letter_reasons import arrived_by_class
from alerting.inputs.facts import RATE_SECONDS, complete_sum, short_class
from alerting.inputs.frames import KAFKA
from app.data.context import View
from app.data.history import TIME
from app.data.queries import DAY
from app.style.columns import DASH, NONE
from app.style.format import UNKNOWN, brief_time_left, duration, share
from app.ui.incident_order import DEADLINE_SHOWN
from scaling.advisers.retention import ACT_WITHIN_SECONDS

NOTHING_WAITS = "nothing waits"
AFTER_A_POLL = "known after the next poll"
"""When a rate that was seen by one poll alone will be known."""


def origin_rates(partitions: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return how fast messages arrive in each topic, over the time that dead letters are counted.

    Args:
        partitions: Rows of ``partitions`` of the last minutes.
        rows: Rows of ``dead_letter_rows``.

    Returns:
        ``topic`` and ``arrival_per_second``: null where that of a partition is not known.
    """
    end = pl.lit(rows["observed_at"].max())
    start = end - timedelta(seconds=RATE_SECONDS)
    within = partitions.filter(pl.col("observed_at").is_between(start, end))
    key = ["topic", "partition"]
    return (
        within.select(key)
        .unique()
        .join(arrivals(within), on=key, how="left")
        .group_by("topic")
        .agg(complete_sum(pl.col("arrival_per_second")))
    )


def table_rows(
    rows: pl.DataFrame,
    origins: pl.DataFrame,
    readers: pl.DataFrame | None,
    now: datetime,
) -> pl.DataFrame:
    """Add what the table shows: shares, ages, when retention deletes what waits.

    Args:
        rows: Rows of ``dead_letter_rows``.
        origins: Rows of ``origin_rates``.
        readers: Rows of ``readers``; None: who redrives what is not known.
        now: The present.
    """
    waits = pl.coalesce("unprocessed", "retained") != 0
    oldest_at = pl.coalesce("oldest_unprocessed_at", "oldest_retained_at")
    return (
        with_deletion(rows, readers)
        .join(
            origins.select(
                pl.col("topic").alias("origin"), pl.col("arrival_per_second").alias("of_origin")
            ),
            on="origin",
            how="left",
        )
        .with_columns(
            pl.when(pl.col("of_origin") > 0)
            .then(pl.col("arrival_per_second") / pl.col("of_origin"))
            .alias("origin_ratio"),
            # Where nobody redrives, nothing is unprocessed or processed: all that is kept counts.
            pl.when(pl.col("redrive_group").is_null() & pl.col("unprocessed").is_null())
            .then(NONE)
            .otherwise(pl.col("unprocessed").cast(pl.Float64))
            .alias("unprocessed"),
            _unless_none(waits, _seconds(pl.lit(now) - oldest_at)).alias("oldest_seconds"),
            _left_seconds(now).alias("left_seconds"),
        )
        .sort("arrival_per_second", "name", descending=[True, False], nulls_last=True)
    )


def with_reasons(rows: pl.DataFrame, recent: pl.DataFrame) -> pl.DataFrame:
    """Add ``mostly``: the most frequent exception in the headers of a topic, and its share.

    It is what alerts say. Where they have none, since nothing arrived, the newest sample of the
    last minutes that names one counts.

    Args:
        rows: Rows of ``dead_letter_rows``.
        recent: Rows of ``dead_letters`` of the last minutes.
    """
    key = ("source", "name")
    named = (
        recent.filter(pl.col("reasons").list.len() > 0)
        .sort("observed_at")
        .group_by(key)
        .agg(pl.col("reasons").last())
    )
    found = {(source, name): reasons for source, name, reasons in named.iter_rows()}
    said = [
        _in_short(top, part)
        if top is not None and part is not None
        else _mostly(found.get((source, name)), sampled)
        for source, name, sampled, top, part in rows.select(
            *key, "sampled_records", "top_reason", "top_share"
        ).iter_rows()
    ]
    return rows.with_columns(pl.Series("mostly", said, dtype=pl.String))


def _mostly(sample: list[dict[str, Any]] | None, sampled: int | None) -> str | None:
    reasons = reason_rows(pl.DataFrame(schema=_BY_EXCEPTION), sample)
    for reason, part in reasons.select("reason", "share").head(1).iter_rows():
        return _in_short(reason, part)
    return "none named" if sampled else None


def _in_short(reason: str, part: float) -> str:
    return reason if part == 1 else f"{reason}, {share(part)}"


def _left_seconds(now: datetime) -> pl.Expr:
    """Return how soon retention deletes the oldest that waits; ``NONE``: it does not.

    Of what is redriven that is a guess from rates: what is so far away is in time.
    """
    loss, left = pl.col("loss"), _seconds(pl.col("deleted_at") - pl.lit(now))
    is_far = pl.col("is_redriven") & (left > DEADLINE_SHOWN.total_seconds())
    return (
        pl.when(loss == DeadlineState.LOST.value)
        .then(0.0)
        .when((loss == DeadlineState.NONE.value) | is_far)
        .then(NONE)
        .otherwise(left)
    )


def _unless_none(waits: pl.Expr, value: pl.Expr) -> pl.Expr:
    return pl.when(waits.eq_missing(False)).then(NONE).otherwise(value)


def _seconds(length: pl.Expr) -> pl.Expr:
    return (length.dt.total_milliseconds() / 1000).clip(lower_bound=0)


def age_of_oldest(seconds: float | None) -> str:
    """Write the age of the oldest dead letter that waits."""
    return NOTHING_WAITS if seconds == NONE else duration(seconds)


def deleted_in(row: Mapping[str, Any]) -> tuple[str, str, bool]:
    """Say when retention deletes the oldest that waits, in a word and a clause, and if it is near.

    Args:
        row: A row of ``table_rows``.
    """
    left = row["left_seconds"]
    if left is None:
        return UNKNOWN, "by retention", False
    if left != NONE:
        return brief_time_left(left), "by retention", left <= ACT_WITHIN_SECONDS
    if row["oldest_seconds"] == NONE:
        return NOTHING_WAITS, "", False
    return DASH, "redriven in time", False


def by_minute(course: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a chart with what arrives a minute, the unit of dead letters."""
    return course.with_columns((pl.col("arrival_per_second") * 60).alias("arrival_per_minute"))


def why_no_rate(row: Mapping[str, Any]) -> str:
    """Say why it is not known how fast dead letters arrive, or when it will be."""
    if row["log_end"] is not None:
        return AFTER_A_POLL
    return "RabbitMQ does not tell" if row["source"] != KAFKA else "the log end is unknown"


def by_exception(samples: pl.DataFrame, step_seconds: float) -> pl.DataFrame:
    """Return what arrived in one topic by exception, in steps.

    What arrived between two polls is shared out as the exceptions of the records that were sampled
    by the later one: an estimate.

    Args:
        samples: Rows of ``dead_letters`` of one topic.
        step_seconds: Length of a step.

    Returns:
        ``time``, ``class``, ``reason``, ``arrived`` and ``arrival_per_second``.
    """
    step = f"{round(step_seconds)}s"
    arrived = arrived_by_class(samples)
    if arrived.is_empty():
        return pl.DataFrame(schema=_BY_EXCEPTION)
    return (
        arrived.group_by(pl.col("observed_at").dt.truncate(step).alias(TIME), "class")
        .agg(pl.col("arrived").sum())
        .with_columns(
            pl.col("class").map_elements(short_class, return_dtype=pl.String).alias("reason"),
            (pl.col("arrived") / step_seconds).alias("arrival_per_second"),
        )
        .select(_BY_EXCEPTION.names())
        .sort(TIME, "class")
    )


def counted_in(view: View, arrived: pl.DataFrame) -> str:
    """Say what the exceptions of a topic are counted in: ``in the last hour``.

    Args:
        view: The frame of the page.
        arrived: What ``by_exception`` found; where nothing arrived, the newest sample is counted.
    """
    if arrived.is_empty():
        return "in the newest sample"
    if view.range.length <= DAY:
        return view.period
    newest = replace(view.range, length=DAY, label="24 hours")
    return replace(view, range=newest).period


def whole_steps(arrived: pl.DataFrame, samples: pl.DataFrame, step_seconds: float) -> pl.DataFrame:
    """Return the rows of ``by_exception`` without the step that still runs at the newest sample."""
    ends = pl.col(TIME) + timedelta(seconds=step_seconds)
    return arrived.filter(ends <= pl.lit(samples["observed_at"].max()))


def with_nothing(arrived: pl.DataFrame, samples: pl.DataFrame, step_seconds: float) -> pl.DataFrame:
    """Return rows of ``by_exception`` with those of which none came in a step: that is 0, no gap.

    A step in which nobody polled, or in which what arrived names no exception, stays unknown.

    Args:
        arrived: Rows of ``by_exception``.
        samples: The samples that they were made from.
        step_seconds: Length of a step.
    """
    is_named = pl.col("reasons").list.len().fill_null(0) > 0
    known = (
        samples.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .select(
            pl.col("observed_at").dt.truncate(f"{round(step_seconds)}s").alias(TIME),
            pl.col("log_end").diff().alias("more"),
            is_named.alias("is_named"),
        )
        .drop_nulls("more")
        .group_by(TIME)
        .agg(((pl.col("more") <= 0) | pl.col("is_named")).all().alias("is_known"))
        .filter("is_known")
    )
    classes = arrived.select("class", "reason").unique()
    none = (
        known.select(TIME)
        .join(classes, how="cross")
        .join(arrived, on=[TIME, "class"], how="anti")
        .with_columns(arrived=pl.lit(0.0), arrival_per_second=pl.lit(0.0))
    )
    return pl.concat([arrived, none.select(arrived.columns)]).sort(TIME, "class")


_BY_EXCEPTION = pl.Schema(
    {
        TIME: pl.Datetime("us", "UTC"),
        "class": pl.String(),
        "reason": pl.String(),
        "arrived": pl.Float64(),
        "arrival_per_second": pl.Float64(),
    }
)


def reason_rows(arrived: pl.DataFrame, reasons: list[dict[str, Any]] | None) -> pl.DataFrame:
    """Return the exceptions of a topic, the most frequent first.

    Args:
        arrived: What ``by_exception`` found in the range; where nothing arrived, the records that
            were sampled last are counted.
        reasons: ``reasons`` of the newest row of ``dead_letters``.
    """
    counted = arrived.group_by("class").agg(pl.col("arrived").sum().round().alias("messages"))
    if counted.is_empty():
        entries = reasons or []
        counted = pl.DataFrame(
            {
                "class": [entry["key"] for entry in entries],
                "messages": [float(entry["value"] or 0) for entry in entries],
            },
            schema={"class": pl.String, "messages": pl.Float64},
        )
    total = pl.col("messages").sum()
    return counted.select(
        pl.col("class").map_elements(short_class, return_dtype=pl.String).alias("reason"),
        "class",
        "messages",
        pl.when(total > 0).then(pl.col("messages") / total).alias("share"),
    ).sort("messages", "class", descending=[True, False])


def record_rows(row: dict[str, Any]) -> pl.DataFrame:
    """Return the newest and oldest record of the sample: where they lie, what their headers say."""
    found = []
    for which in ("newest", "oldest"):
        known = {entry["key"]: entry["value"] for entry in row.get(f"{which}_record") or ()}
        if known:
            at = known.get("timestamp")
            found.append(
                {
                    "which": which,
                    "at": None if at is None else datetime.fromisoformat(at),
                    "partition": int(known["partition"]),
                    "offset": int(known["offset"]),
                    "reason": short_class(known["reason"]) if known.get("reason") else None,
                    "class": known.get("reason"),
                    "origin": known.get("origin"),
                }
            )
    return pl.DataFrame(found, schema=_RECORDS)


_RECORDS = pl.Schema(
    {
        "which": pl.String(),
        "at": pl.Datetime("us", "UTC"),
        "partition": pl.Int64(),
        "offset": pl.Int64(),
        "reason": pl.String(),
        "class": pl.String(),
        "origin": pl.String(),
    }
)


def look_command(topic: str, partition: int, offset: int) -> str:
    """Return the command that prints one record with its headers, for a person to run."""
    return (
        f"kafka-console-consumer.sh --bootstrap-server BROKER:9092 --topic {quote(topic)} "
        f"--partition {partition} --offset {offset} --max-messages 1 "
        "--property print.headers=true --property print.value=false"
    )


def what_to_do(row: dict[str, Any]) -> str:
    """Return what a person does next about a dead-letter topic, by where its letters come from."""
    name = row["name"]
    if row["redrive_group"]:
        return (
            f"{row['redrive_group']} redrives this topic. Fix the cause first: a redrive before "
            "sends the same messages back."
        )
    if "connect" in (row["found_by"] or "") or "connect" in name:
        return (
            "A connector writes here. Read its error in the newest record's headers, fix the "
            "converter or the sink, restart its task, then name a group that redrives the rest."
        )
    return (
        "Nobody reads this topic. Look at the reasons, then name a redrive group in "
        "dead_letters.redrive_groups of the configuration, so that its depth is known."
    )
