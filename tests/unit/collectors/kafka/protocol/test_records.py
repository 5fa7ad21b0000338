from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from collectors.kafka.protocol.records import Record, read_records
from tests.many_examples import with_examples
from tests.selection import MARK

NO_PRODUCER = -1
TRANSACTIONAL, CONTROL = 0x10, 0x20
ATTRIBUTES_AT = 21


@dataclass
class Aborted:
    producer_id: int
    first_offset: int


@dataclass
class Answer:
    """A partition's part of a Fetch response."""

    records: bytes | None
    aborted_transactions: list[Any] | None = field(default_factory=list)


def batch(
    base: int,
    headers: list[list[tuple[str, bytes | None]]],
    producer: int = NO_PRODUCER,
    control: bool = False,
) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, producer >= 0, producer, 0, 0, 2**20)
    for number, item in enumerate(headers):
        builder.append(number, 1000 + number, b"key", b"payload", item)
    data = bytearray(builder.build())
    data[:8] = base.to_bytes(8, "big")
    if control:
        data[ATTRIBUTES_AT + 1] |= CONTROL
    return bytes(data)


def offsets(records: list[Record]) -> list[int]:
    return [record.offset for record in records]


def test_offset_time_and_headers() -> None:
    data = batch(7, [[("a", b"1"), ("a", None)], []])
    records, position = read_records(Answer(data), 7, 100, "t-0")
    assert records == [
        Record(7, 1000, False, [("a", b"1"), ("a", None)]),
        Record(8, 1001, False, []),
    ]
    assert position == 9


@pytest.mark.parametrize(
    ("first", "end", "found", "position"),
    [
        pytest.param(0, 10, [0, 1, 2, 3, 4, 5], 6, id="all"),
        pytest.param(1, 10, [1, 2, 3, 4, 5], 6, id="from within a batch"),
        pytest.param(1, 2, [1], 3, id="to within a batch"),
        pytest.param(4, 5, [4], 6, id="a whole batch before"),
    ],
)
def test_between_two_offsets(first: int, end: int, found: list[int], position: int) -> None:
    batches = [batch(0, [[]] * 3), batch(3, [[]] * 3)]
    answer = Answer(b"".join(batches[1:] if first >= 3 else batches))
    records, reached = read_records(answer, first, end, "t-0")
    assert offsets(records) == found
    assert reached == position


@pytest.mark.parametrize("records", [pytest.param(None, id="none"), pytest.param(b"", id="empty")])
def test_nothing_there(records: bytes | None) -> None:
    assert read_records(Answer(records, None), 5, 9, "t-0") == ([], 5)


def test_what_was_rolled_back_and_the_markers_do_not_count() -> None:
    data = b"".join(
        [
            batch(0, [[]], producer=1),
            batch(1, [[]], producer=2),
            batch(2, [[]]),
            batch(3, [[]], producer=1, control=True),
            batch(4, [[]], producer=1),
            batch(5, [[]], producer=1, control=True),
            batch(6, [[]], producer=2, control=True),
        ]
    )
    records, position = read_records(Answer(data, [Aborted(1, 0)]), 0, 10, "t-0")
    assert offsets(records) == [1, 2, 4]
    assert position == 7


def test_a_batch_that_makes_no_sense_is_stepped_over() -> None:
    broken = bytearray(batch(1, [[("a", b"1")]]))
    broken[61] = 0x7E  # the record's length
    data = batch(0, [[]]) + bytes(broken)
    records, position = read_records(Answer(data), 0, 10, "t-0")
    assert offsets(records) == [0]
    assert position == 2


def test_an_unknown_format_ends_the_reading() -> None:
    data = bytearray(batch(0, [[]]))
    data[16] = 9
    assert read_records(Answer(bytes(data)), 0, 10, "t-0") == ([], 10)


VALID = batch(3, [[("a", b"1"), ("kafka_dlt-exception-fqcn", b"java.lang.E")]] * 3)


def the_reading_goes_forward(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(VALID) - 1))
    junk = data.draw(st.binary(min_size=1, max_size=8))
    size = data.draw(st.integers(0, len(VALID)))
    broken = (VALID[:place] + junk + VALID[place + len(junk) :])[:size]
    records, position = read_records(Answer(broken), 3, 50, "t-0")
    assert position >= 3
    assert all(3 <= record.offset < 50 for record in records)


def test_broken_bytes_raise_nothing_and_the_reading_goes_forward() -> None:
    with_examples(the_reading_goes_forward, 100)


@MARK
@pytest.mark.parametrize("part", range(10))
def test_very_many_broken_bytes(part: int, ten_with_all: int) -> None:
    with_examples(the_reading_goes_forward, 1000 * ten_with_all, part)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    records, position = read_records(Answer(data), 0, 50, "t-0")
    assert position >= 0
    assert records == [] or position > 0
