"""Every overlay: valid for Kubernetes, allowed by PodSecurity, configured as the loader accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from alerting.notify.shared_state import is_shared
from collectors.kafka.rights import EVERY_RIGHT
from config.load import load
from config.settings import Settings

Build = Callable[[str], list[dict[str, Any]]]
OVERLAYS = ("single-node", "s3", "spark-workers")
RELEASES = ("1.30", "1.37")
SECRET = "from the secret, and long enough for a cookie"  # noqa: S105 (of nothing)

overlays = pytest.mark.parametrize("overlay", OVERLAYS)


def pods(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the pods' specifications by component."""
    found = {}
    for one in objects:
        if one["kind"] == "Deployment":
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()
            found[labels["app.kubernetes.io/component"]] = one["spec"]["template"]["spec"]
    return found


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod["containers"]
    return dict(found)


def settings_of(
    component: str, objects: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """Load the configuration as the pod of a component does, with its environment."""
    (config,) = [one for one in objects if one["kind"] == "ConfigMap"]
    file = folder / f"{component}.yaml"
    file.write_text(config["data"]["headroom.yaml"], encoding="utf-8")
    with monkeypatch.context() as environment:
        for variable in container(pods(objects)[component])["env"]:
            environment.setenv(variable["name"], variable.get("value", SECRET))
        return load(file)


@overlays
@pytest.mark.parametrize("release", RELEASES)
def test_manifests_fit_the_schemas_of_kubernetes(built: Build, overlay: str, release: str) -> None:
    objects = built(overlay)
    assert {"ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "Service"} <= {
        one["kind"] for one in objects
    }
    for one in objects:
        kubernetes_validate.validate(one, release, strict=True)


@overlays
def test_pods_are_what_pod_security_restricted_admits(built: Build, overlay: str) -> None:
    objects = built(overlay)
    (namespace,) = [one for one in objects if one["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for pod in pods(objects).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & pod.keys()
        assert {tuple(set(volume) - {"name"}) for volume in pod["volumes"]} <= {
            ("configMap",),
            ("emptyDir",),
            ("persistentVolumeClaim",),
        }
        context = container(pod)["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert pod["automountServiceAccountToken"] is False
        # Else the variables of the services would be taken for settings.
        assert pod["enableServiceLinks"] is False


@overlays
def test_every_pod_has_limits_and_every_service_of_ours_probes(built: Build, overlay: str) -> None:
    found = pods(built(overlay))
    assert {"collectors", "history", "alerting", "dashboard"} <= found.keys()
    for component, pod in found.items():
        own = container(pod)
        assert own["resources"]["limits"]["memory"]
        if not component.startswith("spark"):
            assert {"startupProbe", "livenessProbe"} <= own.keys()


@overlays
def test_every_pod_mounts_what_its_settings_name(
    built: Build, overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = built(overlay)
    for component, module in (
        ("collectors", "collectors"),
        ("history", "spark_metrics"),
        ("alerting", "alerting"),
        ("dashboard", "app"),
    ):
        settings = settings_of(component, objects, tmp_path, monkeypatch)
        pod = pods(objects)[component]
        assert container(pod)["command"][2] == module
        mounts = [Path(one["mountPath"]) for one in container(pod)["volumeMounts"]]
        needed = [Path(settings.lake.uri)] if settings.lake.is_local else []
        if component == "alerting":
            needed.append(Path(settings.alerting.state))
        for path in needed:
            assert any(mount in path.parents for mount in mounts), path
        if component == "collectors":
            ports = [one["containerPort"] for one in container(pod)["ports"]]
            assert ports == [settings.collectors.exporter.port]
            assert settings.collectors.exporter.address == "0.0.0.0"  # noqa: S104 (of the pod)
        if component == "dashboard":
            assert settings.app.refusal(settings.app.address) is None
            assert settings.app.auth is not None
            assert settings.app.auth.client_secret.get_secret_value() == SECRET


@overlays
def test_two_alerting_services_only_where_they_share_their_state(
    built: Build, overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = built(overlay)
    (alerting,) = [one for one in objects if one["metadata"]["name"] == "headroom-alerting"]
    settings = settings_of("alerting", objects, tmp_path, monkeypatch)
    assert alerting["spec"]["replicas"] == (2 if is_shared(settings) else 1)


def test_executors_find_the_driver(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = built("spark-workers")
    spark = settings_of("history", objects, tmp_path, monkeypatch).spark
    services = {one["metadata"]["name"] for one in objects if one["kind"] == "Service"}
    assert spark.master.removeprefix("spark://").removesuffix(":7077") in services
    worker = container(pods(objects)["spark-worker"])
    assert spark.master in worker["command"]
    assert spark.properties["spark.executor.cores"] == worker["args"][3]
    assert spark.properties["spark.executor.memory"] == worker["args"][5]
    ports = {str(one["containerPort"]) for one in container(pods(objects)["history"])["ports"]}
    assert ports == {
        spark.properties[key] for key in ("spark.driver.port", "spark.blockManager.port")
    }


@overlays
def test_nobody_reaches_a_pod_who_is_not_named(built: Build, overlay: str) -> None:
    policies = [one for one in built(overlay) if one["kind"] == "NetworkPolicy"]
    everywhere = [one for one in policies if "ingress" not in one["spec"]]
    assert [one["spec"]["podSelector"] for one in everywhere] == [{}]  # of the namespace, all
    for policy in policies:
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        assert all(rule["from"] for rule in policy["spec"].get("ingress", []))


def test_prometheus_finds_the_collectors(built: Build) -> None:
    (monitor,) = built("monitoring")
    (service,) = [
        one
        for one in built("s3")
        if one["kind"] == "Service"
        and monitor["spec"]["selector"]["matchLabels"].items() <= one["metadata"]["labels"].items()
    ]
    assert [one["name"] for one in service["spec"]["ports"]] == [
        one["port"] for one in monitor["spec"]["endpoints"]
    ]


def test_strimzis_user_has_the_rights_that_check_asks_for_and_no_others() -> None:
    user = yaml.safe_load(Path("deploy/kubernetes/strimzi/kafka-user.yaml").read_text())
    granted = {
        (operation, acl["resource"]["type"], acl["resource"].get("name", ""))
        for acl in user["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    assert granted == {(right.operation, right.resource, right.name) for right in EVERY_RIGHT}


def test_no_manifest_holds_a_secret() -> None:
    for file in Path("deploy").rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"kind: Secret\b|(?i:password|secret_access_key): [\w\"']", text), file
