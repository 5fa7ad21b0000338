"""The one way in which something is derived from the rows of whole groups, topics or series.

Spark deals the rows of several frames out by what they are about, and a pure function on Polars'
frames gets them on its workers, some whole groups at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from functools import reduce

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake.schemas.model import Table
from spark_metrics.derived.tables import fields
from spark_metrics.samples import map_partitions

Frames = Mapping[str, pl.DataFrame]


def by_group(
    parts: Mapping[str, tuple[DataFrame, str]],
    tasks: int,
    work: Callable[[Frames], pl.DataFrame],
    table: Table,
) -> DataFrame:
    """Return what a function makes of the rows of all groups.

    Args:
        parts: Rows by name, each with the column that names the group (beside cluster).
        tasks: Over how many tasks they are dealt out; a task's rows are in memory at once.
        work: Is given the rows of some groups of every part.
        table: Of which the made rows are; columns that they lack become null.
    """
    packed = [
        rows.select(
            F.col("cluster").alias("_cluster"),
            F.col(named).alias("_name"),
            *(
                (F.struct(*rows.columns) if one == part else F.lit(None))
                .cast(of_part.schema)
                .alias(one)
                for one, (of_part, _) in parts.items()
            ),
        )
        for part, (rows, named) in parts.items()
    ]
    together = reduce(DataFrame.unionByName, packed)
    dealt = together.repartition(tasks, "_cluster", "_name") if tasks > 1 else together.coalesce(1)
    names, types = list(parts), table.polars_schema

    def on_task(sent: pl.DataFrame) -> Iterator[pl.DataFrame]:
        frames = {
            name: sent.select(name).filter(pl.col(name).is_not_null()).unnest(name)
            for name in names
        }
        # Samples are millions of tuples without a cycle: looking for one takes a fifth of the time.
        gc.disable()
        try:
            made = work(frames)
        finally:
            gc.enable()
        given = set(made.columns)
        yield made.select(
            (pl.col(name) if name in given else pl.lit(None)).cast(type_).alias(name)
            for name, type_ in types.items()
        )

    return map_partitions(dealt.select(*names), on_task, fields(table))
