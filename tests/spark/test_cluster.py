"""History on a Spark cluster, with its lake in an object store: real processes on this machine."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable

from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schemas.tables import JOBS
from lake.storage.store import Lake
from runtime.java import Java
from tests.servers.s3.server import KEY, SECRET, S3Server
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed
from tests.spark.pasts import eventful
from tests.spark.processes import DEADLINE_SECONDS, kill, run, start, wait_until
from tests.spark.standalone import Standalone

ENVIRONMENT = {"TEST_STORE_KEY": KEY, "TEST_STORE_SECRET": SECRET}


@pytest.fixture(scope="module")
def cluster(java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with Standalone(java, tmp_path_factory.mktemp("spark")) as standalone:
        standalone.add_workers(2)
        yield standalone


@dataclass
class World:
    """A lake in the store, and the file that configures a job on it."""

    settings: LakeSettings
    lake: Lake
    config: Path


@pytest.fixture
def make_world(s3: S3Server, tmp_path: Path) -> Callable[..., World]:
    def make(bucket: str, **spark: object) -> World:
        settings = s3.bucket(bucket)
        path = tmp_path / f"{bucket}.yaml"
        content = {
            "clusters": [{"name": "demo", "bootstrap_servers": "localhost:9092"}],
            "lake": {
                "uri": settings.uri,
                # Months old as they are, samples would be deleted by a job that runs for long.
                "retention": {"raw_days": None, "minute_days": None, "hour_days": None},
                "storage_options": {
                    "aws_endpoint_url": s3.endpoint,
                    "aws_access_key_id": {"env": "TEST_STORE_KEY"},
                    "aws_secret_access_key": {"env": "TEST_STORE_SECRET"},
                },
            },
            "spark": {"trigger_seconds": 1, "late_after_seconds": 1e9, **spark},
        }
        path.write_text(yaml.safe_dump(content))
        return World(settings, Lake(settings), path)

    return make


def statuses(lake: Lake) -> list[str]:
    """Return how the rounds of the history ended; none while the store does not answer."""
    try:
        rows = lake.read(JOBS).sort("finished_at").rows(named=True)
    except LakeError:
        return []
    return [row["status"] for row in rows if row["job"] == "history"]


def held(world: World) -> bool:
    """Return whether a driver holds the lake's lease."""
    uri, options = f"{world.lake.checkpoints_uri}/history.lease", world.lake.options
    if not DeltaTable.is_deltatable(uri, options):
        return False
    found = DeltaTable(uri, storage_options=options).metadata().configuration
    return found.get("headroom.state") == "held"


def commands_of(process: subprocess.Popen[str]) -> str:
    """Return the command lines of a process and all that descend from it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(process.pid) == (folder / "stat").read_text().rsplit(")", 1)[1].split()[2]:
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue
    return "\n".join(found)


@pytest.mark.exhaustive
def test_two_workers_compute_history_from_a_store(
    cluster: Standalone, make_world: Callable[..., World]
) -> None:
    world = make_world("whole", master=cluster.master, properties=cluster.properties())
    polls = eventful(seed=34, polls=24)
    bronze.append(world.lake, *polls)
    done = run(world.config, "once", environment=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert_recomputed(world.lake, polls)


@pytest.mark.exhaustive
def test_a_cluster_loses_a_worker_and_its_store(
    s3: S3Server, cluster: Standalone, make_world: Callable[..., World]
) -> None:
    """Given history computed by two workers from a store, when a worker is killed, the store goes
    away for a while and a second driver is started, then the history is the recomputation."""
    world = make_world("cluster", master=cluster.master, properties=cluster.properties())
    lake, polls = world.lake, eventful(seed=31, polls=24)
    bronze.append(lake, *polls[:8])
    driver = start(world.config, "run", environment=ENVIRONMENT)
    try:
        wait_until(lambda: "ok" in statuses(lake), driver, DEADLINE_SECONDS)
        second = run(world.config, "once", environment=ENVIRONMENT)
        assert second.returncode == 1
        assert "another history job works on this lake" in second.stderr
        assert SECRET not in commands_of(driver)

        cluster.kill(cluster.workers[0])
        rounds = statuses(lake).count("ok")
        bronze.append(lake, *polls[8:16])
        wait_until(lambda: statuses(lake).count("ok") > rounds, driver, DEADLINE_SECONDS)

        rounds = statuses(lake).count("ok")
        s3.kill()
        writer = threading.Thread(target=bronze.append, args=(lake, *polls[16:]))
        writer.start()  # waits for the store
        # A round on a store that is away fails, sooner or later; nothing else can tell it here.
        writer.join(8)
        assert writer.is_alive()
        s3.start()
        writer.join(120)
        assert not writer.is_alive()
        wait_until(lambda: statuses(lake).count("ok") > rounds, driver, DEADLINE_SECONDS)
        driver.send_signal(signal.SIGTERM)
        _, said = driver.communicate(timeout=60)
    finally:
        if driver.poll() is None:
            kill(driver)
    done = run(world.config, "once", environment=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert_recomputed(lake, polls)
    assert SECRET not in said + second.stderr + done.stderr
    assert SECRET not in lake.read(JOBS).write_csv()
    for log in (path for path in s3.objects.rglob("*") if path.is_file()):
        assert SECRET.encode() not in log.read_bytes()


@pytest.mark.exhaustive
def test_a_store_that_answers_with_rubbish_is_told_and_nothing_is_lost(
    s3: S3Server, make_world: Callable[..., World]
) -> None:
    world = make_world("rubbish")
    polls = eventful(seed=32, polls=6)
    bronze.append(world.lake, *polls[:3])
    bronze.append(world.lake, *polls[3:])
    log = s3.objects / "rubbish" / "lake" / "bronze" / "group_offsets" / "_delta_log"
    commit = log / f"{1:020}.json"
    whole = commit.read_bytes()
    commit.write_bytes(whole[: len(whole) // 2])
    driver = start(world.config, "run", environment=ENVIRONMENT)
    try:
        wait_until(lambda: "failed" in statuses(world.lake), driver, DEADLINE_SECONDS)
        commit.write_bytes(whole)
        wait_until(lambda: "ok" in statuses(world.lake), driver, DEADLINE_SECONDS)
        driver.send_signal(signal.SIGTERM)
        driver.wait(60)
    finally:
        if driver.poll() is None:
            kill(driver)
    done = run(world.config, "once", environment=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert_recomputed(world.lake, polls)


def test_wrong_credentials_are_one_line_without_them(make_world: Callable[..., World]) -> None:
    world = make_world("refused")
    wrong = {"TEST_STORE_KEY": KEY, "TEST_STORE_SECRET": "not-the-secret"}
    done = run(world.config, "once", environment=wrong)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "cannot be used" in done.stderr
    assert "not-the-secret" not in done.stderr


@pytest.mark.exhaustive
def test_a_killed_drivers_lease_runs_out(make_world: Callable[..., World]) -> None:
    world = make_world("killed")
    bronze.append(world.lake, *eventful(seed=33, polls=2))
    driver = start(world.config, "run", environment=ENVIRONMENT)
    try:
        wait_until(lambda: held(world), driver, DEADLINE_SECONDS)
    finally:
        kill(driver)
    done = run(world.config, "once", environment=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "did not end properly" in done.stderr
