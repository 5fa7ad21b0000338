"""Which of a group's partitions it still reads, by what its members subscribe to."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from config.patterns import PatternError, matches_whole

_PAIR = ["group", "topic"]


def with_subscriptions(
    rows: pl.DataFrame, subscriptions: pl.DataFrame, topics: Collection[str]
) -> pl.DataFrame:
    """Add ``is_subscribed``.

    A topic counts as read if a member subscribes to it or has one of its partitions. It is null,
    since unknown, for a group without members, for one that only commits (``assign()``), for a
    member that does not say what it reads, and for a regular expression that RE2 does not
    understand.
    """
    names, unclear = _expanded(subscriptions, topics)
    reported = subscriptions.filter(~pl.col("group").is_in(unclear))["group"].unique()
    named = names.unique().with_columns(pl.lit(True).alias("_named"))
    owned = rows.filter(pl.col("member_id").is_not_null()).select(_PAIR).unique()
    owned = owned.with_columns(pl.lit(True).alias("_owned"))
    return (
        rows.join(named, on=_PAIR, how="left", maintain_order="left")
        .join(owned, on=_PAIR, how="left", maintain_order="left")
        .with_columns(
            pl.when(pl.col("_named").is_not_null() | pl.col("_owned").is_not_null())
            .then(True)
            .when(pl.col("group").is_in(reported.implode()))
            .then(False)
            .alias("is_subscribed")
        )
        .drop("_named", "_owned")
    )


def _expanded(
    subscriptions: pl.DataFrame, topics: Collection[str]
) -> tuple[pl.DataFrame, list[str]]:
    """Return group and topic, and the groups whose expression cannot be used.

    Kafka itself matches with RE2 (KIP-848).
    """
    pairs = subscriptions.drop_nulls("topic").select(_PAIR)
    found: dict[str, list[str]] = {"group": [], "topic": []}
    unclear = []
    for group, pattern in subscriptions.drop_nulls("pattern").select("group", "pattern").rows():
        try:
            named = [topic for topic in topics if matches_whole(pattern, topic)]
        except PatternError:
            unclear.append(group)
            continue
        found["group"] += [group] * len(named)
        found["topic"] += named
    schema = {"group": pl.String(), "topic": pl.String()}
    return pl.concat([pairs, pl.DataFrame(found, schema=schema)]), unclear
