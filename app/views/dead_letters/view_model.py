"""Dead letters, prepared for their page: pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta
from shlex import quote
from typing import Any

import polars as pl

from alerting.inputs.facts import short_class
from app.data.history import TIME
from app.style.format import count, exact, per_minute
from app.ui.tables import NONE


def sentence(rows: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it, from ``dead_letter_rows``."""
    rates = rows["arrival_per_second"].drop_nulls()
    growing = rows.filter(pl.col("arrival_per_second") > 0)
    total = rows.height
    if growing.height:
        failing = per_minute(float(rates.sum()))
        title = f"{failing} fail, in {growing.height} of {count(total, 'topic')}"
    elif rates.len() < total:
        title = f"Arrivals of {total - rates.len()} of {count(total, 'dead-letter topic')} unknown"
    else:
        title = f"Nothing fails now: {count(total, 'dead-letter topic')}, no arrivals"
    parts = []
    owned = rows.filter(pl.col("redrive_group").is_not_null())
    waiting = owned["unprocessed"].drop_nulls()
    if owned.height:
        missing = owned.height - waiting.len()
        text = f"{exact(int(waiting.sum()))} wait to be redriven" if waiting.len() else ""
        if missing:
            text += f"{', ' if text else ''}{count(missing, 'topic')} with an unknown depth"
        parts.append(text)
    alone = rows.filter(pl.col("redrive_group").is_null())
    if alone.height:
        verb = "has" if alone.height == 1 else "have"
        parts.append(f"{count(alone.height, 'topic')} {verb} no redrive group: nobody looks")
    return title, "; ".join(parts) + "." if parts else ""


def table_rows(rows: pl.DataFrame, topics: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Add what the table shows: shares, ages, what is left of the retention.

    Topics (``topic``, ``arrival``) are all of them, for the share of the origin.
    """
    return (
        rows.join(
            topics.select(pl.col("topic").alias("origin"), pl.col("arrival").alias("of_origin")),
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
            pl.coalesce("oldest_unprocessed_at", "oldest_retained_at").alias("oldest_at"),
        )
        .with_columns(
            _seconds(pl.lit(now) - pl.col("oldest_at")).alias("oldest_seconds"),
            _seconds(
                pl.col("oldest_at")
                + pl.duration(microseconds=(pl.col("retention_seconds") * 1e6).cast(pl.Int64))
                - pl.lit(now)
            ).alias("left_seconds"),
        )
        .sort("arrival_per_second", "name", descending=[True, False], nulls_last=True)
    )


def _seconds(length: pl.Expr) -> pl.Expr:
    return (length.dt.total_milliseconds() / 1000).clip(lower_bound=0)


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
    polls = (
        samples.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .select(
            "observed_at",
            "reasons",
            (pl.col("log_end") - pl.col("log_end").shift(1)).clip(lower_bound=0).alias("arrived"),
        )
        .filter(pl.col("arrived") > 0, pl.col("reasons").list.len() > 0)
    )
    if polls.is_empty():
        return pl.DataFrame(schema=_BY_EXCEPTION)
    total = pl.col("records").sum().over("observed_at")
    return (
        polls.explode("reasons")
        .select(
            "observed_at",
            "arrived",
            pl.col("reasons").struct.field("key").alias("class"),
            pl.col("reasons").struct.field("value").alias("records"),
        )
        .with_columns((pl.col("arrived") * pl.col("records") / total).alias("arrived"))
        .group_by(pl.col("observed_at").dt.truncate(step).alias(TIME), "class")
        .agg(pl.col("arrived").sum())
        .with_columns(
            pl.col("class").map_elements(short_class, return_dtype=pl.String).alias("reason"),
            (pl.col("arrived") / step_seconds).alias("arrival_per_second"),
        )
        .select(_BY_EXCEPTION.names())
        .sort(TIME, "class")
    )


def whole_steps(arrived: pl.DataFrame, samples: pl.DataFrame, step_seconds: float) -> pl.DataFrame:
    """Return the rows of ``by_exception`` without the step that still runs at the newest sample."""
    ends = pl.col(TIME) + timedelta(seconds=step_seconds)
    return arrived.filter(ends <= pl.lit(samples["observed_at"].max()))


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
                    "reason": known.get("reason"),
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
