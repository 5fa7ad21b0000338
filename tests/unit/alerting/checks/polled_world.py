"""The rows of a cluster up to a poll, in which a check is true for some time."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from alerting.inputs.frames import Frames
from lake.schemas.model import Table
from lake.schemas.tables import DEAD_LETTERS
from tests.unit.alerting.checks.check_world import (
    FINE,
    Case,
    Row,
    RowAt,
    at,
    collections,
    frame,
    table_rows,
)


def world(
    case: Case,
    now: int,
    *,
    after: Mapping[Table, Row | RowAt | None] | None = None,
    sections: Mapping[tuple[str, str], Row | None] | None = None,
    until: Mapping[Table, int] | None = None,
    first: int = 0,
) -> Frames:
    """Return the rows of a cluster up to a poll.

    Args:
        case: How the check becomes true.
        now: The poll.
        after: What rows of the thing have after ``TRUE_UNTIL``; None: there are none. Nothing is
            wrong with what is not given.
        sections: What attempts have after it; None: there are none.
        until: The last poll of which a table has rows.
        first: The first poll that is still read.
    """
    polls = range(first, now + 1)
    tables = {}
    for table in FINE:
        of_table = [poll for poll in polls if poll <= (until or {}).get(table, now)]
        tables[table.name] = frame(
            table, table_rows(table, case, of_table, (after or {}).get(table, {}))
        )
    tables["collections"] = collections(case, range(now + 1), sections or {})
    tables["dead_letters"] = pl.concat([_long_ago(), tables["dead_letters"]])
    return Frames(cluster="c", now=at(now).timestamp(), tables=tables)


def _long_ago() -> pl.DataFrame:
    return frame(DEAD_LETTERS, [(-400, dict(FINE[DEAD_LETTERS]))])
