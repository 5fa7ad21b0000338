"""What a cluster's workers need: Headroom's modules, and packages of the driver's versions."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from runtime.cache import write_atomically
from spark_metrics.errors import SessionError

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("alerting", "config", "lake", "runtime", "scaling", "simulation", "spark_metrics")
_SHARED_PACKAGES = ("pyspark", "polars", "pyarrow", "numpy")
_ASKED = 16
"""So many tasks ask for versions: each worker that is there takes some."""
_FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)
"""Of every file in the archive, so that the same modules are the same bytes."""


def give_code(session: SparkSession) -> None:
    """Send the modules to the workers of a session, now and as they come.

    The archive lies where the driver serves it from. Its name is that of its content: however many
    drivers are started, there is one of each version.
    """
    content = archive()
    digest = hashlib.sha256(content).hexdigest()[:12]
    path = Path(tempfile.gettempdir(), f"headroom-{os.getuid()}-{digest}.zip")
    write_atomically(path, content, mode=0o600)
    session.addArtifacts(str(path), pyfile=True)


def versions() -> dict[str, str]:
    """Return the versions that driver and workers must have in common, of this process."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python} | {name: version(name) for name in _SHARED_PACKAGES}


def check_workers(session: SparkSession, wanted: dict[str, str]) -> None:
    """Check the versions of the workers that are there.

    Raises:
        SessionError: One has others than this process; functions and rows that are sent between
            them might be misread.
    """

    def report(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            found = versions()
            rows = [{"name": name, "version": found[name]} for name in found]
            yield pa.RecordBatch.from_pylist(rows)

    asked = session.range(0, _ASKED, 1, _ASKED).mapInArrow(report, "name string, version string")
    for row in asked.distinct().collect():
        if wanted[row["name"]] != row["version"]:
            raise SessionError(
                f"a worker of Spark has {row['name']} {row['version']}, this process "
                f"{wanted[row['name']]}: install requirements.txt for the Python of all workers, "
                "and name it by PYSPARK_PYTHON"
            )


def archive() -> bytes:
    """Return the modules as a ZIP archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for package in _PACKAGES:
            for module in sorted((_ROOT / package).rglob("*.py")):
                name = str(module.relative_to(_ROOT))
                file.writestr(zipfile.ZipInfo(name, _FIRST_MOMENT), module.read_bytes())
    return content.getvalue()
