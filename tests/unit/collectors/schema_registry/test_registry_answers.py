from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import ProtocolError
from collectors.schema_registry.answers import (
    read_level,
    read_subjects,
    read_version,
    topic_of,
)
from collectors.source.answer import LARGEST_INT, Odd

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
KEYS = ("subject", "version", "id", "schemaType", "compatibilityLevel", "mode")
OBJECT = st.dictionaries(st.sampled_from(KEYS), ANYTHING)


@pytest.mark.parametrize(
    ("subject", "topic"),
    [
        ("orders-value", "orders"),
        ("orders-key", "orders"),
        ("orders-value-key", "orders-value"),
        (":.east:orders-value", "orders"),
        (":.:orders-key", "orders"),
        ("com.example.Order", None),
        ("-value", None),
        (":.east:-key", None),
        ("orders-values", None),
    ],
)
def test_the_topic_that_a_subject_is_named_after(subject: str, topic: str | None) -> None:
    assert topic_of(subject) == topic


@given(ANYTHING)
def test_any_list_of_subjects(answer: Any) -> None:
    odd = Odd()
    try:
        names = read_subjects(answer, odd)
    except ProtocolError:
        assert not isinstance(answer, list)
        return
    assert all(isinstance(name, str) and name for name in names)
    assert len(names) == len(set(names))
    sound = [name for name in answer if isinstance(name, str) and name]
    assert set(names) == set(sound)
    assert bool(odd.problems) == (len(sound) < len(answer))


@given(OBJECT | ANYTHING)
def test_any_version(answer: Any) -> None:
    odd = Odd()
    try:
        found = read_version(answer, "orders-value", odd)
    except ProtocolError:
        assert not isinstance(answer, dict)
        return
    for name, value in (("version", found.version), ("id", found.schema_id)):
        assert value is None or 0 <= value <= LARGEST_INT
        if value is None and answer.get(name) not in (None, "", "undefined"):
            assert odd.problems
    if "schemaType" not in answer:
        assert found.schema_type == "AVRO"
    elif not isinstance(answer["schemaType"], str):
        assert found.schema_type is None


@given(OBJECT | ANYTHING)
def test_any_level(answer: Any) -> None:
    odd = Odd()
    try:
        found = read_level(answer, "mode", "the mode", odd)
    except ProtocolError:
        assert not isinstance(answer, dict)
        return
    said = answer.get("mode")
    if isinstance(said, str) and said.strip():
        assert found == said.strip()[:256].upper()
    else:
        assert found is None
    assert bool(odd.problems) == (said is not None and not isinstance(said, str))
