"""Whose turn it is to be read."""

from __future__ import annotations

from collectors.source.due import Due


def test_what_was_never_tried_comes_first_and_then_what_waits_longest() -> None:
    due = Due()
    due.was_tried("b", 10.0, again_after=0.0)
    due.was_tried("a", 20.0, again_after=0.0)
    due.was_tried("fresh", 25.0, again_after=300.0)
    assert due.in_turn(["a", "b", "fresh", "new"], 30.0) == ["new", "b", "a"]


def test_what_fails_each_time_holds_up_nothing_else() -> None:
    due, asked = Due(), []
    for poll in range(4):
        name = due.in_turn(["broken", "first", "second"], float(poll))[0]
        asked.append(name)
        due.was_tried(name, float(poll), again_after=0.0 if name == "broken" else 300.0)
    assert asked == ["broken", "first", "second", "broken"]


def test_what_is_gone_is_forgotten() -> None:
    due = Due()
    due.was_tried("a", 10.0, again_after=300.0)
    due.keep_only({"b"})
    assert due.is_due("a", 11.0)
    assert not due.was_tried_at("a", 10.0)
