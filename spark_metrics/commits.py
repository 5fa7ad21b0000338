"""Committing files that workers wrote, by Delta's own transaction in Spark's JVM.

One engine commits to a table: Delta for Spark, which also creates it and puts its files together.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from spark_metrics.errors import HistoryError
from spark_metrics.files import File, Position, for_spark


def commit(
    spark: SparkSession,
    uri: str,
    added: Sequence[str],
    *,
    replaced: Sequence[File] = (),
    seen: Position | None = None,
) -> None:
    """Add files to a table, and take others out of it, in one commit.

    Args:
        spark: The session.
        uri: The table's address.
        added: The actions that add files.
        replaced: The files that they take the place of.
        seen: The version that these were found in; needed where there are any.

    Raises:
        HistoryError: Somebody committed to the table since that version.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 (the way to Delta's classes)
    session = spark._jsparkSession  # noqa: SLF001 (the same session there)
    # Delta asks the thread for its session once it reads a checkpoint; a new thread has none.
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
    delta = jvm.org.apache.spark.sql.delta
    transaction = delta.DeltaLog.forTable(session, for_spark(uri)).startTransaction()
    version = transaction.snapshot().version()
    if replaced and (seen is None or version != seen.version):
        raise HistoryError(f"{uri} was changed by somebody else meanwhile")
    actions = jvm.java.util.ArrayList()
    for line in [*added, *map(_removal, replaced)]:
        actions.add(delta.actions.Action.fromJson(line))
    everything = jvm.scala.jdk.javaapi.CollectionConverters.asScala(actions).toSeq()
    operation = getattr(getattr(delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    transaction.commit(everything, operation)


def _removal(file: File) -> str:
    """Return the action that takes a file out of its table."""
    action = {
        "path": file.path,
        "deletionTimestamp": int(time.time() * 1000),
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": dict(file.partition),
        "size": file.size_bytes,
    }
    return json.dumps({"remove": action})
