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

_PARTITION = r"(?:-\d+)?"


def with_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with what names the row of a list that each stands in.

    That is its subject's. Retention that is too short is advised on the group that loses messages
    and on the topic: it stands with the group, where each of the two names the other.

    Args:
        rows: Rows of ``recommendations``.
    """
    own = pl.concat_str("subject_kind", "subject", separator=":")
    about = rows.filter(_OF_RETENTION).select("subject_kind", "subject", "reason")
    groups = list(about.filter(pl.col("subject_kind") == Subject.GROUP)[:, 1:].iter_rows())
    topics = list(about.filter(pl.col("subject_kind") == Subject.TOPIC)[:, 1:].iter_rows())
    of_topic: dict[str, str] = {}
    for topic, why in topics:
        for group, said in groups:
            if _names(said, topic, _PARTITION) and _names(why, group):
                of_topic.setdefault(topic, group)
    is_folded = (
        _OF_RETENTION
        & (pl.col("subject_kind") == Subject.TOPIC)
        & pl.col("subject").is_in(list(of_topic))
    )
    its_group = pl.col("subject").replace_strict(of_topic, default=None, return_dtype=pl.String())
    place = pl.when(is_folded).then(pl.concat_str(pl.lit(f"{Subject.GROUP}:"), its_group))
    return rows.with_columns(place.otherwise(own).alias(UNDER))


def _names(text: str, name: str, partition: str = "") -> bool:
    """Return whether a text has a name, and not as a part of another one."""
    found = rf"(?<![\w.-]){re.escape(name)}{partition}(?![\w-]|\.\w)"
    return re.search(found, text) is not None
