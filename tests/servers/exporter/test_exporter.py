"""Metrics of a real cluster, scraped by a real Prometheus; `once` and `check` of such a cluster."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import polars as pl
import pytest
from confluent_kafka.admin import AdminClient

from config.settings import LakeSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import CLUSTER_EVENTS, COLLECTIONS
from lake.storage.store import Lake
from runtime.java import Java
from runtime.processes import ProcessGroup, free_ports
from tests.conftest import TEST_HEAP_MB
from tests.servers.prometheus.server import Prometheus, job
from tests.support import Names, eventually, unavailable

ROOT = Path(__file__).parents[3]
ALL = "headroom, kafka_exporter, kminion"
INTERVAL_SECONDS = 1.0
BEARER = "of-these-tests"

LINTED = {
    "kafka_consumergroup_current_offset_sum",
    "kafka_consumergroup_lag_sum",
    "kminion_kafka_consumer_group_topic_offset_sum",
    "kminion_kafka_topic_high_water_mark_sum",
    "kminion_kafka_topic_low_water_mark_sum",
}
"""Names of other exporters that promtool would not choose: sums that are no histogram's."""


class Served:
    """A running service and what it serves."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, lake: Lake) -> None:
        self.process = process
        self.port = port
        self.lake = lake

    def get(self, path: str, **headers: str) -> httpx.Response | None:
        try:
            return httpx.get(
                f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=10, trust_env=False
            )
        except httpx.TransportError:
            return None

    def metrics(self) -> str:
        answer = self.get("/metrics")
        assert answer is not None
        assert answer.status_code == 200
        return answer.text

    def status(self, path: str) -> int | None:
        answer = self.get(path)
        return None if answer is None else answer.status_code

    def ready(self) -> bool:
        assert self.process.poll() is None
        return self.status("/readyz") == 200


@contextmanager
def serving(folder: Path, servers: dict[str, str], *, port: int | None = None) -> Iterator[Served]:
    """Run the service on clusters (name: bootstrap servers) with all names."""
    port = port or free_ports(1)[0]
    folder.mkdir(exist_ok=True)
    clusters = "".join(
        f"  - {{name: {name}, bootstrap_servers: '{address}'}}\n"
        for name, address in servers.items()
    )
    config, token = folder / "headroom.yaml", folder / "token"
    token.write_text(BEARER)
    config.write_text(
        f"clusters:\n{clusters}lake: {{uri: {folder}/lake}}\n"
        f"collectors:\n  poll_interval_seconds: {INTERVAL_SECONDS}\n"
        f"  exporter: {{port: {port}, names: [{ALL}], per_partition: [{ALL}], "
        f"mark_token: {{file: {token}}}}}\n",
        encoding="utf-8",
    )
    # Into a pipe that nobody reads much of: a file would be subject to the limit of one test.
    process = subprocess.Popen(
        [sys.executable, "-m", "collectors", "run", "--config", str(config)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    served = Served(process, port, Lake(LakeSettings(uri=str(folder / "lake"))))
    try:
        eventually(served.ready, timeout_seconds=60, what="ready service")
        yield served
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


@pytest.fixture(scope="module")
def kafka(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    folder = tmp_path_factory.mktemp("kafka")
    cluster = KafkaCluster(folder, 1, heap_mb=TEST_HEAP_MB, java=kafka_java)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.close(keep=False)


@pytest.fixture(scope="module")
def orders(kafka: KafkaCluster) -> Iterator[tuple[str, str]]:
    """A topic of two partitions with nine records, and a group that has read four of them."""
    names = Names(kafka)
    topic, group = names.topic("orders", partitions=2), names.group('billing "x"')
    names.produce(topic, 6, partition=0)
    names.produce(topic, 3, partition=1)
    names.commit(group, topic, {0: 4, 1: 0})
    try:
        yield topic, group
    finally:
        names.delete()


@pytest.fixture(scope="module")
def service(
    kafka: KafkaCluster, orders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, {"shop": kafka.bootstrap_servers}) as served:
        eventually(lambda: "headroom_group_lag{" in served.metrics(), what="lag")
        yield served


def value(text: str, name: str, *labels: str) -> float | None:
    """Return the value of the one series of that name with those labels among its own."""
    lines = [
        line
        for line in text.splitlines()
        if re.match(rf"{name}[ {{]", line) and all(label in line for label in labels)
    ]
    assert len(lines) <= 1, lines
    return float(lines[0].rpartition(" ")[2]) if lines else None


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


def test_deploy_marks_by_http_and_by_command(service: Served) -> None:
    url = f"http://127.0.0.1:{service.port}/marks"

    def post(content: bytes, bearer: str = BEARER) -> httpx.Response:
        headers = {"authorization": f"Bearer {bearer}"}
        return httpx.post(url, content=content, headers=headers, timeout=30, trust_env=False)

    assert post(b'{"text": "stolen"}', bearer="guessed").status_code == 401
    assert service.status("/marks") == 401
    refused = post(b'{"text": "a", "cluster": "nowhere"}')
    assert refused.status_code == 400
    assert "there is no cluster nowhere" in refused.json()["error"]
    made = post(b'{"text": "orders 1.4.2", "group": "billing", "cluster": "shop", "author": "ci"}')
    assert (made.status_code, made.json()["text"]) == (201, "orders 1.4.2")
    config = Path(service.lake.uri(CLUSTER_EVENTS)).parents[2] / "headroom.yaml"

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "alerting", "mark", *arguments, "--config", str(config)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert command("orders 1.4.3", "--topic", "orders", "--cluster", "shop").returncode == 0
    bad = command("orders 1.4.3", "--cluster", "shop", "--at", "soon")
    assert (bad.returncode, bad.stderr.count("\n")) == (1, 1)
    rows = service.lake.read(CLUSTER_EVENTS, pl.col("kind") == "deploy").sort("observed_at")
    assert rows.select("cluster", "subject", "group", "topic", "detail").rows() == [
        ("shop", "orders 1.4.2", "billing", None, "by ci"),
        ("shop", "orders 1.4.3", None, "orders", None),
    ]


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


def test_a_restart_serves_the_same_port_again(
    kafka: KafkaCluster, orders: tuple[str, str], tmp_path: Path
) -> None:
    servers = {"shop": kafka.bootstrap_servers, "down": "127.0.0.1:1"}
    with serving(tmp_path / "one", servers) as first:
        port = first.port
        assert first.process.pid
    with serving(tmp_path / "one", servers, port=port) as second:
        text = second.metrics()
        # The cluster that is down takes nothing from the other one, and has no made-up values.
        assert value(text, "headroom_brokers_alive", 'cluster="shop"') == 1
        assert value(text, "headroom_brokers_alive", 'cluster="down"') is None
        assert value(text, "kafka_brokers", 'cluster="shop"') == 1
        failed = ('cluster="down"', 'section="groups"', 'status="failed"')
        assert value(text, "headroom_collection_status", *failed) == 1


def test_a_port_in_use_ends_the_service_at_its_start(service: Served, tmp_path: Path) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters: [{name: shop, bootstrap_servers: '127.0.0.1:1'}]\n"
        f"collectors: {{exporter: {{port: {service.port}}}}}\nlake: {{uri: {tmp_path}/lake}}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "collectors", "run", "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"localhost:{service.port}: the port is in use" in line
    assert done.stdout == ""


def test_a_full_disk_is_told_and_recovers_without_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path / "full", {"down": "127.0.0.1:1"}) as service:
        eventually(lambda: service.lake.exists(COLLECTIONS), what="first rows")
        # No file may grow any more: what the service sees is an error as of a full disk.
        limits = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))

        def losing() -> bool:
            answer = service.get("/readyz")
            return answer is not None and answer.status_code == 503 and "lost" in answer.text

        eventually(losing, what="word about the loss")
        assert service.status("/healthz") == 200
        assert (value(service.metrics(), "headroom_lake_rows_lost_total") or 0) > 0
        # Polls go on: their sections are younger than the fault.
        age = value(service.metrics(), "headroom_poll_age_seconds")
        assert age is not None
        assert age < 3 * INTERVAL_SECONDS
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, limits)
        eventually(service.ready, what="recovery")

        lost = pl.col("section") == "lake"
        eventually(
            lambda: not service.lake.read(COLLECTIONS, lost).is_empty(), what="row about the loss"
        )
        rows = service.lake.read(COLLECTIONS, lost)
        assert set(rows["source"]) == {"kafka"}
        assert set(rows["cluster"]) == {"down"}
        assert "rows were not written" in rows["error"][0]
        assert os.strerror(27) in rows["error"][0]


def command(*arguments: str, config: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collectors", *arguments, "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


@pytest.fixture
def two_sources(kafka: KafkaCluster, orders: tuple[str, str], tmp_path: Path) -> Path:
    """A cluster that works, and beside it a Connect cluster that nobody runs."""
    config = tmp_path / "headroom.yaml"
    config.write_text(
        f"clusters: [{{name: shop, bootstrap_servers: '{kafka.bootstrap_servers}'}}]\n"
        "connect: [{name: main, url: 'http://127.0.0.1:1'}]\n"
        "collectors: {poll_interval_seconds: 4}\n"
        f"lake: {{uri: {tmp_path}/lake}}\n"
    )
    return config


def test_once_tells_of_every_source(orders: tuple[str, str], two_sources: Path) -> None:
    topic, group = orders
    done = command("once", "--json", config=two_sources)
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert set(found) == {"cluster", "sources"}
    (billing,) = [each for each in found["cluster"]["shop"]["groups"] if each["group"] == group]
    assert {part["partition"]: part["lag"] for part in billing["partitions"]} == {0: 2, 1: 3}
    assert {part["topic"] for part in billing["partitions"]} == {topic}
    (source,) = found["sources"].items()
    assert source[0] == "connect/main"
    assert source[1]["cluster"] == "shop"
    assert source[1]["tables"] == {}
    assert {each["status"] for each in source[1]["collections"]} == {"failed"}

    text = command("once", config=two_sources).stdout
    lines = text.splitlines()
    assert lines[0].startswith("shop: cluster id ")
    assert lines.index("shop, connect/main") > 0


def test_check_tells_of_every_source(two_sources: Path) -> None:
    done = command("check", "--json", config=two_sources)
    assert done.returncode == 1
    checks = json.loads(done.stdout)["checks"]
    assert {each["source"] for each in checks} == {"kafka", "connect/main"}
    works = {(each["source"], each["feature"]): each["works"] for each in checks}
    assert works["kafka", "connection"] is True
    assert False in [each["works"] for each in checks if each["source"] == "connect/main"]
    for each in checks:
        assert set(each) == {
            "cluster",
            "source",
            "feature",
            "works",
            "required",
            "detail",
            "grants",
        }

    text = command("check", config=two_sources).stdout
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100
    headings = [line for line in text.splitlines() if not line.startswith(" ")]
    assert headings == ["shop, kafka", "shop, connect/main"]
    words = ("  works ", "  fails ", "  not tried ")
    assert len([line for line in text.splitlines() if line.startswith(words)]) == len(checks)
