"""One Spark session and fresh lakes for the tests of the history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import ClusterSettings, LakeSettings, Settings, SparkSettings
from lake.storage.store import Lake
from spark_metrics.session import spark_session

NEVER_TOO_LATE = 1e9
KEPT = "{raw_days: null, minute_days: null, hour_days: null}"
"""The tests' samples are months old: a job that runs for long enough would delete them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(SparkSettings(master="local[2]"))
    yield session
    session.stop()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        clusters=[ClusterSettings(name="demo", bootstrap_servers="localhost:9092")],
        lake=LakeSettings(uri=str(tmp_path / "lake")),
        spark=SparkSettings(late_after_seconds=NEVER_TOO_LATE),
    )


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return Lake(settings.lake)


@pytest.fixture
def config(tmp_path: Path, settings: Settings) -> Path:
    """The configuration file of a job of its own on the same lake."""
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters: [{name: demo, bootstrap_servers: 'localhost:9092'}]\n"
        f"lake: {{uri: {settings.lake.uri}, retention: {KEPT}}}\n"
        "spark: {trigger_seconds: 1, late_after_seconds: 1000000000}\n"
    )
    return path
