"""Kerberos against a real broker and a real KDC."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from runtime.processes import free_ports
from tests.kafka.collecting import Poller, polling
from tests.kafka.security.kdc import HOST, REALM, Realm, missing_programs
from tests.support import Names, eventually, unavailable

LOGIN = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
SESSION_SECONDS = 3.0


@dataclass(kw_only=True)
class Kerberized:
    """A broker with a Kerberos listener.

    Attributes:
        servers: The listener.
        realm: Who gives tickets for it.
        keytab: The key of ``headroom``, which the broker lets in.
        brief: The key of ``brief``, whose tickets end after ten seconds.
    """

    servers: str
    realm: Realm
    keytab: Path
    brief: Path


@pytest.fixture(scope="module")
def kerberized(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberized]:
    if importlib.util.find_spec("gssapi") is None:
        unavailable("the Python package gssapi is not installed: requirements-kerberos.txt")
    if missing := missing_programs():
        unavailable(f"not installed of MIT Kerberos: {', '.join(missing)}")
    folder: Path = tmp_path_factory.mktemp("kerberos")
    realm = Realm(folder / "realm")
    client, controller, port = free_ports(3, HOST)
    listeners = [f"PLAINTEXT://{HOST}:{client}", f"KERBEROS://{HOST}:{port}"]
    key = realm.keytab(f"kafka/{HOST}")
    listener = "listener.name.kerberos"
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
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "KERBEROS:SASL_PLAINTEXT",
            f"{listener}.sasl.enabled.mechanisms": "GSSAPI",
            f"{listener}.connections.max.reauth.ms": str(int(SESSION_SECONDS * 1000)),
            f"{listener}.sasl.kerberos.service.name": "kafka",
            f"{listener}.gssapi.sasl.jaas.config": f'{LOGIN} keyTab="{key}" '
            f'principal="kafka/{HOST}@{REALM}";',
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={realm.config}")
        try:
            cluster.start()
            names = Names(cluster)
            topic = names.topic("orders", partitions=1)
            names.produce(topic, 10)
            names.commit("billing", topic, {0: 4})
            yield Kerberized(
                servers=f"{HOST}:{port}",
                realm=realm,
                keytab=realm.keytab("headroom"),
                brief=realm.keytab("brief", "-maxlife", '"10 seconds"'),
            )
        finally:
            cluster.close(keep=False)
            realm.stop()


@pytest.fixture(autouse=True)
def _this_realm(kerberized: Kerberized, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(kerberized.realm.config))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{kerberized.realm.folder}/no-tickets")


def properties(keytab: Path | None, principal: str | None, **more: str) -> dict[str, Any]:
    values = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.keytab": str(keytab or ""),
        "sasl.kerberos.principal": principal or "",
    }
    return {**values, **more}


def errors(poller: Poller) -> set[str]:
    poll = poller.poll()
    assert {result.status for result in poll.results.values()} == {"failed"}
    return {result.error or "" for result in poll.results.values()}


def own_tickets(kerberized: Kerberized, principal: str) -> int:
    """Return how often the KDC gave a principal the ticket that it gets all others with."""
    wanted = f"{principal}@{REALM} for krbtgt/"
    return sum(wanted in line for line in kerberized.realm.tickets())


@pytest.mark.parametrize("principal", ["headroom", f"headroom@{REALM}"])
def test_one_ticket_serves_all_connections(kerberized: Kerberized, principal: str) -> None:
    before = own_tickets(kerberized, "headroom")
    given = properties(kerberized.keytab, principal)
    with polling(kerberized.servers, properties=given) as poller:
        for _ in range(3):
            poll = poller.poll()
            assert poll.errors == {}
            assert poll.table("group_offsets")["lag"].to_list() == [6]
    assert own_tickets(kerberized, "headroom") == before + 1


def test_tickets_are_fetched_anew_before_they_end(kerberized: Kerberized) -> None:
    """The broker ends sessions after three seconds, a ticket is good for ten."""
    given = properties(kerberized.brief, None)
    with polling(kerberized.servers, properties=given, commit_log=False) as poller:

        def renewed_twice() -> bool:
            assert poller.poll().errors == {}
            return own_tickets(kerberized, "brief") >= 3

        eventually(renewed_twice, timeout_seconds=40, what="two more tickets")


def test_the_ticket_of_somebody_else_will_do(
    kerberized: Kerberized, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with kinit, or with the variable of MIT's library for a key table."""
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"FILE:{kerberized.keytab}")
    cache = kerberized.realm.folder / "tickets"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    with polling(kerberized.servers, properties=properties(None, None)) as poller:
        assert poller.poll().errors == {}
    assert cache.is_file()


@pytest.mark.parametrize(
    ("principal", "more", "words"),
    [
        pytest.param(
            "stranger", {}, ["no ticket of stranger", "sasl.kerberos.keytab"], id="no such key"
        ),
        pytest.param(
            "headroom",
            {"sasl.kerberos.service.name": "broker"},
            [f"no ticket for broker@{HOST}", "not found in Kerberos database"],
            id="no such service",
        ),
    ],
)
def test_a_mistake_is_one_clear_line(
    kerberized: Kerberized, principal: str, more: dict[str, str], words: list[str]
) -> None:
    given = properties(kerberized.keytab, principal, **more)
    with polling(kerberized.servers, properties=given, commit_log=False) as poller:
        (error,) = errors(poller)
        assert all(word in error for word in words), error
        assert "\n" not in error


def test_a_kdc_that_is_down_and_comes_back(kerberized: Kerberized) -> None:
    keytab = kerberized.realm.keytab("patient")
    given = properties(keytab, "patient")
    with polling(kerberized.servers, properties=given, commit_log=False) as poller:
        kerberized.realm.stop()
        try:
            (error,) = errors(poller)
            assert "Cannot contact any KDC" in error
        finally:
            kerberized.realm.start()

        def whole() -> bool:
            return poller.poll().errors == {}

        eventually(whole, what="poll without errors")
