"""What a cluster's workers need: Headroom's modules, and packages of the driver's versions."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import socket
import tempfile
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lake.errors import one_line
from runtime.cache import write_atomically
from spark_metrics.errors import SessionError, raised_in_python

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("alerting", "config", "lake", "runtime", "scaling", "simulation", "spark_metrics")
_SHARED_PACKAGES = ("pyspark", "polars", "pyarrow", "numpy")
_RUN_BY_WORKERS = ("spark_metrics.history_tables", "spark_metrics.derived.job")
"""Modules that import all that tasks need."""
_ASKED = 16
"""So many tasks ask: each worker that is there takes some."""
_ADVICE = "install requirements.txt for the Python of all workers, and name it by PYSPARK_PYTHON"
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
    return {"Python": python} | {
        name: str(import_module(name).__version__) for name in _SHARED_PACKAGES
    }


def check_workers(
    session: SparkSession, wanted: dict[str, str], modules: Sequence[str] = _RUN_BY_WORKERS
) -> None:
    """Check what the workers have that are there by now.

    Args:
        session: The session.
        wanted: The versions that they must have.
        modules: What they must be able to import.

    Raises:
        SessionError: One lacks a package, or has another version than this process; functions and
            rows that are sent between them might be misread.
    """

    def complaint(_: int) -> str:
        worker = f"the worker of Spark on {socket.gethostname()}"
        try:
            for module in modules:
                import_module(module)
            found = versions()
        except ImportError as error:
            return f"{worker} lacks a package: {error}"
        for name, version in wanted.items():
            if found[name] != version:
                return f"{worker} has {name} {found[name]}, this process {version}"
        return ""

    # Without Arrow: a worker that lacks it could not say so.
    asked = session.range(0, _ASKED, 1, _ASKED).select(F.udf(complaint, useArrow=False)("id"))
    try:
        worst = max(row[0] for row in asked.distinct().collect())
    except PySparkException as error:
        why = raised_in_python(str(error)) or one_line(error)
        raise SessionError(f"a worker of Spark does not work: {why}: {_ADVICE}") from error
    if worst:
        raise SessionError(f"{worst}: {_ADVICE}")


def archive() -> bytes:
    """Return the modules as a ZIP archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for package in _PACKAGES:
            for module in sorted((_ROOT / package).rglob("*.py")):
                name = str(module.relative_to(_ROOT))
                file.writestr(zipfile.ZipInfo(name, _FIRST_MOMENT), module.read_bytes())
    return content.getvalue()
