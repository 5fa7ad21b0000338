"""Where the tables of ``lake.schemas.current`` lie: one Parquet file a table and cluster.

They hold the present alone and change at each poll. A Delta table would gain a version, a log entry
and a dead file each time; a single file is replaced atomically, in a folder and in an object
store, and any engine reads it: ``<lake>/current/<table>/<cluster>.parquet``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import polars as pl

from config.settings import LakeSettings
from lake.errors import LakeError, SchemaError, UnreadableTableError, one_line
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS
from lake.schemas.model import Table

log = logging.getLogger(__name__)

STATUS_AGE = timedelta(minutes=5)
"""The alerting service writes at each poll; what is older than this says nothing about now."""


class CurrentStore:
    """Reads and replaces what the newest evaluation found. One process writes, any may read."""

    def __init__(self, settings: LakeSettings) -> None:
        self._root = f"{settings.uri.rstrip('/')}/current"
        self._is_local = settings.is_local
        self._options = settings.plain_storage_options() or None
        self._empty: set[str] = set()

    def uri(self, table: Table, cluster: str) -> str:
        """Return the address of a cluster's rows."""
        return f"{self._root}/{table.name}/{quote(cluster, safe='')}.parquet"

    def replace(self, table: Table, cluster: str, rows: pl.DataFrame) -> None:
        """Replace a cluster's rows; a reader sees the old ones or the new ones.

        Args:
            table: A table of ``lake.schemas.current``.
            cluster: Whose rows they are.
            rows: All columns of the table; ``cluster`` may lack and is added.

        Raises:
            SchemaError: The rows do not fit the table.
            LakeError: They could not be written; the old ones stay.
        """
        try:
            whole = rows.with_columns(cluster=pl.lit(cluster))
            if whole.schema != table.polars_schema:
                whole = whole.select(
                    pl.col(name).cast(type_) for name, type_ in table.polars_schema.items()
                )
        except pl.exceptions.PolarsError as error:
            raise SchemaError(f"{table.name}: {error}") from error
        target = self.uri(table, cluster)
        try:
            if self._is_local:
                path = Path(target)
                if whole.is_empty() and target in self._empty and path.exists():
                    return  # a cluster without Kafka has most tables without a row
                path.parent.mkdir(parents=True, exist_ok=True)
                unfinished = path.with_suffix(f".{os.getpid()}.tmp")
                whole.write_parquet(unfinished, compression="zstd", compression_level=1)
                unfinished.replace(path)
                (self._empty.add if whole.is_empty() else self._empty.discard)(target)
            else:
                whole.write_parquet(
                    target,
                    compression="zstd",
                    compression_level=1,
                    storage_options=self._options,
                )
        except (pl.exceptions.PolarsError, OSError) as error:
            raise LakeError(f"{table.name}: cannot write {target}: {one_line(error)}") from error

    def replace_all(self, cluster: str, tables: Mapping[Table, pl.DataFrame]) -> None:
        """Replace a cluster's rows of several tables, one after the other.

        ``cluster_status`` comes last: whoever sees it new finds the others new.

        Raises:
            SchemaError: Rows do not fit their table.
            LakeError: Rows could not be written.
        """
        for table in sorted(tables, key=lambda one: one == CLUSTER_STATUS):
            self.replace(table, cluster, tables[table])

    def read(self, table: Table, cluster: str, *predicates: pl.Expr) -> pl.DataFrame | None:
        """Return a cluster's rows; None where no evaluation ever wrote any.

        Raises:
            UnreadableTableError: The file is broken or cannot be reached.
        """
        source = self.uri(table, cluster)
        try:
            # A folder's file is read at once: it may be replaced between its footer and its rows.
            rows = (
                pl.read_parquet(Path(source).read_bytes())
                if self._is_local
                else pl.read_parquet(source, storage_options=self._options)
            )
            if rows.schema != table.polars_schema:
                rows = rows.select(
                    (pl.col(name) if name in rows.columns else pl.lit(None).alias(name)).cast(type_)
                    for name, type_ in table.polars_schema.items()
                )
            return rows.filter(*predicates) if predicates else rows
        except FileNotFoundError:
            return None
        # A truncated Parquet file makes Polars panic instead of raising one of its errors.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise UnreadableTableError(
                f"{table.name}: {source} cannot be read: {one_line(error)}"
            ) from error


def read_statuses(
    store: CurrentStore, clusters: Iterable[str], now: datetime, *, table: Table = GROUP_STATUS
) -> pl.DataFrame:
    """Return what the alerting service wrote of the groups of some clusters lately.

    Args:
        store: The tables of the present.
        clusters: Whose rows.
        now: The moment.
        table: ``group_status`` or ``group_partition_status``.

    Returns:
        Its rows but for those that are older than ``STATUS_AGE``, or that cannot be read.
    """
    found = [table.empty]
    lately = pl.col("evaluated_at").is_between(now - STATUS_AGE, now + STATUS_AGE)
    for cluster in clusters:
        try:
            rows = store.read(table, cluster, lately)
        except LakeError as error:
            log.warning("%s: statuses of groups cannot be read: %s", cluster, error)
            continue
        if rows is not None:
            found.append(rows)
    return pl.concat(found)
