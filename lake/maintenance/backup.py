"""A copy of the lake and of the state of alerts, while the services run; and the way back.

Of each Delta table one version is copied: its log up to there, and the files that it consists of.
History first, samples after: history that lacks the newest samples is brought up to date by the
history job, the other way round it would know more than there is. The present, leases and
checkpoints of streams are left out: services make them anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import (
    FileSelector,
    FileSystem,
    FileType,
    LocalFileSystem,
    PyFileSystem,
    SubTreeFileSystem,
)

from config.settings import LakeSettings, Settings
from lake.errors import LakeError, one_line
from lake.schemas.format_version import FORMAT
from lake.schemas.model import Table
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

MANIFEST = "manifest.json"
"""Written last: a folder without it is no whole backup."""

_STATE = "alerts.sqlite"
_SHARED = ("alerting/state", "alerting/requests")
_ATTEMPTS = 3
_PIECE = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What was copied.

    Attributes:
        files: How many files.
        size_bytes: Of them all together.
        state: Whether a file with the state of alerts was among them.
    """

    files: int
    size_bytes: int
    state: bool


def backup(settings: Settings, target: Path, on_progress: Callable[[str], None]) -> Copied:
    """Copy the lake and the state of alerts into a new folder.

    Raises:
        LakeError: Something cannot be read or written, or there is nothing; the folder has no
            manifest then.
    """
    if target.exists() and any(target.iterdir()):
        raise LakeError(f"{target} is not empty: a backup goes into a folder of its own")
    lake, source = Lake(settings.lake), _file_system(settings.lake)
    written: dict[str, dict[str, object]] = {}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for table in sorted(TABLES.values(), key=lambda table: table.layer != "gold"):
            on_progress(f"{table.layer}/{table.name}")
            for path in _copy_table(lake, source, table, target):
                written[path] = _described(target / path)
        for folder in _SHARED:
            for path in _listed(source, folder):
                _copy(source, path, target / "lake" / path)
                written[f"lake/{path}"] = _described(target / "lake" / path)
        has_state = _copy_state(Path(settings.alerting.state), target / _STATE)
        if not written and not has_state:
            raise LakeError(f"there is nothing to copy: {settings.lake.uri} has no tables")
        if has_state:
            written[_STATE] = _described(target / _STATE)
        content = {"format": FORMAT, "made_at": datetime.now(UTC).isoformat(), "files": written}
        (target / MANIFEST).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except (DeltaError, OSError, sqlite3.Error) as error:
        raise LakeError(f"the backup failed: {one_line(error)}") from error
    return _sum(written, has_state)


def restore(settings: Settings, source: Path, on_progress: Callable[[str], None]) -> Copied:
    """Copy a backup to where the settings want the lake and the state of alerts.

    Every file is compared with the manifest before anything is written.

    Raises:
        LakeError: The backup is not whole, there is a lake or a state already, or something cannot
            be written.
    """
    files = _verified(source, on_progress)
    lake, state = _file_system(settings.lake), Path(settings.alerting.state)
    try:
        present = [path for layer in ("bronze", "gold") for path in _listed(lake, layer)]
        if present:
            raise LakeError(f"{settings.lake.uri} has tables already: restore into an empty place")
        if _STATE in files and state.exists():
            raise LakeError(f"{state} exists already: move it away first")
        for path in files:
            if path == _STATE:
                state.parent.mkdir(parents=True, exist_ok=True)
                state.write_bytes((source / path).read_bytes())
                continue
            inside = path.removeprefix("lake/")
            on_progress(inside)
            if settings.lake.is_local:
                lake.create_dir(str(Path(inside).parent), recursive=True)
            # A buffer larger than a piece: an object store's stream takes what Arrow has buffered,
            # and refuses what is handed through.
            room = 2 * _PIECE
            with (
                (source / path).open("rb") as given,
                lake.open_output_stream(inside, buffer_size=room) as taken,
            ):
                while piece := given.read(_PIECE):
                    taken.write(piece)
    except (DeltaError, OSError) as error:
        raise LakeError(f"the restore failed: {one_line(error)}") from error
    return _sum(files, _STATE in files)


def _verified(source: Path, on_progress: Callable[[str], None]) -> dict[str, dict[str, object]]:
    try:
        manifest = json.loads((source / MANIFEST).read_text(encoding="utf-8"))
        written, files = int(manifest["format"]), dict(manifest["files"])
    except FileNotFoundError:
        raise LakeError(f"{source} has no {MANIFEST}: it is no whole backup") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LakeError(f"{source / MANIFEST} cannot be read: {one_line(error)}") from error
    if written > FORMAT:
        raise LakeError(
            f"{source} was made by a newer Headroom (format {written}, this one knows {FORMAT})"
        )
    on_progress("comparing with the manifest")
    for path, described in files.items():
        file = source / path
        if not file.resolve().is_relative_to(source.resolve()):
            raise LakeError(f"{source / MANIFEST} names a file outside: {path}")
        if not file.is_file() or _described(file) != described:
            raise LakeError(f"{file} is missing or not what was written: nothing was restored")
    return files


def _copy_table(lake: Lake, source: FileSystem, table: Table, target: Path) -> list[str]:
    """Copy a table as of one version; return the paths below the target."""
    if lake.handle(table) is None:
        return []
    folder = f"{table.layer}/{table.name}"
    copy = target / "lake" / folder
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            # Its log lies where a name begins with an underline. The hint at the newest checkpoint,
            # which has no ending, may be of a later version.
            log = [one for one in _listed(source, folder) if "/_" in one and Path(one).suffix]
            for path in log:
                _copy(source, path, target / "lake" / path)
            data = [f"{folder}/{path}" for path in _files_of(DeltaTable(str(copy)))]
            for path in data:
                _copy(source, path, target / "lake" / path)
        except (FileNotFoundError, DeltaError):  # maintenance was quicker: there is a newer version
            if not attempts_left:
                raise
            shutil.rmtree(copy, ignore_errors=True)
            continue
        return [f"lake/{path}" for path in (*log, *data)]
    raise AssertionError("unreachable")


def _files_of(handle: DeltaTable) -> Iterator[str]:
    for path in pl.DataFrame(handle.get_add_actions(flatten=True))["path"]:
        yield unquote(path)


def _copy(source: FileSystem, path: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open_input_stream(path) as given, target.open("wb") as taken:
        while piece := given.read(_PIECE):
            taken.write(piece)


def _copy_state(state: Path, target: Path) -> bool:
    """Copy SQLite's file as of one moment, however it is being written."""
    if not state.exists():
        return False
    with (
        closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as given,
        closing(sqlite3.connect(target)) as taken,
    ):
        given.backup(taken)
    return True


def _listed(source: FileSystem, folder: str) -> list[str]:
    selector = FileSelector(folder, allow_not_found=True, recursive=True)
    infos = source.get_file_info(selector)
    return sorted(str(one.path) for one in infos if one.type == FileType.File)


def _described(file: Path) -> dict[str, object]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}


def _file_system(settings: LakeSettings) -> FileSystem:
    if settings.is_local:
        return SubTreeFileSystem(settings.uri, LocalFileSystem())
    return PyFileSystem(DeltaStorageHandler(settings.uri, settings.plain_storage_options()))


def _sum(files: dict[str, dict[str, object]], state: bool) -> Copied:
    size = sum(int(str(each["bytes"])) for each in files.values())
    return Copied(files=len(files), size_bytes=size, state=state)
