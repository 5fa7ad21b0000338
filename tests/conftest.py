"""Fixtures that tests of several folders share: a real Kafka cluster and names on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from demo.archive import ensure_class_archive
from demo.cluster import KafkaCluster
from demo.workload.service import Workload
from runtime.errors import JarsError, JavaError
from runtime.java import Java, find_java
from runtime.processes import tail
from tests.support import Names, eventually, unavailable

TEST_HEAP_MB = 96


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the brokers wrote last where a test on them fails."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get("kafka_cluster")
    if report.failed and isinstance(cluster, KafkaCluster):
        for broker in cluster.brokers:
            log = tail(cluster.log(broker), lines=15)
            state = "running" if broker in cluster.running else "down"
            report.sections.append((f"broker {broker}, {state}, at {time.strftime('%T')}", log))
    return report


@pytest.fixture(scope="session")
def java() -> Java:
    """A usable Java; without one the test is left out (in CI: fails)."""
    try:
        return find_java()
    except JavaError as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
def kafka_java(java: Java) -> Java:
    """A usable Java with Kafka's jars, and the archive for fast starts, in the cache."""
    try:
        ensure_class_archive(java)
    except JarsError as error:
        unavailable(str(error))
    return java


@pytest.fixture(scope="session")
def kafka_cluster(
    kafka_java: Java, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Three real brokers for the whole session. Whoever breaks one puts it right again."""
    folder = tmp_path_factory.mktemp("kafka")
    cluster = KafkaCluster(folder, brokers=3, heap_mb=TEST_HEAP_MB, java=kafka_java)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.close(keep=False)


@pytest.fixture
def make_cluster(kafka_java: Java, tmp_path: Path) -> Iterator[Callable[..., KafkaCluster]]:
    """Make clusters of a test's own: ``make_cluster(brokers=1, properties={…})``, started."""
    made: list[KafkaCluster] = []

    def make(brokers: int = 1, **options: object) -> KafkaCluster:
        settings: dict[str, object] = {"heap_mb": TEST_HEAP_MB, "java": kafka_java, **options}
        cluster = KafkaCluster(tmp_path / f"cluster-{len(made)}", brokers, **settings)  # type: ignore[arg-type]
        made.append(cluster)
        return cluster.start()

    try:
        yield make
    finally:
        for cluster in made:
            cluster.close(keep=False)


@pytest.fixture
def names(kafka_cluster: KafkaCluster) -> Iterator[Names]:
    """Uniquely named topics and groups on the shared cluster, deleted after the test."""
    made = Names(kafka_cluster)
    try:
        yield made
    finally:
        made.delete()


@pytest.fixture(scope="session")
def demo_workload(kafka_cluster: KafkaCluster) -> Iterator[Workload]:
    """The demo's own topics and groups on the shared cluster, in each of its documented states.

    Paused, so that other tests have a quiet cluster: nothing is produced, consumed or committed
    while the members stay in their groups. ``resume()`` and ``pause()`` as a test needs it, and
    leave it paused.
    """
    with Workload(kafka_cluster.bootstrap_servers) as workload:
        groups = {group.name for group in workload.catalogue.groups}
        eventually(
            lambda: workload.committed_groups() == groups,
            timeout_seconds=60,
            what="demo workload with commits of every group",
        )
        workload.pause()
        yield workload
