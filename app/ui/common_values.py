"""What all rows of a table have in common: said once, not in a column. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from app.style.columns import DASH, NONE, Column
from app.style.format import UNKNOWN, listing

_REASONS = 3
"""Most reasons that are said of what is not known."""
_NAMED = 3
"""Most rows that are named with a reason."""


def told_apart(
    table: pl.DataFrame, columns: Mapping[str, Column], always: Sequence[str]
) -> tuple[dict[str, Column], dict[str, Column]]:
    """Return the columns that tell rows apart, and those that have one value in all of them.

    Of numbers that are 0 wherever they are known, too: a stream has no backlog to tell.

    Args:
        table: The rows of the table.
        columns: Its columns.
        always: Those that stay, whatever they have.
    """
    same = [
        name
        for name in columns
        if name not in always and table.height > 1 and _is_noise(table[name])
    ]
    kept = {name: column for name, column in columns.items() if name not in same}
    return kept, {name: columns[name] for name in same}


def _is_noise(values: pl.Series) -> bool:
    if values.n_unique() == 1:
        return True
    return (
        values.dtype.is_numeric()
        and not values.cast(pl.Float64).is_in([0.0, NONE]).eq(other=False).any()
    )


def first_known(table: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Return a row with the first known value of each of some columns."""
    return table.select(
        pl.col(name).sort_by(_is_told(table[name]), descending=True, maintain_order=True).first()
        for name in names
    )


def _is_told(values: pl.Series) -> pl.Expr:
    name = pl.col(values.name)
    return (
        (name.is_not_null() & (name.cast(pl.Float64) != NONE))
        if values.dtype.is_numeric()
        else name.is_not_null()
    )


def in_common(labels: Sequence[str], texts: Sequence[str]) -> str:
    """Say what all rows have in common: ``consumers 0, state running``.

    Args:
        labels: What columns of one value are called.
        texts: Their values as the table writes them.
    """
    said = [
        f"{label} {text}"
        for label, text in zip(labels, texts, strict=True)
        if text not in (UNKNOWN, DASH, "")
    ]
    return f"The same of all, where known: {', '.join(said)}" if said else ""


def why_unknown(table: pl.DataFrame, name: str) -> str:
    """Say why something is not known: each reason once, with the rows that have it.

    Args:
        table: Rows with ``unknown_reason``.
        name: The column that names a row.
    """
    of = (
        table.drop_nulls("unknown_reason")
        .group_by("unknown_reason", maintain_order=True)
        .agg(pl.col(name))
        .head(_REASONS)
    )
    said = (
        f"{listing(names) if len(names) <= _NAMED else f'{len(names)} of these'}: {reason}"
        for reason, names in of.iter_rows()
    )
    return ". ".join(said)
