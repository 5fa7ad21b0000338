"""Open tables: handles that are kept, so that a look costs only what was committed since."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from config.settings import LakeSettings
from lake.errors import UnreadableTableError, one_line
from lake.schemas.format_version import refusal
from lake.schemas.model import Table


@dataclass(slots=True, kw_only=True)
class OpenTable:
    """A table that was opened.

    Attributes:
        uri: Its address.
        is_local: Whether it lies in a folder.
        file: Of a table in a folder a data file of the known version; None where it has none.
        log_changed: When files of the log in a folder came or went before it was read.
    """

    uri: str
    handle: DeltaTable
    is_local: bool
    file: Path | None
    log_changed: int | None = None

    @classmethod
    def of(cls, uri: str, handle: DeltaTable, *, is_local: bool) -> OpenTable:
        """Remember a data file of the version that a handle knows."""
        files = handle.file_uris() if is_local else []
        return cls(
            uri=uri,
            handle=handle,
            is_local=is_local,
            file=Path(files[0]) if files else None,
        )

    def is_up_to_date(self) -> bool:
        """Bring the handle up to date; False where the table must be opened anew."""
        try:
            if not self._is_there():
                return False
            changed = self._log_changed()
            if changed is None or changed != self.log_changed or self._has_next():
                self.handle.update_incremental()
                self.log_changed = changed
        except DeltaError:
            return False  # what follows the known version is not in the log any more
        return True

    def _log_changed(self) -> int | None:
        """Return when files of the log last came or went: to look there takes longer."""
        try:
            return Path(self.uri, "_delta_log").stat().st_mtime_ns if self.is_local else None
        except OSError:
            return None

    def _has_next(self) -> bool:
        """Return whether the next commit is there: it may be of the moment of the last look."""
        return Path(self.uri, "_delta_log", f"{self.handle.version() + 1:020}.json").exists()

    def _is_there(self) -> bool:
        """Return whether a table in a folder was not deleted, or deleted and made anew.

        Its data files have names of their own, and are kept for hours after they were replaced. Of
        a table in an object store, looking costs as much as opening it.
        """
        if self.file is not None:
            return self.file.exists()
        return not self.is_local or DeltaTable.is_deltatable(self.uri)


class Handles:
    """Handles of the tables under one address; threads may share an instance."""

    def __init__(self, settings: LakeSettings) -> None:
        self.root = settings.uri.rstrip("/")
        self.is_local = settings.is_local
        self.options = settings.plain_storage_options() or None
        self._kept: dict[str, OpenTable] = {}
        self._lock = threading.Lock()

    def uri(self, table: Table) -> str:
        """Return the table's address."""
        return f"{self.root}/{table.layer}/{table.name}"

    def newest(self, table: Table) -> DeltaTable | None:
        """Return a handle of the table's newest version; None if the table does not exist.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        with self._lock:
            kept = self._kept.pop(table.name, None)
            version = None if kept is None else kept.handle.version()
            try:
                if kept is None or not kept.is_up_to_date():
                    handle = DeltaTable(self.uri(table), storage_options=self.options)
                    if (refused := refusal(handle.metadata().description)) is not None:
                        raise UnreadableTableError(f"{table.name}: {self.uri(table)}: {refused}")
                    kept = OpenTable.of(self.uri(table), handle, is_local=self.is_local)
                elif kept.handle.version() != version:
                    kept = OpenTable.of(kept.uri, kept.handle, is_local=self.is_local)
            except TableNotFoundError:
                if (file := self._in_the_way(table)) is not None:
                    raise UnreadableTableError(
                        f"{table.name}: {file} is a file; lake.uri has to name a folder"
                    ) from None
                return None
            except (DeltaError, OSError, ValueError) as error:
                raise UnreadableTableError(
                    f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
                ) from error
            self._kept[table.name] = kept
            return kept.handle

    def _in_the_way(self, table: Table) -> Path | None:
        """Return the file that lies where a folder of the table should be; None without one."""
        if not self.is_local:
            return None
        path = Path(self.uri(table))
        return next((one for one in (path, *path.parents) if one.is_file()), None)
