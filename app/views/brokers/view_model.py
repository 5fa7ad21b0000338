"""Brokers and replication, prepared for their page: pure functions."""

from __future__ import annotations

import polars as pl

from app.style import theme
from app.style.format import count, exact, listing
from app.style.theme import BadgeStyle
from app.ui.topic_list import REPLICATION
from lake.schemas.current import CLUSTER_STATUS

UP = BadgeStyle("up", "✓", ":material/check:", "gray", "The broker answers.")
MISSING = BadgeStyle("missing", "✖", ":material/cloud_off:", "red", "The broker does not answer.")
UNSURE = theme.UNSURE


def sentence(cluster: pl.DataFrame) -> tuple[str, str]:
    """Return the page's headline and the sentence below it."""
    fact = (
        cluster.row(0, named=True)
        if cluster.height
        else dict.fromkeys(CLUSTER_STATUS.polars_schema)
    )
    missing = [str(broker) for broker in fact["missing_brokers"] or ()]
    if fact["brokers"] is None:
        title = "Which brokers are up is unknown"
    elif missing:
        title = (
            f"{'Broker' if len(missing) == 1 else 'Brokers'} {listing(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing"
        )
    else:
        title = "All brokers are up" if fact["brokers"] > 1 else "The broker is up"
    parts = []
    for number, word in (
        (fact["offline"], "without a leader"),
        (fact["under_min_isr"], "below min ISR: producers with acks=all are refused"),
        (fact["under_replicated"], "under-replicated"),
    ):
        if number is None:
            parts.append(f"how many partitions are {word.split(':')[0]} is unknown")
        elif number:
            parts.append(f"{count(number, 'partition')} {word}")
    if not parts:
        return title, "Every partition has a leader and all its replicas in sync."
    text = "; ".join(parts)
    return title, f"{text[0].upper()}{text[1:]}."


def badge_style(is_alive: bool | None) -> BadgeStyle:
    """Return how a broker looks."""
    return UNSURE if is_alive is None else UP if is_alive else MISSING


def with_labels(partitions: pl.DataFrame) -> pl.DataFrame:
    """Add how each partition at risk looks, and which replicas lack."""
    labels = {state: badge_style.label for state, badge_style in REPLICATION.items()}
    return partitions.with_columns(
        pl.concat_list(pl.col("replication").replace_strict(labels, default="unknown")).alias(
            "label"
        ),
        pl.col("replicas").list.set_difference("in_sync_replicas").alias("lacking"),
    )


def as_text(column: str) -> pl.Expr:
    """Return a list of brokers as text."""
    return pl.col(column).cast(pl.List(pl.String)).list.join(", ").alias(column)


def with_names(brokers: pl.DataFrame) -> pl.DataFrame:
    """Add each broker's name and how many replicas follow on it."""
    return brokers.sort("broker_id").with_columns(
        (pl.col("replicas") - pl.col("leaders")).alias("followers"),
        pl.format("broker {}", "broker_id").alias("name"),
    )


def preferred_share(cluster: pl.DataFrame) -> str:
    """Return how many partitions are led by their preferred replica, in a sentence."""
    row = cluster.row(0, named=True) if cluster.height else {}
    led, partitions = row.get("preferred_led"), row.get("partitions")
    if led is None or partitions is None:
        return "Preferred leaders are unknown."
    return f"{exact(led)} of {count(partitions, 'partition')} led by their preferred replica."
