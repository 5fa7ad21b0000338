"""What one broker of the local cluster is started with: properties, folders, Java flags."""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.cache import cache_folder
from runtime.java import Java

HOST = "127.0.0.1"

Flags = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports of one broker."""

    client: int
    controller: int


def cluster_id() -> str:
    """Return a new cluster id: 16 random bytes in URL-safe base64, as Kafka writes them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def broker_properties(
    broker: int, ports: Mapping[int, Ports], folder: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties of one broker in combined mode (broker and controller).

    Small heaps and two cores for everything decide most values; the rest makes faults visible in
    seconds. Replication of internal topics is what the number of brokers allows, at most 3.
    """
    own = ports[broker]
    replicas = min(3, len(ports))
    in_sync = str(min(2, replicas))
    properties = {
        "node.id": str(broker),
        "process.roles": "broker,controller",
        "controller.quorum.voters": ",".join(
            f"{number}@{HOST}:{each.controller}" for number, each in sorted(ports.items())
        ),
        "listeners": f"PLAINTEXT://{HOST}:{own.client},CONTROLLER://{HOST}:{own.controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{own.client}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder),
        "broker.rack": f"zone-{chr(ord('a') + (broker - 1) % 3)}",
        # Topics: nothing may appear by accident; replication as large as the cluster allows.
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": in_sync,
        "num.partitions": "3",
        "offsets.topic.num.partitions": "8",
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": in_sync,
        # Faults show within seconds; groups form at once.
        "broker.session.timeout.ms": "6000",
        "broker.heartbeat.interval.ms": "1000",
        "group.initial.rebalance.delay.ms": "200",
        "group.min.session.timeout.ms": "1000",
        "controlled.shutdown.enable": "true",
        # Retention acts in seconds, for topics that ask for it.
        "log.retention.check.interval.ms": "5000",
        "log.initial.task.delay.ms": "3000",
        "log.segment.delete.delay.ms": "1000",
        # Small heaps: the cleaner's buffer alone is 128 MB by default.
        "log.cleaner.dedupe.buffer.size": "1048577",
        "log.cleaner.threads": "1",
        "log.index.size.max.bytes": "1048576",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "num.recovery.threads.per.data.dir": "1",
        "group.coordinator.threads": "1",
        "share.coordinator.threads": "1",
        "replica.fetch.max.bytes": "1048576",
        # Followers fetch ten times a second and not at each record: an acknowledgement comes up
        # to 0.1 s later, and the brokers need half the processor (measured: 0.10 against 0.22
        # of a core each under the demo's workload).
        "replica.fetch.min.bytes": "2048",
        "replica.fetch.wait.max.ms": "100",
    }
    return {**properties, **extra}


def properties_text(properties: Mapping[str, str]) -> str:
    """Return the content of a Java properties file."""
    return "".join(
        f"{key}={value.replace(chr(92), chr(92) * 2)}\n" for key, value in properties.items()
    )


def meta_properties(cluster: str, broker: int) -> str:
    """Return the content of meta.properties, the mark of a formatted data folder."""
    return properties_text(
        {
            "version": "1",
            "cluster.id": cluster,
            "node.id": str(broker),
            "directory.id": cluster_id(),  # an id of the same form, different for each folder
        }
    )


def read_property(path: Path, key: str) -> str | None:
    """Return one value of a properties file, None where the file or the key is missing."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError:
        return None
    beginning = f"{key}="
    lines = (line for line in content.splitlines() if line.startswith(beginning))
    return next((line.removeprefix(beginning).strip() for line in lines), None)


def admin_settings(bootstrap_servers: str) -> dict[str, str | int | float | bool]:
    """Return the settings of an admin client that is patient with brokers that come and go."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "log_level": 0,  # what fails before the brokers listen is no news
        "socket.timeout.ms": 10_000,
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 300,
        "socket.connection.setup.timeout.ms": 5_000,
    }


def java_flags(heap_mb: int) -> list[str]:
    """Return the flags of a Java that starts quickly and stays small."""
    return [
        f"-Xmx{heap_mb}m",
        f"-Xms{min(heap_mb, 64)}m",
        "-Xss512k",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:ReservedCodeCacheSize=48m",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
        # Says at start that it misses optional parts of log4j, which is so and does not matter.
        "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.server.logger=error",
    ]


def archive_of(java: Java, classpath: Path) -> Path:
    """Return where the archive of Kafka's classes for a Java and a class path is, if anywhere.

    :mod:`demo.kafka.class_archive` makes it.
    """
    mark = hashlib.sha256(f"{java.home}|{java.major}|{classpath}".encode()).hexdigest()[:12]
    return cache_folder() / "kafka-classes" / f"{classpath.name}-java{java.major}-{mark}.jsa"


def java_command(
    java: Java, classpath: Path, heap_mb: int, main_class: str, *arguments: str, flags: Flags = ()
) -> list[str]:
    """Return the command that runs a class of Kafka's jars."""
    common = java_flags(heap_mb)
    archive = archive_of(java, classpath)
    if not flags and archive.exists() and archive.stat().st_size > 0:
        common += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off"]
    place = ("-cp", f"{classpath}/*")
    return [str(java.executable), *common, *flags, *place, main_class, *arguments]
