"""Certificates for the packaged Java: it shall trust what this machine trusts.

A Java of the system is set up by whoever runs the machine. The packaged one brings a list of
public authorities alone and would refuse a company's own authority, for example that of a proxy
between the machine and Maven Central.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import warnings
from collections.abc import Mapping
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.utils import CryptographyDeprecationWarning

from runtime.cache import write_atomically

PASSWORD = "changeit"  # noqa: S105 (Java's own default; certificates are public)

_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS
)


def system_bundle(environment: Mapping[str, str]) -> Path | None:
    """Return the file of certificates (PEM) that programs on this machine trust."""
    named = [environment[name] for name in _VARIABLES if environment.get(name)]
    openssl = ssl.get_default_verify_paths().cafile
    for candidate in (*named, openssl, *_BUNDLES):
        if candidate and os.access(candidate, os.R_OK) and Path(candidate).is_file():
            return Path(candidate)
    return None


def java_options(bundle: Path, folder: Path) -> list[str]:
    """Make a trust store of a bundle, once, and return Java's options that name it.

    Returns:
        The options; none where the bundle holds no usable certificate.
    """
    content = bundle.read_bytes()
    store = folder / f"trust-{hashlib.sha256(content).hexdigest()[:16]}.p12"
    if not store.is_file():
        certificates = _certificates(content)
        if not certificates:
            return []
        entries = [
            pkcs12.PKCS12Certificate(certificate, f"authority-{number}".encode())
            for number, certificate in enumerate(certificates)
        ]
        encryption = BestAvailableEncryption(PASSWORD.encode())
        write_atomically(store, pkcs12.serialize_java_truststore(entries, encryption))
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]


def _certificates(content: bytes) -> list[x509.Certificate]:
    end = b"-----END CERTIFICATE-----"
    found: dict[bytes, x509.Certificate] = {}
    for part in content.split(end)[:-1]:
        try:
            with warnings.catch_warnings():  # old authorities break rules that came after them
                warnings.simplefilter("ignore", CryptographyDeprecationWarning)
                certificate = x509.load_pem_x509_certificate(part[part.find(b"-----BEGIN") :] + end)
        except ValueError:  # one broken entry must not cost the others
            continue
        found[certificate.fingerprint(hashes.SHA256())] = certificate
    return list(found.values())
