"""One Spark session and fresh lakes for the tests of the history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.settings import ClusterSettings, LakeSettings, Settings, SparkSettings
from lake.store import Lake
from spark_metrics.session import spark_session

NEVER_TOO_LATE = 1e9


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(SparkSettings())
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
