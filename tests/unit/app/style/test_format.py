from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.style import format as write

THIN = write.THIN
NOW = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0, "0", id="zero"),
        pytest.param(7, "7", id="one digit"),
        pytest.param(46200, f"46{THIN}200", id="thousands"),
        pytest.param(1234567, f"1{THIN}234{THIN}567", id="millions"),
        pytest.param(-1200, f"-1{THIN}200", id="negative"),
        pytest.param(None, "unknown", id="unknown"),
        pytest.param(float("nan"), "unknown", id="not a number"),
    ],
)
def test_counts_in_full(value: float | None, text: str) -> None:
    assert write.exact(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0, "0", id="zero"),
        pytest.param(999, "999", id="below a thousand"),
        pytest.param(999.6, f"1{THIN}k", id="rounds into the next unit"),
        pytest.param(1000, f"1{THIN}k", id="a thousand"),
        pytest.param(46234, f"46.2{THIN}k", id="three figures"),
        pytest.param(999_499, f"999{THIN}k", id="just below a million"),
        pytest.param(999_600, f"1{THIN}M", id="rounds to a million"),
        pytest.param(1_240_000, f"1.24{THIN}M", id="million"),
        pytest.param(0.0123, "0.0123", id="small"),
        pytest.param(None, "unknown", id="unknown"),
    ],
)
def test_counts_in_three_figures(value: float | None, text: str) -> None:
    assert write.short(value) == text


@given(st.floats(min_value=1e-6, max_value=9e14))
def test_three_figures_lie_within_half_a_percent(value: float) -> None:
    number, _, unit = write.short(value).partition(THIN)
    scale = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[unit]
    assert float(number) * scale == pytest.approx(value, rel=0.0051)
    assert len(number.replace(".", "").lstrip("0")) <= 4


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.0, "0/s", id="none"),
        pytest.param(1240.0, f"1.24{THIN}k/s", id="a second"),
        pytest.param(0.2333, "14/min", id="a minute"),
        pytest.param(0.002, "7.2/h", id="an hour"),
        pytest.param(None, "unknown", id="unknown"),
    ],
)
def test_rates_choose_their_unit(value: float | None, text: str) -> None:
    assert write.rate(value) == text


def test_a_rate_a_minute_keeps_its_unit() -> None:
    assert [write.per_minute(one) for one in (0.0, 0.005, 2.0, None)] == [
        *("0/min", "0.3/min", "120/min", "unknown"),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.0, "0 s", id="zero"),
        pytest.param(0.42, "0.42 s", id="fraction"),
        pytest.param(52.4, "52 s", id="seconds"),
        pytest.param(260, "4 min 20 s", id="minutes and seconds"),
        pytest.param(0.00018, "0.18 ms", id="less than a millisecond"),
        pytest.param(0.041, "41 ms", id="milliseconds"),
        pytest.param(0.3, "0.3 s", id="less than a second"),
        pytest.param(0, "0 s", id="nothing"),
        pytest.param(240, "4 min", id="whole minutes"),
        pytest.param(12 * 60 + 31, "13 min", id="minutes alone"),
        pytest.param(3600 * 2 + 300, "2 h 5 min", id="hours"),
        pytest.param(31 * 3600, "31 h", id="many hours"),
        pytest.param(86400 * 2 + 3600 * 3, "2 d 3 h", id="days"),
        pytest.param(86400 * 40, "40 d", id="many days"),
        pytest.param(-5, "-5 s", id="negative"),
        pytest.param(None, "unknown", id="unknown"),
        pytest.param(float("inf"), "unknown", id="endless"),
    ],
)
def test_durations_in_words(value: float | None, text: str) -> None:
    assert write.duration(value) == text


@given(st.floats(min_value=0, max_value=200_000))
def test_no_duration_shows_sixty_of_a_unit(value: float) -> None:
    text = write.duration(value)
    assert not text.startswith(("60 s", "60 min", "48 h"))
    assert " 60 " not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(512, "512 B", id="bytes"),
        pytest.param(1.21 * 2**30, "1.21 GiB", id="gibibytes"),
        pytest.param(None, "unknown", id="unknown"),
    ],
)
def test_sizes(value: float | None, text: str) -> None:
    assert write.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(0.008, f"0.8{THIN}%", id="below one percent"),
        pytest.param(0.8234, f"82{THIN}%", id="whole percents"),
        pytest.param(0.0025, f"0.25{THIN}%", id="two figures"),
        pytest.param(0.0996, f"10{THIN}%", id="rounds to ten"),
        pytest.param(1.0, f"100{THIN}%", id="all"),
        pytest.param(0.0, f"0{THIN}%", id="none"),
        pytest.param(None, "unknown", id="unknown"),
    ],
)
def test_shares(value: float | None, text: str) -> None:
    assert write.share(value) == text


