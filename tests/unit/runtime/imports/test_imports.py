"""Other tools' configurations: what follows is loaded, and what does not is listed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.load import load
from config.settings import Settings
from runtime.__main__ import cli
from runtime.errors import RuntimeSetupError
from runtime.imports import burrow, hocon, kafka_lag_exporter, kminion
from runtime.imports.imported import Imported

BURROW = """
[general]
pidfile = "burrow.pid"
[client-profile.secured]
client-id = "burrow"
kafka-version = "2.0.0"
tls = "company"
sasl = "reader"
[tls.company]
cafile = "/etc/ca.pem"
noverify = true
[sasl.reader]
username = "burrow-user"
password = "written-out"
mechanism = "SCRAM-SHA-512"
[cluster."my shop"]
class-name = "kafka"
servers = ["kafka-1:9093", "kafka-2:9093"]
client-profile = "secured"
topic-refresh = 120
[consumer.shop]
class-name = "kafka"
cluster = "my shop"
group-allowlist = "^billing-"
group-denylist = "^billing-(test|tmp)"
[consumer.old]
class-name = "kafka_zk"
cluster = "my shop"
[notifier.chat]
class-name = "http"
url-open = "https://chat.example.com/hook/token-of-the-chat"
threshold = 2
[notifier.mail]
class-name = "email"
server = "smtp.example.com"
port = 587
from = "burrow@example.com"
to = "ops@example.com"
password = "another-one"
[notifier.nothing]
class-name = "null"
"""

KMINION = """
kafka:
  brokers: [kafka-1:9092, kafka-2:9092]
  tls: {enabled: true, caFilepath: /etc/ca.pem, insecureSkipTlsVerify: true}
  sasl: {enabled: true, mechanism: SCRAM-SHA-256, username: kminion, password: written-out}
minion:
  consumerGroups: {enabled: true, allowedGroups: ['/^billing/', 'orders-.*'], ignoredGroups: [tmp]}
  topics: {allowedTopics: ['.*'], ignoredTopics: ['/test/']}
  logDirs: {enabled: false}
  endToEnd: {enabled: true}
