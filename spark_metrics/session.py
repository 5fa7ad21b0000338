"""The one Spark session of a history job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from config.settings import LakeSettings, SparkSettings
from runtime.errors import RuntimeSetupError
from runtime.jars import spark_jars
from runtime.java import Java, find_java
from spark_metrics.code import check_workers, give_code, versions
from spark_metrics.errors import SessionError
from spark_metrics.objectstore import give_credentials, is_s3, s3a_properties

_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_LOCAL_JVM = (
    # Two cores are shared with what is watched: a collector with one thread takes less in all.
    "-XX:+UseSerialGC",
    # The second compiler took half of a small cluster's first ten minutes: it gets only what runs
    # for each row of a large one. Its thresholds are twenty times what they are otherwise.
    "-XX:Tier4InvocationThreshold=100000",
    "-XX:Tier4MinInvocationThreshold=20000",
    "-XX:Tier4CompileThreshold=200000",
    "-XX:Tier4BackEdgeThreshold=1000000",
    # The default of 48 MB is full after a few micro-batches: from then on nothing is compiled.
    "-XX:ReservedCodeCacheSize=160m",
    # Memory that a micro-batch has left is given back.
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    # So is what the C library holds of memory that Spark and the compilers have left: 50 MB.
    "-XX:TrimNativeHeapInterval=60000",
    "-XX:+IgnoreUnrecognizedVMOptions",
)

SMALL_ROWS = 500_000
"""Work on up to this many samples is small: Spark then generates no code, which saved time where it
was measured. The properties are internal to Spark: without them the rows are the same."""

_ALLOCATOR = "dirty_decay_ms:5000,muzzy_decay_ms:0,narenas:1,background_thread:true"
"""How Polars' allocator (jemalloc) works in workers: pages that one step of a task has left serve
the next, which takes a seventh less time than to have each given anew, and go back once the worker
is idle."""

_JVM_MEGABYTES = 384
_TASK_MEGABYTES = 1536
"""Of ``samples.ROWS_A_TASK`` rows; measured in docs/history.md."""


def spark_session(
    settings: SparkSettings,
    lake: LakeSettings | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> SparkSession:
    """Start Spark with Delta.

    Under ``spark-submit`` there is a JVM already: master, jars and memory are then those that it
    was given. ``SPARK_REMOTE`` in the environment wins over the configuration's master.

    Args:
        settings: Master, memory and further properties, which win over those set here.
        lake: Where the tables are; in an object store, its client and credentials are set up.
        on_progress: Called with one line when jars are downloaded or a Java is passed over.

    Returns:
        The session; stop it when done.

    Raises:
        SessionError: No Java, no jars, Spark did not start, or its workers have other versions.
    """
    settings = settings.model_copy(update={"master": master_of(settings)})
    builder = SparkSession.builder.appName("headroom-history")
    if is_remote(settings):
        builder = builder.remote(settings.master)
        found = _of_work(settings) | settings.properties
    elif is_submitted():
        found = of_every_session(settings, lake) | settings.properties
    else:
        java, jars = java_and_jars(lake, on_progress)
        builder = builder.master(settings.master)
        found = properties(settings, jars, lake)
        os.environ["JAVA_HOME"] = str(java.home)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # A heap of the C library for each of the JVM's threads holds memory that nothing uses.
        os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    for key, value in found.items():
        builder = builder.config(key, value)
    # Python's conversions of Spark's times are in UTC, whatever the machine's zone.
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        session = builder.getOrCreate()
    except Exception as error:  # Py4J raises anything that the JVM raises
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise SessionError(
            f"Spark cannot start with {without_token(settings.master)}: {first_line}"
        ) from error
    if lake is not None:
        give_credentials(session, lake)
    if not settings.master.startswith("local") or is_submitted():
        give_code(session)
        check_workers(session, versions())
    return session


def tune(spark: SparkSession, *, is_small: bool) -> None:
    """Set a session up for the work that follows, on little or on much."""
    is_large = str(not is_small).lower()
    spark.conf.set("spark.sql.codegen.wholeStage", is_large)
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if is_small else "FALLBACK")
    spark.conf.set("spark.sql.adaptive.enabled", is_large)


def master_of(settings: SparkSettings) -> str:
    """Return the master, or the Spark Connect server that ``SPARK_REMOTE`` names.

    Raises:
        SessionError: ``SPARK_REMOTE`` names no server.
    """
    server = os.environ.get("SPARK_REMOTE")
    if not server:
        return settings.master
    if not server.startswith("sc://"):
        raise SessionError(
            f"SPARK_REMOTE is {server!r}: set it to a Spark Connect server, sc://host:15002"
        )
    return server


def is_remote(settings: SparkSettings) -> bool:
    """Return whether another process is the driver: a Spark Connect server."""
    return master_of(settings).startswith("sc://")


def without_token(master: str) -> str:
    """Return a server's address without its parameters: one of them may be a token."""
    return master.partition("/;")[0]


