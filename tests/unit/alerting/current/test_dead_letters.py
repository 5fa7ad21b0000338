"""When dead letters are deleted before somebody redrives them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.current.dead_letters import with_deletion
from lake.schemas.current import READERS
from lake.schemas.tables import DEAD_LETTERS
from tests.unit.alerting.current.sample_rows import NOW, rows

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OLD = {"oldest_unprocessed_at": NOW - HOUR}
"""The oldest is an hour old, and its topic keeps it for a day."""


def deletion(
    letter: dict[str, Any], *reads: dict[str, Any], kept: float | None = DAY.total_seconds()
) -> tuple[str, datetime | None]:
    """Return what retention does to a dead-letter topic that the group ``r`` is to redrive."""
    usual = {"source": "kafka", "name": "d", "redrive_group": "r", "unprocessed": 5, "retained": 9}
    given = rows(DEAD_LETTERS, {**usual, **OLD, **letter}).with_columns(
        pl.lit(kept, pl.Float64()).alias("retention_seconds")
    )
    readers = pl.DataFrame(
        [{"cluster": "c", "topic": "d", "group": "r", **one} for one in reads],
        schema=READERS.polars_schema,
    )
    found = with_deletion(given, readers)
    assert found.columns == [*given.columns, "is_redriven", "loss", "deleted_at"]
    ((loss, at),) = found.select("loss", "deleted_at").iter_rows()
    return loss, at


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param({"loss": "none"}, ("none", None), id="in time"),
        pytest.param({"loss": "lost"}, ("lost", None), id="lost"),
        pytest.param({"loss": "unknown"}, ("unknown", None), id="unknown"),
        pytest.param({"loss": None}, ("unknown", None), id="written before there was the column"),
        pytest.param(
            {"loss": "coming", "data_loss_at": NOW + 2 * HOUR},
            ("coming", NOW + 2 * HOUR),
            id="too late",
        ),
        pytest.param(
            {"loss": "lost", "topic": "another"},
            ("coming", NOW - HOUR + DAY),
            id="the group reads other topics alone",
        ),
        pytest.param(
            {"loss": "none", "group": "another"},
            ("coming", NOW - HOUR + DAY),
            id="another group reads it",
        ),
    ],
)
def test_where_the_redrive_group_reads_the_topic_its_loss_there_counts(
    read: dict[str, Any], expected: tuple[str, datetime | None]
) -> None:
    assert deletion({}, read) == expected


@pytest.mark.parametrize(
    ("letter", "kept", "expected"),
    [
        pytest.param(
            {"oldest_unprocessed_at": None, "oldest_retained_at": NOW},
            DAY.total_seconds(),
            ("coming", NOW + DAY),
            id="as old as it is kept",
        ),
        pytest.param({}, None, ("unknown", None), id="no retention is known"),
        pytest.param(
            {"oldest_unprocessed_at": None}, DAY.total_seconds(), ("unknown", None), id="no age"
        ),
        pytest.param({"retained": 0}, DAY.total_seconds(), ("none", None), id="nothing waits"),
    ],
)
def test_what_nobody_redrives_is_deleted_when_it_is_old(
    letter: dict[str, Any], kept: float | None, expected: tuple[str, datetime | None]
) -> None:
    alone = {"redrive_group": None, "unprocessed": None}
    assert deletion({**alone, **letter}, kept=kept) == expected


def test_where_nobody_knows_who_reads_what_is_redriven_is_unknown() -> None:
    usual = {"source": "kafka", "name": "d", "unprocessed": 5, **OLD}
    letters = rows(
        DEAD_LETTERS, {**usual, "redrive_group": "r"}, {**usual, "redrive_group": None}
    ).with_columns(pl.lit(DAY.total_seconds()).alias("retention_seconds"))
    assert set(with_deletion(letters, None).select("redrive_group", "loss").iter_rows()) == {
        ("r", "unknown"),
        (None, "coming"),
    }
