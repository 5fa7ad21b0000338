"""A cluster with TLS, SASL and ACLs: what works with which rights, and what a mistake says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from pydantic import SecretStr

from config.settings import Feature
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from runtime.processes import free_ports
from tests.certificates import HOST, key_pair
from tests.kafka.collecting import polling
from tests.support import Names, eventually

ROOT = Path(__file__).parents[3]
PASSWORD = "pass-phrase-of-the-reader"  # noqa: S105 (a test's)
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass
class Secured:
    """The cluster with the addresses of its other listeners."""

    cluster: KafkaCluster
    folder: Path
    tls: str
    mutual: str
    sasl: str
    sasl_tls: str
    expired: str
    topic: str
    group: str
    dead: str


@pytest.fixture(scope="module")
def secured(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = key_pair(folder, "ca", None)
    key_pair(folder, "broker", authority)
    key_pair(folder, "client", authority)
    key_pair(folder, "late-broker", authority, expired=True)
    key_pair(folder, "late-client", authority, expired=True)
    key_pair(folder, "stranger", None)
    for name in ("broker", "late-broker"):
        (folder / f"{name}-all.pem").write_text(
            (folder / f"{name}.key").read_text() + (folder / f"{name}.pem").read_text()
        )
    client, controller, *others = free_ports(7, HOST)
    names = ("TLS", "MUTUAL", "SASL", "SASLTLS", "EXPIRED")
    places = {name: f"{HOST}:{port}" for name, port in zip(names, others, strict=True)}
    listeners = [f"PLAINTEXT://{HOST}:{client}"] + [f"{n}://{p}" for n, p in places.items()]
    jaas = f'{LOGIN} user_reader="{PASSWORD}";'
    cluster = KafkaCluster(
        folder / "cluster",
        brokers=1,
        heap_mb=96,
        java=kafka_java,
        ports=[client],
        properties={
            "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{controller}"]),
            "advertised.listeners": ",".join(listeners),
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,"
            "MUTUAL:SSL,SASL:SASL_PLAINTEXT,SASLTLS:SASL_SSL,EXPIRED:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(folder / "broker-all.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / "ca.pem"),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.expired.ssl.keystore.location": str(folder / "late-broker-all.pem"),
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl.plain.sasl.jaas.config": jaas,
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": SCRAM_LOGIN,
            "listener.name.sasltls.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasltls.plain.sasl.jaas.config": jaas,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:CN=client",
        },
    )
    cluster.start()
    try:
        made = Names(cluster)
        topic, group = made.topic("orders", partitions=2), "billing"
        made.produce(topic, 10, partition=0)
        made.commit(group, topic, {0: 4})
        dead = made.topic("orders.dlq", partitions=1)
        made.produce(dead, 2)
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion(
                "reader", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode()
            )
            cluster.admin().alter_user_scram_credentials([user])["reader"].result(20)
        yield Secured(
            cluster,
            folder,
            places["TLS"],
            places["MUTUAL"],
            places["SASL"],
            places["SASLTLS"],
            places["EXPIRED"],
            topic,
            group,
            dead,
        )
    finally:
        cluster.close(keep=False)


def binding(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        "User:reader",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


TOPICS = binding(ResourceType.TOPIC, "*", AclOperation.DESCRIBE)
GROUPS = binding(ResourceType.GROUP, "*", AclOperation.DESCRIBE)
CONFIGS = binding(ResourceType.TOPIC, "*", AclOperation.DESCRIBE_CONFIGS)
CLUSTER = binding(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
CLUSTER_CONFIGS = binding(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE_CONFIGS)
RECORDS = binding(ResourceType.TOPIC, "*", AclOperation.READ)
ALL = (TOPICS, GROUPS, CONFIGS, CLUSTER, CLUSTER_CONFIGS, RECORDS)


@pytest.fixture(autouse=True)
def rare_reads_at_every_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.kafka.poll.reads.CONFIGS_EVERY_SECONDS", 0.0)


@pytest.fixture
def grant(secured: Secured) -> Iterator[Any]:
    """Give the user ``reader`` rights for one test."""
    admin = secured.cluster.admin()
    given: list[AclBinding] = []

    def give(*bindings: AclBinding) -> None:
        given.extend(bindings)
        for future in admin.create_acls(list(bindings)).values():
            future.result(20)

    yield give
    for item in given:
        for future in admin.delete_acls([as_filter(item)]).values():
            future.result(20)


def as_filter(item: AclBinding) -> Any:
    return AclBindingFilter(
        item.restype,
        item.name,
        item.resource_pattern_type,
        item.principal,
        item.host,
        item.operation,
        item.permission_type,
    )


def sasl(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "reader",
        "sasl.password": password,
    }


def run(
    secured: Secured,
    command: list[str],
    servers: str,
    properties: Mapping[str, str],
    password: str = PASSWORD,
) -> subprocess.CompletedProcess[str]:
    lines = [
        "clusters:",
        "  - name: shop",
        f"    bootstrap_servers: {servers}",
        "    poll_interval_seconds: 5",
        "    properties:",
        "      log_level: '3'",
    ]
    for key, value in properties.items():
        text = "{env: READER_PASSWORD}" if key == "sasl.password" else f"'{value}'"
        lines.append(f"      {key}: {text}")
    config = secured.folder / "headroom.yaml"
    config.write_text("\n".join(lines) + "\n")
    return subprocess.run(
        [sys.executable, "-m", "collectors", *command, "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"READER_PASSWORD": password, "PATH": "/usr/bin:/bin", "COLUMNS": "250"},
    )


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl(secured: Secured, grant: Any, mechanism: str) -> None:
    grant(*ALL)
    with polling(secured.sasl, properties=as_secret(sasl(mechanism))) as poller:
        poll = eventually(lambda: ok(poller.poll()), what="poll without errors")
        assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6
        assert poll.table("dead_letters").height == 1


def as_secret(properties: dict[str, str]) -> dict[str, Any]:
    return {
        key: SecretStr(value) if key == "sasl.password" else value
        for key, value in properties.items()
    }


def ok(poll: Any) -> Any:
    return poll if not poll.errors else None


def test_sasl_over_tls(secured: Secured, grant: Any) -> None:
    grant(*ALL)
    properties = {
        **sasl("PLAIN"),
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(secured.folder / "ca.pem"),
    }
    with polling(secured.sasl_tls, properties=as_secret(properties)) as poller:
        poll = eventually(lambda: ok(poller.poll()), what="poll without errors")
        assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6


def as_files(folder: Path) -> dict[str, object]:
    return {
        "ssl.certificate.location": str(folder / "client.pem"),
        "ssl.key.location": str(folder / "client.key"),
    }


def as_text(folder: Path) -> dict[str, object]:
    return {
        "ssl.certificate.pem": (folder / "client.pem").read_text(),
        "ssl.key.pem": {"file": str(folder / "client.key")},
    }


def as_key_store(folder: Path) -> dict[str, object]:
    key = serialization.load_pem_private_key((folder / "client.key").read_bytes(), None)
    certificate = x509.load_pem_x509_certificate((folder / "client.pem").read_bytes())
    password = folder / "client.password"
    password.write_text(PASSWORD)
    (folder / "client.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"client",
            cast(ec.EllipticCurvePrivateKey, key),
            certificate,
            None,
            serialization.BestAvailableEncryption(PASSWORD.encode()),
        )
    )
    return {
        "ssl.keystore.location": str(folder / "client.p12"),
        "ssl.keystore.password": {"file": str(password)},
    }


@pytest.mark.parametrize(
    "identity",
    [
        pytest.param(as_files, id="files"),
        pytest.param(as_text, id="text"),
        pytest.param(as_key_store, id="key store"),
    ],
)
def test_mutual_tls(secured: Secured, identity: Callable[[Path], dict[str, object]]) -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(secured.folder / "ca.pem"),
        **identity(secured.folder),
    }
    with polling(secured.mutual, properties=properties) as poller:
        poll = poller.poll()
        assert poll.errors == {}
        assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6


def test_a_certificate_that_was_renewed_is_used_without_a_restart(
    secured: Secured, tmp_path: Path
) -> None:
    def place(name: str) -> None:
        for kind in ("pem", "key"):
            shutil.copy(secured.folder / f"{name}.{kind}", tmp_path / f"own.{kind}")

    place("late-client")
    properties = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(secured.folder / "ca.pem"),
        "ssl.certificate.location": str(tmp_path / "own.pem"),
        "ssl.key.location": str(tmp_path / "own.key"),
    }
    with polling(secured.mutual, properties=properties) as poller:
        assert "ssl.certificate.location" in str(poller.poll().results["groups"].error)
        place("client")
        eventually(lambda: ok(poller.poll()), what="poll with the new certificate")


@pytest.mark.parametrize(
    ("listener", "properties", "password", "words"),
    [
        pytest.param("sasl", sasl("PLAIN"), "wrong", ["authentication failed"], id="password"),
        pytest.param(
            "sasl",
            sasl("SCRAM-SHA-256"),
            "wrong",
            ["authentication failed", "sasl.password"],
            id="scram password",
        ),
        pytest.param(
            "sasl_tls",
            {**sasl("SCRAM-SHA-256"), "security.protocol": "SASL_SSL", "ssl.ca.location": "ca.pem"},
            PASSWORD,
            ["SCRAM-SHA-256", "it offers PLAIN"],
            id="mechanism",
        ),
        pytest.param("tls", {}, "", ["security.protocol"], id="tls port as plaintext"),
        pytest.param("sasl", {}, "", ["security.protocol"], id="sasl port as plaintext"),
        pytest.param(
            "plain", {"security.protocol": "SSL"}, "", ["security.protocol"], id="plaintext as tls"
        ),
        pytest.param(
            "tls", {"security.protocol": "SSL"}, "", ["not trusted", "ssl.ca.location"], id="ca"
        ),
        pytest.param(
            "expired",
            {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"},
            "",
            ["certificate has expired", "renew"],
            id="expired certificate",
        ),
        pytest.param(
            "mutual",
            {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"},
            "",
            ["ssl.certificate.location"],
            id="no certificate of the client's own",
        ),
        *(
            pytest.param(
                "mutual",
                {
                    "security.protocol": "SSL",
                    "ssl.ca.location": "ca.pem",
                    "ssl.certificate.location": f"{name}.pem",
                    "ssl.key.location": f"{name}.key",
                },
                "",
                ["ssl.certificate.location"],
                id=f"certificate of a {name}",
            )
            for name in ("stranger", "late-client")
        ),
        pytest.param("nowhere", {}, "", ["127.0.0.1:1", "refused"], id="port"),
        pytest.param("nobody", {}, "", ["nobody.invalid", "host name"], id="host name"),
    ],
)
def test_a_mistake_is_one_clear_line(
    secured: Secured, listener: str, properties: dict[str, str], password: str, words: list[str]
) -> None:
    servers = {
        "plain": secured.cluster.bootstrap_servers,
        "nowhere": "127.0.0.1:1",
        "nobody": "nobody.invalid:9092",
    }.get(listener) or getattr(secured, listener)
    placed = {
        key: str(secured.folder / value) if value.endswith((".pem", ".key")) else value
        for key, value in properties.items()
    }
    answer = run(secured, ["once", "--json"], servers, placed, password or "x")
    assert answer.returncode == 1, answer.stderr
    assert answer.stderr == ""
    collected = json.loads(answer.stdout)["cluster"]["shop"]
    errors = {section["error"] for section in collected["collections"]}
    assert len(errors) == 1
    (error,) = errors
    assert "\n" not in error
    assert all(word in error for word in words), error
    if password:
        assert password not in answer.stdout
    assert collected["groups"] == []
    assert collected["partitions"] is None


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        pytest.param({"sasl.nonsense": "1"}, ["sasl.nonsense"], id="unknown property"),
        pytest.param({"security.protocol": "TLS"}, ["security.protocol"], id="protocol"),
        pytest.param(
            {"security.protocol": "SSL", "ssl.ca.location": "/nowhere.pem"},
            ["ssl.ca.location"],
            id="file",
        ),
    ],
)
def test_a_bad_property_is_one_line_and_status_2(
    secured: Secured, properties: dict[str, str], words: list[str]
) -> None:
    for command in (["once"], ["check"], ["run"]):
        answer = run(secured, command, "127.0.0.1:1", properties)
        assert answer.returncode == 2
        assert answer.stdout == ""
        assert len(answer.stderr.strip().splitlines()) == 1
        assert all(word in answer.stderr for word in ["shop", *words]), answer.stderr


def test_a_cluster_that_is_not_configured(secured: Secured) -> None:
    answer = run(secured, ["once", "--cluster", "other"], "127.0.0.1:1", {})
    assert answer.returncode == 2
    assert "other" in answer.stderr
    assert "shop" in answer.stderr


def test_with_describe_alone_only_the_optional_features_are_missing(
    secured: Secured, grant: Any
) -> None:
    grant(TOPICS, GROUPS)
    with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

        def visible() -> Any:
            poll = poller.poll()
            return poll if poll.group(secured.group) else None

        poll = eventually(visible, what="visible group")
        row = poll.offsets(secured.group, secured.topic)[0]
        assert (row["committed"], row["log_end"], row["lag"]) == (4, 10, 6)
        assert poll.errors.keys() == {
            "partitions",
            "topics",
            "log_directories",
            "quorum",
            "cluster_settings",
            "dead_letters",
        }
        for section in ("partitions", "log_directories", "quorum", "cluster_settings"):
            assert "DESCRIBE on the cluster" in poll.errors[section]
        partitions = poll.table("partitions")
        assert partitions["adding_replicas"].null_count() == partitions.height
        assert poll.table("quorum").is_empty()
        (directory,) = poll.table("log_directories").to_dicts()
        assert (directory["path"], directory["is_offline"]) == (None, None)
        assert "DESCRIBE on the cluster" in directory["unknown_reason"]
        assert "DESCRIBE_CONFIGS" in poll.errors["partitions"]
        assert "DESCRIBE_CONFIGS" in poll.errors["topics"]
        assert "READ on the topic" in poll.errors["dead_letters"]
        (broker,) = poll.table("brokers").to_dicts()
        assert broker["log_bytes"] is None
        assert broker["is_controller"] is None
        assert broker["under_replicated"] == 0
        assert "DESCRIBE on the cluster" in broker["unknown_reason"]
    answer = run(secured, ["check"], secured.sasl, sasl("PLAIN"))
    assert answer.returncode == 0, answer.stdout
    assert answer.stderr == ""
    for missing in (
        "DESCRIBE_CONFIGS on the topic",
        "DESCRIBE_CONFIGS on the cluster",
        "DESCRIBE on the cluster",
        "READ on the topic",
    ):
        assert missing in answer.stdout


def test_what_is_switched_off_is_not_asked_for_and_nothing_is_partial(
    secured: Secured, grant: Any
) -> None:
    grant(TOPICS, GROUPS)
    features = list(get_args(Feature))
    with polling(
        secured.sasl,
        properties=as_secret(sasl("PLAIN")),
        switched_off=features,
        dead_letters={"sample_records": 0},
    ) as poller:

        def visible() -> Any:
            poll = poller.poll()
            return poll if poll.group(secured.group) else None

        poll = eventually(visible, what="visible group")
        assert poll.errors == {}
        assert poll.table("quorum").is_empty()
        (broker,) = poll.table("brokers").to_dicts()
        assert (broker["log_bytes"], broker["is_controller"]) == (None, None)
        assert broker["unknown_reason"] == "disk: switched off: log_directories"
        topics = poll.table("topics")
        assert set(topics["unknown_reason"]) == {"switched off: topic_configs"}
        partitions = poll.table("partitions")
        assert partitions["adding_replicas"].null_count() == partitions.height
        found = {check.feature: check for check in poller.source.check()}
        for feature, check in found.items():
            if check.detail.startswith("switched off"):
                assert check.works is None, feature
        assert sum(check.detail.startswith("switched off") for check in found.values()) == 12


def test_without_rights_check_names_what_is_missing(secured: Secured) -> None:
    answer = run(secured, ["check"], secured.sasl, sasl("PLAIN"))
    assert answer.returncode == 1
    assert "DESCRIBE on the topics" in answer.stdout
    assert "DESCRIBE on the groups" in answer.stdout
    assert PASSWORD not in answer.stdout + answer.stderr


def test_with_all_rights_check_finds_nothing(secured: Secured, grant: Any) -> None:
    grant(*ALL)

    def complete() -> bool:
        answer = run(secured, ["check"], secured.sasl, sasl("SCRAM-SHA-512"))
        return answer.returncode == 0 and "fails" not in answer.stdout

    eventually(complete, timeout_seconds=60, what="check without a complaint")


def test_without_a_right_on_one_topic_or_group_the_others_are_read(
    secured: Secured, grant: Any
) -> None:
    """Topics that one may not describe are not there; groups are, with DESCRIBE on the cluster."""
    made = Names(secured.cluster)
    other = made.topic("secret.orders", partitions=1)
    made.produce(other, 3)
    made.commit(secured.group, other, {0: 1})
    made.commit("secret-group", secured.topic, {0: 1})
    grant(
        binding(ResourceType.TOPIC, secured.topic, AclOperation.DESCRIBE),
        binding(ResourceType.TOPIC, secured.topic, AclOperation.DESCRIBE_CONFIGS),
        binding(ResourceType.GROUP, secured.group, AclOperation.DESCRIBE),
        CLUSTER,
    )
    try:
        with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

            def complete() -> Any:
                poll = poller.poll()
                done = poll.group("secret-group") and poll.errors.keys() <= {
                    "groups",
                    "group_offsets",
                    "cluster_settings",
                }
                return poll if done else None

            poll = eventually(complete, what="poll with all that is permitted")
            for section in ("groups", "group_offsets"):
                assert "1 of 2 groups are unknown" in poll.errors[section]
                assert "needs DESCRIBE on the group" in poll.errors[section]
            secret = poll.group("secret-group")
            assert secret is not None
            assert (secret["state"], secret["members"]) == ("unknown", None)
            assert "needs DESCRIBE on the group" in secret["unknown_reason"]
            assert set(poll.table("partitions")["topic"]) == {secured.topic}
            assert set(poll.table("group_offsets")["topic"]) == {secured.topic}
            assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6
            # A right that is granted later is used without a restart.
            grant(binding(ResourceType.TOPIC, other, AclOperation.DESCRIBE))

            def seen() -> bool:
                return poller.poll().offsets(secured.group, other).get(0, {}).get("lag") == 2

            eventually(seen, what="the other topic")
    finally:
        made.delete()
        secured.cluster.admin().delete_consumer_groups(["secret-group"])["secret-group"].result(20)


def test_without_read_on_one_dead_letter_topic_the_other_is_sampled(
    secured: Secured, grant: Any
) -> None:
    made = Names(secured.cluster)
    other = made.topic("payments.dlq", partitions=1)
    made.produce(other, 4)
    grant(TOPICS, GROUPS, CONFIGS, CLUSTER, CLUSTER_CONFIGS)
    grant(binding(ResourceType.TOPIC, other, AclOperation.READ))
    try:
        with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

            def sampled() -> Any:
                poll = poller.poll()
                if poll.table("dead_letters").height < 2:
                    return None
                return poll if poll.dead_letter(other)["sampled_records"] == 4 else None

            poll = eventually(sampled, what="sample of the permitted topic")
            denied = f"needs READ on the topic {secured.dead}"
            assert denied in poll.errors["dead_letters"]
            row = poll.dead_letter(secured.dead)
            assert (row["retained"], row["reasons"], row["sampled_records"]) == (2, None, None)
            assert denied in row["unknown_reason"]
            # It is asked again, though nothing arrived: a right that is granted later is used.
            grant(binding(ResourceType.TOPIC, secured.dead, AclOperation.READ))
            poll = eventually(lambda: ok(poller.poll()), what="poll without errors")
            assert poll.dead_letter(secured.dead)["sampled_records"] == 2
    finally:
        made.delete()


def test_who_may_what_and_who_can_log_in_are_events_when_they_change(
    secured: Secured, grant: Any
) -> None:
    with polling(secured.cluster) as poller:

        def events(kind: str) -> list[dict[str, Any]]:
            return poller.poll().table("cluster_events").filter(kind=kind).to_dicts()

        assert poller.poll().errors == {}
        grant(TOPICS)
        (event,) = eventually(lambda: events("acl changed"), what="event of an ACL")
        assert (event["subject"], event["before"]) == ("User:reader", None)
        assert event["after"] == "allow DESCRIBE on topic * from *"
        mechanism = ScramMechanism.SCRAM_SHA_256
        admin = secured.cluster.admin()
        user = UserScramCredentialUpsertion(
            "auditor", ScramCredentialInfo(mechanism, 8192), PASSWORD.encode()
        )
        admin.alter_user_scram_credentials([user])["auditor"].result(20)
        (event,) = eventually(lambda: events("scram user changed"), what="event of a new user")
        assert (event["subject"], event["before"]) == ("auditor", None)
        assert event["after"] == "SCRAM-SHA-256=8192 iterations"
        gone = UserScramCredentialDeletion("auditor", mechanism)
        admin.alter_user_scram_credentials([gone])["auditor"].result(20)
        (event,) = eventually(lambda: events("scram user changed"), what="event of a user removed")
        assert (event["before"], event["after"]) == ("SCRAM-SHA-256=8192 iterations", None)


def test_when_the_certificate_of_a_broker_expires(secured: Secured) -> None:
    properties = {"security.protocol": "SSL", "ssl.ca.location": str(secured.folder / "ca.pem")}
    written = x509.load_pem_x509_certificate((secured.folder / "broker.pem").read_bytes())
    with polling(secured.tls, properties=properties) as poller:
        (broker,) = eventually(
            lambda: poller.poll().table("brokers").drop_nulls("certificate_expires_at").to_dicts(),
            what="certificate",
        )
        assert broker["certificate_expires_at"] == written.not_valid_after_utc
    with polling(secured.cluster) as poller:
        assert poller.poll().table("brokers")["certificate_expires_at"].to_list() == [None]
