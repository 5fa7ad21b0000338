"""TLS and SASL: each way to log in, and what a mistake says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.kafka.collecting import polling
from tests.kafka.security.secured import ALL, PASSWORD, Secured, as_secret, ok, run, sasl
from tests.support import eventually

pytestmark = pytest.mark.usefixtures("configs_at_every_poll")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl(secured: Secured, grant: Any, mechanism: str) -> None:
    grant(*ALL)
    with polling(secured.sasl, properties=as_secret(sasl(mechanism))) as poller:
        poll = eventually(lambda: ok(poller.poll()), what="poll without errors")
        assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6
        assert poll.table("dead_letters").height == 1


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
