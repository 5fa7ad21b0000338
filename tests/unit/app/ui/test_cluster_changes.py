from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from app.ui import cluster_changes
from lake.schemas.tables import CLUSTER_EVENTS

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def events(*given: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"observed_at": START + timedelta(minutes=number), "kind": kind, "subject": subject}
            for number, (kind, subject) in enumerate(given)
        ],
        schema=CLUSTER_EVENTS.polars_schema,
    )


def test_events_of_a_topic() -> None:
    found = cluster_changes.of_topic(
        events(
            ("topic configuration changed", "orders"),
            ("partitions added", "orders"),
            ("unclean election", "orders-3"),
            ("unclean election", "orders-eu-3"),
            ("topic created", "orders-3"),
            ("broker missing", "3"),
            ("acl changed", "orders"),
            ("schema version changed", "orders-value"),
            ("schema compatibility changed", ":.east:orders-key"),
            ("schema version changed", "orders-eu-value"),
            ("registry mode changed", "orders-value"),
        ),
        "orders",
    )
    assert found.select("kind", "subject").rows() == [
        ("topic configuration changed", "orders"),
        ("partitions added", "orders"),
        ("unclean election", "orders-3"),
        ("schema version changed", "orders-value"),
        ("schema compatibility changed", ":.east:orders-key"),
    ]


def test_marks_of_the_cluster() -> None:
    rows = events(
        ("topic created", "orders"),
        ("broker missing", "3"),
        ("controller changed", "controller"),
        ("unclean election", "orders-3"),
        ("schema version changed", "orders-value"),
        ("registry compatibility changed", "schemas"),
    )
    found = cluster_changes.marks(cluster_changes.of_cluster(rows))
    assert [(mark.text, mark.kind) for mark in found] == [
        ("controller changed", "quiet"),
        ("unclean election", "act"),
        ("registry compatibility changed", "quiet"),
    ]


def test_events_of_one_poll_and_kind_are_one_mark() -> None:
    rows = events(("acl changed", "User:a"), ("acl changed", "User:b"))
    assert len(cluster_changes.marks(rows.with_columns(observed_at=pl.lit(START)))) == 1
