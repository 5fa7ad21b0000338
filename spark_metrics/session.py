"""The one Spark session of a history job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from config.settings import SparkSettings
from runtime.errors import RuntimeSetupError
from runtime.jars import delta_jars
from runtime.java import Java, find_java
from spark_metrics.errors import SessionError

_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_LOCAL_JVM = (
    # Rounds are short and two cores are shared with what is watched: a collector with one thread
    # and the first compiler alone start sooner and take less time in all.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # The 48 MB that come with it are full after a few rounds, and from then on nothing is compiled.
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+IgnoreUnrecognizedVMOptions",
)


def spark_session(
    settings: SparkSettings, *, notice: Callable[[str], None] | None = None
) -> SparkSession:
    """Start Spark with Delta.

    Args:
        settings: Master, memory and further properties, which win over those set here.
        notice: Called with one line when jars are downloaded or a Java is passed over.

    Returns:
        The session; stop it when done.

    Raises:
        SessionError: No Java, no jars, or Spark did not start.
    """
    try:
        java = find_java(notice=notice)
        jars = delta_jars(java, notice=notice)
    except RuntimeSetupError as error:
        raise SessionError(f"Spark cannot start: {error}") from error
    builder = SparkSession.builder.appName("headroom-history").master(settings.master)
    for key, value in properties(settings, jars).items():
        builder = builder.config(key, value)
    _prepare_environment(java)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # Py4J raises anything that the JVM raises
        raise SessionError(
            f"Spark cannot start with {settings.master}: {_first_line(error)}"
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


def properties(settings: SparkSettings, jars: list[Path]) -> dict[str, str]:
    """Return Spark's properties for these settings.

    Args:
        settings: What the configuration says.
        jars: Delta's jars.
    """
    local = settings.master.startswith("local")
    jvm = [f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}", "-Duser.timezone=UTC"]
    if local:
        jvm.extend(_LOCAL_JVM)
    found = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(jvm),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.databricks.delta.snapshotPartitions": "2",
        # Listing files: the default of 10,000 tasks makes a VACUUM of a small table take a minute.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(
            settings.shuffle_partitions
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "false",
        # Without its page nobody looks at what Spark would keep of past rounds.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "5",
    }
    if local:
        # A machine's own name may lead nowhere; nothing but this process talks to the driver.
        found["spark.driver.host"] = "localhost"
        found["spark.driver.bindAddress"] = "127.0.0.1"
    return found | settings.properties


def _prepare_environment(java: Java) -> None:
    """Set what Spark's launcher and its workers read from the environment."""
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["TZ"] = "UTC"
    time.tzset()


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
