"""A mergeable histogram of lag, from which the percentiles of long windows are computed.

The buckets are those of DDSketch (C. Masson, J. E. Rim, H. K. Lee: "DDSketch: a fast and
fully-mergeable quantile sketch with relative-error guarantees", 2019). Merging is the addition
of counts, so that the order of samples, batches and merges cannot change a result; a KLL sketch
draws lots and would not let a rebuilt table equal the first one.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from spark_metrics.rollups.runs import Numbers, Runs, lists

RELATIVE_ERROR = 0.02
"""How far a percentile of the histogram may be from the sample of that rank, as a share."""

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


def histogram_of(runs: Runs, name: str) -> list[pl.Series]:
    """Return the histogram of each window's known values: distinct buckets in order, and counts.

    Args:
        runs: Rows in windows.
        name: The column of counts.
    """
    numbers = runs.rows.select(bucket(name)).to_series()
    is_known = numbers.is_not_null().to_numpy()
    owners, buckets = runs.number[is_known], numbers.drop_nulls().to_numpy()
    return _added(owners, buckets, None, len(runs))


def merged(runs: Runs) -> list[pl.Series]:
    """Return the sum of the histograms of each window's rows: buckets in order, and counts."""
    entries = runs.rows.select(BUCKETS, COUNTS, pl.Series("owner", runs.number))
    entries = entries.filter(pl.col(BUCKETS).list.len() > 0).explode(BUCKETS, COUNTS)
    owners, buckets, counts = (entries[name].to_numpy() for name in ("owner", BUCKETS, COUNTS))
    return _added(owners, buckets, counts, len(runs))


def _added(
    owners: Numbers, buckets: Numbers, counts: Numbers | None, count: int
) -> list[pl.Series]:
    """Add up the counts of each owner's bucket, and return them as lists; no counts: one each."""
    places = owners * _MOST_BUCKETS + buckets
    if counts is None:
        distinct, sums = np.unique(places, return_counts=True)
    else:
        order = np.argsort(places)
        places = places[order]
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        distinct, sums = places[starts], np.add.reduceat(counts[order], starts)
    columns = [(distinct % _MOST_BUCKETS).astype(np.int32), sums.astype(np.int32)]
    return lists(distinct // _MOST_BUCKETS, columns, count)


def quantile(share: float, least: str, most: str) -> pl.Expr:
    """Return the value at rank ⌈share · n⌉, within ``RELATIVE_ERROR`` of it; null when empty.

    Args:
        share: The quantile, for example 0.95.
        least: The column of the smallest value in the histogram, which the result is not below.
        most: That of the largest, which it is not above.
    """
    rank = (share * pl.col(COUNTS).list.sum()).ceil()
    # How many values lie in the buckets before the one of that rank is its place in the list.
    seen = pl.col(COUNTS).list.eval(pl.element().cum_sum())
    place = (seen - rank.cast(pl.Int32)).list.eval((pl.element() < 0).cast(pl.Int32)).list.sum()
    found = pl.col(BUCKETS).list.get(place, null_on_oob=True)
    middle = 2 / (_GAMMA + 1) * pl.lit(_GAMMA).pow(found - 1)
    value = pl.when(found == 0).then(0.0).otherwise(middle)
    bounded = pl.min_horizontal(pl.max_horizontal(value, pl.col(least)), pl.col(most))
    return pl.when(found.is_not_null()).then(bounded.cast(pl.Float64))
