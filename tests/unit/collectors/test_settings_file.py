from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from collectors.errors import SettingsError
from collectors.registry import make_sources, source_specs
from collectors.service.polling import Plan
from collectors.settings_file import SettingsFile
from config.load import load
from config.settings import Settings

SHOP = "clusters:\n  - {name: shop, bootstrap_servers: 'kafka:9092'}\n"
OTHER = "  - {name: other, bootstrap_servers: 'kafka:9192'}\n"
CONNECT = "connect:\n  - {name: main, url: 'http://connect:8083', cluster: shop}\n"


class Reloading:
    """A configuration file, and the plans that came of it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "headroom.yaml"
        self.applied: list[Plan] = []
        self.refusal: str | None = None
        self._writes = 0
        self.write(SHOP)
        self.file = SettingsFile(self.path, load(self.path))

    def write(self, text: str) -> None:
        self.path.write_text(text)
        self._writes += 1
        os.utime(self.path, (self._writes, self._writes))  # whatever the file system's precision

    def apply(self, plan: Plan) -> None:
        if self.refusal is not None:
            raise SettingsError(self.refusal)
        plan.make()
        self.applied.append(plan)

    def look(self) -> bool:
        return self.file.look(self.apply)


@pytest.fixture
def reloading(tmp_path: Path) -> Reloading:
    return Reloading(tmp_path)


def test_a_file_that_stays_as_it_is_is_not_read(reloading: Reloading) -> None:
    assert not reloading.look()
    assert reloading.applied == []


def test_a_changed_file_is_applied_once(reloading: Reloading) -> None:
    reloading.write(SHOP + OTHER)
    assert not reloading.look()
    assert not reloading.look()
    (plan,) = reloading.applied
    assert {cluster for cluster, _ in plan.specs} == {"shop", "other"}
    assert [source.cluster for source in plan.make()] == ["shop", "other"]
    assert reloading.file.problem is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("clusters: [", "headroom.yaml: line 1: ", id="no YAML"),
        pytest.param(SHOP + "cluster: {}\n", "cluster: unknown key", id="unknown key"),
        pytest.param(
            "clusters:\n  - name: shop\n    bootstrap_servers: kafka:9092\n"
            "    properties: {sasl.password: {file: /nowhere/password}}\n",
            "file /nowhere/password cannot be read",
            id="missing secret",
        ),
        pytest.param(
            SHOP + CONNECT.replace("}", f", ca_file: /{'a' * 300}}}"),
            "main: /aaa",
            id="a path that cannot be looked at",
        ),
        pytest.param(
            SHOP + CONNECT.replace("}", ', ca_file: "a\\0b"}'), "main: ", id="no path at all"
        ),
    ],
)
def test_what_cannot_be_used_changes_nothing_and_is_said_once(
    reloading: Reloading, text: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    reloading.write(text)
    assert reloading.look()
    assert [reloading.look() for _ in range(3)] == [False] * 3
    assert reloading.applied == []
    assert reloading.file.problem is not None
    assert said in reloading.file.problem
    assert caplog.text.count("the settings stay as they were") == 1
    reloading.write(SHOP)
    assert reloading.look()
    assert reloading.file.problem is None
    assert len(reloading.applied) == 1


@pytest.mark.parametrize("odd", ["", "\0", "é\n", "x" * 300, "9" * 400, "9" * 5000, "[", "/", "=,"])
def test_no_text_in_a_file_raises_what_nobody_expects(
    odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")  # the system's authorities take long to read
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "headroom",
        "sasl.oauthbearer.client.secret": SecretStr("a long secret"),
        "sasl.oauthbearer.token.endpoint.url": "http://tokens",
        "ssl.ca.location": "",
    }
    keys = (*properties, "https.ca.location", "ssl.certificate.location", "reconnect.backoff.ms")
    for key in keys:
        one = {"name": "shop", "bootstrap_servers": "kafka:9092"}
        _try({"clusters": [one | {"properties": properties | {key: odd}}]})
    for key in ("url", "ca_file", "certificate_file", "username"):
        server = {"name": "main", "url": "http://connect", "password": SecretStr("a long secret")}
        one = {"name": "shop", "bootstrap_servers": "kafka:9092"}
        _try({"clusters": [one], "connect": [server | {"username": "headroom", key: odd}]})


def _try(content: dict[str, Any]) -> None:
    with suppress(ValidationError, SettingsError):
        for source in make_sources(Settings(**content)):
            source.close()


def test_a_source_that_cannot_work_is_said_like_a_bad_file(reloading: Reloading) -> None:
    reloading.refusal = "cluster shop: properties: no such property"
    reloading.write(SHOP + OTHER)
    assert reloading.look()
    assert reloading.refusal in (reloading.file.problem or "")
    reloading.refusal = None
    assert reloading.look()
    assert reloading.file.problem is None


def test_a_secret_that_comes_later_is_found(reloading: Reloading, tmp_path: Path) -> None:
    password = tmp_path / "password"
    reloading.write(
        "clusters:\n  - name: shop\n    bootstrap_servers: kafka:9092\n"
        f"    properties: {{sasl.password: {{file: {password}}}}}\n"
    )
    reloading.look()
    assert reloading.file.problem is not None
    password.write_text("a long secret")
    assert reloading.look()
    assert reloading.file.problem is None


def test_a_secret_that_rotates_alone_is_taken_over(reloading: Reloading, tmp_path: Path) -> None:
    for name in ("password", "token"):
        (tmp_path / f"{name}-1").write_text("the-first")
        (tmp_path / f"{name}-2").write_text("the-second-one")
        (tmp_path / name).symlink_to(f"{name}-1")  # as Kubernetes does
    reloading.write(
        "clusters:\n  - name: shop\n    bootstrap_servers: kafka:9092\n"
        f"    properties: {{sasl.password: {{file: {tmp_path}/password}}}}\n"
        f"prometheus: [{{name: main, url: 'http://p', token: {{file: {tmp_path}/token}}}}]\n"
    )
    reloading.look()
    reloading.look()
    assert len(reloading.applied) == 1
    for name, source in (("password", "kafka"), ("token", "prometheus/main")):
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to(f"{name}-2")
        reloading.look()
        reloading.look()
        *_, before, after = reloading.applied
        assert [key for key in after.specs if after.specs[key] != before.specs[key]] == [
            ("shop", source)
        ]
    assert len(reloading.applied) == 3
    assert reloading.file.problem is None


def test_a_secret_that_the_service_was_started_with_rotates(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("the-first")
    path = tmp_path / "headroom.yaml"
    path.write_text(SHOP + f"prometheus: [{{name: a, url: 'http://p', token: {{file: {token}}}}}]")
    settings = load(path)
    token.write_text("the-second-one")  # before anybody looked
    applied: list[Plan] = []
    SettingsFile(path, settings).look(applied.append)
    assert len(applied) == 1


def test_a_signal_reads_secrets_again(reloading: Reloading, tmp_path: Path) -> None:
    password = tmp_path / "password"

    def write(text: str) -> None:
        password.write_text(text)
        os.utime(password, (1, 1))

    write("the first one")
    reloading.write(
        "clusters:\n  - name: shop\n    bootstrap_servers: kafka:9092\n"
        f"    properties: {{sasl.password: {{file: {password}}}}}\n"
    )
    reloading.look()
    write("the other one")  # of one size, at one time
    reloading.look()
    assert len(reloading.applied) == 1
    reloading.file.read_again()
    reloading.look()
    first, second = reloading.applied
    assert first.specs["shop", "kafka"] != second.specs["shop", "kafka"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param("lake: {uri: elsewhere}\n", "lake.uri", id="lake"),
        pytest.param("collectors: {exporter: {port: 9308}}\n", "collectors.exporter", id="port"),
    ],
)
def test_what_needs_a_restart_is_said_and_the_rest_applied(
    reloading: Reloading, text: str, named: str
) -> None:
    reloading.write(SHOP + OTHER + text)
    assert reloading.look()
    assert reloading.file.problem == (f"takes effect when the collectors are restarted: {named}")
    assert len(reloading.applied) == 1


def test_only_what_differs_is_polled_anew(tmp_path: Path) -> None:
    path = tmp_path / "headroom.yaml"

    def specs(text: str) -> dict[tuple[str, str], object]:
        path.write_text(text)
        settings = load(path)
        found = source_specs(settings)
        assert found.keys() == {(each.cluster, each.name) for each in make_sources(settings)}
        return found

    before = specs(SHOP + OTHER + CONNECT)
    assert specs(SHOP + OTHER + CONNECT) == before
    slower = specs(SHOP + OTHER.replace("}", ", poll_interval_seconds: 60}") + CONNECT)
    assert {key for key in before if before[key] != slower[key]} == {("other", "kafka")}
    every = specs(SHOP + OTHER + CONNECT + "collectors: {poll_interval_seconds: 60}\n")
    assert all(before[key] != every[key] for key in before)
