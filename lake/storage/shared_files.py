"""Small files in the lake that services hand to each other: put, read, listed, removed whole."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileType, PyFileSystem

from config.settings import LakeSettings
from lake.errors import LakeError, one_line


class SharedFiles:
    """The files of one folder of the lake, a folder of this machine or one of an object store.

    A reader sees a file as it was put or not at all.
    """

    def __init__(self, settings: LakeSettings, folder: str) -> None:
        self._uri = f"{settings.uri.rstrip('/')}/{folder}"
        self._folder = Path(self._uri) if settings.is_local else None
        self._options = settings.plain_storage_options()

    def put(self, name: str, content: bytes) -> None:
        """Write a file, or replace it.

        Args:
            name: Its name.
            content: One line of ASCII; who reads it may find a line end behind it.

        Raises:
            LakeError: It could not be written; the one that was there stays.
        """
        try:
            if self._folder is None:
                # As a table of one value, which Polars writes as it is, with a line end.
                pl.DataFrame([content.decode("ascii")], schema=["line"]).write_csv(
                    f"{self._uri}/{name}",
                    include_header=False,
                    quote_style="never",
                    storage_options=self._options,
                )
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._folder / f".{name}.{os.getpid()}.tmp"
            unfinished.write_bytes(content)
            unfinished.replace(self._folder / name)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise LakeError(f"{self._uri}/{name} cannot be written: {one_line(error)}") from error

    def get(self, name: str) -> bytes | None:
        """Return a file's content; None where there is none.

        Raises:
            LakeError: It cannot be read.
        """
        try:
            if self._folder is not None:
                return (self._folder / name).read_bytes()
            with self._store().open_input_file(name) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            raise LakeError(f"{self._uri}/{name} cannot be read: {one_line(error)}") from error

    def names(self) -> list[str]:
        """Return the names of the files, in order.

        Raises:
            LakeError: The folder cannot be read.
        """
        try:
            if self._folder is not None:
                found = [one.name for one in self._folder.iterdir() if one.is_file()]
            else:
                infos = self._store().get_file_info(FileSelector("", allow_not_found=True))
                found = [one.base_name for one in infos if one.type == FileType.File]
        except FileNotFoundError:
            return []
        except (DeltaError, OSError) as error:
            raise LakeError(f"{self._uri} cannot be read: {one_line(error)}") from error
        return sorted(name for name in found if not name.startswith("."))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there.

        Raises:
            LakeError: It cannot be removed.
        """
        try:
            if self._folder is not None:
                (self._folder / name).unlink(missing_ok=True)
            else:
                self._store().delete_file(name)
        except FileNotFoundError:
            return
        except (DeltaError, OSError) as error:
            raise LakeError(f"{self._uri}/{name} cannot be removed: {one_line(error)}") from error

    def _store(self) -> PyFileSystem:
        return PyFileSystem(DeltaStorageHandler(self._uri, self._options))
