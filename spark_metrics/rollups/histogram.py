"""A mergeable histogram of lag, from which the percentiles of long windows are told.

The buckets are those of DDSketch (C. Masson, J. E. Rim, H. K. Lee: "DDSketch: a fast and
fully-mergeable quantile sketch with relative-error guarantees", 2019). Merging is the addition
of counts, so that the order of samples, batches and merges cannot change a result; a KLL sketch
draws lots and would not let a rebuilt table equal the first one.
"""

from __future__ import annotations

import math

import polars as pl

RELATIVE_ERROR = 0.02
"""How far a percentile told from the histogram may be from the sample of that rank, as a share."""

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)

BUCKETS = "lag_buckets"
COUNTS = "lag_bucket_samples"

_MOST_BUCKETS = 2048
"""More than the numbers of any 64-bit count's bucket."""


def bucket(name: str) -> pl.Expr:
    """Return the number of the bucket that holds a count, null for null.

    Bucket 0 holds 0; bucket i > 0 holds (g^(i-2), g^(i-1)] with g = (1 + e) / (1 - e), where e is
    ``RELATIVE_ERROR``.
    """
    value = pl.col(name)
    number = (value.clip(lower_bound=1).log() / math.log(_GAMMA)).ceil() + 1
    return pl.when(value > 0).then(number).when(value == 0).then(0).cast(pl.Int32)


def with_histogram(windows: pl.DataFrame, entries: pl.DataFrame, window: str) -> pl.DataFrame:
    """Add the histogram's two columns: distinct buckets in order, and their counts.

    Args:
        windows: Rows with the number ``window``.
        entries: Entries with ``window``, bucket (null: none) and count, to be added up.
        window: The name of the number.
    """
    known = entries.filter(pl.col("bucket").is_not_null())
    place = (pl.col(window).cast(pl.Int64) * _MOST_BUCKETS + pl.col("bucket")).alias("place")
    summed = known.select(place, "count").group_by("place").agg(pl.col("count").sum()).sort("place")
    lists = (
        summed.select(
            (pl.col("place") // _MOST_BUCKETS).cast(windows.schema[window]).alias(window),
            (pl.col("place") % _MOST_BUCKETS).cast(pl.Int32).alias(BUCKETS),
            pl.col("count").cast(pl.Int32).alias(COUNTS),
        )
        .with_columns(pl.col(window).set_sorted())
        .group_by(window, maintain_order=True)
        .agg(BUCKETS, COUNTS)
    )
    nothing = pl.lit([], pl.List(pl.Int32))
    return windows.join(lists, on=window, how="left", maintain_order="left").with_columns(
        pl.col(BUCKETS).fill_null(nothing), pl.col(COUNTS).fill_null(nothing)
    )


def entries(rows: pl.DataFrame, window: str) -> pl.DataFrame:
    """Return the entries of the rows' histograms, for ``with_histogram``."""
    return (
        rows.select(window, pl.col(BUCKETS).alias("bucket"), pl.col(COUNTS).alias("count"))
        .filter(pl.col("bucket").list.len() > 0)
        .explode("bucket", "count")
    )


def size() -> pl.Expr:
    """Return how many values the histogram holds."""
    return pl.col(COUNTS).list.sum()


def quantile(share: float, least: str, most: str) -> pl.Expr:
    """Return the value at rank ⌈share · n⌉, within ``RELATIVE_ERROR`` of it; null when empty.

    Args:
        share: The quantile, for example 0.95.
        least: The column of the smallest value in the histogram, which the result is not below.
        most: That of the largest, which it is not above.
    """
    rank = (share * size()).ceil()
    # How many values lie in the buckets before the one of that rank is its place in the list.
    seen = pl.col(COUNTS).list.eval(pl.element().cum_sum())
    place = (seen - rank.cast(pl.Int32)).list.eval((pl.element() < 0).cast(pl.Int32)).list.sum()
    found = pl.col(BUCKETS).list.get(place, null_on_oob=True)
    middle = 2 / (_GAMMA + 1) * pl.lit(_GAMMA).pow(found - 1)
    value = pl.when(found == 0).then(0.0).otherwise(middle)
    bounded = pl.min_horizontal(pl.max_horizontal(value, pl.col(least)), pl.col(most))
    return pl.when(found.is_not_null()).then(bounded.cast(pl.Float64))
