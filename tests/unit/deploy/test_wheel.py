"""What ``pip install .`` installs: all packages with their data, and the command."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGES = ("alerting", "app", "collectors", "config", "lake", "runtime", "scaling", "simulation")
PACKAGES += ("spark_metrics",)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy of the sources that git knows."""
    sources, built = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheel")
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    for name in listing.stdout.splitlines():
        file = Path(name)
        if file.is_file() and file.parts[0] not in {"tests", "docs"}:
            copy = sources / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*command, str(built), str(sources)], check=True)
    (found,) = built.glob("headroom-*.whl")
    return zipfile.ZipFile(found)


def test_every_file_of_every_package_is_installed(wheel: zipfile.ZipFile) -> None:
    listing = subprocess.run(
        ["git", "ls-files", *PACKAGES], capture_output=True, text=True, check=True
    )
    wanted = {name for name in listing.stdout.splitlines() if Path(name).is_file()}
    assert "app/.streamlit/config.toml" in wanted
    assert wanted - set(wheel.namelist()) == set()


def test_the_command_is_installed(wheel: zipfile.ZipFile) -> None:
    (name,) = (each for each in wheel.namelist() if each.endswith("entry_points.txt"))
    assert "headroom = runtime.__main__:cli" in wheel.read(name).decode()
