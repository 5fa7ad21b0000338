"""What is known of partitions from poll to poll, and how late groups are by it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.kafka.protocol.broker_requests import Deadline
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.time_lag.time_lags import TimeLags
from config.settings import TimeLagSettings

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
IDS: Mapping[str, str | None] = {"orders": "a", "bills": "b"}
OFFSETS = {"log_start": pl.Int64(), "log_end": pl.Int64(), "last_stable": pl.Int64()}
SCHEMA = {
    "group": pl.String(),
    "topic": pl.String(),
    "partition": pl.Int32(),
    "committed": pl.Int64(),
    **OFFSETS,
    "lag": pl.Int64(),
    "unknown_reason": pl.String(),
    "is_subscribed": pl.Boolean(),
}
ROWS = tuple[str, int, int | None]
"""Topic, committed and end of the group's partition 0."""


def rows(*given: ROWS, stable: int | None = None, start: int = 0) -> pl.DataFrame:
    listed = [
        ("billing", topic, 0, committed, start, end, stable, end and end - committed, None, None)
        for topic, committed, end in given
    ]
    return pl.DataFrame(listed, schema=SCHEMA, orient="row")


def polled(
    known: TimeLags,
    seconds: float,
    frame: pl.DataFrame,
    ids: Mapping[str, str | None] = IDS,
    *,
    ask: bool = False,
) -> dict[str, Any]:
    """Take in a poll; return the row of each topic."""
    at = NOW + timedelta(seconds=seconds)
    known.record(frame, at, ids)
    wire: Any = None  # nobody is asked
    context = PollContext(wire=wire, deadline=Deadline(60, 60), now=at)
    settings = TimeLagSettings(ask_brokers=ask, lookups=0)
    partitions = pl.DataFrame(schema={"topic": pl.String(), "partition": pl.Int32()})
    found = known.add(context, settings, frame, partitions)
    return {row["topic"]: row for row in found.to_dicts()}


def test_it_is_interpolated_between_polls() -> None:
    known = TimeLags()
    polled(known, 0, rows(("orders", 0, 0), ("bills", 0, 100)))
    found = polled(known, 10, rows(("orders", 50, 100), ("bills", 100, 100)))
    assert found["orders"]["time_lag_seconds"] == pytest.approx(5.0)
    assert found["orders"]["time_lag_source"] == "timeline"
    assert found["orders"]["unknown_reason"] is None
    assert found["bills"]["time_lag_seconds"] == 0.0
    assert found["bills"]["time_lag_source"] is None


def test_what_one_poll_cannot_tell_is_unknown_with_the_reason() -> None:
    known = TimeLags()
    found = polled(known, 0, rows(("orders", 50, 100)))
    assert found["orders"]["time_lag_seconds"] is None
    assert "one poll cannot tell" in found["orders"]["unknown_reason"]
    found = polled(known, 15, rows(("orders", 50, 120)))
    assert "more than 15 s" in found["orders"]["unknown_reason"]


def test_a_record_that_retention_has_removed_is_named_so() -> None:
    found = polled(TimeLags(), 0, rows(("orders", 5, 100), start=10), ask=True)
    assert "retention has removed" in found["orders"]["unknown_reason"]


@pytest.mark.parametrize(
    ("end", "id_"), [pytest.param(150, "other", id="anew"), pytest.param(90, "a", id="cut back")]
)
def test_another_log_begins_anew(end: int, id_: str) -> None:
    known = TimeLags()
    polled(known, 0, rows(("orders", 0, 0)))
    polled(known, 10, rows(("orders", 0, 100)))
    found = polled(known, 20, rows(("orders", 50, end)), {"orders": id_})
    assert "one poll cannot tell" in found["orders"]["unknown_reason"]


def test_a_partition_without_a_leader_is_not_forgotten() -> None:
    known = TimeLags()
    polled(known, 0, rows(("orders", 0, 0), ("bills", 0, 0)))
    polled(known, 10, rows(("orders", 50, None), ("bills", 50, 100)))
    found = polled(known, 20, rows(("orders", 50, 100), ("bills", 50, 100)))
    assert found["orders"]["time_lag_seconds"] == pytest.approx(10.0)
    assert found["bills"]["time_lag_seconds"] == pytest.approx(15.0)


def test_what_no_group_reads_any_more_is_forgotten() -> None:
    known = TimeLags()
    polled(known, 0, rows(("orders", 0, 0), ("bills", 0, 0)))
    polled(known, 10, rows(("bills", 0, 0)))
    assert known.partitions["topic"].to_list() == ["bills"]
    assert len(known.timelines) == 1


def test_an_open_transaction_is_as_old_as_the_record_that_it_holds_up() -> None:
    known = TimeLags()
    polled(known, 0, rows(("orders", 0, 0)))
    found = polled(known, 10, rows(("orders", 0, 100), stable=50))
    assert found["orders"]["open_since"] == NOW + timedelta(seconds=5)
    found = polled(known, 20, rows(("orders", 0, 200), stable=50))
    assert found["orders"]["open_since"] == NOW + timedelta(seconds=5)
    found = polled(known, 30, rows(("orders", 0, 200), stable=200))
    assert found["orders"]["open_since"] is None
