"""Why messages become dead letters: one way to count exceptions for alerts and pages. Pure."""

from __future__ import annotations

import polars as pl

_SERIES = ("source", "name")


def arrived_by_class(samples: pl.DataFrame) -> pl.DataFrame:
    """Return what arrived between polls by the class of its exception.

    What arrived between two polls is shared out as the exceptions of the records that were sampled
    by the later one: an estimate. A sample is the newest few records, and that of one poll alone
    may be of another mixture than those before.

    Args:
        samples: Rows of ``dead_letters``.

    Returns:
        ``source``, ``name``, ``observed_at``, ``class`` and ``arrived``.
    """
    polls = (
        samples.filter(pl.col("log_end").is_not_null())
        .sort("observed_at")
        .select(
            *_SERIES,
            "observed_at",
            "reasons",
            (pl.col("log_end") - pl.col("log_end").shift(1).over(_SERIES))
            .clip(lower_bound=0)
            .alias("arrived"),
        )
        .filter(pl.col("arrived") > 0, pl.col("reasons").list.len() > 0)
    )
    total = pl.col("records").sum().over(*_SERIES, "observed_at")
    return (
        polls.explode("reasons")
        .select(
            *_SERIES,
            "observed_at",
            "arrived",
            pl.col("reasons").struct.field("key").alias("class"),
            pl.col("reasons").struct.field("value").alias("records"),
        )
        .select(
            *_SERIES,
            "observed_at",
            "class",
            (pl.col("arrived") * pl.col("records") / total).alias("arrived"),
        )
    )


def most_frequent(samples: pl.DataFrame) -> dict[tuple[str, str], tuple[str, float]]:
    """Return the class of which most arrived, and its share, by source and name.

    Of a source in which nothing arrived there is none.
    """
    by_class = (
        arrived_by_class(samples)
        .group_by(*_SERIES, "class")
        .agg(pl.col("arrived").sum())
        .with_columns((pl.col("arrived") / pl.col("arrived").sum().over(_SERIES)).alias("share"))
        .sort("arrived", "class", descending=[True, False])
        .unique(_SERIES, keep="first", maintain_order=True)
    )
    return {
        (source, name): (found, share)
        for source, name, found, share in by_class.select(*_SERIES, "class", "share").iter_rows()
        if found is not None and share is not None
    }
