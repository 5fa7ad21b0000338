"""What tests of several folders share: Kafka, a browser, and which tests run today."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright
from streamlit.config import set_option

from demo.kafka.class_archive import ensure_class_archive
from demo.kafka.cluster import KafkaCluster
from demo.workload.service import Workload
from runtime.errors import JarsError, JavaError
from runtime.java import Java, find_java
from runtime.processes import tail
from tests.selection import PARTS, runs_on, today
from tests.servers.s3.server import S3Server, running_s3
from tests.support import Names, eventually, unavailable

# Pages that tests draw without a server are of this machine alone, as `python -m app` has them.
set_option("server.address", "127.0.0.1")
TEST_HEAP_MB = 96
# Members of the newer protocols learn of their partitions at a heartbeat, every five seconds.
QUICK_GROUPS = {
    f"group.{kind}.{limit}heartbeat.interval.ms": "1000"
    for kind in ("consumer", "share", "streams")
    for limit in ("", "min.")
}
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("headroom")
    group.addoption("--all", action="store_true", help="run every exhaustive test")
    group.addoption(
        "--day", type=int, help="run the exhaustive tests of that day of the year (default: today)"
    )


def pytest_configure(config: pytest.Config) -> None:
    # A busy machine is no fault of an example that takes long on it.
    settings.register_profile("without deadlines", deadline=None)
    settings.load_profile("without deadlines")
    if config.option.day is None:  # set once: workers that run tests in parallel get it
        config.option.day = today()


@pytest.fixture(scope="session")
def ten_with_all(request: pytest.FixtureRequest) -> int:
    """Return 10 in a run of all exhaustive tests, else 1: how often a part of one is taken."""
    return 10 if request.config.option.all else 1


def pytest_report_header(config: pytest.Config) -> str:
    if config.option.all:
        return "exhaustive tests: all"
    day = config.option.day
    return (
        f"exhaustive tests: part {day % PARTS + 1} of {PARTS}, that of day {day} of the year "
        "(again with --day, all with --all)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the exhaustive tests of other days, but for those named on the command line."""
    if config.option.all or any("::" in argument for argument in config.args):
        return
    day = config.option.day
    others = [
        item
        for item in items
        if item.get_closest_marker("exhaustive") and not runs_on(item.nodeid, day)
    ]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the time of each folder, its set-ups included."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                folder = "/".join(report.nodeid.split("/")[:-1][:3])
                seconds[folder] += report.duration
    terminalreporter.section("time by folder")
    for folder, spent in sorted(seconds.items(), key=lambda each: -each[1]):
        terminalreporter.line(f"{spent:7.1f} s  {folder}")


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
    cluster = KafkaCluster(
        folder, brokers=3, heap_mb=TEST_HEAP_MB, java=kafka_java, properties=QUICK_GROUPS
    )
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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; without one the test is left out (in CI: fails)."""
    path = shutil.which("chromium")
    if path is None:
        unavailable("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def s3(java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """An object store for the whole session; each test has a bucket. Who kills it starts it."""
    with running_s3(java, tmp_path_factory.mktemp("s3")) as server:
        yield server
