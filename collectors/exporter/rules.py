"""How rows become series: what every set of names is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from collectors.exporter.text import VALUE, Metric, Samples
from collectors.kafka.poll.group_lags import FACTS, NEVER_COMMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricView:
    """What a rule makes series of.

    Attributes:
        tables: The rule's tables, as far as there are fresh rows; the first one is always there.
    """

    tables: Mapping[str, pl.DataFrame]
    cluster_id: str | None
    per_partition: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Makes series of the rows of a source.

    Attributes:
        tables: What it reads. It is applied where there are rows of the first one, and anew only
            when one of them has changed.
    """

    tables: tuple[str, ...]
    make: Callable[[MetricView], Iterable[Samples]]
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricColumn:
    """A metric that is a column, or an expression, of a frame."""

    metric: Metric
    value: pl.Expr  # null where it is unknown: then there is no sample


Meaning = str | tuple[str, str | pl.Expr]
"""What a metric means, and its value where that is not the column it is named after."""


def of_columns(frame: pl.DataFrame, columns: Iterable[MetricColumn]) -> list[Samples]:
    """Return the samples of several metrics of one frame: one a row."""
    return [
        Samples(
            metric=column.metric,
            rows=frame.select(*column.metric.labels, column.value.alias(VALUE)),
        )
        for column in columns
    ]


def columns(
    prefix: str, labels: tuple[str, ...], meanings: Mapping[str, Meaning]
) -> tuple[MetricColumn, ...]:
    """Return the metrics of a frame's columns; each is named by the prefix and its key."""
    found = []
    for name, meaning in meanings.items():
        text, value = (meaning, name) if isinstance(meaning, str) else meaning
        expression = pl.col(value) if isinstance(value, str) else value
        found.append(
            MetricColumn(
                metric=Metric(name=prefix + name, help=text, labels=labels), value=expression
            )
        )
    return tuple(found)


def rule(
    tables: str | tuple[str, ...],
    make: Callable[[MetricView], Iterable[Samples]],
    *columns: tuple[MetricColumn, ...],
) -> Rule:
    """Return the rule that makes these metrics."""
    metrics = tuple(column.metric for each in columns for column in each)
    return Rule(tables=(tables,) if isinstance(tables, str) else tables, make=make, metrics=metrics)


def whole_sum(column: str, unknown: pl.Expr | None = None) -> pl.Expr:
    """Return a sum that is null as soon as a part of it is unknown, or where it has no part.

    Args:
        column: What to sum.
        unknown: Which rows make the sum unknown; those without a value unless told otherwise.
    """
    if unknown is None:
        unknown = pl.col(column).is_null()
    known = pl.col(column).is_not_null()
    return pl.when(known.any() & ~unknown.any()).then(pl.col(column).sum())


def present(label: str) -> pl.Expr:
    """Return 1 where a label has a value: for series that are all labels."""
    return pl.when(pl.col(label).is_not_null()).then(pl.lit(1))


LAG_UNKNOWN = pl.col("lag").is_null() & ~pl.col("unknown_reason").is_in(FACTS).fill_null(False)
"""Rows of ``group_offsets`` whose lag could not be read; not those that have none."""

COMMITTED_UNKNOWN = pl.col("committed").is_null() & pl.col("unknown_reason").ne_missing(
    NEVER_COMMITTED
)
