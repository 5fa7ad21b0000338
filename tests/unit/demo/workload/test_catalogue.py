"""The declared workload is what the demo's README says, and every needed behaviour is in it."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import pytest

from demo.workload.catalogue import CATALOGUE
from demo.workload.clients import producer_settings
from demo.workload.headers import Origin, connect_headers, failure, spring_headers
from demo.workload.model import Group, Rate, Stream
from demo.workload.streams import BROKEN, Source

README = (Path(__file__).parents[4] / "demo" / "README.md").read_text(encoding="utf-8")


def row(group: Group) -> str:
    return next(
        line
        for line in README.splitlines()
        if line.startswith(f"| `{group.topic}`") and f"`{group.name}`" in line
    )


def capacity(group: Group) -> float:
    partitions = CATALOGUE.topic(group.topic).partitions
    return min(group.members, partitions) * group.capacity_per_second


@pytest.mark.parametrize("group", [pytest.param(each, id=each.name) for each in CATALOGUE.groups])
def test_the_readme_tells_consumers_and_capacity(group: Group) -> None:
    cells = [cell.strip() for cell in row(group).split("|")]
    assert f"({CATALOGUE.topic(group.topic).partitions})" in cells[1]
    times = "\N{MULTIPLICATION SIGN}"
    expected = f"{group.members} {times} {group.capacity_per_second}"
    if group.leaves_after:
        expected = "left"
    assert cells[3] == expected


@pytest.mark.parametrize(
    "stream", [pytest.param(each, id=each.topic) for each in CATALOGUE.streams]
)
def test_the_readme_tells_the_rate(stream: Stream) -> None:
    groups = [each for each in CATALOGUE.groups if each.topic == stream.topic]
    for group in groups:
        arrival = row(group).split("|")[2].strip()
        assert re.match(rf"{stream.rate.mean:g}\b", arrival)
        assert bool(stream.rate.swing) == ("±" in arrival)


def test_every_name_is_declared() -> None:
    topics = {topic.name for topic in CATALOGUE.topics}
    used = {group.topic for group in CATALOGUE.groups}
    used |= {group.forwards_to for group in CATALOGUE.groups if group.forwards_to}
    used |= {group.dead_letters.topic for group in CATALOGUE.groups if group.dead_letters}
    used |= {stream.topic for stream in CATALOGUE.streams}
    assert used == topics
    assert len({group.name for group in CATALOGUE.groups}) == len(CATALOGUE.groups)
    assert set(CATALOGUE.redrive_groups.values()) <= {group.name for group in CATALOGUE.groups}


def test_the_peak_overtakes_the_capacity_and_the_mean_does_not() -> None:
    rate = CATALOGUE.stream("payments.authorised").rate
    can = capacity(CATALOGUE.group("payment-settlement"))
    assert rate.mean < can < rate.at(0) < rate.peak


def test_the_hot_partition_overtakes_one_consumer_and_the_whole_does_not() -> None:
    stream = CATALOGUE.stream("web.page_views")
    group = CATALOGUE.group("session-builder")
    assert stream.rate.mean * stream.hot_key_share > group.capacity_per_second
    assert stream.rate.mean < capacity(group)


def test_the_archive_is_a_little_too_slow() -> None:
    rate = CATALOGUE.stream("telemetry.readings").rate.mean
    assert 0.95 * rate < capacity(CATALOGUE.group("telemetry-archive")) < rate


def test_healthy_groups_have_room() -> None:
    for name in ("order-fulfilment", "fraud-scoring", "stock-projection", "ledger-writer"):
        group = CATALOGUE.group(name)
        assert CATALOGUE.stream(group.topic).rate.peak < 0.6 * capacity(group), name


def test_a_day_goes_up_and_down() -> None:
    rate = Rate(mean=110, swing=90, day_seconds=600, start_of_day=0.0)
    assert [round(rate.at(seconds)) for seconds in (0, 150, 300, 450, 600)] == [
        110,
        200,
        110,
        20,
        110,
    ]
    assert Rate(mean=50).at(12345) == 50
    assert Rate(mean=10, swing=90).at(450) == 0, "a rate is never negative"


def test_due_records_add_up_to_the_rate() -> None:
    source = Source(stream=Stream(topic="t", rate=Rate(mean=7.3), key_prefix="k-"))
    total = sum(source.records_due(seconds * 0.25, 0.25) for seconds in range(400))
    assert total in {729, 730}


def test_a_long_pause_is_not_made_up_for() -> None:
    source = Source(stream=Stream(topic="t", rate=Rate(mean=100), key_prefix="k-"))
    assert source.records_due(60.0, 60.0) == 200


def test_one_key_dominates_where_declared() -> None:
    source = Source(stream=CATALOGUE.stream("web.page_views"))
    keys = [source.record()[0] for _ in range(5000)]
    assert 0.77 < keys.count(b"visitor-0") / len(keys) < 0.83


@pytest.mark.parametrize("stream", CATALOGUE.streams, ids=lambda one: one.topic)
def test_a_batch_holds_three_seconds_of_the_busiest_partition(stream: Stream) -> None:
    # A round of requests takes seconds on a busy machine; a batch goes out in each.
    settings = producer_settings("", "web-shop")
    even = 2 / CATALOGUE.topic(stream.topic).partitions
    share = stream.hot_key_share + (1 - stream.hot_key_share) * even
    per_record = stream.payload_bytes + 30  # key, headers and lengths
    assert 3 * stream.rate.peak * share * per_record <= settings["batch.size"]


def test_a_seed_spreads_over_its_age() -> None:
    stream = CATALOGUE.stream("telemetry.readings")
    stamps = [at for _, _, at in Source(stream=stream).seed(now_ms=1_000_000)]
    assert len(stamps) == stream.seed_messages
    assert stamps == sorted(stamps)
    assert stamps[0] == 1_000_000 - stream.seed_age_seconds * 1000
    assert 0 < 1_000_000 - stamps[-1] < 20


def test_every_so_manieth_record_is_broken_where_declared() -> None:
    source = Source(stream=Stream(topic="t", rate=Rate(mean=1), key_prefix="k-", broken_one_in=50))
    values = [source.record()[1] for _ in range(500)]
    assert [number for number, value in enumerate(values, 1) if value == BROKEN] == list(
        range(50, 501, 50)
    )
    assert json.loads(values[0])["number"] == 1


def test_spring_headers_are_binary_where_spring_writes_binary() -> None:
    headers = dict(
        spring_headers(
            Origin(topic="orders", partition=3, offset=2**40, timestamp_ms=1_700_000_000_123),
            "group",
            0,
        )
    )
    assert headers["kafka_dlt-original-partition"] == b"\x00\x00\x00\x03"
    assert struct.unpack(">q", headers["kafka_dlt-original-offset"]) == (2**40,)  # type: ignore[arg-type]
    assert len(headers["kafka_dlt-original-timestamp"] or b"") == 8
    assert headers["kafka_dlt-original-topic"] == b"orders"
    assert headers["kafka_dlt-exception-cause-fqcn"] == b"java.lang.IllegalArgumentException"


def test_connect_headers_are_text() -> None:
    headers = dict(
        connect_headers(Origin(topic="orders", partition=3, offset=42, timestamp_ms=0), "sink", 9)
    )
    assert headers["__connect.errors.partition"] == b"3"
    assert headers["__connect.errors.offset"] == b"42"
    assert headers["__connect.errors.connector.name"] == b"sink"
    assert all(name.startswith("__connect.errors.") for name in headers)
    assert len(headers) == 10


def test_failures_have_the_documented_shares() -> None:
    names = [failure(number)[0].rsplit(".", 1)[1] for number in range(1000)]
    shares = {name: names.count(name) / 1000 for name in set(names)}
    assert shares == {
        "IllegalArgumentException": 0.7,
        "TimeoutException": 0.2,
        "JsonMappingException": 0.1,
    }
