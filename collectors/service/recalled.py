"""What a source's last polls before a restart wrote, read from the lake when it is asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

import polars as pl

from collectors.source.model import Recall, Source
from lake.errors import LakeError
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

log = logging.getLogger(__name__)

RECALLED = timedelta(hours=1)
"""How old it may be."""


class Recalled(Mapping[str, pl.DataFrame]):
    """Table name: the rows that a source recalls; none that has none or that cannot be read."""

    def __init__(self, lake: Lake, source: Source, now: datetime) -> None:
        self._lake = lake
        self._cluster = source.cluster
        self._recalls = {each.table: each for each in source.recalls if each.polls == 1}
        self._now = now
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, table: str) -> pl.DataFrame:
        """Return the rows, read at the first time."""
        if table not in self._read:
            wanted = self._recalls[table]
            try:
                self._read[table] = self._rows(wanted)
            except LakeError as error:
                log.warning("cluster=%s not recalled: %s", self._cluster, error)
                self._read[table] = pl.DataFrame()
        if self._read[table].is_empty():
            raise KeyError(table)
        return self._read[table]

    def __iter__(self) -> Iterator[str]:
        return (table for table in self._recalls if table in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _rows(self, wanted: Recall) -> pl.DataFrame:
        table = TABLES[wanted.table]
        if wanted.each:
            rows = self._lake.read(
                table,
                since=self._now - 2 * RECALLED,
                cluster=self._cluster,
                columns=[table.time, *wanted.each, *wanted.columns],
            )
            return rows.sort(table.time).unique(wanted.each, keep="last")
        own = [pl.col(name) == value for name, value in wanted.only.items()]
        return self._lake.latest(
            table,
            *own,
            cluster=self._cluster,
            now=self._now,
            within=RECALLED,
            columns=list(wanted.columns) or None,
        )
