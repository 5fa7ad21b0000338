"""An archive of Kafka's loaded classes, which makes brokers start in half the time.

Java maps the archive into memory instead of reading, checking and laying out thousands of classes
(class data sharing). It belongs to one Java and one class path; Java ignores one that does not fit.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from demo.errors import ClusterError
from demo.kafka.broker import archive_of
from demo.kafka.cluster import KafkaCluster
from runtime.cache import exclusive
from runtime.jars import kafka_classpath
from runtime.java import Java

_DUMP_SECONDS = 90.0


def ensure_class_archive(java: Java) -> bool:
    """Make the archive where there is none yet: one broker starts and ends, some seconds.

    Returns:
        Whether there is an archive. Without one everything works, only more slowly.
    """
    archive = archive_of(java, kafka_classpath(java))
    with exclusive(archive.with_suffix(".lock")):
        if archive.exists():
            return archive.stat().st_size > 0
        folder = Path(tempfile.mkdtemp(prefix="headroom-classes-"))
        draft = archive.with_name(f".{archive.name}.{folder.name}")
        cluster = KafkaCluster(
            folder, 1, 192, java=java, flags=(f"-XX:ArchiveClassesAtExit={draft}",)
        )
        try:
            cluster.start()
            cluster.stop(1, grace_seconds=_DUMP_SECONDS)  # written at the orderly end
        except ClusterError:
            draft.unlink(missing_ok=True)
        finally:
            cluster.close(keep=False)
            shutil.rmtree(folder, ignore_errors=True)
        if not draft.exists():
            draft.touch()  # this Java cannot: remembered, so that it is tried once
        draft.replace(archive)
        return archive.stat().st_size > 0
