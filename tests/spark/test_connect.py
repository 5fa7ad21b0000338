"""History through Spark Connect: the job is a client, the driver a server of its own."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings, SparkSettings
from lake.schemas.tables import CAPACITY, FORECASTS
from lake.storage.store import Lake
from runtime.java import Java
from runtime.processes import ProcessGroup, free_ports, wait_until
from spark_metrics.session import java_and_jars, properties
from tests.selection import MARK
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed
from tests.spark.pasts import eventful
from tests.spark.processes import ROOT, run
from tests.spark.weeks import CAPACITY_PER_SECOND, END, write_history, write_samples

HOST = "127.0.0.1"
START_SECONDS = 180

pytest.importorskip("grpc", reason="Spark Connect's client needs grpcio")


@pytest.fixture
def server(java: Java, tmp_path: Path) -> Iterator[str]:
    """The server that pyspark brings; yields its address."""
    (port,) = free_ports(1)
    _, jars = java_and_jars(LakeSettings(uri=str(tmp_path)))
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    settings = properties(SparkSettings(master="local[2]"), jars)
    settings["spark.connect.grpc.binding.address"] = HOST
    settings["spark.connect.grpc.binding.port"] = str(port)
    flags = [part for item in settings.items() for part in ("--conf", "=".join(item))]
    command = [
        str(Path(spec.origin).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]", *flags, "spark-internal"),
    ]
    environment = {
        **os.environ,
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "TZ": "UTC",
    }
    with ProcessGroup(grace_seconds=5) as processes:
        child = processes.start(
            "Spark Connect", command, log=tmp_path / "connect.log", environment=environment
        )
        wait_until(
            lambda: answers(port),
            timeout_seconds=START_SECONDS,
            waiting_for="Spark Connect",
            children=[child],
        )
        yield f"sc://{HOST}:{port}"


def answers(port: int) -> bool:
    with closing(socket.socket()) as one:
        return one.connect_ex((HOST, port)) == 0


def test_a_client_of_a_server_computes_the_same(config: Path, lake: Lake, server: str) -> None:
    polls = eventful(seed=41, polls=30)
    for name, part in (("HEADROOM_SPARK__MASTER", polls[:20]), ("SPARK_REMOTE", polls[20:])):
        bronze.append(lake, *part)
        done = run(config, "once", environment={name: server})
        assert done.returncode == 0, done.stderr
    assert_recomputed(lake, polls)


@MARK
def test_each_command_works_through_a_server(config: Path, lake: Lake, server: str) -> None:
    """Given samples, then the history, a backfill of it and upkeep; then what weeks let derive."""
    polls = eventful(seed=43, polls=20)
    bronze.append(lake, *polls)
    until = bronze.START + timedelta(hours=1)
    span = (f"--from={bronze.START:%Y-%m-%dT%H:%M}", f"--to={until:%Y-%m-%dT%H:%M}")
    for words in (("once",), ("backfill", *span), ("maintain",)):
        done = run(config, *words, environment={"SPARK_REMOTE": server})
        assert done.returncode == 0, done.stderr
        assert_recomputed(lake, polls)

    write_history(lake)
    write_samples(lake, END - timedelta(hours=2), END)
    done = run(config, "derive", environment={"SPARK_REMOTE": server})
    assert done.returncode == 0, done.stderr
    steady = lake.read(FORECASTS).filter(pl.col("name") == "steady")
    assert steady["median"].null_count() == 0
    assert steady.height == 24
    capacity = lake.read(CAPACITY).filter(pl.col("member").is_null(), pl.col("group") == "slow")
    assert capacity["per_second"].to_list() == [pytest.approx(CAPACITY_PER_SECOND, rel=0.05)]
