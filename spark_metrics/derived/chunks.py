"""Work on whole groups at a time, spread over Spark's workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from math import ceil
from typing import cast

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from lake.schemas.model import Table
from spark_metrics.derived.of_groups import GROUPS_AT_ONCE, Frames
from spark_metrics.derived.tables import fields

_CHUNK, _PART = "_chunk", "_part"


def by_group(
    parts: Mapping[str, tuple[DataFrame, str]],
    groups: int,
    work: Callable[[Frames], pl.DataFrame],
    table: Table,
) -> DataFrame:
    """Do the same for all groups, some whole groups at a time.

    Args:
        parts: Frames by name, each with the column that names the group (beside cluster).
        groups: How many groups there are, about.
        work: Is given the rows of some groups of every part and returns rows.
        table: Of which the rows are; columns that they lack become null.
    """
    chunks = max(1, ceil(groups / GROUPS_AT_ONCE))
    packed = [
        rows.select(
            F.pmod(F.xxhash64("cluster", name), F.lit(chunks)).alias(_CHUNK),
            F.lit(part).alias(_PART),
            *(
                (F.struct(*rows.columns) if one == part else F.lit(None))
                .cast(of_part.schema)
                .alias(one)
                for one, (of_part, _) in parts.items()
            ),
        )
        for part, (rows, name) in parts.items()
    ]
    columns = fields(table)
    arrow = to_arrow_schema(cast(StructType, StructType.fromDDL(columns)), timezone="UTC")
    wanted = {n: t for n, t in table.polars_schema.items() if n in arrow.names}
    names = list(parts)

    def on_chunk(chunk: pa.Table) -> pa.Table:
        sent = pl.DataFrame(chunk.drop_columns([_CHUNK]))
        frames = {
            name: sent.filter(pl.col(_PART) == name).select(name).unnest(name) for name in names
        }
        found = work(frames)
        given = set(found.columns)
        rows = found.select(
            (pl.col(name) if name in given else pl.lit(None).alias(name)).cast(type_)
            for name, type_ in wanted.items()
        )
        return rows.to_arrow().cast(arrow)

    together = reduce(DataFrame.unionByName, packed)
    return together.groupBy(_CHUNK).applyInArrow(on_chunk, columns)
