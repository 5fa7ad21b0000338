from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from collectors.kafka.groups.member_protocol import decode_assignment

ASSIGNMENTS = st.lists(
    st.tuples(st.text(max_size=40), st.lists(st.integers(0, 2**31 - 1), max_size=20)), max_size=10
)


def encoded(topics: list[tuple[str, list[int]]], version: int, user_data: bytes | None) -> bytes:
    part = ConsumerProtocolAssignment.TopicPartition
    made = ConsumerProtocolAssignment(
        version,
        assigned_partitions=[part(topic=name, partitions=numbers) for name, numbers in topics],
        user_data=user_data,
    )
    return bytes(made.encode())


@given(ASSIGNMENTS, st.integers(0, 3), st.none() | st.binary(max_size=30))
def test_what_was_encoded_comes_back(
    topics: list[tuple[str, list[int]]], version: int, user_data: bytes | None
) -> None:
    found = decode_assignment(encoded(topics, version, user_data))
    assert found == [(name, tuple(numbers)) for name, numbers in topics]


@given(st.binary(max_size=200))
def test_whatever_a_client_wrote_is_refused_in_one_way(payload: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode_assignment(payload)


@given(ASSIGNMENTS.filter(bool), st.integers(1, 30))
def test_a_payload_that_was_cut_is_refused(
    topics: list[tuple[str, list[int]]], missing: int
) -> None:
    payload = encoded(topics, 0, None)[:-4]  # without the length of the assignor's own data
    cut = payload[: max(1, len(payload) - missing)]
    with pytest.raises(ValueError, match=r"not an assignment|ends too early|utf-8"):
        decode_assignment(cut)


def test_no_payload_is_no_assignment() -> None:
    assert decode_assignment(b"") == []
