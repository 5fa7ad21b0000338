"""Two services for one cluster, as users start them: one polls, and no row is written twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import BROKERS, COLLECTIONS, WAITING_COLLECTORS
from lake.storage.store import Lake
from runtime.processes import free_ports
from tests.servers.s3.server import KEY, SECRET, S3Server
from tests.support import eventually

ROOT = Path(__file__).parents[3]
INTERVAL_SECONDS = 8.0
"""The shortest for which the promise of two polls holds."""

Start = Callable[[Path], "Collector"]


class Collector:
    """A service that runs, and what it has logged."""

    def __init__(self, config: Path, log: Path) -> None:
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "collectors", "run", "--config", str(config)],
                cwd=ROOT,
                stderr=file,
            )

    def said(self, text: str) -> int:
        return self.log.read_text().count(text)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(10)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Collector] = []

    def begin(config: Path) -> Collector:
        started.append(Collector(config, tmp_path / f"{len(started)}.log"))
        return started[-1]

    try:
        yield begin
    finally:
        for each in started:
            each.end()


def write(
    path: Path, servers: str, *names: str, interval: float = INTERVAL_SECONDS, more: str = ""
) -> Path:
    clusters = "".join(
        f"  - {{name: {name}, bootstrap_servers: '{servers}', poll_interval_seconds: {interval}}}\n"
        for name in names
    )
    lake = path.parent / "lake"
    path.write_text(f"clusters:\n{clusters}lake: {{uri: {lake}}}\n{more}")
    return path


def write_for(path: Path, servers: str, lake: LakeSettings, more: str = "") -> Path:
    """Write settings whose lake, and so the lease, lies in an object store."""
    options = lake.storage_options
    path.write_text(
        f"clusters:\n  - {{name: shop, bootstrap_servers: '{servers}', "
        f"poll_interval_seconds: {INTERVAL_SECONDS}}}\n"
        f"lake:\n  uri: {lake.uri}\n  storage_options:\n"
        f"    aws_endpoint_url: {options['aws_endpoint_url']}\n"
        f"    aws_access_key_id: {{file: {_file(path.parent / 'key', KEY)}}}\n"
        f"    aws_secret_access_key: {{file: {_file(path.parent / 'secret', SECRET)}}}\n{more}"
    )
    return path


def _file(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def polls(lake: Lake, cluster: str = "shop") -> pl.DataFrame:
    """Return the polls of brokers in the lake, oldest first."""
    return (
        lake.read(BROKERS, cluster=cluster)
        .select("observed_at", "poll_id")
        .unique()
        .sort("observed_at")
    )


def polls_since(lake: Lake, moment: datetime) -> int:
    return polls(lake).filter(pl.col("observed_at") > moment).height


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_the_second_takes_over_within_two_polls(
    kafka_cluster: KafkaCluster, tmp_path: Path, start: Start, number: signal.Signals
) -> None:
    """Given two services, when the first is gone, then the second polls and none is doubled."""
    (port,) = free_ports(1)
    servers = kafka_cluster.bootstrap_servers
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    first = start(write(tmp_path / "first.yaml", servers, "shop"))
    eventually(lambda: polls(lake).height >= 1, timeout_seconds=20, what="poll of the first")
    exporter = f"collectors: {{exporter: {{port: {port}}}}}\n"
    second = start(write(tmp_path / "second.yaml", servers, "shop", more=exporter))
    waits = f"cluster=shop waits: {os.uname().nodename}/{first.process.pid} polls it"
    eventually(lambda: second.said(waits) == 1, timeout_seconds=20, what="second that waits")
    assert active(port) == 0

    first.process.send_signal(number)
    gone_at = datetime.now(UTC)
    eventually(
        lambda: polls_since(lake, gone_at) >= 1,
        timeout_seconds=2 * INTERVAL_SECONDS + 5,
        what="poll of the second",
    )
    (taken_at,) = polls(lake).filter(pl.col("observed_at") > gone_at)["observed_at"].head(1)
    assert taken_at - gone_at < timedelta(seconds=2 * INTERVAL_SECONDS)
    assert active(port) == 1
    assert second.said(waits) == 1

    if number == signal.SIGSTOP:
        first.process.send_signal(signal.SIGCONT)
        eventually(
            lambda: first.said("cluster=shop waits: ") == 1,
            what="first that waits",
            timeout_seconds=20,
        )
        eventually(lambda: polls(lake).height >= 3, what="poll after that", timeout_seconds=20)
    # One process at a time: no two polls are nearer to each other than the cadence allows.
    gaps = polls(lake)["observed_at"].diff().drop_nulls()
    assert gaps.min() > timedelta(seconds=0.8 * INTERVAL_SECONDS)
    rows = lake.read(COLLECTIONS, cluster="shop")
    assert rows.height == rows.unique(["observed_at", "source", "section"]).height
    processes = rows.sort("observed_at")["collector"].unique(maintain_order=True).to_list()
    host = os.uname().nodename
    assert processes == [f"{host}/{each.process.pid}" for each in (first, second)]


def test_a_lease_in_an_object_store_is_taken_over(
    kafka_cluster: KafkaCluster, s3: S3Server, tmp_path: Path, start: Start
) -> None:
    """Given a lake in S3 and two services, when the first is killed, then the second polls."""
    settings = s3.bucket("takeover")
    lake = Lake(settings)
    config = write_for(tmp_path / "headroom.yaml", kafka_cluster.bootstrap_servers, settings)
    first = start(config)
    eventually(lambda: polls(lake).height >= 1, timeout_seconds=30, what="poll of the first")
    second = start(config)
    host = os.uname().nodename
    waits = f"cluster=shop waits: {host}/{first.process.pid} polls it"
    eventually(lambda: second.said(waits) == 1, timeout_seconds=30, what="second that waits")
    eventually(
        lambda: (
            lake.read(WAITING_COLLECTORS).select("collector", "waits_for").rows()
            == [(f"{host}/{second.process.pid}", f"{host}/{first.process.pid}")]
        ),
        what="row about who waits",
    )
    first.process.kill()
    gone_at = datetime.now(UTC)
    eventually(
        lambda: polls_since(lake, gone_at) >= 2,
        timeout_seconds=4 * INTERVAL_SECONDS,
        what="polls of the second",
    )
    rows = lake.read(COLLECTIONS, cluster="shop")
    assert rows.height == rows.unique(["observed_at", "source", "section"]).height
    processes = rows.sort("observed_at")["collector"].unique(maintain_order=True).to_list()
    assert processes == [f"{host}/{each.process.pid}" for each in (first, second)]


def test_a_collector_that_starts_without_its_lake_begins_when_that_is_back(
    kafka_cluster: KafkaCluster, s3: S3Server, tmp_path: Path, start: Start
) -> None:
    (port,) = free_ports(1)
    settings = s3.bucket("away-at-start")
    exporter = f"collectors: {{exporter: {{port: {port}}}}}\n"
    servers = kafka_cluster.bootstrap_servers
    config = write_for(tmp_path / "headroom.yaml", servers, settings, more=exporter)
    s3.kill()
    try:
        service = start(config)
        said = "cluster=shop not polled: the lease cannot be taken"
        eventually(lambda: service.said(said) == 1, timeout_seconds=60, what="the reason, once")
        assert active(port) == 0
        assert service.process.poll() is None
    finally:
        s3.start()
    eventually(lambda: polls(Lake(settings)).height >= 2, timeout_seconds=60, what="polls")
    assert active(port) == 1
    assert service.said(SECRET) == 0


def active(port: int) -> int:
    """Return whether a process says that it polls."""
    with urllib.request.urlopen(f"http://localhost:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [each for each in lines if each.startswith("headroom_collector_active{")]
    return int(float(line.rpartition(" ")[2]))


def test_a_clean_stop_hands_over_at_once(
    kafka_cluster: KafkaCluster, tmp_path: Path, start: Start
) -> None:
    servers = kafka_cluster.bootstrap_servers
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    config = write(tmp_path / "headroom.yaml", servers, "shop", interval=60)
    first = start(config)
    eventually(lambda: polls(lake).height == 1, timeout_seconds=20, what="poll of the first")
    second = start(config)
    eventually(lambda: second.said("waits: ") == 1, timeout_seconds=20, what="second that waits")
    first.process.terminate()
    assert first.process.wait(15) == 0
    eventually(lambda: polls(lake).height == 2, timeout_seconds=10, what="poll of the second")
    second.process.terminate()
    assert second.process.wait(15) == 0


def test_settings_are_followed_without_a_restart(
    kafka_cluster: KafkaCluster, tmp_path: Path, start: Start
) -> None:
    """Given a service, when clusters come and go in its file, it follows, and mistakes are said."""
    servers = kafka_cluster.bootstrap_servers
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    config = write(tmp_path / "headroom.yaml", servers, "shop", "gone", interval=2)
    service = start(config)
    eventually(lambda: polls(lake, "gone").height >= 1, timeout_seconds=20, what="first polls")
    write(config, servers, "shop", "new", interval=2)
    eventually(lambda: polls(lake, "new").height >= 1, timeout_seconds=15, what="new cluster")
    eventually(lambda: service.said("cluster=gone is not in the settings") == 1, what="the other")
    last = polls(lake, "gone")["observed_at"].max()

    write(config, servers, "shop", "third", interval=2, more="colectors: {}\n")
    said = pl.col("section") == "settings"
    eventually(
        lambda: lake.read(COLLECTIONS, said, cluster="shop").height == 1,
        timeout_seconds=15,
        what="row about the mistake",
    )
    (row,) = lake.read(COLLECTIONS, said, cluster="shop").to_dicts()
    assert row["status"] == "failed"
    assert "colectors: unknown key" in row["error"]
    before = polls(lake).height
    eventually(lambda: polls(lake).height >= before + 2, timeout_seconds=10, what="polls go on")
    assert service.said("the settings stay as they were") == 1
    assert polls(lake, "third").is_empty()
    assert polls(lake, "gone")["observed_at"].max() == last
    # The cluster that stayed was polled all the time, by the same source.
    assert service.said("cluster=shop source=kafka polling every") == 1
    gaps = polls(lake)["observed_at"].diff().drop_nulls()
    assert gaps.max() < timedelta(seconds=3)
