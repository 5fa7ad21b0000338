"""Work on the rows of whole groups, some groups at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from math import ceil

import polars as pl

from spark_metrics.samples import Samples, Source

GROUPS_AT_ONCE = 250
"""So many groups, about, are worked on at once: their samples must fit into a worker's memory."""

_CHUNK = "_chunk"

Frames = dict[str, pl.DataFrame]


def groups_at_once(sources: Mapping[str, Source], written: Samples) -> Iterator[Frames]:
    """Yield the rows of some groups at a time, those that were left out included.

    Args:
        sources: The tables; the last column of ``together`` names the group.
        written: Their rows as they were written.
    """
    named = {name: source.together[-1] for name, source in sources.items()}
    groups = max(rows[named[name]].n_unique() for name, rows in written.items())
    chunks = ceil(groups / GROUPS_AT_ONCE)
    parts = {
        name: rows.with_columns(
            (pl.col(named[name]).hash(seed=2) % chunks).alias(_CHUNK)
        ).partition_by(_CHUNK, as_dict=True, include_key=False)
        for name, rows in written.items()
    }
    # Samples are millions of tuples without a cycle: looking for one takes a fifth of the time.
    gc.disable()
    try:
        for chunk in range(chunks):
            yield {
                name: source.whole(parts[name].pop((chunk,), written[name].clear()))
                for name, source in sources.items()
            }
    finally:
        gc.enable()
