from __future__ import annotations

from datetime import UTC, datetime

import pytest

from collectors.kafka.dead_letters.detection import DeadLetterHeaders
from collectors.kafka.dead_letters.header_samples import Times, times_of
from collectors.kafka.protocol.records import Record

MOMENT, EVENT = (datetime.fromtimestamp(seconds, UTC) for seconds in (1_700_000_100, 1_700_000_000))


@pytest.mark.parametrize(
    ("appended", "letter", "times"),
    [
        pytest.param(
            False,
            DeadLetterHeaders(reason="E", origin="t", copies_timestamp=True),
            Times(timestamp=MOMENT, event_at=MOMENT, arrived_at=None),
            id="copied: the event's time, arrival unknown",
        ),
        pytest.param(
            True,
            DeadLetterHeaders(reason="E", origin="t", copies_timestamp=True),
            Times(timestamp=MOMENT, event_at=None, arrived_at=MOMENT),
            id="copied, and replaced by the broker",
        ),
        pytest.param(
            False,
            DeadLetterHeaders(
                reason="E", origin="t", copies_timestamp=False, event_at=EVENT.timestamp()
            ),
            Times(timestamp=MOMENT, event_at=EVENT, arrived_at=MOMENT),
            id="not copied, reported by a header",
        ),
        pytest.param(
            False,
            DeadLetterHeaders(reason="E", origin="t", copies_timestamp=False),
            Times(timestamp=MOMENT, event_at=None, arrived_at=MOMENT),
            id="not copied, reported by nobody",
        ),
        pytest.param(
            False,
            DeadLetterHeaders(reason=None, origin=None),
            Times(timestamp=MOMENT, event_at=None, arrived_at=None),
            id="nobody knows who wrote it",
        ),
    ],
)
def test_times(appended: bool, letter: DeadLetterHeaders, times: Times) -> None:
    assert times_of(Record(0, int(MOMENT.timestamp() * 1000), appended, []), letter) == times


@pytest.mark.parametrize(
    "timestamp_ms", [pytest.param(None, id="none"), pytest.param(2**62, id="of no calendar")]
)
def test_without_a_timestamp(timestamp_ms: int | None) -> None:
    assert (
        times_of(
            Record(0, timestamp_ms, False, []),
            DeadLetterHeaders(reason="E", origin="t", copies_timestamp=True),
        )
        is None
    )
