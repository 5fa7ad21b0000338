from __future__ import annotations

import threading
import zlib
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from collectors.exporter import page as page_module
from collectors.exporter.page import RULES
from collectors.exporter.rules import MetricView, rule
from collectors.kafka.poll.group_lags import NEVER_COMMITTED, NO_TOPIC
from collectors.service.snapshot import Snapshots
from config.settings import ExporterSettings
from tests.unit.collectors.exporter.frames import (
    INTEGRATIONS,
    Clock,
    Named,
    fill,
    filled,
    found_in,
    frame,
    offset,
    page,
    partition,
    result,
    samples,
    series,
    text_of,
)

ALL = ["headroom", "kafka_exporter", "kminion"]

UNKNOWN = offset(1, lag=None, time_lag_seconds=None, log_end=None, unknown_reason="no leader")
NEVER = offset(
    1,
    committed=None,
    lag=None,
    lost_messages=None,
    time_lag_seconds=None,
    unknown_reason=NEVER_COMMITTED,
)
GONE = offset(
    1, lag=None, lost_messages=None, time_lag_seconds=None, unknown_reason=NO_TOPIC, log_end=None
)
LATE = offset(1, time_lag_seconds=None, unknown_reason="time lag: not watched for long enough")
LEFT = offset(1, is_subscribed=False)


@pytest.mark.parametrize(
    ("second", "lag", "committed", "late"),
    [
        pytest.param(offset(1), 20, 180, 2.5, id="all is known"),
        pytest.param(UNKNOWN, None, 180, None, id="one lag is unknown: no sum"),
        pytest.param(NEVER, 10, 90, 2.5, id="one was never committed: it has no lag"),
        pytest.param(GONE, 10, 180, 2.5, id="one does not exist any more"),
        pytest.param(LATE, 20, 180, None, id="one time lag is unknown"),
        pytest.param(LEFT, 10, 90, 2.5, id="one is left over from an old subscription"),
    ],
)
def test_a_sum_is_whole_or_not_there(
    second: dict[str, object], lag: float | None, committed: float | None, late: float | None
) -> None:
    known = filled(offsets=frame("group_offsets", offset(0), second))
    found = found_in(known)
    key = ("shop", "billing", "orders")
    assert series("headroom_group_lag", found).get(key) == lag
    assert series("headroom_group_committed_offset", found).get(key) == committed
    assert series("headroom_group_time_lag_seconds", found).get(key) == late
    unknown = series("headroom_group_unknown_lag_partitions", found)[key]
    assert unknown == (1 if second is UNKNOWN else 0)


@pytest.mark.parametrize(
    ("second", "rate"),
    [
        pytest.param(NEVER | {"commits_per_second": None}, 0.25, id="never committed"),
        pytest.param(offset(1, commits_per_second=None), None, id="a rate is unknown"),
    ],
)
def test_the_rate_of_commits(second: dict[str, object], rate: float | None) -> None:
    found = found_in(filled(offsets=frame("group_offsets", offset(0), second)))
    key = ("shop", "billing", "orders")
    assert series("headroom_group_commits_per_second", found).get(key) == rate


def test_a_topic_that_is_gone_has_no_configuration() -> None:
    found = found_in(filled())
    assert {topic for *_, topic in series("headroom_topic_info", found)} == {"orders"}


def test_nothing_committed_is_no_lag_of_zero() -> None:
    found = found_in(filled(offsets=frame("group_offsets", NEVER)), *ALL)
    assert series("headroom_group_uncommitted_partitions", found) == {
        ("shop", "billing", "orders"): 1
    }
    for name in (
        "headroom_group_lag",
        "headroom_group_partition_lag",
        "kafka_consumergroup_lag",
        "kafka_consumergroup_lag_sum",
        "kafka_consumergroup_current_offset",
        "kminion_kafka_consumer_group_topic_lag",
        "kminion_kafka_consumer_group_topic_partition_lag",
    ):
        assert name not in found


