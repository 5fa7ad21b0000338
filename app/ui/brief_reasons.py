"""Why groups do what they do, in the few words that a column of a table has room for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

import polars as pl

from alerting.current.unread import NOT_READ
from alerting.status.model import Status
from alerting.status.on_time import BEYOND_OBJECTIVE, KEEPS_UP, LAG_GROWS
from app.ui.group_badges import BADGE_STYLES


def with_brief_reasons(groups: pl.DataFrame) -> pl.DataFrame:
    """Leave out of each reason what stands in the columns beside it, and a plain "all".

    Those are how late the group is, and its status. A table has little room: of a group that reads
    one topic that needs no name, and where the newest loss was its page says.
    """
    topics = pl.col("topics") if "topics" in groups.columns else pl.lit(None).alias("topics")
    brief = [
        # A column that no row has is left out; one of empty texts would stay.
        _briefly(BADGE_STYLES[Status(status)].word, reason, read or ()) if reason else None
        for status, reason, read in groups.select("status", "reason", topics).iter_rows()
    ]
    return groups.with_columns(pl.Series("reason", brief, dtype=pl.String))


def _briefly(word: str, reason: str, topics: Sequence[str]) -> str:
    reason, not_read, ago = _HOW_LATE.sub("", reason).partition(NOT_READ)
    for long, brief in _BRIEFER:
        reason = long.sub(brief, reason)
    if reason.startswith(_IN_FIGURES):
        reason = f"{reason.partition(':')[0]}."
    if reason.lower().startswith(word.lower()):
        reason = reason[len(word) :].lstrip(",:; ")
    if len(topics) == 1:
        named = partial(_without_topic, topic=topics[0])
        reason = _OF_ONE_ALONE.sub("", _PARTITION.sub(named, reason))
    reason = _ALL_RATES.sub(r"\1.", reason)
    said = _OF_ALL.sub("", reason) + not_read + ago
    return said[:1].upper() + said[1:]


def _without_topic(partition: re.Match[str], topic: str) -> str:
    return f"partition {partition[2]}" if partition[1] == topic else partition[0]


_PARTITION = re.compile(r"(?<![\w.-])([\w.-]+)-(\d+)(?: \(1 of \d+\))?")
_HOW_LATE = re.compile(r"^\d[\d\w ]* behind with [\d,]+ messages?[,:]? ")
_BRIEFER = (
    # How many are lost, in what time, and where: a table has little room.
    (
        re.compile(
            r" messages? lost (?:evenly )?(on .+), in the last (\d+ \w+)"
            r"( or since the last commit)?"
        ),
        r" lost in \2\3, \1",
    ),
    (
        re.compile(r" messages? lost (?:evenly )?(on .+), since the last commit"),
        r" lost since the last commit, \1",
    ),
    (re.compile(r" messages? lost\b"), " lost"),
    (re.compile(r"(?<= lost since )(.+), lately .+\.$"), r"\1."),
    # The lag says how many wait.
    (re.compile(r"(?<=^No commit )(on .+) while [\d,]+ messages? waits? there"), r"\1"),
    (re.compile(r"on 1 of (\d+) partitions? \((\S+)\)"), r"on \2 (1 of \1)"),
)
_OF_ONE_ALONE = re.compile(r"^on (?=partition \d+: )")
_ALL_RATES = re.compile(
    r"^((?:evenly )?on (?:all \d+|both) partitions): \S+ arrive, \S+ (?:consumed|.+ than are .+)\.$"
)
"""The columns beside it have the rates of all."""
_IN_FIGURES = (f"{KEEPS_UP}: ", f"{LAG_GROWS}: ", BEYOND_OBJECTIVE)
"""Lag, time lag and rates say how well a group keeps up that is not late."""
_OF_ALL = re.compile(r"(?:behind )?on (\d+) of \1 partitions?, (?=most)")
