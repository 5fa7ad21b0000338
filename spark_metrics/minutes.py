"""The minutes of history tables, computed by Spark's workers from the samples' files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from lake.schemas.grain import Grain
from lake.schemas.tables import CLUSTER_HISTORY
from spark_metrics.history import CLUSTER_PARTS, NEEDS, Needs, Samples, cluster_parts, minutes
from spark_metrics.rollups import clusters
from spark_metrics.rollups.windows import finished
from spark_metrics.sampling import Reader
from spark_metrics.target import WRITTEN_DDL, Target, written
from spark_metrics.tasks import Files, Share, each_partition, spread


@dataclass(frozen=True, slots=True)
class Step:
    """What a task computes at once.

    Attributes:
        start: The first minute, the end of the step before.
        end: The end of the last minute.
        sources: The files with the samples that no step before has read.
    """

    start: datetime
    end: datetime
    sources: tuple[Files, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one task computes, step after step.

    Attributes:
        steps: The steps, without a gap between them.
        reach: How far before a minute a difference may begin.
        share: Which series.
    """

    steps: tuple[Step, ...]
    reach: timedelta
    share: Share

    def samples(self, needs: Needs) -> Iterator[tuple[Step, Samples]]:
        """Read the samples of one step after the other."""
        readers = {
            files.table.name: Reader(
                files.table, needs.columns[files.table.name], self.share, self.reach
            )
            for files in self.steps[0].sources
        }
        for step in self.steps:
            yield (
                step,
                {
                    files.table.name: readers[files.table.name].read(files, step.start, step.end)
                    for files in step.sources
                },
            )


def write_minutes(
    spark: SparkSession, target: Target, pieces: Callable[[Needs], list[Piece]]
) -> DataFrame:
    """Return the files that hold the minutes of a history table; they are yet to be written.

    Args:
        spark: The session.
        target: The table.
        pieces: Says how the work on what is needed is cut.
    """
    table = target.table
    if table != CLUSTER_HISTORY:
        needs = NEEDS[table.name]

        def rows(piece: Piece) -> Iterator[pl.DataFrame]:
            for step, samples in piece.samples(needs):
                yield finished(minutes(table, samples, step.start, step.end), table, Grain.MINUTE)

        return written(spark, target, pieces(needs), rows)
    parts = [_parts(spark, needs, pieces(needs)) for needs in CLUSTER_PARTS]

    def whole(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        polls = clusters.together([rows])
        return target.write([finished(clusters.cluster_minutes(polls), table, Grain.MINUTE)])

    together = reduce(DataFrame.unionByName, parts).repartition(1)
    return each_partition(together, whole, WRITTEN_DDL)


def _parts(spark: SparkSession, needs: Needs, pieces: list[Piece]) -> DataFrame:
    def work(piece: Piece) -> Iterator[pl.DataFrame]:
        for step, samples in piece.samples(needs):
            yield cluster_parts(samples, step.start, step.end)

    return spread(spark, pieces, work, clusters.PARTS_DDL)
