"""Which jars are needed: of Kafka, of Delta, of an object store."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

KAFKA_VERSION = "4.3.1"
DELTA_VERSION = "4.4.0"
HADOOP_VERSION = "3.5.0"  # that of the Hadoop client in pyspark
_AWS_VERSION = "2.35.4"


@dataclass(frozen=True, slots=True, kw_only=True)
class JarSet:
    """Jars that belong together.

    Attributes:
        name: Name of the folder in the cache, with the version.
        modules: What to resolve, as ``organisation:artifact:version``; with ``:classifier`` behind
            that one jar, without what it depends on.
        excluded: Organisations, or ``organisation:artifact``, left out of the dependencies.
    """

    name: str
    modules: tuple[str, ...]
    excluded: tuple[str, ...] = ()

    @property
    def folder_name(self) -> str:
        """Name and a hash of the content, so that a changed set never meets an old folder."""
        content = json.dumps([self.modules, self.excluded])
        return f"{self.name}-{hashlib.sha256(content.encode()).hexdigest()[:10]}"


KAFKA = JarSet(
    name=f"kafka-{KAFKA_VERSION}",
    modules=(
        f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
        f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
        f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}",
        f"org.apache.kafka:connect-file:{KAFKA_VERSION}",
        f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}",
        # Without a logging back end the brokers would say nothing when they fail.
        "org.slf4j:slf4j-simple:1.7.36",
    ),
)

DELTA = JarSet(
    name=f"delta-{DELTA_VERSION}",
    modules=(f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}",),
    # Spark brings newer ones of all these; the first few alone would be 100 MB of download.
    excluded=(
        "org.apache.hadoop",
        "org.apache.parquet",
        "org.apache.logging.log4j",
        "org.slf4j",
        "org.scala-lang",
        "org.roaringbitmap",
        "com.fasterxml.jackson.core",
        "commons-logging",
    ),
)

S3 = JarSet(
    name=f"s3-{HADOOP_VERSION}",
    modules=(
        f"org.apache.hadoop:hadoop-aws:{HADOOP_VERSION}",
        # What S3A uses of the SDK: 15 MB, where the bundle that it asks for has several hundred.
        f"software.amazon.awssdk:s3:{_AWS_VERSION}",
        f"software.amazon.awssdk:s3-transfer-manager:{_AWS_VERSION}",
        f"software.amazon.awssdk:sts:{_AWS_VERSION}",
        f"software.amazon.awssdk:apache-client:{_AWS_VERSION}",
    ),
    excluded=(
        "software.amazon.awssdk:bundle",
        "org.apache.hadoop:hadoop-common",
        "org.apache.hadoop:hadoop-client-api",
        "org.apache.hadoop:hadoop-client-runtime",
        "org.slf4j",
    ),
)
"""Only for a lake in an object store."""
