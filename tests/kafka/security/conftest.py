"""A cluster with TLS, SASL and ACLs, and rights on it for one test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from bench.support.certificates import HOST, key_pair
from bench.support.far_listener import SCRAM_LOGIN
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from runtime.processes import free_ports
from tests.kafka.security.secured import LOGIN, PASSWORD, Secured
from tests.support import Names


@pytest.fixture(scope="module")
def secured(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The cluster for the tests of one module, which share its groups and offsets."""
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


@pytest.fixture
def configs_at_every_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.source.due.CONFIGS_EVERY_SECONDS", 0.0)


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