def test_times_are_the_viewers_with_the_date_unless_it_is_today() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert write.clock(datetime(2026, 11, 20, 10, 20, tzinfo=UTC), berlin, now=NOW) == "11:20"
    assert write.clock(datetime(2026, 11, 19, 23, 30, tzinfo=UTC), berlin, now=NOW) == "00:30"
    assert write.clock(datetime(2026, 11, 18, 9, 2, tzinfo=UTC), UTC, now=NOW) == "18 Nov 09:02"
    assert write.clock(datetime(2024, 1, 2, 3, 4, tzinfo=UTC), UTC, now=NOW) == "2024-01-02 03:04"
    assert write.clock(None, UTC, now=NOW) == "unknown"
    at = datetime(2026, 11, 18, 9, 2, 7, tzinfo=UTC)
    assert write.clock(at, UTC, now=NOW, to_seconds=True) == "18 Nov 09:02:07"
    assert write.utc(datetime(2026, 11, 20, 10, 20, 5, tzinfo=UTC)) == "2026-11-20 10:20:05 UTC"


def test_ages_are_never_negative() -> None:
    assert write.age(12.3) == "12 s ago"
    assert write.age(-3.0) == "0 s ago"
    assert write.age(None) == "unknown"


def test_nouns_and_lists() -> None:
    assert write.count(1, "group") == "1 group"
    assert write.count(1200, "group") == f"1{THIN}200 groups"
    assert write.count(2, "thing needs", "things need") == "2 things need"
    assert write.listing(["a"]) == "a"
    assert write.listing(["a", "b", "c"]) == "a, b and c"
    assert write.listing(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("1,240/s arrive", f"1{THIN}240/s arrive", id="one separator"),
        pytest.param("1,234,567 wait", f"1{THIN}234{THIN}567 wait", id="two separators"),
        pytest.param("brokers 1,2,3", "brokers 1,2,3", id="a list of small numbers"),
        pytest.param("6, 12", "6, 12", id="a list with blanks"),
        pytest.param("65% of 12 % wait", f"65{THIN}% of 12{THIN}% wait", id="shares"),
    ],
)
def test_sentences_of_others_get_thin_spaces(text: str, shown: str) -> None:
    assert write.thin(text) == shown


def test_no_line_breaks_between_a_number_and_its_unit() -> None:
    assert write.unbroken("g loses data in 2.5 h, 3 times") == "g loses data in 2.5\u00a0h, 3 times"
    assert write.unbroken("for 1 d 3 h and 5 m") == "for 1\u00a0d\u00a03\u00a0h and 5 m"


def test_markdown_is_taken_at_its_word() -> None:
    assert write.escape("a_b*c [x](y) :red[z] $1$") == (r"a\_b\*c \[x\]\(y\) \:red\[z\] \$1\$")
    assert write.escape("two\nlines") == "two lines"
    assert write.escape(f"46{THIN}200") == f"46{THIN}200"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://evil.example/x", "http\\::small[]//evil.example/x"),
        ("WWW.evil.example", "WWW:small[].evil.example"),
        ("ana@example.com", "ana:small[]@example.com"),
        (":material/home: :streamlit:", "\\::small[]material/home\\: \\::small[]streamlit\\:"),
        ("a\u202eb\x1bc\td\re", "a\ufffdb\ufffdc\ufffdd\ufffde"),
    ],
)
def test_an_address_becomes_no_link_and_nothing_unseen_is_kept(text: str, shown: str) -> None:
    assert write.escape(text) == shown


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (ZoneInfo("Europe/Berlin"), "Berlin, UTC+1"),
        (ZoneInfo("America/New_York"), "New York, UTC\N{MINUS SIGN}5"),
        (ZoneInfo("UTC"), "UTC"),
        (UTC, "UTC"),
    ],
)
def test_a_zone_is_named_with_its_offset(zone: tzinfo, name: str) -> None:
    assert write.zone_name(zone, datetime(2026, 11, 25, tzinfo=UTC)) == name


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ("retention.ms=86460000", "retention.ms=1 d 1 min (86460000)"),
        (
            "retention.ms=604800000 (default), cleanup.policy=delete",
            "retention.ms=7 d (604800000) (default), cleanup.policy=delete",
        ),
        ("log.retention.hours=168", "log.retention.hours=7 d (168)"),
        ("offsets.retention.minutes=10080", "offsets.retention.minutes=7 d (10080)"),
        ("session.timeout.ms=45500", "session.timeout.ms=45 s 500 ms (45500)"),
        ("linger.ms=5", "linger.ms=5"),
        ("retention.ms=-1", "retention.ms=-1"),
        ("flush.ms=9223372036854775807", "flush.ms=9223372036854775807"),
        ("retention.bytes=86460000", "retention.bytes=86460000"),
    ],
)
def test_lengths_of_time_in_settings_are_written_as_people_do(setting: str, text: str) -> None:
    assert write.with_lengths(setting) == text
