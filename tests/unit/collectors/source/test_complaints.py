"""What is logged of what goes wrong: when it changes, and once an hour."""

from __future__ import annotations

from collectors.source.complaints import AGAIN_SECONDS, Complaints


class Clock:
    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_what_stays_as_it_is_is_news_once_an_hour() -> None:
    clock = Clock()
    complaints = Complaints(clock)
    assert complaints.is_news(("shop", "groups"), "not permitted")
    assert not complaints.is_news(("shop", "groups"), "not permitted")
    clock.seconds += AGAIN_SECONDS - 1
    assert not complaints.is_news(("shop", "groups"), "not permitted")
    clock.seconds += 1
    assert complaints.is_news(("shop", "groups"), "not permitted")
    assert not complaints.is_news(("shop", "groups"), "not permitted")


def test_another_reason_is_news_and_another_number_is_none() -> None:
    complaints = Complaints(Clock())
    assert complaints.is_news(("shop",), "the lag of 3 of 10 partitions is unknown")
    assert not complaints.is_news(("shop",), "the lag of 4 of 11 partitions is unknown")
    assert complaints.is_news(("shop",), "not permitted")


def test_that_it_is_well_again_is_news_once() -> None:
    complaints = Complaints(Clock())
    assert not complaints.is_news(("shop",), None)
    assert complaints.is_news(("shop",), "refused")
    assert complaints.is_news(("shop",), None)
    assert not complaints.is_news(("shop",), None)
    assert complaints.is_news(("shop",), "refused")


def test_each_section_has_news_of_its_own() -> None:
    complaints = Complaints(Clock())
    assert complaints.is_news(("shop", "groups"), "refused")
    assert complaints.is_news(("shop", "topics"), "refused")
