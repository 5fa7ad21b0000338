"""A session's workers: their versions."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_metrics.code import check_workers, versions
from spark_metrics.errors import SessionError


def test_workers_with_the_drivers_versions_are_taken(spark: SparkSession) -> None:
    check_workers(spark, versions())


def test_a_worker_with_another_version_is_told_with_what_to_do(spark: SparkSession) -> None:
    wanted = {**versions(), "polars": "0.0.1"}
    with pytest.raises(SessionError, match=r"has polars \d.*, this process 0\.0\.1: install req"):
        check_workers(spark, wanted)
