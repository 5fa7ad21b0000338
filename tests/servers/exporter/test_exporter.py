"""Metrics of a real cluster, scraped by a real Prometheus."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
from confluent_kafka.admin import AdminClient

from demo.kafka.cluster import KafkaCluster
from runtime.processes import ProcessGroup
from tests.servers.exporter.serving import Served, value
from tests.servers.prometheus.server import Prometheus, job
from tests.support import Names, eventually, unavailable

LINTED = {
    "kafka_consumergroup_current_offset_sum",
    "kafka_consumergroup_lag_sum",
    "kminion_kafka_consumer_group_topic_offset_sum",
    "kminion_kafka_topic_high_water_mark_sum",
    "kminion_kafka_topic_low_water_mark_sum",
}
"""Names of other exporters that promtool would not choose: sums that are no histogram's."""


def test_prometheus_scrapes_the_names_of_all_three(
    service: Served, orders: tuple[str, str], tmp_path: Path
) -> None:
    topic, group = orders

    def ask(query: str) -> Callable[[], float | None]:
        def answer() -> float | None:
            found = httpx.get(
                f"{prometheus.url}/api/v1/query", params={"query": query}, trust_env=False
            ).json()["data"]["result"]
            return float(found[0]["value"][1]) if found else None

        return answer

    escaped = group.replace('"', r"\"")
    with ProcessGroup() as processes:
        jobs = job("headroom", service.port, {"headroom-1": "/metrics"})
        prometheus = Prometheus(processes, tmp_path, jobs=jobs)
        eventually(ask('up{job="headroom"} == 1'), what="scrape")
        for query, expected in {
            f'headroom_group_lag{{group="{escaped}",topic="{topic}"}}': 5,
            f'headroom_group_partition_lag{{group="{escaped}",partition="1"}}': 3,
            f'sum(kafka_consumergroup_lag{{consumergroup="{escaped}"}})': 5,
            f'kafka_consumergroup_lag_sum{{consumergroup="{escaped}"}}': 5,
            f'sum(kafka_topic_partition_current_offset{{topic="{topic}"}})': 9,
            f'kminion_kafka_consumer_group_topic_lag{{group_id="{escaped}"}}': 5,
            f'kminion_kafka_topic_high_water_mark_sum{{topic_name="{topic}"}}': 9,
            "kafka_brokers": 1,
            "kminion_exporter_up": 1,
            'headroom_collection_status{section="groups",status="ok"}': 1,
        }.items():
            assert eventually(ask(query), what=query) == expected
        assert ask("count(headroom_brokers_alive == 1)")() == 1
        # Prometheus counts what it refused, for example a series that is there twice.
        for refused in ("duplicate_timestamp", "out_of_order", "exceeded_sample_limit"):
            text = httpx.get(f"{prometheus.url}/metrics", trust_env=False).text
            assert value(text, f"prometheus_target_scrapes_sample_{refused}_total") in (0, None)


def test_promtool_has_nothing_to_say_but_of_others_names(service: Served) -> None:
    tool = shutil.which("promtool") or unavailable("promtool is not installed")
    text = service.metrics()
    for name in ("headroom_topics", "kafka_brokers", "kminion_kafka_cluster_info"):
        assert f"\n# TYPE {name} gauge" in text or text.startswith(f"# HELP {name}")
    done = subprocess.run(
        [tool, "check", "metrics"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [line for line in (done.stdout + done.stderr).splitlines() if line]
    wrong = [line for line in said if line.split(" ")[0] not in LINTED]
    assert wrong == []
    assert {line.split(" ")[0] for line in said} <= LINTED


def test_health(service: Served) -> None:
    assert service.status("/healthz") == 200
    assert service.status("/readyz") == 200
    assert service.status("/nothing") == 404


def test_what_is_deleted_has_no_series_after_the_next_poll(
    kafka: KafkaCluster, service: Served
) -> None:
    names = Names(kafka)
    topic, group = names.topic("gone", partitions=1), names.group("gone")
    try:
        names.produce(topic, 2)
        names.commit(group, topic, {0: 1})
        eventually(lambda: f'group="{group}"' in service.metrics(), what="series of the group")
        admin: AdminClient = kafka.admin()
        admin.delete_consumer_groups([group])[group].result(20)
        admin.delete_topics([topic])[topic].result(20)
        eventually(
            lambda: group not in service.metrics() and topic not in service.metrics(),
            what="page without the group and its topic",
        )
    finally:
        names.delete()
