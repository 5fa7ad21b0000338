from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import SparkSettings
from spark_metrics.errors import SessionError
from spark_metrics.session import (
    master_of,
    of_every_session,
    properties,
    spark_session,
    without_token,
)


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
    assert found["spark.executor.cores"] == (cores or "1")
    assert "spark.executor.memoryOverhead" not in properties(SparkSettings(), [])


def test_executors_of_spark_submit_keep_the_memory_that_it_gave_them() -> None:
    found = of_every_session(SparkSettings(master="k8s://https://host"), None)
    assert not [name for name in found if "memory" in name.lower()]


def test_an_own_share_of_overhead_is_not_overridden() -> None:
    own = {"spark.executor.memoryOverheadFactor": "0.6"}
    found = properties(SparkSettings(master="yarn", properties=own), [])
    assert "spark.executor.memoryOverhead" not in found


@pytest.mark.parametrize(
    ("master", "remote", "wanted"),
    [
        pytest.param("local[2]", None, "local[2]", id="configuration"),
        pytest.param("local[2]", "", "local[2]", id="empty"),
        pytest.param("local[2]", "sc://one:15002", "sc://one:15002", id="environment"),
        pytest.param("sc://two", "sc://one", "sc://one", id="environment-wins"),
    ],
)
def test_a_server_is_named_by_configuration_or_environment(
    monkeypatch: pytest.MonkeyPatch, master: str, remote: str | None, wanted: str
) -> None:
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    if remote is not None:
        monkeypatch.setenv("SPARK_REMOTE", remote)
    assert master_of(SparkSettings(master=master)) == wanted


def test_what_is_no_server_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "local")
    with pytest.raises(SessionError, match="SPARK_REMOTE is 'local': set it to a Spark Connect"):
        spark_session(SparkSettings())


def test_a_token_is_not_told() -> None:
    assert without_token("sc://host:443/;token=secret;use_ssl=true") == "sc://host:443"
    assert without_token("spark://host:7077") == "spark://host:7077"


def test_own_properties_win() -> None:
    settings = SparkSettings(properties={"spark.ui.enabled": "true", "spark.x": "1"})
    found = properties(settings, [])
    assert (found["spark.ui.enabled"], found["spark.x"]) == ("true", "1")


def test_a_missing_java_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SessionError, match="Spark cannot start: JAVA_HOME is") as caught:
        spark_session(SparkSettings())
    assert "\n" not in str(caught.value)
