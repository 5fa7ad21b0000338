from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.current.cluster import broker_rows, cluster_row
from alerting.current.topics import newest_partitions
from alerting.inputs import facts
from alerting.inputs.frames import Frames
from lake.schemas.current import GROUP_STATUS, TOPIC_STATUS
from lake.schemas.tables import BROKERS, COLLECTIONS, DEAD_LETTERS, PARTITIONS, TOPICS

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": str(one["observed_at"]), **one} for one in given],
        schema=table.polars_schema,
    )


def broker(second: float, broker_id: int, alive: bool | None) -> dict[str, Any]:
    return {
        "observed_at": at(second),
        "broker_id": broker_id,
        "is_alive": alive,
        "is_controller": broker_id == 1,
    }


def partition(second: float, in_sync: list[int], leader: int | None = 1) -> dict[str, Any]:
    return {
        "observed_at": at(second),
        "topic": "t",
        "partition": 0,
        "leader": leader,
        "replicas": [1, 2],
        "in_sync_replicas": in_sync,
        "min_in_sync_replicas": 2,
    }


def present(brokers: pl.DataFrame, partitions: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return what the tables of the present say of the brokers and of the cluster."""
    frames = Frames(
        cluster="c",
        now=at(10).timestamp(),
        tables={BROKERS.name: brokers, PARTITIONS.name: partitions},
    )
    newest = newest_partitions(frames)
    found = broker_rows(frames, newest)
    row = cluster_row(
        frames,
        groups=pl.DataFrame(schema=GROUP_STATUS.polars_schema),
        topics=pl.DataFrame(schema=TOPIC_STATUS.polars_schema),
        brokers=found,
        partitions=newest,
    )
    return found, row.row(0, named=True)


def test_a_broker_is_missing_since_the_first_poll_without_it() -> None:
    brokers, cluster = present(
        rows(
            BROKERS,
            *(broker(second, 1, True) for second in (0, 5, 10)),
            broker(0, 2, True),
            broker(5, 2, False),
            broker(10, 2, False),
        ),
        rows(PARTITIONS, partition(0, [1, 2]), partition(5, [1]), partition(10, [1])),
    )
    assert brokers["missing_since"].to_list() == [None, at(5)]
    assert cluster["missing_brokers"] == [2]
    assert cluster["brokers"] == 2
    replication = ("under_replicated", "under_min_isr", "offline")
    assert [cluster[name] for name in replication] == [1, 1, 0]


def test_what_nobody_read_is_unknown() -> None:
    brokers, cluster = present(rows(BROKERS), rows(PARTITIONS))
    assert brokers.is_empty()
    unknown = ("brokers", "under_replicated", "under_min_isr", "offline")
    assert [cluster[name] for name in unknown] == [None] * 4


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param([False, True, True], 5, id="began"),
        pytest.param([True, False, True], 10, id="came back and went again"),
        pytest.param([True, True, True], None, id="longer than what was looked at"),
        pytest.param([True, True, False], None, id="over"),
    ],
)
def test_since_when(states: list[bool], expected: int | None) -> None:
    frame = pl.DataFrame({"observed_at": [at(5 * number) for number in range(3)], "so": states})
    found = facts.since_when(frame, pl.col("so"))
    assert found == (None if expected is None else at(expected))


def letter(second: float, end: int | None, **given: Any) -> dict[str, Any]:
    return {
        "observed_at": at(second),
        "source": "kafka",
        "name": "orders.dlq",
        "log_end": end,
        "retained": 10,
        **given,
    }


def test_dead_letters_with_their_rate_reason_and_retention() -> None:
    found = facts.dead_letter_rows(
        rows(
            DEAD_LETTERS,
            letter(0, 100),
            letter(
                10,
                105,
                oldest_unprocessed_at=at(0),
                reasons=[
                    {"key": "java.lang.ValueError", "value": 3},
                    {"key": "x.TimeoutException", "value": 1},
                ],
            ),
        ),
        rows(TOPICS, {"observed_at": at(0), "topic": "orders.dlq", "retention_seconds": 3600.0}),
    )
    row = found.row(0, named=True)
    assert found.height == 1
    assert row["arrival_per_second"] == 0.5
    assert (row["top_reason"], row["top_share"]) == ("ValueError", 0.75)
    assert row["retention_seconds"] == 3600.0


def test_the_reason_of_most_dead_letters_is_not_that_of_the_newest_few() -> None:
    """Given a poll whose few records failed of something else, then those of before count, too."""
    often = [{"key": "java.lang.IllegalArgumentException", "value": 10}]
    seldom = [{"key": "x.TimeoutException", "value": 10}]
    given = [letter(second, 100 + 2 * second, reasons=often) for second in range(0, 60, 5)]
    found = facts.dead_letter_rows(
        rows(DEAD_LETTERS, *given, letter(60, 230, reasons=seldom)), TOPICS.empty
    )
    row = found.row(0, named=True)
    assert row["top_reason"] == "IllegalArgumentException"
    assert row["top_share"] == pytest.approx(110 / 130)


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param([5], id="one poll"),
        pytest.param([5, 2], id="went backwards"),
        pytest.param([None, None], id="never read"),
    ],
)
def test_a_rate_that_cannot_be_told_is_unknown(ends: list[int | None]) -> None:
    found = facts.dead_letter_rows(
        rows(DEAD_LETTERS, *(letter(5 * number, end) for number, end in enumerate(ends))),
        rows(TOPICS),
    )
    assert found["arrival_per_second"].to_list() == [None]


def collected(second: float, section: str, status: str) -> dict[str, Any]:
    return {
        "observed_at": at(second),
        "section": section,
        "status": status,
        "interval_seconds": 5.0,
        "error": "boom" if status == "failed" else None,
    }


def test_sections_with_their_newest_attempt_and_newest_success() -> None:
    found = facts.section_rows(
        rows(
            COLLECTIONS,
            collected(0, "groups", "ok"),
            collected(5, "groups", "partial"),
            collected(10, "groups", "failed"),
            collected(10, "topics", "failed"),
        )
    )
    assert found["section"].to_list() == ["groups", "topics"]
    assert found["status"].to_list() == ["failed", "failed"]
    assert found["last_success_at"].to_list() == [at(5), None]
    assert found["failures"].to_list() == [1, 1]
    assert found["error"].to_list() == ["boom", "boom"]


def polls(*seconds: float) -> pl.DataFrame:
    return pl.DataFrame(
        {"observed_at": [at(second) for second in seconds]},
        schema={"observed_at": pl.Datetime("us", "UTC")},
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([(0, 5), (0, 5)], [(0, 5), (0, 5)], id="all are there"),
        pytest.param([(0, 5), (0,)], [(0,), (0,)], id="one is on its way"),
        pytest.param([(0, 5, 30), (0, 5)], [(0, 5, 30), (0, 5)], id="one has failed"),
        pytest.param([(0, 5), ()], [(0, 5), ()], id="one is empty"),
        pytest.param([(), ()], [(), ()], id="nothing"),
    ],
)
def test_tables_end_with_a_poll_that_all_of_them_have(
    given: list[tuple[float, ...]], expected: list[tuple[float, ...]]
) -> None:
    found = facts.same_polls([polls(*seconds) for seconds in given], timedelta(seconds=10))
    assert [tuple(frame["observed_at"].to_list()) for frame in found] == [
        tuple(at(second) for second in seconds) for seconds in expected
    ]
