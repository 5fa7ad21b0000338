from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import SparkSettings
from spark_metrics.errors import SessionError
from spark_metrics.session import properties, spark_session


def test_a_local_session_is_small_and_quiet() -> None:
    found = properties(SparkSettings(), [Path("/jars/delta.jar")])
    assert found["spark.jars"] == "/jars/delta.jar"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert found["spark.ui.enabled"] == "false"
    assert "-XX:+UseSerialGC" in found["spark.driver.extraJavaOptions"]
    assert found["spark.driver.bindAddress"] == "127.0.0.1"


def test_a_cluster_gets_no_flags_meant_for_this_machine() -> None:
    found = properties(SparkSettings(master="spark://host:7077"), [])
    assert "Serial" not in found["spark.driver.extraJavaOptions"]
    assert "spark.driver.host" not in found


@pytest.mark.parametrize(("cores", "wanted"), [(None, "1920m"), ("4", "6528m")])
def test_executors_have_memory_for_a_python_process_a_core(cores: str | None, wanted: str) -> None:
    of_executors = {} if cores is None else {"spark.executor.cores": cores}
    found = properties(SparkSettings(master="k8s://https://host", properties=of_executors), [])
    assert found["spark.executor.memoryOverhead"] == wanted
    assert "spark.executor.memoryOverhead" not in properties(SparkSettings(), [])


def test_own_properties_win() -> None:
    settings = SparkSettings(properties={"spark.ui.enabled": "true", "spark.x": "1"})
    found = properties(settings, [])
    assert (found["spark.ui.enabled"], found["spark.x"]) == ("true", "1")


def test_a_missing_java_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SessionError, match="Spark cannot start: JAVA_HOME is") as caught:
        spark_session(SparkSettings())
    assert "\n" not in str(caught.value)
