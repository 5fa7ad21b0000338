"""The one way in which something is derived from the rows of whole groups, topics or series.

Spark deals the rows of several frames out by what they are about, and a pure function on Polars'
frames gets them on its workers, some whole groups at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping

import polars as pl
from pyspark.sql import DataFrame

from lake.schemas.model import Table
from spark_metrics.samples import map_together, rows_of

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
    dealt = {name: (rows, ("cluster", named)) for name, (rows, named) in parts.items()}

    def on_groups(frames: Frames) -> Iterator[tuple[str, pl.DataFrame]]:
        # Samples are millions of tuples without a cycle: looking for one takes a fifth of the time.
        gc.disable()
        try:
            yield table.name, work(frames)
        finally:
            gc.enable()

    return rows_of(map_together(dealt, tasks, on_groups, [table]), table.name)
