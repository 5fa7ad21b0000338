"""Which sections a poll has, in the order in which they are collected.

A new section is a module with ``collect`` and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from collectors.kafka.sections import (
    brokers,
    dead_letters,
    group_offsets,
    groups,
    partitions,
    topics,
)
from collectors.kafka.view import View

Section = Callable[[View], Mapping[str, pl.DataFrame]]
"""Returns rows by table, without the columns that every sample has; notes in ``view.problems``
what stayed unknown; raises ``CollectorError`` where nothing could be read."""

SECTIONS: dict[str, Section] = {
    "groups": groups.collect,
    "group_offsets": group_offsets.collect,
    "partitions": partitions.collect,
    "topics": topics.collect,
    "brokers": brokers.collect,
    "dead_letters": dead_letters.collect,
}
