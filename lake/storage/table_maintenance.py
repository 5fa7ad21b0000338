"""Maintenance of tables that delta-rs writes: retention, compaction, a short log, no dead files.

Every step is one commit, or deletes only what no version needs any more. So it can be interrupted
anywhere and repeated, beside writers and readers. Files and commits that the newest version does
not need are kept for a while: see ``Kept``.

delta-rs finds no conflict between two compactions of the same files: both succeed, and every row
is there twice. So each compaction is preceded by a commit that changes a property of the table
(``_fence``). A compaction that was planned before another one's fence is refused for the changed
metadata, however late it comes; one that was planned after it reads what the other one wrote.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from config.storage import COMMITS_KEPT, UNUSED_FILES_KEPT, RetentionSettings
from lake.errors import LakeError, one_line
from lake.schemas.gold import JOBS
from lake.schemas.model import Table
from lake.storage.file_encoding import COMPACTED

_T = TypeVar("_T")

FULL_FILE_BYTES = 100 * 1024 * 1024
"""Files of this size are not compacted any more."""
_NEARLY_FULL = 0.8
_MOST_FILES_A_DAY = 2
_TASKS = 1  # of the two cores that are shared with what is watched
_CONFLICTS = 5  # with other writers, after which a table is left for the next time
_FENCE = "headroom.compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """For how long what the newest version does not need is kept.

    Attributes:
        files: Files that were compacted or deleted: whoever began to read before goes on.
        log: Single commits. A history job that was away for longer looks at all samples again.
    """

    files: timedelta = UNUSED_FILES_KEPT
    log: timedelta = COMMITS_KEPT

    def properties(self) -> dict[str, str]:
        """Return them as the table's properties, which every engine follows."""
        return {
            "delta.deletedFileRetentionDuration": _interval(self.files),
            "delta.logRetentionDuration": _interval(self.log),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained:
    """What maintenance did to a table."""

    table: str
    expired_days: int = 0
    compacted_files: int = 0
    deleted_files: int = 0


def oldest_kept(days: int | None, now: datetime) -> date | None:
    """Return the first date whose rows are kept; None: all are.

    A date is kept while any moment of it is younger than this many days.
    """
    return None if days is None else (now - timedelta(days=days)).date()


def days_kept(table: Table, retention: RetentionSettings) -> int | None:
    """Return for how many days rows of a table without grains are kept; None: for ever."""
    if table.layer == "bronze":
        return retention.raw_days
    return retention.minute_days if table.name == JOBS.name else retention.hour_days


def written_by_delta_rs(handle: DeltaTable) -> bool:
    """Return whether delta-rs made the newest commit; a table is written by one engine alone."""
    newest = handle.history(1)
    return bool(newest) and "engineInfo" in newest[0] and "delta-rs" in newest[0]["engineInfo"]


def maintain_table(
    table: Table,
    uri: str,
    options: Mapping[str, str] | None,
    retention: RetentionSettings,
    *,
    now: datetime | None = None,
    kept: Kept | None = None,
    confirm: Callable[[], None] = lambda: None,
) -> Maintained | None:
    """Expire old rows, compact small files, shorten the log, and vacuum.

    ``lake.maintenance.run`` calls it for all tables, in one process at a time.

    Args:
        table: The table.
        uri: Its address.
        options: Those of its object store.
        retention: How long rows are kept.
        now: The present moment.
        kept: How long what is gone for readers is kept.
        confirm: Called before each commit; raises if this process may not make it.

    Returns:
        What was done; None if the table does not exist or is written by another engine.

    Raises:
        LakeError: Other writers were quicker again and again, or the store failed. What was done
            until then stays; the next time goes on.
    """
    now, kept = now or datetime.now(UTC), kept or Kept()
    try:
        handle = DeltaTable(uri, storage_options=None if options is None else dict(options))
        if not written_by_delta_rs(handle):
            return None
        commits = _Commits(handle=handle, confirm=confirm)
        _set_properties(commits, kept.properties())
        expired = _delete_before(commits, oldest_kept(days_kept(table, retention), now))
        compacted = sum(_compact(commits, day) for day in _fragmented_days(handle))
        confirm()
        handle.create_checkpoint()
        handle.cleanup_metadata()
        deleted = handle.vacuum(
            retention_hours=int(kept.files / timedelta(hours=1)),
            dry_run=False,
            enforce_retention_duration=False,
            full=True,
        )
    except TableNotFoundError:
        return None
    except (DeltaError, OSError, ValueError) as error:
        raise LakeError(f"{table.name}: maintenance failed: {one_line(error)}") from error
    return Maintained(
        table=table.name,
        expired_days=expired,
        compacted_files=compacted,
        deleted_files=len(deleted),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Commits:
    """A handle that commits are made through, and what must hold before each of them."""

    handle: DeltaTable
    confirm: Callable[[], None]

    def make(self, commit: Callable[[DeltaTable], _T]) -> _T:
        """Make a commit, and once more on the newest version where another writer was quicker."""
        for _ in range(_CONFLICTS):
            self.confirm()
            try:
                return commit(self.handle)
            except CommitFailedError:
                self.handle.update_incremental()
        self.confirm()
        return commit(self.handle)


def _set_properties(commits: _Commits, wanted: Mapping[str, str]) -> None:
    """Bring a table's properties up to date: they were set when it was made."""
    found = commits.handle.metadata().configuration
    if any(found.get(name) != value for name, value in wanted.items()):
        commits.make(lambda handle: handle.alter.set_table_properties(dict(wanted)))


def _delete_before(commits: _Commits, first: date | None) -> int:
    """Delete the rows of all dates before one; whole partitions, of which no file is read."""
    days = {date.fromisoformat(partition["date"]) for partition in commits.handle.partitions()}
    old = sorted(day for day in days if first is not None and day < first)
    if old:
        commits.make(lambda handle: handle.delete(f"date < '{first}'"))
    return len(old)


def _fragmented_days(handle: DeltaTable) -> list[str]:
    """Return the dates with more small files than need be, the newest first."""
    files = pl.DataFrame(handle.get_add_actions(flatten=True))
    small = files.filter(pl.col("size_bytes") < FULL_FILE_BYTES * _NEARLY_FULL)
    days = small.group_by(pl.col("partition.date").cast(pl.String)).len()
    fragmented = days.filter(pl.col("len") >= _MOST_FILES_A_DAY)
    return sorted(fragmented["partition.date"], reverse=True)


def _compact(commits: _Commits, day: str) -> int:
    """Compact the small files of a date in one commit; return how many there were."""

    def compact(handle: DeltaTable) -> int:
        _fence(handle)
        commits.confirm()
        done = handle.optimize.compact(
            partition_filters=[("date", "=", day)],
            target_size=FULL_FILE_BYTES,
            max_concurrent_tasks=_TASKS,
            writer_properties=COMPACTED,
        )
        return int(done["numFilesRemoved"])

    return commits.make(compact)


def _fence(handle: DeltaTable) -> None:
    """Refuse every compaction that was planned before: see above.

    Raises:
        CommitFailedError: Another process put its fence at the same time.
    """
    mine = uuid.uuid4().hex
    handle.alter.set_table_properties({_FENCE: mine}, raise_if_not_exists=False)
    # What is planned now must not lie behind a fence that came after this one.
    if handle.metadata().configuration.get(_FENCE) != mine:
        raise CommitFailedError("another compaction began")


def _interval(duration: timedelta) -> str:
    return f"interval {int(duration.total_seconds())} seconds"
