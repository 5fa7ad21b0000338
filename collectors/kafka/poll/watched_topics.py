"""The topics of a cluster, and those of them that are watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from collectors.kafka.cluster.metadata import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topics that there are.

    Attributes:
        partitions: Those of the watched topics (``metadata.PARTITIONS_SCHEMA``).
        watched: The watched topics, sorted.
        all: Every topic of the cluster with its id, which changes when it is created anew; None
            before Kafka 2.8.
    """

    partitions: pl.DataFrame
    watched: Sequence[str]
    all: Mapping[str, str | None]

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the broker that leads each partition of a topic; those without one are missing."""
        rows = self.partitions.filter((pl.col("topic") == topic) & pl.col("leader").is_not_null())
        return dict(rows.select("partition", "leader").iter_rows())


def watched_topics(metadata: Metadata, selects: Callable[[str], bool]) -> Topics:
    """Return the topics of a cluster."""
    every = dict(metadata.partitions.select("topic", "topic_id").unique().iter_rows())
    watched = sorted(filter(selects, every))
    partitions = metadata.partitions
    if len(watched) < len(every):
        partitions = partitions.filter(pl.col("topic").is_in(watched))
    return Topics(partitions=partitions, watched=watched, all=every)