def is_submitted() -> bool:
    """Return whether spark-submit started this process."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def java_and_jars(
    lake: LakeSettings | None, on_progress: Callable[[str], None] | None = None
) -> tuple[Java, list[Path]]:
    """Return the Java that runs Spark, and the jars that it needs for this lake.

    Raises:
        SessionError: There is none, or a jar could not be downloaded.
    """
    try:
        java = find_java(on_progress=on_progress)
        return java, spark_jars(java, s3=lake is not None and is_s3(lake), on_progress=on_progress)
    except RuntimeSetupError as error:
        raise SessionError(f"Spark cannot start: {error}") from error


def properties(
    settings: SparkSettings, jars: list[Path], lake: LakeSettings | None = None
) -> dict[str, str]:
    """Return the properties of a session that this process starts; no secret is among them.

    Args:
        settings: What the configuration says.
        jars: Delta's jars, and the object store's.
        lake: Where the tables are.
    """
    local = settings.master.startswith("local")
    jvm = [f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}", "-Duser.timezone=UTC"]
    if local:
        jvm.extend(_LOCAL_JVM)
    found = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(jvm),
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "false",
        # Without its page nobody looks at what Spark would keep of past micro-batches.
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "5",
    }
    if local:
        # A machine's own name may lead nowhere; nothing but this process talks to the driver.
        found["spark.driver.host"] = "localhost"
        found["spark.driver.bindAddress"] = "127.0.0.1"
    else:
        # Spark's own masters would give an executor all cores of a worker, other masters one.
        found["spark.executor.cores"] = settings.properties.get("spark.executor.cores", "1")
    if not local and "spark.executor.memoryOverheadFactor" not in settings.properties:
        # Beside a JVM's heap: what it takes beyond it, and for each core a Python process, which
        # holds a task's samples and what is made of them.
        cores = int(found["spark.executor.cores"])
        megabytes = _JVM_MEGABYTES + cores * _TASK_MEGABYTES
        found["spark.executor.memoryOverhead"] = f"{megabytes}m"
    return found | of_every_session(settings, lake) | settings.properties


def of_every_session(settings: SparkSettings, lake: LakeSettings | None) -> dict[str, str]:
    """Return the properties that the work itself relies on, wherever Spark runs.

    None says how much memory an executor has: where spark-submit said it, that stands.
    """
    found = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # A task has one core, what its Python does included.
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv._RJEM_MALLOC_CONF": _ALLOCATOR,
        # Files hold rows by series: whoever reads one of ten thousand skips most of a file.
        "spark.hadoop.parquet.block.size": str(4 * 2**20),
        # Listing files: the default of 10,000 tasks makes a VACUUM of a small table take a minute.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(
            settings.shuffle_partitions
        ),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    if lake is not None and is_s3(lake):
        theirs = s3a_properties(lake.plain_storage_options())
        found |= {f"spark.hadoop.{name}": value for name, value in theirs.items()}
    return found | _of_work(settings)


def _of_work(settings: SparkSettings) -> dict[str, str]:
    """Return the properties that a session can be given at any time."""
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
        # No limit in bytes beside it: to look at the size of all columns after each row took as
        # long as everything else about handing rows to Python.
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
        # A task writes an hour of minutes or some days: files side by side need no sorting.
        "spark.sql.maxConcurrentOutputFileWriters": "32",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Delta's optional checksum of a version: counting the table's files anew was three
        # quarters of the time that a commit took.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
    }
