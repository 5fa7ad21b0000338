"""The search for a record by time, where reading is not permitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace as Answer
from typing import Any, cast

import polars as pl
import pytest

from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.time_lag.record_lookups import look_up
from collectors.kafka.time_lag.record_times import LookedUp
from collectors.kafka.time_lag.timestamp_lookups import Wanted

NOW = datetime(2026, 11, 20, tzinfo=UTC)
ITEM = Wanted(topic="orders", partition=0, offset=100)


class Log:
    """A partition's records, offset to seconds before now; None: the leader does not tell of it."""

    def __init__(self, records: Mapping[int, float] | None) -> None:
        self.records = records
        self.asked = 0

    def each(self, requests: Mapping[int, Sequence[Any]], _: Deadline) -> dict[int, list[Any]]:
        return {leader: [self._answer(one) for one in asked] for leader, asked in requests.items()}

    def _answer(self, request: Any) -> Answer:
        self.asked += 1
        if self.records is None:
            return Answer(topics=[])
        wanted = request.topics[0].partitions[0].timestamp
        at = {offset: NOW.timestamp() * 1000 - ago * 1000 for offset, ago in self.records.items()}
        later = [(offset, time) for offset, time in sorted(at.items()) if time >= wanted]
        offset, time = later[0] if later else (-1, -1)
        found = Answer(partition_index=0, error_code=0, offset=offset, timestamp=time)
        return Answer(topics=[Answer(name="orders", partitions=[found])])


def searched(log: Log, upper: tuple[int, float] = (1000, 5.0)) -> tuple[float | None, str | None]:
    """Return how long ago the record was written, and why that is unknown."""
    context = PollContext(wire=cast(Wire, log), deadline=Deadline(60, 60), now=NOW)
    now = NOW.timestamp()
    known = LookedUp(upper=(upper[0], now - upper[1]), refused_at=context.tick)
    partitions = pl.DataFrame({"topic": ["orders"], "partition": [0], "leader": [1]})
    refusals: dict[Wanted, str] = {}
    look_up(context, [ITEM], {ITEM.place: known}, partitions, refusals)
    at = known.time_at(ITEM.offset, now)
    return None if at is None else now - at, refusals.get(ITEM)


def test_a_record_is_found_in_a_few_rounds() -> None:
    log = Log({offset: 10_000 - offset * 10.0 for offset in range(1000)})
    ago, why = searched(log)
    assert ago == pytest.approx(9000.0, rel=0.25)
    assert why is None


@pytest.mark.parametrize(
    ("records", "rounds", "why"),
    [
        pytest.param({500: 9000.0}, 1, "compaction has removed", id="first one beyond it"),
        pytest.param({50: 9000.0, 500: 9.0}, 3, "by its time", id="a hole around it"),
        pytest.param({}, 1, "carries no timestamp", id="no timestamps"),
        pytest.param({50: 9000.0}, 2, "by its time", id="none as new as the guess"),
        pytest.param(None, 1, "did not tell", id="left out"),
    ],
)
def test_a_question_that_teaches_nothing_is_asked_once_and_the_reason_said(
    records: Mapping[int, float] | None, rounds: int, why: str
) -> None:
    log = Log(records)
    ago, said = searched(log)
    assert ago is None
    assert said is not None
    assert why in said
    assert log.asked == rounds
