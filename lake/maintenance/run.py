"""Maintenance of every table that delta-rs writes: retention, compaction, vacuum.

The collectors do it every half hour, as they write nearly all of these tables and run wherever a
lake grows. Nothing else compacts these tables by itself; ``maintain`` of the command lines does it
once.
One process at a time: see ``lake.maintenance.lease``. A process that was paused for so long that
another one has taken over finds that out before its next commit; a compaction that it had begun
before is refused by the table's log: see ``lake.storage.table_maintenance``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from config.settings import LakeSettings
from lake.errors import LakeError, LeaseLostError
from lake.maintenance.lease import only_one
from lake.schemas.model import Table
from lake.schemas.tables import TABLES
from lake.storage.store import Lake
from lake.storage.table_maintenance import Maintained, maintain_table

log = logging.getLogger(__name__)

JOB = "maintenance"
"""Its name in the table ``jobs`` and of its lease."""


def maintain(
    lake: Lake,
    settings: LakeSettings,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> list[Maintained]:
    """Maintain every table that delta-rs writes, one after the other.

    Raises:
        BusyError: Another process maintains this lake.
        LeaseLostError: Another process has taken over.
        LakeError: Tables failed; raised when the others are done.
    """
    options, retention = lake.options, settings.retention
    # A lease that was lost is found out before the next commit: nothing to do at once.
    with only_one(settings, JOB, lost=lambda error: log.warning("%s", error)) as hold:
        return each_table(
            lambda table: maintain_table(
                table, lake.uri(table), options, retention, confirm=hold.confirm
            ),
            on_progress,
        )


def each_table(
    work: Callable[[Table], Maintained | None], on_progress: Callable[[str], None] | None = None
) -> list[Maintained]:
    """Do the same for every table of a lake; one that fails stops no other.

    Raises:
        LakeError: Tables failed; raised when the others are done.
    """
    done, failures = [], []
    for table in TABLES.values():
        if on_progress is not None:
            on_progress(table.name)
        try:
            maintained = work(table)
        except LeaseLostError:
            raise
        except LakeError as error:
            failures.append(str(error))
            continue
        if maintained is not None:
            done.append(maintained)
    if failures:
        raise LakeError("; ".join(failures))
    return done


def summary(done: Iterable[Maintained]) -> str:
    """Return what was done as a few words."""
    tables = list(done)
    return (
        f"{len(tables)} tables, {sum(one.expired_days for one in tables)} days expired, "
        f"{sum(one.compacted_files for one in tables)} small files compacted, "
        f"{sum(one.deleted_files for one in tables)} files of samples deleted"
    )
