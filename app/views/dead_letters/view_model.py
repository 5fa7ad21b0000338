"""Dead letters, prepared for their page: pure functions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from alerting.inputs.facts import short_class
from app.data.history import TIME
from app.style.format import count, exact, rate


def sentence(rows: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it, from ``dead_letter_rows``."""
    rates = rows["arrival_per_second"].drop_nulls()
    growing = rows.filter(pl.col("arrival_per_second") > 0)
    total = rows.height
    if growing.height:
        title = f"{rate(float(rates.sum()))} fail, in {growing.height} of {count(total, 'topic')}"
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
            _seconds(pl.lit(now) - pl.col("oldest_unprocessed_at")).alias("oldest_seconds"),
            _seconds(pl.col("deleted_at") - pl.lit(now)).alias("left_seconds"),
        )
        .sort("arrival_per_second", "name", descending=[True, False], nulls_last=True)
    )


def _seconds(length: pl.Expr) -> pl.Expr:
    return (length.dt.total_milliseconds() / 1000).clip(lower_bound=0)


def reason_rows(reasons: list[dict[str, Any]] | None) -> pl.DataFrame:
    """Return the exceptions of ``dead_letters.reasons``, the most frequent first."""
    entries = reasons or []
    total = sum(entry["value"] or 0 for entry in entries)
    return pl.DataFrame(
        [
            {
                "reason": short_class(entry["key"]),
                "class": entry["key"],
                "records": entry["value"],
                "share": (entry["value"] or 0) / total if total else None,
            }
            for entry in entries
        ],
        schema={
            "reason": pl.String,
            "class": pl.String,
            "records": pl.Int64,
            "share": pl.Float64,
        },
    ).sort("records", "class", descending=[True, False])


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


def arrivals(history: pl.DataFrame) -> pl.DataFrame:
    """Return the arrivals of each dead-letter topic over time."""
    return history.select(TIME, "name", "arrival_per_second", "retained", "unprocessed")
