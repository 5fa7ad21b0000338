"""Which row of a list advice stands in: the same on a group and on its topic is one. Pure."""

from __future__ import annotations

import re

import polars as pl

from scaling.advice.model import AdviceKind, Subject

UNDER = "listed_under"
"""The column that names the row which advice stands in."""

_OF_RETENTION = pl.col("kind").is_in(
    [AdviceKind.DATA_LOST.value, AdviceKind.RETENTION_DEADLINE.value]
)

_PARTITION = re.compile(r"-\d+$")
_MARKS = ".,:;()"
"""What may stand around a name in a sentence."""


def with_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with what names the row of a list that each stands in.

    That is its subject's. Retention that is too short is advised on the group that loses messages
    and on the topic: it stands with the group, where each of the two names the other.

    Args:
        rows: Rows of ``recommendations``.
    """
    own = pl.concat_str("subject_kind", "subject", separator=":")
    about = rows.filter(_OF_RETENTION).select("subject_kind", "subject", "reason")
    of_groups, of_topics = (
        dict(about.filter(pl.col("subject_kind") == kind)[:, 1:].iter_rows())
        for kind in (Subject.GROUP, Subject.TOPIC)
    )
    named = {group: _topics(_words(said)) for group, said in of_groups.items()}
    of_topic = {
        topic: group
        for topic, why in of_topics.items()
        for group in sorted(_words(why) & named.keys(), reverse=True)
        if topic in named[group]
    }
    is_folded = (
        _OF_RETENTION
        & (pl.col("subject_kind") == Subject.TOPIC)
        & pl.col("subject").is_in(list(of_topic))
    )
    its_group = pl.col("subject").replace_strict(of_topic, default=None, return_dtype=pl.String())
    place = pl.when(is_folded).then(pl.concat_str(pl.lit(f"{Subject.GROUP}:"), its_group))
    return rows.with_columns(place.otherwise(own).alias(UNDER))


def _words(text: str) -> set[str]:
    return {word.strip(_MARKS) for word in text.split()}


def _topics(words: set[str]) -> set[str]:
    """Return what may be a topic's name: a word, or that without the number of a partition."""
    return words | {_PARTITION.sub("", word) for word in words}
