"""Brokers and replication, shaped for their page: pure functions."""

from __future__ import annotations

import polars as pl

from alerting.attention_facts import ClusterFact
from alerting.facts import with_replication
from app import theme
from app.format import count, exact, listing
from app.theme import Look
from app.topictable import REPLICATION, replication_state

UP = Look("up", "✓", ":material/check:", "gray", "The broker answers.")
MISSING = Look("missing", "✖", ":material/cloud_off:", "red", "The broker does not answer.")
UNSURE = theme.UNSURE


def sentence(fact: ClusterFact) -> tuple[str, str]:
    """Return the page's headline and the sentence below it."""
    missing = [str(broker.broker_id) for broker in fact.missing]
    if fact.brokers is None:
        title = "Which brokers are up is unknown"
    elif missing:
        title = (
            f"{'Broker' if len(missing) == 1 else 'Brokers'} {listing(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing"
        )
    else:
        title = "All brokers are up" if fact.brokers > 1 else "The broker is up"
    parts = []
    for number, word in (
        (fact.offline, "without a leader"),
        (fact.under_min_isr, "below min ISR: producers with acks=all are refused"),
        (fact.under_replicated, "under-replicated"),
    ):
        if number is None:
            parts.append(f"how many partitions are {word.split(':')[0]} is unknown")
        elif number:
            parts.append(f"{count(number, 'partition')} {word}")
    if not parts:
        return title, "Every partition has a leader and all its replicas in sync."
    text = "; ".join(parts)
    return title, f"{text[0].upper()}{text[1:]}."


def look(is_alive: bool | None) -> Look:
    """Return how a broker looks."""
    return UNSURE if is_alive is None else UP if is_alive else MISSING


def with_places(partitions: pl.DataFrame) -> pl.DataFrame:
    """Add each partition's state, and its replicas as text.

    Args:
        partitions: Rows of ``partitions`` of the newest poll.
    """
    states = list(REPLICATION)
    return (
        with_replication(partitions)
        .with_columns(replication_state())
        .with_columns(
            pl.col("state")
            .map_elements(lambda state: [REPLICATION[state].label], return_dtype=pl.List(pl.String))
            .alias("label"),
            pl.col("state").replace_strict(states, list(range(len(states)))).alias("order"),
            pl.col("replicas").list.set_difference("in_sync_replicas").alias("lacking"),
        )
        .sort("order", "topic", "partition")
    )


def as_text(column: str) -> pl.Expr:
    """Return a list of brokers as text."""
    return pl.col(column).cast(pl.List(pl.String)).list.join(", ").alias(column)


def by_broker(brokers: pl.DataFrame, partitions: pl.DataFrame) -> pl.DataFrame:
    """Return what each broker holds: leaders, followers, preferred leaders, bytes.

    Args:
        brokers: Rows of ``brokers`` of the newest poll.
        partitions: Rows of ``partitions`` of the newest poll.
    """

    def counted(column: str, name: str) -> pl.DataFrame:
        return (
            partitions.filter(pl.col(column).is_not_null())
            .group_by(pl.col(column).alias("broker_id"))
            .agg(pl.len().cast(pl.Int64).alias(name))
        )

    held = (
        partitions.select(pl.col("replicas").alias("broker_id"))
        .explode("broker_id")
        .drop_nulls()
        .group_by("broker_id")
        .agg(pl.len().cast(pl.Int64).alias("held"))
    )
    rows = brokers.sort("broker_id")
    for part in (counted("leader", "leading"), counted("preferred_leader", "preferred"), held):
        rows = rows.join(part, on="broker_id", how="left")
    filled = [pl.col(name).fill_null(0) for name in ("leading", "preferred", "held")]
    if partitions.is_empty():
        filled = [pl.lit(None, pl.Int64).alias(name) for name in ("leading", "preferred", "held")]
    return rows.with_columns(filled).with_columns(
        (pl.col("held") - pl.col("leading")).alias("following"),
        pl.format("broker {}", "broker_id").alias("name"),
    )


def if_one_more_fails(brokers: pl.DataFrame, partitions: pl.DataFrame) -> pl.DataFrame:
    """Return what would happen if one more broker went: counts, not a forecast.

    Args:
        brokers: Rows of ``brokers`` of the newest poll.
        partitions: Rows of ``partitions`` of the newest poll.

    Returns:
        One row a broker that is up: ``offline`` partitions whose last in-sync replica it is, and
        ``refused`` ones that it would leave below min.insync.replicas (null where a partition's
        in-sync replicas or its setting are unknown).
    """
    found = []
    for broker in brokers.filter(pl.col("is_alive")).sort("broker_id")["broker_id"].to_list():
        after = pl.col("in_sync_replicas").list.set_difference(pl.lit([broker], pl.List(pl.Int32)))
        holds = pl.col("in_sync_replicas").list.contains(broker)
        left = partitions.select(
            (holds & (after.list.len() == 0)).alias("offline"),
            (holds & (after.list.len() < pl.col("min_in_sync_replicas"))).alias("refused"),
        )
        found.append(
            {
                "broker": f"broker {broker}",
                **{
                    name: None if left[name].null_count() else int(left[name].sum())
                    for name in ("offline", "refused")
                },
            }
        )
    return pl.DataFrame(
        found, schema={"broker": pl.String, "offline": pl.Int64, "refused": pl.Int64}
    )


def preferred_share(partitions: pl.DataFrame) -> str:
    """Return how many partitions are led by their preferred replica, in a sentence."""
    known = partitions.filter(pl.col("preferred_leader").is_not_null())
    if known.is_empty():
        return "Preferred leaders are unknown."
    led = int((known["leader"] == known["preferred_leader"]).fill_null(False).sum())
    return f"{exact(led)} of {count(known.height, 'partition')} led by their preferred replica."
