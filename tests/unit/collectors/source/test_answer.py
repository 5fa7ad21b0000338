"""Answers of others are read without trust."""

from __future__ import annotations

import math
from typing import Any

import pytest

from collectors.source.answer import LARGEST_INT, LARGEST_LONG, Fields, Odd, objects, parse


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(rb'"\ud800"', "\\ud800", id="half a pair"),
        pytest.param(rb'"\ud800\ud801\udc00"', "\\ud800\U00010400", id="half, and a pair"),
        pytest.param(rb'"\\ud800"', "\\ud800", id="a backslash that was meant"),
        pytest.param(rb'"\\\ud800"', "\\\\ud800", id="a backslash, and half a pair"),
        pytest.param('"\U0001f600é"'.encode(), "\U0001f600é", id="UTF-8"),
        pytest.param(b'"\xff\xfe"', "\\udcff\\udcfe", id="bytes that are not UTF-8"),
        pytest.param(b"9" * 6_000, math.inf, id="a number too long"),
        pytest.param(b"-12", -12, id="a number"),
        pytest.param(b"[" * 6_000 + b"]" * 6_000, None, id="nothing but depth"),
    ],
)
def test_what_is_read_can_be_stored(body: bytes, expected: Any) -> None:
    found = parse(body)
    if expected is None:
        assert isinstance(found, list)
    else:
        assert found == expected


def test_two_broken_names_stay_two() -> None:
    assert len(parse(b'{"\\ud800": 1, "\\ud801": 2, "\xff": 3, "\xfe": 4}')) == 4


def test_what_is_too_deep_is_null_and_costs_nothing_else() -> None:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    text = f'[{{"name": "one"}}, {{"name": "t[w{{o\\"", "odd": {deep}, "depth": 3}}, [[1]]]'
    found = parse(text.encode())
    assert (found[0], found[2]) == ({"name": "one"}, [[1]])
    assert (found[1]["name"], found[1]["depth"]) == ('t[w{o"', 3)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1", b"[" * 6_000, b"{" * 6_000, b'["' + b"[" * 6_000]
)
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        parse(body)


def test_a_value_of_another_type_is_unknown_and_noted() -> None:
    odd = Odd()
    fields = Fields(
        {"text": 5, "many": LARGEST_INT + 1, "long": 2**63, "real": "x", "list": 3, "object": "no"},
        odd,
        "queue",
    )
    assert fields.text("text") is None
    assert fields.whole("many", largest=LARGEST_INT) is None
    assert fields.whole("long") is None
    assert fields.number("real") is None
    assert fields.objects("list") is None
    assert not fields.fields("object").is_known
    assert list(odd.places) == [
        f"queue.{key}" for key in ("text", "many", "long", "real", "list", "object")
    ]
    assert odd.problems == ["6 values of the answers could not be understood: queue.text"]


def test_a_value_that_is_missing_is_unknown_and_not_noted() -> None:
    odd = Odd()
    fields = Fields({"null": None, "empty": "", "erlang": "undefined", "object": []}, odd, "q")
    assert fields.text("null") is None
    assert fields.whole("empty") is None
    assert fields.number("erlang") is None
    assert not fields.fields("object").is_known
    assert fields.objects("no such key") is None
    assert odd.problems == []


def test_numbers() -> None:
    odd = Odd()
    fields = Fields({"a": "12", "b": LARGEST_LONG, "c": -1, "d": 1.5, "e": True}, odd, "")
    assert (fields.whole("a"), fields.whole("b")) == (12, LARGEST_LONG)
    assert (fields.whole("c"), fields.whole("c", smallest=-1)) == (None, -1)
    assert (fields.number("d"), fields.number("b")) == (1.5, float(LARGEST_LONG))
    assert (fields.whole("e"), fields.number("e")) == (None, None)


def test_items_that_are_no_objects_are_left_out_and_noted() -> None:
    odd = Odd()
    found = objects([{"a": 1}, None, 5, {"a": 2}], odd, "queues")
    assert [each.whole("a") for each in found] == [1, 2]
    assert odd.problems == ["2 values of the answers could not be understood: queues[1]"]
