from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from alerting.notify.notes import changes_note, lag_note, sparkline
from alerting.status.model import PartitionWindow, Sample
from lake.schemas.tables import CLUSTER_EVENTS, REBALANCES

NOW = datetime(2026, 1, 5, 10, 0, tzinfo=UTC)


def window(partition: int, *lags: tuple[int, int | None]) -> PartitionWindow:
    """Return a window of lags by the minutes that they are ago."""
    samples = tuple(Sample(NOW.timestamp() - 60 * ago, lag=lag) for ago, lag in lags)
    return PartitionWindow(topic="orders", partition=partition, samples=samples)


def rebalances(*rows: tuple[str, int, str | None]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"group": group, "rebalanced_at": NOW - timedelta(minutes=ago), "reason": reason}
            for group, ago, reason in rows
        ],
        schema={
            name: REBALANCES.polars_schema[name] for name in ("group", "rebalanced_at", "reason")
        },
    )


def events(*rows: tuple[str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"observed_at": NOW - timedelta(minutes=ago), "kind": kind, "subject": subject}
            for kind, subject, ago in rows
        ],
        schema={
            name: CLUSTER_EVENTS.polars_schema[name]
            for name in ("observed_at", "kind", "subject", "before", "after", "group")
        },
    )


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param([0, 1, 2, 4, 8], "▁▂▃▅█", id="rising"),
        pytest.param([0, 0], "▁▁", id="nothing waits"),
        pytest.param([None, 5], "·█", id="unknown is no zero"),
        pytest.param([], "", id="none"),
    ],
)
def test_sparkline(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_the_lag_of_all_partitions_is_drawn_as_far_as_it_is_known() -> None:
    windows = [
        window(0, (30, 100), (10, 400), (0, 900)),
        window(1, (30, 100), (10, None), (0, 100)),
    ]
    note = lag_note(windows, NOW.timestamp())
    assert note is not None
    drawn = note.removeprefix("Lag, last hour: ").partition(" ")[0]
    assert len(drawn) == 24
    assert drawn.startswith("·" * 11) and drawn.endswith("█")
    assert note.endswith("200 → 1 k messages")


def test_without_samples_no_lag_is_drawn() -> None:
    assert lag_note([], NOW.timestamp()) is None
    assert lag_note([window(0, (0, 5))], NOW.timestamp()) is None


def test_what_changed_in_the_hour_before_is_named_the_last_three() -> None:
    note = changes_note(
        "billing",
        NOW.timestamp(),
        rebalances(("billing", 5, "1 member left"), ("other", 4, None), ("billing", 90, None)),
        events(
            ("topic configuration changed", "orders", 10),
            ("broker missing", "2", 50),
            ("broker back", "2", 45),
            ("controller changed", "1", -1),
        ),
    )
    assert note == (
        "Changed before: 09:15 broker 2 is back; 09:50 topic configuration changed: orders; "
        "09:55 rebalance, 1 member left (and 1 earlier)"
    )


def test_where_nothing_changed_nothing_is_said() -> None:
    assert changes_note("billing", NOW.timestamp(), rebalances(), events()) is None


def test_deploys_of_the_group_and_of_all_are_named() -> None:
    given = events(("deploy", "billing 2", 5), ("deploy", "mail 7", 4), ("deploy", "network", 3))
    marks = given.with_columns(group=pl.Series(["billing", "mail", None]))
    note = changes_note("billing", NOW.timestamp(), rebalances(), marks)
    assert note == "Changed before: 09:55 deploy billing 2; 09:57 deploy network"
