"""A real Prometheus behind TLS, passwords and certificates of clients."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from collectors.prometheus.source import prometheus_source
from collectors.source.model import SectionResult
from config.integrations import PrometheusSettings
from runtime.processes import ProcessGroup
from tests.servers.prometheus.server import Prometheus

DAY = datetime.timedelta(days=1)
HASHED = "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"  # of "test"


class Pair:
    """A key and its certificate, in files."""

    def __init__(
        self, folder: Path, name: str, issuer: Pair | None = None, *, days: int = 30
    ) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        certificate = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(issuer.name if issuer else self.name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 60 * DAY)
            .not_valid_after(now + days * DAY)
            .add_extension(x509.SubjectAlternativeName([here]), critical=False)
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), True)
            .sign((issuer or self).key, hashes.SHA256())
        )
        self.certificate_file = folder / f"{name}.pem"
        self.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self.key_file = folder / f"{name}.key"
        self.key_file.write_bytes(
            self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


class Secured:
    """The server, and what a client needs."""

    def __init__(self, processes: ProcessGroup, folder: Path, *, days: int) -> None:
        self.authority = Pair(folder, "authority")
        server = Pair(folder, "server", self.authority, days=days)
        self.client = Pair(folder, "client", self.authority)
        web = (
            "tls_server_config:\n"
            f"  cert_file: {server.certificate_file}\n"
            f"  key_file: {server.key_file}\n"
            f"  client_ca_file: {self.authority.certificate_file}\n"
            "  client_auth_type: VerifyClientCertIfGiven\n"
            f"basic_auth_users: {{headroom: '{HASHED}'}}\n"
        )
        self.prometheus = Prometheus(processes, folder, jobs="  []\n", web_config=web)

    def poll(self, **settings: Any) -> SectionResult:
        given = {
            "url": self.prometheus.url,
            "ca_file": self.authority.certificate_file,
            "username": "headroom",
            "password": SecretStr("test"),
            **settings,
        }
        given = {name: value for name, value in given.items() if value is not None}
        source = prometheus_source(PrometheusSettings(name="mon", **given), "c", 3.0)
        try:
            (result,) = source.poll(datetime.datetime.now(datetime.UTC))
        finally:
            source.close()
        return result


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with ProcessGroup() as processes:
        yield Secured(processes, tmp_path_factory.mktemp("secured"), days=30)


def is_read(result: SectionResult) -> bool:
    """Return whether Prometheus answered: this one knows no Kafka, and says so."""
    return "has no metrics of Kafka brokers" in (result.error or "")


def test_a_password_over_tls(secured: Secured) -> None:
    assert is_read(secured.poll())


def test_our_own_certificate(secured: Secured) -> None:
    files = {
        "certificate_file": secured.client.certificate_file,
        "key_file": secured.client.key_file,
    }
    assert is_read(secured.poll(**files))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param({"password": SecretStr("wrong")}, "refused the credentials (401)", id="wrong"),
        pytest.param({"username": None, "password": None}, "refused the credentials", id="none"),
        pytest.param({"ca_file": None}, "its certificate is not trusted", id="unknown authority"),
    ],
)
def test_what_is_refused_is_one_clear_line(
    secured: Secured, changes: dict[str, Any], said: str
) -> None:
    result = secured.poll(**changes)
    assert result.status == "failed"
    assert said in (result.error or "")
    assert "wrong" not in (result.error or "")
    assert "\n" not in (result.error or "")


def test_a_certificate_of_another_authority_is_refused(secured: Secured, tmp_path: Path) -> None:
    other = Pair(tmp_path, "other")
    ours = Pair(tmp_path, "ours", other)
    result = secured.poll(certificate_file=ours.certificate_file, key_file=ours.key_file)
    assert result.status == "failed"
    assert "does not accept our certificate" in (result.error or "")


def test_http_asked_of_https_says_so(secured: Secured) -> None:
    result = secured.poll(url=secured.prometheus.url.replace("https:", "http:"))
    assert result.status == "failed"
    assert "answered 400: Client sent an HTTP request to an HTTPS server" in (result.error or "")


def test_an_expired_certificate_is_told(tmp_path: Path) -> None:
    with ProcessGroup() as processes:
        result = Secured(processes, tmp_path, days=-1).poll()
    assert result.status == "failed"
    assert "certificate has expired" in (result.error or "")
