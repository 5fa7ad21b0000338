"""Which row of a list advice stands in: the same on a group and on its topic is one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, Recommendation, Subject
from scaling.advisers.durability import LOSING_GROUPS, SLOWEST_GROUP
from scaling.advisers.retention import PARTITION, TOPICS

UNDER = "listed_under"
"""The column that names the row which advice stands in."""

_OF_RETENTION = pl.col("kind").is_in(
    [AdviceKind.DATA_LOST.value, AdviceKind.RETENTION_DEADLINE.value]
)


def with_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with what names the row of a list that each stands in.

    That is its subject's. Retention that is too short is advised on the group that loses messages
    and on the topic: it stands with the group, where each of the two names the other in its
    figures.

    Args:
        rows: Rows of ``recommendations``.
    """
    own = pl.concat_str("subject_kind", "subject", separator=":")
    given = [from_row(row) for row in rows.filter(_OF_RETENTION).iter_rows(named=True)]
    topics: dict[str, set[str]] = {}
    for one in given:
        if one.subject_kind is Subject.GROUP:
            topics.setdefault(one.subject, set()).update(_topics(one))
    of_topic = {
        one.subject: group
        for one in given
        if one.subject_kind is Subject.TOPIC
        for group in sorted(_groups(one), reverse=True)
        if one.subject in topics.get(group, ())
    }
    is_folded = (
        _OF_RETENTION
        & (pl.col("subject_kind") == Subject.TOPIC)
        & pl.col("subject").is_in(list(of_topic))
    )
    its_group = pl.col("subject").replace_strict(of_topic, default=None, return_dtype=pl.String())
    place = pl.when(is_folded).then(pl.concat_str(pl.lit(f"{Subject.GROUP}:"), its_group))
    return rows.with_columns(place.otherwise(own).alias(UNDER))


def _topics(of_group: Recommendation) -> set[str]:
    """Return the topics of which a group loses messages, or will."""
    partitions = _figures(of_group, (PARTITION,))
    return {*_figures(of_group, (TOPICS,)), *(one.rpartition("-")[0] for one in partitions)}


def _groups(of_topic: Recommendation) -> set[str]:
    """Return the groups that lose messages of a topic, or come next to it."""
    is_lost = of_topic.kind is AdviceKind.DATA_LOST
    return set(_figures(of_topic, (LOSING_GROUPS if is_lost else SLOWEST_GROUP,)))


def _figures(advice: Recommendation, names: Collection[str]) -> Iterator[str]:
    for one in advice.evidence:
        if one.name in names and one.value is not None:
            yield from str(one.value).split(", ")
