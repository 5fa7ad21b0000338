"""What is logged of what goes wrong: when it changes, and once an hour."""

from __future__ import annotations

import pytest

from collectors.source.repeat_filter import AGAIN_SECONDS, RepeatFilter


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_what_stays_as_it_is_is_news_once_an_hour() -> None:
    clock = Clock()
    repeats = RepeatFilter(clock)
    assert repeats.should_log(("shop", "groups"), "not permitted")
    assert not repeats.should_log(("shop", "groups"), "not permitted")
    clock.seconds += AGAIN_SECONDS - 1
    assert not repeats.should_log(("shop", "groups"), "not permitted")
    clock.seconds += 1
    assert repeats.should_log(("shop", "groups"), "not permitted")
    assert not repeats.should_log(("shop", "groups"), "not permitted")


def test_another_reason_is_news_and_another_number_is_none() -> None:
    repeats = RepeatFilter(Clock())
    assert repeats.should_log(("shop",), "the lag of 3 of 10 partitions is unknown")
    assert not repeats.should_log(("shop",), "the lag of 4 of 11 partitions is unknown")
    assert repeats.should_log(("shop",), "not permitted")


@pytest.mark.parametrize(
    ("before", "after", "is_news"),
    [
        ("broker 1 (kafka-1:9092) did not answer", "broker 2 (kafka-2:9092) did not answer", True),
        ("broker 1: did not answer", "broker 2: did not answer", True),
        ("node 1 left", "node 2 left", True),
        ("10.0.0.1:9092: refused", "10.0.0.2:9092: refused", True),
        ("http://host:8083/a2 failed", "http://host:8083/a3 failed", True),
        ("orders-1 has no leader", "orders-2 has no leader", True),
        ("did not answer within 4.9 s", "did not answer within 5.0 s", False),
        ("silent: 12 s until now", "silent: 27 s until now", False),
        ("3 of 10 partitions are unknown", "4 of 11 partitions are unknown", False),
        ("(7) records left, at 90.", "(8) records left, at 12345.", False),
    ],
)
def test_who_it_is_about_is_news_and_how_much_is_none(
    before: str, after: str, is_news: bool
) -> None:
    repeats = RepeatFilter(Clock())
    assert repeats.should_log(("shop",), before)
    assert repeats.should_log(("shop",), after) == is_news


def test_that_it_is_well_again_is_news_once() -> None:
    repeats = RepeatFilter(Clock())
    assert not repeats.should_log(("shop",), None)
    assert repeats.should_log(("shop",), "refused")
    assert repeats.should_log(("shop",), None)
    assert not repeats.should_log(("shop",), None)
    assert repeats.should_log(("shop",), "refused")


def test_each_section_has_news_of_its_own() -> None:
    repeats = RepeatFilter(Clock())
    assert repeats.should_log(("shop", "groups"), "refused")
    assert repeats.should_log(("shop", "topics"), "refused")
