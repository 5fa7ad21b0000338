"""What is logged of what goes wrong: when it changes, and once an hour."""

from __future__ import annotations

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
