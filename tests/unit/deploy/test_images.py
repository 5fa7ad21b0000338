"""The image and the compose file, as far as they can be checked without a container engine."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from alerting.notify.shared_state import is_shared
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
    "name", ["requirements.txt", "requirements-dev.txt", "requirements-jre.txt"]
)
def test_every_requirement_is_pinned_and_names_no_index(name: str) -> None:
    lines = [line for line in Path(name).read_text(encoding="utf-8").splitlines() if line]

    assert lines
    for line in lines:
        assert re.match(r"^[A-Za-z0-9._-]+(\[[a-z,]+\])?==[^ ]+( ; .+)?$", line), line
        assert "://" not in line


SECRET = "from the secret, and long enough for a cookie"  # noqa: S105 (of nothing)


def test_kubernetes_runs_every_role_on_a_valid_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path("deploy/kubernetes.yaml").read_text(encoding="utf-8")
    objects = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}
    config = tmp_path / "headroom.yaml"
    config.write_text(objects["ConfigMap", "headroom"]["data"]["headroom.yaml"])
    deployments = [one["spec"] for (kind, _), one in objects.items() if kind == "Deployment"]
    commands = []
    for deployment in deployments:
        (container,) = deployment["template"]["spec"]["containers"]
        commands.append(" ".join(container["command"]))
        assert deployment["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        for variable in container["env"]:
            monkeypatch.setenv(variable["name"], variable.get("value", SECRET))
    assert len(deployments) == 4
    assert any("collectors run" in command for command in commands)
    assert any("spark_metrics run" in command for command in commands)
    assert any("alerting run" in command for command in commands)
    assert any("-m app" in command for command in commands)
    history = objects["Deployment", "headroom-history"]["spec"]
    assert (history["replicas"], history["strategy"]["type"]) == (1, "Recreate")
    alerting = objects["Deployment", "headroom-alerting"]["spec"]
    assert alerting["replicas"] == 2
    pod = alerting["template"]["spec"]
    mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    settings = load(config)
    assert Path(settings.alerting.state).parent == Path(mounts["state"])
    assert is_shared(settings)
    assert not any(kind == "PersistentVolumeClaim" for kind, _ in objects)
    assert settings.app.refusal(settings.app.address) is None
    assert settings.app.auth is not None
    assert settings.app.auth.client_secret.get_secret_value() == SECRET
    lake = load(config).lake
    assert lake.uri.startswith("s3://")
    assert SECRET in lake.plain_storage_options().values()
