"""Headroom's own modules for the Python of a cluster's workers, which have its packages alone."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

from runtime.cache import write_atomically

_ROOT = Path(__file__).resolve().parent.parent
_PACKAGES = ("alerting", "config", "lake", "runtime", "scaling", "simulation", "spark_metrics")
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


def archive() -> bytes:
    """Return the modules as a ZIP archive."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for package in _PACKAGES:
            for module in sorted((_ROOT / package).rglob("*.py")):
                name = str(module.relative_to(_ROOT))
                file.writestr(zipfile.ZipInfo(name, _FIRST_MOMENT), module.read_bytes())
    return content.getvalue()
