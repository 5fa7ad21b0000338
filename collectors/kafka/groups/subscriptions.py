"""Which of a group's partitions it still reads, by what its members subscribe to."""

from __future__ import annotations

import time
from collections.abc import Collection

import polars as pl

from config.patterns import PatternError, matches_whole

MATCHING_SECONDS = 1.0
"""Most that a poll spends on clients' patterns, in seconds: each is fast, but there may be many."""

_PAIR = ["group", "topic"]


class TopicPatterns:
    """Which topics the patterns of clients match, remembered as long as the topics are the same."""

    def __init__(self) -> None:
        self._topics: frozenset[str] = frozenset()
        self._known: dict[str, list[str]] = {}
        self._asked: set[str] = set()
        self._until = 0.0

    def begin(self, topics: Collection[str]) -> None:
        """Begin a poll: forget what it need not know, and give it its time."""
        now = frozenset(topics)
        kept = self._asked if now == self._topics else ()
        self._known = {pattern: self._known[pattern] for pattern in kept if pattern in self._known}
        self._topics, self._asked = now, set()
        self._until = time.monotonic() + MATCHING_SECONDS

    def matching(self, pattern: str) -> list[str]:
        """Return the topics whose whole name a pattern matches.

        Raises:
            PatternError: It cannot be used.
            TimeoutError: The poll's time is used up; the next one goes on with other patterns.
        """
        self._asked.add(pattern)
        if pattern not in self._known:
            named = []
            for topic in self._topics:
                if time.monotonic() > self._until:
                    raise TimeoutError
                if matches_whole(pattern, topic):
                    named.append(topic)
            self._known[pattern] = named
        return self._known[pattern]


def with_subscriptions(
    rows: pl.DataFrame,
    subscriptions: pl.DataFrame,
    topics: Collection[str],
    patterns: TopicPatterns,
) -> pl.DataFrame:
    """Add ``is_subscribed``.

    A topic counts as read if a member subscribes to it or has one of its partitions. It is null,
    since unknown, for a group without members, for one that only commits (``assign()``), for a
    member that does not say what it reads, for a regular expression that RE2 does not understand,
    and for one that there was no time left for.
    """
    names, unclear = _expanded(subscriptions, topics, patterns)
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
    subscriptions: pl.DataFrame, topics: Collection[str], patterns: TopicPatterns
) -> tuple[pl.DataFrame, list[str]]:
    """Return group and topic, and the groups whose expression cannot be used.

    Kafka itself matches with RE2 (KIP-848).
    """
    pairs = subscriptions.drop_nulls("topic").select(_PAIR)
    found: dict[str, list[str]] = {"group": [], "topic": []}
    unclear = []
    patterns.begin(topics)
    for group, pattern in subscriptions.drop_nulls("pattern").select("group", "pattern").rows():
        try:
            named = patterns.matching(pattern)
        except (PatternError, TimeoutError):
            unclear.append(group)
            continue
        found["group"] += [group] * len(named)
        found["topic"] += named
    schema = {"group": pl.String(), "topic": pl.String()}
    return pl.concat([pairs, pl.DataFrame(found, schema=schema)]), unclear
