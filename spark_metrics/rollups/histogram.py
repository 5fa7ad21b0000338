"""A mergeable histogram of lag, from which the percentiles of long windows are told.

The buckets are those of DDSketch (C. Masson, J. E. Rim, H. K. Lee: "DDSketch: a fast and
fully-mergeable quantile sketch with relative-error guarantees", 2019). Merging is the addition
of counts, so that the order of samples, batches and merges cannot change a result; a KLL sketch
draws lots and would not let a rebuilt table equal the first one.
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as F

RELATIVE_ERROR = 0.02
"""How far a percentile told from the histogram may be from the sample of that rank, as a share."""

_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)

BUCKETS = "lag_buckets"
COUNTS = "lag_bucket_samples"


def bucket(value: Column) -> Column:
    """Return the number of the bucket that holds a count, null for null.

    Bucket 0 holds 0; bucket i > 0 holds (g^(i-2), g^(i-1)] with g = (1 + e) / (1 - e), where e is
    ``RELATIVE_ERROR``.
    """
    number = F.ceil(F.log(value.cast("double")) / F.lit(math.log(_GAMMA))) + 1
    return F.when(value > 0, number.cast("int")).when(value == 0, F.lit(0))


def counted(buckets: Column) -> dict[str, Column]:
    """Return the histogram of a list of buckets: distinct buckets in order, and their counts."""
    distinct = F.array_sort(F.array_distinct(buckets))
    counts = F.transform(
        distinct, lambda one: F.size(F.filter(buckets, lambda other: other == one))
    )
    return {BUCKETS: distinct, COUNTS: counts}


def collected() -> Column:
    """Return, as an aggregate, all entries of the histograms of a group of rows."""
    return F.flatten(F.collect_list(F.arrays_zip(F.col(BUCKETS), F.col(COUNTS))))


def merged(entries: Column) -> dict[str, Column]:
    """Return the histogram that has all the entries of ``collected``."""
    distinct = F.array_sort(F.array_distinct(F.transform(entries, lambda entry: entry[BUCKETS])))

    def total(one: Column) -> Column:
        same = F.filter(entries, lambda entry: entry[BUCKETS] == one)
        return F.aggregate(same, F.lit(0), lambda sum_, entry: sum_ + entry[COUNTS])

    return {BUCKETS: distinct, COUNTS: F.transform(distinct, total)}


def size() -> Column:
    """Return how many values the histogram holds."""
    return F.aggregate(F.col(COUNTS), F.lit(0), lambda sum_, count: sum_ + count)


def quantile(share: float, least: Column, most: Column) -> Column:
    """Return the value at rank ⌈share · n⌉, within ``RELATIVE_ERROR`` of it; null when empty.

    Args:
        share: The quantile, for example 0.95.
        least: The smallest value in the histogram, which the result is not below.
        most: The largest, which it is not above.
    """
    rank = F.ceil(F.lit(share) * size())
    entries = F.arrays_zip(F.col(BUCKETS), F.col(COUNTS))
    nothing = F.struct(F.lit(0).alias("seen"), F.lit(None).cast("int").alias("found"))

    def step(state: Column, entry: Column) -> Column:
        seen = state["seen"] + entry[COUNTS]
        here = F.when(seen >= rank, entry[BUCKETS])
        return F.struct(seen.alias("seen"), F.coalesce(state["found"], here).alias("found"))

    found = F.aggregate(entries, nothing, step)["found"]
    middle = F.lit(2 / (_GAMMA + 1)) * F.pow(F.lit(_GAMMA), found - 1)
    value = F.when(found == 0, F.lit(0.0)).otherwise(middle)
    return F.when(found.isNotNull(), F.least(F.greatest(value, least), most).cast("double"))
