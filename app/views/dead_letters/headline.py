"""What the page of dead letters says first: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

import polars as pl

from app.style.format import count, listing, per_minute
from app.ui.dead_letter_sources import Source
from app.views.dead_letters.view_model import AFTER_A_POLL, NOTHING_WAITS

NONE_LATELY = "none for 1 min"
"""What is said of a topic of ``stopped_receiving``, whose mean of five minutes is not 0 yet."""
_LATELY = timedelta(minutes=1)
"""As long as alerts count."""


def stopped_receiving(rows: pl.DataFrame, recent: pl.DataFrame) -> list[str]:
    """Return the topics in which nothing arrived in the last minute, but in the four before it.

    Args:
        rows: Rows of ``dead_letter_rows``.
        recent: Rows of ``dead_letters`` of the last minutes.
    """
    at = pl.col("observed_at")
    grew = (
        recent.filter(at >= at.max().over("source", "name") - _LATELY)
        .drop_nulls("log_end")
        .group_by("source", "name")
        .agg(
            pl.col("log_end").max() > pl.col("log_end").min(),
            at.n_unique().alias("polls"),
        )
        .filter(pl.col("polls") > 1, ~pl.col("log_end"))
    )
    received = rows.filter(pl.col("arrival_per_second") > 0)
    return received.join(grew, on=["source", "name"], how="semi")["name"].sort().to_list()


def sentence(
    rows: pl.DataFrame,
    sources: Mapping[str, Source] | None = None,
    stopped: Collection[str] = (),
) -> tuple[str, str]:
    """Return the page's headline and the sentence below it.

    Args:
        rows: Rows of ``dead_letter_rows``.
        sources: What ``dead_letter_sources.of_cluster`` found.
        stopped: What ``stopped_receiving`` found.
    """
    rates = rows["arrival_per_second"].drop_nulls()
    growing = rows.filter(pl.col("arrival_per_second") > 0, ~pl.col("name").is_in(list(stopped)))
    total = rows.height
    if growing.height:
        failing = per_minute(float(growing["arrival_per_second"].sum()))
        title = f"{failing} fail, in {growing.height} of {count(total, 'topic')}"
    elif rates.len() < total:
        title = f"Arrivals of {total - rates.len()} of {count(total, 'dead-letter topic')} unknown"
    elif stopped:
        title = "Nothing fails now"
    else:
        title = f"Nothing fails now: {count(total, 'dead-letter topic')}, no arrivals"
    if stopped:
        mark = ";" if growing.height or rates.len() < total else ":"
        title += f"{mark} {NONE_LATELY} in {listing(sorted(stopped))}"
    parts = []
    owned = rows.filter(pl.col("redrive_group").is_not_null())
    waiting = owned["unprocessed"].drop_nulls()
    if owned.height:
        missing = owned.height - waiting.len()
        number = int(waiting.sum())
        who = count(number, "waits", "wait") if number else NOTHING_WAITS
        text = f"{who} to be redriven" if waiting.len() else ""
        if missing:
            text += f"{', ' if text else ''}{count(missing, 'topic')} with an unknown depth"
        parts.append(text)
    alone = rows.filter(pl.col("redrive_group").is_null())
    if alone.height:
        parts.append(_nobodys(alone))
    is_new = pl.col("arrival_per_second").is_null() & pl.col("log_end").is_not_null()
    if new := rows.filter(is_new).height:
        parts.append(f"what arrives in {count(new, 'topic')} is {AFTER_A_POLL}")
    known = sources or {}
    if halted := [name for name, source in known.items() if source.is_stopped]:
        parts.append(f"nothing can fail into {listing(halted)}: what would is stopped")
    if late := [name for name, source in known.items() if source.catches_up]:
        parts.append(
            f"more than usual may fail into {listing(late)}: a group that reads its origin "
            "catches up"
            if len(late) == 1
            else f"more than usual may fail into {listing(late)}: groups that read their origins "
            "catch up"
        )
    said = "; ".join(parts)
    return title, f"{said[:1].upper()}{said[1:]}." if said else ""


def _nobodys(alone: pl.DataFrame) -> str:
    """Say how much lies in topics that no group redrives."""
    known = alone["retained"].drop_nulls()
    number = int(known.sum())
    lies = count(number, "lies", "lie") if number else "nothing lies"
    topics = f"{count(alone.height, 'topic')} without a redrive group"
    if not known.len():
        return f"how much lies in {topics} is unknown"
    missing = alone.height - known.len()
    of_others = f" ({missing} with an unknown depth)" if missing else ""
    return f"{lies} in {topics}{of_others}{': nobody looks' if number else ''}"
