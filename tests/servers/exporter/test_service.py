"""The service that serves metrics: marks of deploys, its restart, its port, a full disk."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import httpx
import polars as pl

from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import CLUSTER_EVENTS, COLLECTIONS
from tests.servers.exporter.serving import (
    BEARER,
    INTERVAL_SECONDS,
    ROOT,
    Served,
    serving,
    value,
)
from tests.support import eventually


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
