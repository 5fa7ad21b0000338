"""``python -m runtime run`` on a real cluster: starts the services, ends them all."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from demo.kafka.cluster import KafkaCluster
from runtime.processes import free_ports
from tests.support import eventually

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.kafka


def processes_of(folder: Path) -> list[str]:
    listed = subprocess.run(
        ["ps", "-axww", "-o", "stat=,args="], capture_output=True, text=True, check=True
    )
    return [line for line in listed.stdout.splitlines() if str(folder) in line and line[:1] != "Z"]


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGTERM, id="terminated"), pytest.param(signal.SIGKILL, id="killed")],
)
def test_all_services_run_and_end_with_it(
    kafka_cluster: KafkaCluster, tmp_path: Path, number: int
) -> None:
    """Given five lines of configuration, when run, then there is a dashboard and later nothing."""
    (port,) = free_ports(1)
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters:\n"
        "  - name: here\n"
        f"    bootstrap_servers: {kafka_cluster.bootstrap_servers}\n"
        "lake:\n"
        "  uri: data/lake\n"
    )
    output = tmp_path / "out"
    with output.open("w") as handle:
        process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "runtime", "run", "--config", str(config), "--port", str(port)),
            ],
            cwd=ROOT,
            stdout=handle,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:

        def announced() -> bool:
            assert process.poll() is None, output.read_text()
            return f"dashboard: http://localhost:{port}" in output.read_text()

        eventually(announced, timeout_seconds=90, what="dashboard")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as page:
            assert b"<title>" in page.read()
        eventually(
            lambda: list((tmp_path / "data" / "lake" / "bronze").glob("brokers/_delta_log/*")),
            timeout_seconds=60,
            what="first poll in the lake",
        )
        assert {log.name for log in (tmp_path / "data" / "logs").iterdir()} == {
            "alerting.log",
            "collectors.log",
            "spark.log",
            "dashboard.log",
        }
        process.send_signal(number)
        assert process.wait(30) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
        eventually(
            lambda: not processes_of(tmp_path), timeout_seconds=30, what="end of every service"
        )
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