@pytest.mark.parametrize(
    ("second", "totals"),
    [
        pytest.param(partition(1), (0, 0, 0, 0, 0), id="healthy"),
        pytest.param(partition(1, in_sync_replicas=[1, 2]), (1, 0, 0, 0, 0), id="under-replicated"),
        pytest.param(partition(1, in_sync_replicas=[1]), (1, 1, 0, 0, 0), id="under min ISR"),
        pytest.param(
            partition(1, leader=None, in_sync_replicas=[]), (1, 1, 1, 0, 0), id="no leader"
        ),
        pytest.param(partition(1, leader=2), (0, 0, 0, 1, 0), id="not the preferred leader"),
        pytest.param(partition(1, adding_replicas=[4]), (0, 0, 0, 0, 1), id="being moved"),
        pytest.param(
            partition(1, min_in_sync_replicas=None), (0, None, 0, 0, 0), id="min ISR unknown"
        ),
        pytest.param(
            partition(1, adding_replicas=None), (0, 0, 0, 0, None), id="moves are not read"
        ),
    ],
)
def test_replication(second: dict[str, object], totals: tuple[float | None, ...]) -> None:
    found = found_in(filled(partitions=frame("partitions", partition(0), second)))
    names = (
        "under_replicated_partitions",
        "under_min_isr_partitions",
        "offline_partitions",
        "not_preferred_leader_partitions",
        "reassigning_partitions",
    )
    assert tuple(series(f"headroom_{name}", found).get(("shop",)) for name in names) == totals


def test_a_partition_without_a_leader_for_kafka_exporter() -> None:
    lost = partition(0, leader=None, in_sync_replicas=[], log_start=None, log_end=None)
    found = found_in(filled(partitions=frame("partitions", lost)), "kafka_exporter", "kminion")
    key = ("0", "orders")
    assert series("kafka_topic_partition_leader_is_preferred", found) == {key: 0}
    assert series("kafka_topic_partition_under_replicated_partition", found) == {key: 1}
    assert series("kafka_topic_partition_in_sync_replica", found) == {key: 0}
    for name in (
        "kafka_topic_partition_leader",
        "kafka_topic_partition_current_offset",
        "kminion_kafka_topic_high_water_mark_sum",
        "kminion_kafka_topic_partition_high_water_mark",
    ):
        assert name not in found


def test_series_for_each_partition_are_a_choice() -> None:
    many, few = found_in(filled(), *ALL), found_in(filled(), *ALL, per_partition=False)
    assert {name for name in many if name not in few} == {
        "headroom_group_partition_lag",
        "headroom_group_partition_time_lag_seconds",
        "headroom_group_partition_committed_offset",
        "headroom_group_partition_lost_messages",
        "headroom_partition_log_end_offset",
        "headroom_partition_log_start_offset",
        "headroom_partition_leader",
        "headroom_partition_replicas",
        "headroom_partition_in_sync_replicas",
        "headroom_partition_size_bytes",
        "kafka_topic_partition_current_offset",
        "kafka_topic_partition_oldest_offset",
        "kafka_topic_partition_leader",
        "kafka_topic_partition_leader_is_preferred",
        "kafka_topic_partition_replicas",
        "kafka_topic_partition_in_sync_replica",
        "kafka_topic_partition_under_replicated_partition",
        "kafka_consumergroup_current_offset",
        "kafka_consumergroup_lag",
        "kminion_kafka_topic_partition_high_water_mark",
        "kminion_kafka_topic_partition_low_water_mark",
        "kminion_kafka_consumer_group_topic_partition_lag",
    }


def test_the_defaults_are_own_names_without_partitions() -> None:
    found = samples(text_of(page(filled())))
    assert found
    assert all(name.startswith("headroom_") for name in found)
    assert "headroom_group_partition_lag" not in found


def test_with_several_clusters_other_names_say_which() -> None:
    first, second = Named(), Named(cluster="other", cluster_id="id-2")
    beside = Named(cluster="other", name="connect/main")
    known = Snapshots([first, second, beside], Clock())  # type: ignore[list-item]
    fill(known, first)
    fill(known, second)
    found = found_in(known, *ALL)
    assert series("kafka_brokers", found) == {("shop",): 1, ("other",): 1}
    assert set(series("kminion_kafka_consumer_group_topic_lag", found)) == {
        ("shop", "billing", "orders"),
        ("other", "billing", "orders"),
    }


def test_another_source_beside_the_cluster_does_not_make_it_several() -> None:
    source, beside = Named(), Named(cluster="rabbit", name="rabbitmq/rabbit")
    known = Snapshots([source, beside], Clock())  # type: ignore[list-item]
    fill(known, source)
    known.take(beside, result("queues", queues=INTEGRATIONS["queues"]))  # type: ignore[arg-type]
    found = found_in(known, *ALL)
    assert series("kafka_brokers", found) == {(): 1}
    assert series("headroom_queue_ready", found) == {("rabbit", "plain", "mail", "/"): 12}


