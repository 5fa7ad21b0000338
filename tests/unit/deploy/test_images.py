"""The image and the compose file, as far as they can be checked without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from config.load import load
from tests.support import unavailable

DOCKERFILE = Path("Dockerfile")
COMPOSE = Path("deploy/compose.yaml")


def test_dockerfile_passes_hadolint() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")

    result = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)

    assert (result.returncode, result.stdout) == (0, "")


def test_dockerfile_copies_every_package_that_runs() -> None:
    copied = re.findall(r"^COPY (\S+) \1$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)
    ignored = Path(".dockerignore").read_text(encoding="utf-8").splitlines()
    services = {"alerting", "app", "collectors", "config", "lake", "runtime", "scaling"}

    assert services | {"spark_metrics"} <= set(copied)
    for source in copied:
        assert Path(source).is_dir()
        assert f"!{source}" in ignored


def test_image_does_not_run_as_root() -> None:
    users = re.findall(r"^USER (\S+)$", DOCKERFILE.read_text(encoding="utf-8"), re.MULTILINE)

    assert users
    assert users[-1] not in {"0", "root"}


def test_compose_file_is_valid() -> None:
    compose = shutil.which("docker-compose")
    if compose is None:
        unavailable("docker-compose is not installed (Debian: apt-get install docker-compose)")

    result = subprocess.run(
        [compose, "-f", COMPOSE, "config", "--quiet"], capture_output=True, text=True, check=False
    )

    assert result.returncode == 0, result.stderr


def test_compose_runs_every_role_on_a_valid_configuration() -> None:
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    modules = {
        Path(service["command"][2]).parts[0]
        for name, service in services.items()
        if name != "kafka"
    }

    assert modules == {"alerting", "collectors", "spark_metrics", "app"}
    brokers = load(Path("deploy/headroom.yaml")).clusters[0].bootstrap_servers
    assert (
        f"PLAINTEXT://{brokers}" == services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    )


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in sorted(Path().glob("requirements*.txt"))]
)
def test_every_requirement_is_pinned_with_hashes_and_names_no_index(path: Path) -> None:
    entries = path.read_text(encoding="utf-8").replace(" \\\n", " ").splitlines()

    assert entries
    for entry in entries:
        pinned, *hashes = entry.split("    --hash=")
        assert re.match(r"^[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ ]+( ; .+)? $", pinned), pinned
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64} ?", one) for one in hashes), entry