exporter: {namespace: kminion, port: 8081}
"""

LAG_EXPORTER = """
// of our team
kafka-lag-exporter {
  reporters.prometheus.port = 8000
  reporters.prometheus.port = ${?PORT}
  poll-interval = 30 seconds
  client-group-id = "kafkalagexporter" # its own
  clusters = [
    {
      name = "shop"
      bootstrap-brokers = "kafka-1:9092,kafka-2:9092"
      group-whitelist = ["billing-.*", "orders"]
      topic-blacklist = [ "test\\\\..*" ]
      consumer-properties = {
        client.id = "consumer"
        security.protocol = "SASL_SSL"
        sasl.mechanism = PLAIN
        sasl.jaas.config = "x.Login required username=\\"reader\\" password=\\"written-out\\";"
        ssl.truststore.location = /etc/trust.jks
      }
      admin-client-properties { request.timeout.ms = 200000 }
      labels = { location = "ny" }
    },
    { name = ${OTHER}, bootstrap-brokers = ${OTHER_BROKERS} }
  ]
  watchers = { strimzi = true }
}
"""


def loaded(found: Imported, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in found.variables:
        monkeypatch.setenv(name, "json://example.com")
    file = folder / "headroom.yaml"
    file.write_text(found.as_yaml(), encoding="utf-8")
    return load(file)


def test_burrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = burrow.read(BURROW)
    settings = loaded(found, tmp_path, monkeypatch)
    (cluster,) = settings.clusters
    assert (cluster.name, cluster.bootstrap_servers) == ("my-shop", "kafka-1:9093,kafka-2:9093")
    plain = cluster.librdkafka()
    assert plain["security.protocol"] == "SASL_SSL"
    assert plain["sasl.mechanism"] == "SCRAM-SHA-512"
    assert plain["sasl.username"] == "burrow-user"
    assert plain["ssl.ca.location"] == "/etc/ca.pem"
    selected = [
        name for name in ("billing-a", "billing-tmp", "x-billing-a") if cluster.groups.selects(name)
    ]
    assert selected == ["billing-a"]
    assert {(one.name, one.kind) for one in settings.alerting.targets} == {
        ("chat", "webhook"),
        ("mail", "apprise"),
    }
    left_out = "\n".join(found.left_out)
    for expected in ("noverify", "'my shop'", "ZooKeeper", "threshold", "notifier.nothing"):
        assert expected in left_out


def test_kminion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kminion.read(KMINION)
    settings = loaded(found, tmp_path, monkeypatch)
    (cluster,) = settings.clusters
    assert cluster.librdkafka()["security.protocol"] == "SASL_SSL"
    names = ("billing-1", "my-billing", "orders-1", "x-orders-1", "tmp")
    assert [name for name in names if cluster.groups.selects(name)] == ["billing-1", "orders-1"]
    assert [name for name in ("a", "my-test") if cluster.topics.selects(name)] == ["a"]
    assert cluster.switched_off == ["log_directories"]
    exporter = settings.collectors.exporter
    assert (exporter.port, exporter.names) == (8081, ["headroom", "kminion"])
    assert len(found.left_out) == 2, found.left_out


def test_kafka_lag_exporter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kafka_lag_exporter.read(LAG_EXPORTER)
    settings = loaded(found, tmp_path, monkeypatch)
    shop, other = settings.clusters
    assert shop.bootstrap_servers == "kafka-1:9092,kafka-2:9092"
    plain = shop.librdkafka()
    assert (plain["sasl.username"], plain["sasl.mechanism"]) == ("reader", "PLAIN")
    assert shop.groups.include == ["billing-.*", "orders"]
    assert not shop.topics.selects("test.a")
    assert shop.topics.selects("testa")
    assert other.name == "cluster-2"
    assert settings.collectors.poll_interval_seconds == 30
    assert settings.collectors.exporter.port == 8000
    left_out = "\n".join(found.left_out)
    for expected in ("OTHER", "ssl.truststore.location", "labels", "watchers"):
        assert expected in left_out


@pytest.mark.parametrize(
    ("tool", "text"),
    [("burrow", BURROW), ("kminion", KMINION), ("kafka-lag-exporter", LAG_EXPORTER)],
)
def test_no_secret_is_printed_or_written(tool: str, text: str, tmp_path: Path) -> None:
    file, output = tmp_path / "theirs", tmp_path / "ours.yaml"
    file.write_text(text, encoding="utf-8")
    answer = CliRunner().invoke(cli, ["import", tool, str(file), "--output", str(output)])
    assert answer.exit_code == 0, answer.output
    assert "not taken over: " in answer.stderr
    assert "PASSWORD: the password" in answer.stderr
    for secret in ("written-out", "another-one", "token-of-the-chat"):
        assert secret not in output.read_text() + answer.output
    again = CliRunner().invoke(cli, ["import", tool, str(file), "--output", str(output)])
    assert again.exit_code == 1


@pytest.mark.parametrize("tool", ["burrow", "kminion", "kafka-lag-exporter"])
@pytest.mark.parametrize("text", ["", "a: [", "= 3", "kafka: {brokers: []}", "x {"])
def test_a_file_that_is_another_one_ends_with_one_line(
    tool: str, text: str, tmp_path: Path
) -> None:
    file = tmp_path / "theirs"
    file.write_text(text, encoding="utf-8")
    answer = CliRunner().invoke(cli, ["import", tool, str(file)])
    assert answer.exit_code == 1
    assert answer.stderr.startswith(str(file))
    assert "Traceback" not in answer.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a = 1\nb: two words  # said\n", {"a": "1", "b": "two words"}, id="words"),
        pytest.param("{a.b = 1, a.c = 2}", {"a": {"b": "1", "c": "2"}}, id="dots"),
        pytest.param("a { b = 1 }\na { c = 2 }", {"a": {"b": "1", "c": "2"}}, id="merged"),
        pytest.param("a = [1,\n 2\n 3]", {"a": ["1", "2", "3"]}, id="list"),
        pytest.param('a = """x "y" z"""', {"a": 'x "y" z'}, id="three quotes"),
        pytest.param("a = http://host:80/x", None, id="a colon wants quotes"),
        pytest.param("a = 1\na = ${?B}", {"a": "1"}, id="optional"),
        pytest.param("a = ", None, id="no value"),
        pytest.param('include "other.conf"', None, id="include"),
    ],
)
def test_hocon(text: str, expected: object) -> None:
    if expected is None:
        with pytest.raises(RuntimeSetupError, match=r"line \d"):
            hocon.parse(text)
    else:
        assert hocon.parse(text) == expected