def test_a_family_stands_together_though_sources_share_it() -> None:
    first, second = Named(), Named(cluster="other")
    known = Snapshots([first, second], Clock())  # type: ignore[list-item]
    fill(known, first)
    fill(known, second)
    text = text_of(page(known, names=ALL, per_partition=ALL))
    heads = [line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
    assert text.endswith("\n")


def test_series_of_a_section_that_fails_go_after_three_intervals() -> None:
    clock = Clock()
    known = filled(clock=clock)
    shown = page(known, names=ALL, per_partition=ALL)
    assert "headroom_group_lag" in text_of(shown)
    clock.now += 25
    known.take(Named(), result("group_offsets", "failed"))  # type: ignore[arg-type]
    known.take(
        Named(), result("brokers", brokers=frame("brokers", {"broker_id": 1, "is_alive": True}))
    )  # type: ignore[arg-type]
    assert "headroom_group_lag" in text_of(shown)
    clock.now += 10
    text = text_of(shown)
    assert "headroom_brokers_alive" in text
    for gone in ("headroom_group_lag", "kafka_consumergroup_lag", "kminion_kafka_consumer_group"):
        assert gone not in text


def test_what_is_gone_has_no_series_any_more() -> None:
    known = filled()
    shown = page(known)
    assert 'group="billing"' in text_of(shown)
    other = frame("group_offsets", offset(0, group="shipping"))
    known.take(Named(), result("group_offsets", group_offsets=other))  # type: ignore[arg-type]
    found = series("headroom_group_lag", samples(text_of(shown)))
    assert found == {("shop", "shipping", "orders"): 10}


def test_gzip_is_the_same_page(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = page(filled(), names=ALL, per_partition=ALL)
    for _ in range(2):
        packed = b"".join(shown.packed())
        assert zlib.decompress(packed, 31).decode() == text_of(shown)


def test_only_what_changed_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def counting(table: str) -> page_module.Rule:
        def make(view: MetricView) -> list[page_module.Samples]:
            written.append(table)
            return []

        return rule(table, make)

    rules = (counting("brokers"), counting("group_offsets"))
    monkeypatch.setitem(RULES, "headroom", rules)  # type: ignore[arg-type]
    known = filled()
    shown = page(known)
    for _ in range(3):
        shown.plain()
    assert written == ["brokers", "group_offsets"]
    known.take(Named(), result("brokers", brokers=frame("brokers")))  # type: ignore[arg-type]
    shown.packed()
    assert written == ["brokers", "group_offsets", "brokers"]


def test_scrapes_during_polls_see_one_poll_each() -> None:
    known = filled()
    shown = page(known, names=ALL, per_partition=ALL)
    stop = threading.Event()
    wrong: list[str] = []

    def scrape() -> None:
        while not stop.is_set():
            found = samples(text_of(shown))
            sums = series("headroom_group_lag", found)
            parts = series("headroom_group_partition_lag", found)
            # All partitions of a poll have the same lag.
            if len(set(parts.values())) != 1 or set(sums.values()) != {2 * max(parts.values())}:
                wrong.append(f"{sums} {parts}")

    scrapers = [threading.Thread(target=scrape) for _ in range(3)]
    for thread in scrapers:
        thread.start()
    try:
        for lag in range(60):
            fill(
                known,
                Named(),
                offsets=frame("group_offsets", offset(0, lag=lag), offset(1, lag=lag)),
            )
    finally:
        stop.set()
        for thread in scrapers:
            thread.join(30)
    assert not wrong
    assert set(series("headroom_group_partition_lag", samples(text_of(shown))).values()) == {59}


def test_every_own_metric_is_in_the_documentation() -> None:
    text = (Path(__file__).parents[4] / "docs" / "metrics.md").read_text(encoding="utf-8")
    missing = [
        metric.name
        for rules in RULES.values()
        for each in rules
        for metric in each.metrics
        if f"`{metric.name}`" not in text
    ]
    assert missing == []


def test_names_and_labels_are_what_prometheus_allows() -> None:
    for rules in RULES.values():
        names = [metric.name for each in rules for metric in each.metrics]
        assert len(names) == len(set(names))
    settings = ExporterSettings(names=["headroom", "headroom"])
    shown = page_module.Page(settings, filled(), CollectorRegistry())
    assert samples(text_of(shown)) == found_in(filled(), per_partition=False)
