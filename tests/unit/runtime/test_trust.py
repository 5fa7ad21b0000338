from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from runtime.errors import JavaError
from runtime.java import find_java
from runtime.trust import PASSWORD, java_options, system_bundle
from tests.support import unavailable


def authority(name: str) -> str:
    """Return a new self-signed certificate in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def test_java_reads_every_authority_of_the_bundle_once(tmp_path: Path) -> None:
    try:
        keytool = find_java().home / "bin" / "keytool"
    except JavaError as error:
        unavailable(str(error))
    if not keytool.exists():
        unavailable("this Java has no keytool")
    company = authority("Company")
    broken = "-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n"
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(
        f"# Company\n{company}{broken}{authority('Public')}{company}", encoding="utf-8"
    )

    store, kind, password = java_options(bundle, tmp_path)

    listing = subprocess.run(
        [keytool, "-list", "-v", "-keystore", store.partition("=")[2], "-storepass", PASSWORD],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert kind == "-Djavax.net.ssl.trustStoreType=PKCS12"
    assert password.endswith(f"={PASSWORD}")
    assert listing.count("trustedCertEntry") == 2
    assert "CN=Company" in listing
    assert "CN=Public" in listing


def test_a_store_is_made_once_for_the_same_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(authority("One"), encoding="utf-8")
    first = java_options(bundle, tmp_path)
    made = [file.stat().st_mtime_ns for file in tmp_path.glob("trust-*.p12")]

    assert java_options(bundle, tmp_path) == first
    assert [file.stat().st_mtime_ns for file in tmp_path.glob("trust-*.p12")] == made

    bundle.write_text(authority("Two"), encoding="utf-8")
    assert java_options(bundle, tmp_path) != first


def test_a_bundle_without_certificates_changes_nothing(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("nothing here", encoding="utf-8")

    assert java_options(bundle, tmp_path) == []


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"])
def test_what_the_environment_names_comes_first(tmp_path: Path, variable: str) -> None:
    bundle = tmp_path / "company.pem"
    bundle.write_text(authority("Company"), encoding="utf-8")

    assert system_bundle({variable: str(bundle)}) == bundle
    assert system_bundle({variable: str(tmp_path / "missing.pem")}) == system_bundle({})
