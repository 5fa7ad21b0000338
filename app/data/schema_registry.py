"""Subjects of the Schema Registries beside a cluster, as their newest reads left them."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from app.data import queries
from app.data.context import View
from lake.schemas.tables import SCHEMA_REGISTRIES, SCHEMA_SUBJECTS, WRITTEN_EVERY_SECONDS

_SUBJECTS_STAND = timedelta(seconds=2 * WRITTEN_EVERY_SECONDS[SCHEMA_SUBJECTS.name])
_REGISTRY = "schema_registry"


def is_watched(view: View) -> bool:
    """Return whether the settings name a registry beside the cluster of the page."""
    settings = view.settings
    return any(settings.cluster_of(each) == view.cluster for each in settings.schema_registry)


def registries(view: View) -> pl.DataFrame:
    """Return the newest row of each registry; none of those that were not read for minutes.

    Raises:
        LakeError: The table cannot be read.
    """
    return newest(queries.recent(view, SCHEMA_REGISTRIES)).sort(_REGISTRY)


def subjects(view: View) -> pl.DataFrame:
    """Return all subjects; see ``subject_rows``.

    Raises:
        LakeError: A table cannot be read.
    """
    rows = queries.recent(view, SCHEMA_SUBJECTS, _SUBJECTS_STAND)
    return subject_rows(rows, registries(view))


def newest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of each registry's newest poll."""
    return rows.filter(pl.col("observed_at") == pl.col("observed_at").max().over(_REGISTRY))


def subject_rows(rows: pl.DataFrame, registries: pl.DataFrame) -> pl.DataFrame:
    """Return the subjects as they were written last, with words for what holds.

    Args:
        rows: Rows of ``schema_subjects``: all of a registry are written when one changes.
        registries: The newest rows of ``schema_registries``. One without subjects writes no rows
            of them.

    Returns:
        Besides the rows: ``set_on`` (where its compatibility is set), ``state``.
    """
    empty = registries.filter(
        (pl.col("subjects") == 0) & (pl.col("deleted_subjects").fill_null(0) == 0)
    )
    is_own = pl.col("compatibility_is_own")
    return (
        newest(rows)
        .filter(~pl.col(_REGISTRY).is_in(empty[_REGISTRY].to_list()))
        .with_columns(
            pl.when(is_own)
            .then(pl.lit("subject"))
            .when(~is_own)
            .then(pl.lit("registry"))
            .alias("set_on"),
            pl.when(pl.col("is_deleted")).then(pl.lit("deleted")).alias("state"),
        )
        .sort("subject", _REGISTRY)
    )
