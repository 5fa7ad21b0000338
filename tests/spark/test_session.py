"""A session's workers: their versions."""

from __future__ import annotations

from socket import gethostname

import pytest
from pyspark.sql import SparkSession

from spark_metrics.code import check_workers, versions
from spark_metrics.errors import SessionError


def test_workers_with_the_drivers_versions_are_taken(spark: SparkSession) -> None:
    check_workers(spark, versions())


def test_a_worker_with_another_version_is_told_with_what_to_do(spark: SparkSession) -> None:
    wanted = {**versions(), "polars": "0.0.1"}
    told = rf"worker of Spark on {gethostname()} has polars \d.*, this process 0\.0\.1: install req"
    with pytest.raises(SessionError, match=told):
        check_workers(spark, wanted)


def test_a_worker_without_a_package_is_told_in_one_line(spark: SparkSession) -> None:
    told = rf"worker of Spark on {gethostname()} lacks a package: No module named 'none_such': ins"
    with pytest.raises(SessionError, match=told) as caught:
        check_workers(spark, versions(), ("none_such.module",))
    assert "\n" not in str(caught.value)


def test_what_a_worker_raises_is_told_without_its_traceback(spark: SparkSession) -> None:
    with pytest.raises(
        SessionError, match=r"does not work: AttributeError: .*: install req"
    ) as caught:
        check_workers(spark, versions(), (7,))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
