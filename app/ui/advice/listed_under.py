"""Which row of a list advice stands in: the same on a group and on its topic is one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, AdviceSeverity, Recommendation, Subject
from scaling.advisers.durability import LOSING_GROUPS, SLOWEST_GROUP
from scaling.advisers.group_evidence import HOT_PARTITIONS
from scaling.advisers.retention import PARTITION, TOPICS

UNDER = "listed_under"
"""The column that names the row which advice stands in."""

_RETENTION = (AdviceKind.DATA_LOST.value, AdviceKind.RETENTION_DEADLINE.value)
_ON_RETENTION = pl.col("kind").is_in(_RETENTION)
_ON_HOT = pl.col("kind").is_in([AdviceKind.HOT_PARTITION.value, AdviceKind.HOT_KEY.value])
_SEVERITIES = tuple(AdviceSeverity)


def with_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with what names the row of a list that each stands in.

    That is its subject's. What is advised on a group and on its topic for one reason stands with
    the group: retention that is too short, where each of the two names the other in its figures;
    and a hot partition, where the group is late on it at least as urgently.

    Args:
        rows: Rows of ``recommendations``.
    """
    own = pl.concat_str("subject_kind", "subject", separator=":")
    of_topics = {**_hot(rows), **_of_retention(rows)}
    keys = [
        (row["subject_kind"], row["subject"], row["kind"]) for row in rows.iter_rows(named=True)
    ]
    place = pl.Series(
        [
            f"{Subject.GROUP}:{of_topics[subject, kind]}"
            if subject_kind == Subject.TOPIC and (subject, kind) in of_topics
            else None
            for subject_kind, subject, kind in keys
        ],
        dtype=pl.String(),
    )
    return rows.with_columns(pl.coalesce(place, own).alias(UNDER))


def _of_retention(rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return under which group advice on topics' retention stands, by topic and kind."""
    given = [from_row(row) for row in rows.filter(_ON_RETENTION).iter_rows(named=True)]
    topics: dict[str, set[str]] = {}
    for one in given:
        if one.subject_kind is Subject.GROUP:
            topics.setdefault(one.subject, set()).update(_topics(one))
    groups = {
        one.subject: group
        for one in given
        if one.subject_kind is Subject.TOPIC
        for group in sorted(_groups(one), reverse=True)
        if one.subject in topics.get(group, ())
    }
    return {(topic, kind): group for topic, group in groups.items() for kind in _RETENTION}


def _hot(rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return under which group advice on topics' hot partitions stands, by topic and kind."""
    given = [from_row(row) for row in rows.filter(_ON_HOT).iter_rows(named=True)]
    urgency = {
        (one.subject, one.kind.value): _SEVERITIES.index(one.severity)
        for one in given
        if one.subject_kind is Subject.TOPIC
    }
    late = sorted(
        ((_SEVERITIES.index(one.severity), one.subject, hot_topics(one)) for one in given),
        key=lambda each: each[:2],
        reverse=True,
    )
    return {
        (topic, kind): group
        for severity, group, topics in late
        for (topic, kind), of_topic in urgency.items()
        if topic in topics and severity <= of_topic
    }


def hot_topics(advice: Recommendation) -> set[str]:
    """Return the topics on whose hot partitions a group is, or would be, late."""
    if advice.subject_kind is not Subject.GROUP:
        return set()
    return {name.rpartition("-")[0] for name in _figures(advice, (HOT_PARTITIONS,))}


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
