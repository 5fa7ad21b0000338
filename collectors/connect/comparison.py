"""How far a mirror is behind its source cluster: a pure comparison of offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from collectors.connect.answers import Position

BEYOND_END = "copied beyond the end: the source topic was recreated or truncated"
NO_PARTITION = "the source cluster has no such partition any more, or it is not watched"
NO_END = "the end of its log is unknown"
NO_POSITION = "Connect gave no offset"

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """How far a connector has copied, beside where the logs end.

    Attributes:
        ends: The source cluster's log ends, as last reported: topic, partition, log_end.
        beyond: Partitions that had been copied further than ``ends`` before those were read.
    """

    ends: pl.DataFrame
    known: Mapping[Place, int | None]
    replicated: Mapping[Place, int]
    beyond: frozenset[Place]

    def lag(self, position: Position) -> tuple[int | None, int | None, str | None]:
        """Return a partition's log end, its lag, and why one of them is unknown or in doubt.

        The lag is log end - next offset to copy, at least 0.
        """
        place = (position.topic, position.partition)
        end = self.known.get(place)
        if position.replicated is None:
            return end, None, NO_POSITION
        if end is None:
            return None, None, NO_END if place in self.known else NO_PARTITION
        reason = BEYOND_END if position.replicated > end and place in self.beyond else None
        return end, max(0, end - position.replicated), reason


def compare(positions: Sequence[Position], ends: pl.DataFrame, before: Compared | None) -> Compared:
    """Compare what was copied with where the logs end.

    The ends may have been read some seconds before the positions, so that a quick mirror may be
    beyond them. Only a position of the poll before that is beyond newer ends shows that the log
    went backwards.
    """
    rows = ends.filter(pl.col("topic").is_in(list({each.topic for each in positions})))
    known = {
        (topic, partition): end
        for topic, partition, end in rows.select("topic", "partition", "log_end").iter_rows()
    }
    replicated = {
        (each.topic, each.partition): each.replicated
        for each in positions
        if each.replicated is not None
    }
    beyond: frozenset[Place] = frozenset()
    if before is not None and before.ends is ends:
        replicated, beyond = dict(before.replicated), before.beyond
    elif before is not None:
        beyond = frozenset(
            place
            for place, offset in before.replicated.items()
            if (end := known.get(place)) is not None and offset > end
        )
    return Compared(ends=ends, known=known, replicated=replicated, beyond=beyond)
