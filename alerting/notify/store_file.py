"""The file of the alert store: opened, copied, read and written in transactions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from alerting.errors import StoreError
from alerting.notify.store_schema import IN_MEMORY, connect


class StoreFile:
    """One file of SQLite; threads may share one, and processes one file."""

    def __init__(self, path: Path, *, copy: bytes | None = None) -> None:
        """Open the file; it is made where there is none.

        Raises:
            StoreError: It cannot be opened.
        """
        self._path = path
        self._lock = threading.RLock()
        try:
            if path != IN_MEMORY:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = connect(path, copy)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{path}: the alert store cannot be opened: {error}") from error

    @classmethod
    def of_copy(cls, copy: bytes | None) -> Self:
        """Open what ``copy`` returned, in memory; None is an empty store.

        Raises:
            StoreError: It cannot be read.
        """
        return cls(IN_MEMORY, copy=copy)

    def copy(self) -> bytes:
        """Return the whole store, as a file of SQLite that is in use by nobody."""
        with self._lock:
            try:
                content = bytearray(self._connection.serialize())
            except sqlite3.Error as error:
                raise StoreError(f"{self._path}: the alert store failed: {error}") from error
        content[18:20] = b"\x01\x01"  # of the header: there is no log of writes beside it
        return bytes(content)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.execute("ROLLBACK")
                    raise
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StoreError(f"{self._path}: the alert store failed: {error}") from error

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return list(self._connection.execute(query, values))
            except sqlite3.Error as error:
                raise StoreError(f"{self._path}: the alert store failed: {error}") from error
