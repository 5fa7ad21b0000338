"""The minutes of history tables, computed by Spark's workers from the samples' files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from lake.schema import Table
from lake.tables import CLUSTER_HISTORY
from spark_metrics.history import CLUSTER_PARTS, NEEDS, Needs, Samples, cluster_parts, minutes
from spark_metrics.rollups import clusters
from spark_metrics.rollups.windows import MINUTE, finished
from spark_metrics.tasks import Files, Share, each_partition, read_samples, spread


@dataclass(frozen=True, slots=True)
class Piece:
    """What one task computes.

    Attributes:
        start: The first minute.
        end: The end of the last minute.
        since: From where samples are read: a difference may reach back before the first minute.
        share: Which series.
        sources: Where the samples are.
    """

    start: datetime
    end: datetime
    since: datetime
    share: Share
    sources: tuple[Files, ...]

    def samples(self, needs: Needs) -> Samples:
        """Read the samples."""
        return {
            files.table.name: read_samples(
                files, needs.columns[files.table.name], self.since, self.end, self.share
            )
            for files in self.sources
        }


def minute_rows(
    spark: SparkSession, table: Table, pieces: Callable[[Needs], list[Piece]]
) -> DataFrame:
    """Return the minutes of a history table, with every column of its definition.

    Args:
        spark: The session.
        table: The table.
        pieces: Says how the work on what is needed is cut.
    """
    if table != CLUSTER_HISTORY:
        needs = NEEDS[table.name]

        def work(piece: Piece) -> pl.DataFrame:
            rows = minutes(table, piece.samples(needs), piece.start, piece.end)
            return in_order(finished(rows, table, MINUTE), table)

        return spread(spark, pieces(needs), work, table.spark_ddl)
    parts = [_parts(spark, needs, pieces(needs)) for needs in CLUSTER_PARTS]

    def whole(rows: pl.DataFrame) -> pl.DataFrame:
        polls = clusters.together([rows])
        return finished(clusters.cluster_minutes(polls), table, MINUTE)

    together = reduce(DataFrame.unionByName, parts).repartition(1)
    return each_partition(together, whole, table.spark_ddl)


def _parts(spark: SparkSession, needs: Needs, pieces: list[Piece]) -> DataFrame:
    def work(piece: Piece) -> pl.DataFrame:
        return cluster_parts(piece.samples(needs), piece.start, piece.end)

    return spread(spark, pieces, work, clusters.PARTS_DDL)


def in_order(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return rows with each series' together, so that a reader of one opens little."""
    series = [name for name in table.key if name not in ("cluster", "grain_seconds")]
    return rows.sort(*[name for name in series if name != "window_start"], "window_start")
