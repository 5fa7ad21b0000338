"""Prometheus's text format, written from columns.

A client library makes an object of every sample, which took 1.8 s of the interpreter's lock for
150,000 samples; columns become text in 0.1 s beside it. The format:
https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

VALUE = "value"
"""The column that holds the samples' values."""

# Rows that become text at once: bounds what is held beside the result.
_SLICE_ROWS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A family of series.

    Attributes:
        labels: What tells its series apart, besides labels that all series of a source carry.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    type: Literal["gauge", "counter"] = "gauge"

    @property
    def head(self) -> bytes:
        """The lines that stand before its samples."""
        text = self.help.replace("\\", r"\\").replace("\n", r"\n")
        return f"# HELP {self.name} {text}\n# TYPE {self.name} {self.type}\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The present values of one metric.

    Attributes:
        rows: A column for each of its labels, and ``value``; a row without a value is unknown and
            has no sample. No two rows share all labels.
    """

    metric: Metric
    rows: pl.DataFrame


def sample_lines(samples: Samples, constant: Mapping[str, str]) -> Iterator[bytes]:
    """Return the samples' lines, without the metric's head.

    Args:
        samples: Numbers, truth values (1 and 0), or moments (seconds since 1970).
        constant: Labels that every sample carries.
    """
    rows = samples.rows.filter(pl.col(VALUE).is_not_null())
    if rows.is_empty():
        return
    line = _line(samples.metric, rows.schema, constant)
    for part in rows.iter_slices(_SLICE_ROWS):
        yield part.select(line.str.join("")).item().encode()


def escape(value: str) -> str:
    """Return a label's value as it stands between quotes."""
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _line(metric: Metric, schema: pl.Schema, constant: Mapping[str, str]) -> pl.Expr:
    parts: list[pl.Expr] = []
    fixed = ",".join(f'{name}="{escape(value)}"' for name, value in constant.items())
    before = metric.name + ("{" if constant or metric.labels else "") + fixed
    for name in metric.labels:
        separator = "" if before.endswith("{") else ","
        parts += [pl.lit(f'{before}{separator}{name}="'), _label(name, schema[name])]
        before = '"'
    closed = "}" if constant or metric.labels else ""
    return pl.concat_str(*parts, pl.lit(f"{before}{closed} "), _number(schema), pl.lit("\n"))


def _label(name: str, type_: pl.DataType) -> pl.Expr:
    text = pl.col(name).cast(pl.String).fill_null("")
    if type_ != pl.String:
        return text
    return (
        text.str.replace_all("\\", r"\\", literal=True)
        .str.replace_all('"', r"\"", literal=True)
        .str.replace_all("\n", r"\n", literal=True)
    )


def _number(schema: pl.Schema) -> pl.Expr:
    value = pl.col(VALUE)
    type_ = schema[VALUE]
    if isinstance(type_, pl.Datetime):
        value = value.dt.timestamp("us") / 1_000_000
    elif type_ == pl.Boolean:
        return value.cast(pl.Int8).cast(pl.String)
    elif type_.is_integer():
        return value.cast(pl.String)
    value = value.cast(pl.Float64)
    return (
        pl.when(value == float("inf"))
        .then(pl.lit("+Inf"))
        .when(value == float("-inf"))
        .then(pl.lit("-Inf"))
        .otherwise(value.cast(pl.String))
    )
