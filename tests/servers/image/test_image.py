"""The image: every step of the Dockerfile, then a container of it with a read-only root."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from config.settings import LakeSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import CLUSTER_HISTORY, COLLECTIONS
from lake.storage.store import Lake
from runtime.processes import free_ports
from runtime.services import dashboard_answers
from tests.servers.image.container import Image, build_variables, empty_image, first_processes, stop
from tests.servers.image.dockerfile import DockerfileError
from tests.support import eventually

ROOT = Path(__file__).parents[3]
VOLUME = "/var/lib/headroom"
ROLES = ("collectors", "alerting", "spark_metrics", "app", "runtime")

SMALL = """\
FROM python:3.11-slim-bookworm
WORKDIR /opt/small
ENV WHERE=/opt/small/new
COPY config config
RUN useradd --system --uid 10001 --create-home small && install -d -o small /var/small
USER 10001
VOLUME /var/small
CMD ["python", "-c", "import os; open(os.environ['WHERE'], 'w')"]
"""


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Image]:
    space = tmp_path / "image"
    space.mkdir()
    with empty_image(space) as made:
        yield made


def test_a_container_cannot_write_beside_its_volume_and_sees_nothing_of_this_machine(
    image: Image, tmp_path: Path
) -> None:
    image.build(SMALL, ROOT, {})
    before = image.files()
    image.path("/opt/small/late").touch()
    image.path("/etc/late").touch()
    assert {name for name in image.files().keys() - before.keys()} == {
        "root/opt/small/late",
        "etc/upper/late",
    }
    with pytest.raises(DockerfileError, match="exit status 3"):
        image.build("RUN exit 3", ROOT, {})
    image.freeze()

    with image.running(tmp_path / "container.log") as container:
        assert container.wait(60) == 1
    assert "Read-only file system: '/opt/small/new'" in (tmp_path / "container.log").read_text()
    image.command = ["sleep", "1000"]
    with image.running(tmp_path / "container.log") as container:
        eventually(lambda: _owners(container) == {"10001"}, what="process of its user")
        (first,) = first_processes(container)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    for folder in ("/", "/etc", "/usr/local", "/dev", "/home/small"):
        assert image.execute(["touch", f"{folder}/new"]).returncode == 1, folder
    for folder in ("/tmp", "/var/small"):  # noqa: S108
        assert image.execute(["touch", f"{folder}/new"]).returncode == 0, folder
    assert image.execute(["sh", "-c", f"ls {ROOT} || ls {tmp_path}"]).returncode == 2
    assert image.execute(["sh", "-c", "command -v java"]).returncode == 127
    assert image.execute(["id", "-u"]).stdout == "10001\n"


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.exhaustive
@pytest.mark.timeout(1500)
def test_the_image_is_built_and_runs_with_a_read_only_root(
    image: Image, kafka_cluster: KafkaCluster, tmp_path: Path
) -> None:
    image.build((ROOT / "Dockerfile").read_text(encoding="utf-8"), ROOT, build_variables())
    port = free_ports(1)[0]
    configuration = {
        "clusters": [
            {"name": "production", "bootstrap_servers": kafka_cluster.bootstrap_servers}
            | {"poll_interval_seconds": 5}
        ],
        "lake": {"uri": f"{VOLUME}/lake"},
        "alerting": {"state": f"{VOLUME}/alerts.sqlite"},
        "app": {"port": port},
    }
    image.path("/etc/headroom/headroom.yaml").write_text(yaml.safe_dump(configuration))
    image.freeze()
    before = image.files()
    assert image.volumes == [VOLUME]
    sbom = json.loads(image.execute(["cat", "/opt/headroom/sbom.json"]).stdout)
    listed = {component["name"] for component in sbom["components"]}
    assert {"pyspark", "deltalake", "delta-storage"} <= listed

    log = tmp_path / "container.log"
    with image.running(log) as container:

        def healthy() -> bool:
            assert container.poll() is None, log.read_text()
            return image.execute(image.health).returncode == 0 and dashboard_answers(port)

        eventually(healthy, timeout_seconds=180, what=lambda: f"health: {log.read_text()}")
        lake = Lake(LakeSettings(uri=str(image.volume(f"{VOLUME}/lake"))))
        eventually(lambda: _polled(lake), timeout_seconds=120, what="a poll in the lake")
        eventually(
            lambda: lake.exists(CLUSTER_HISTORY), timeout_seconds=240, what="history of Spark"
        )
        owners = _owners(container)
        for role in ROLES:
            command = [] if role == "app" else ["run"]
            started = image.execute(["python", "-m", role, *command, "--help"])
            assert started.returncode == 0, (role, started.stderr)
            assert "--config" in started.stdout, role
        assert stop(container, 60) == 0, log.read_text()

    assert owners == {"10001"}
    assert image.execute(["id", "-u"]).stdout == "10001\n"
    assert image.files() == before
    logs = [log, *image.volume(f"{VOLUME}/logs").iterdir()]
    complaints = [
        line
        for file in logs
        for line in file.read_text(errors="replace").splitlines()
        if "Read-only file system" in line or "Permission denied" in line
    ]
    assert len(logs) == 5
    assert complaints == []


def _polled(lake: Lake) -> bool:
    if not lake.exists(COLLECTIONS):
        return False
    window = {"now": datetime.now(UTC), "within": timedelta(minutes=10)}
    rows = lake.latest(COLLECTIONS, cluster="production", **window)
    return set(rows.filter(rows["source"] == "kafka")["status"]) == {"ok"}


def _owners(container: subprocess.Popen[bytes]) -> set[str]:
    """Return who the processes of a container run as; the engine's own is not one of them."""
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid=,uid="], capture_output=True, text=True, check=True
    ).stdout
    found, owners = {str(container.pid)}, set()
    rows = [line.split() for line in listed.splitlines()]
    while new := [(pid, uid) for pid, parent, uid in rows if parent in found and pid not in found]:
        found |= {pid for pid, _ in new}
        owners |= {uid for _, uid in new}
    return owners
