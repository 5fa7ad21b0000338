"""Our own certificate for TLS, from wherever librdkafka's properties say it is."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    pkcs12,
)

from collectors.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """A certificate chain and its key in PEM files.

    Attributes:
        key: The private key; None where it is in the chain's file.
    """

    certificate: str
    key: str | None
    key_password: str | None = field(default=None, repr=False)

    @property
    def files(self) -> Sequence[str]:
        """The files to be read."""
        return [path for path in (self.certificate, self.key) if path]

    def load(self, context: ssl.SSLContext) -> None:
        """Let a context show this certificate."""
        try:
            # Without a password OpenSSL would ask for it at the terminal.
            context.load_cert_chain(self.certificate, self.key, password=self.key_password or "")
        except (OSError, ValueError) as error:
            raise SettingsError(f"ssl.certificate.location: cannot be used: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateText:
    """A certificate chain and its key as PEM text."""

    certificate: str
    key: str = field(repr=False)
    key_password: str | None = field(default=None, repr=False)

    @property
    def files(self) -> Sequence[str]:
        """The files to be read: none."""
        return ()

    def load(self, context: ssl.SSLContext) -> None:
        """Let a context show this certificate."""
        try:
            _load(context, f"{self.certificate}\n{self.key}".encode(), self.key_password)
        except (OSError, ValueError) as error:
            raise SettingsError(f"ssl.certificate.pem: cannot be used: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    """A certificate chain and its key in a PKCS#12 file."""

    location: str
    password: str | None = field(default=None, repr=False)

    @property
    def files(self) -> Sequence[str]:
        """The files to be read."""
        return (self.location,)

    def load(self, context: ssl.SSLContext) -> None:
        """Let a context show this certificate."""
        try:
            store = pkcs12.load_pkcs12(
                Path(self.location).read_bytes(), (self.password or "").encode() or None
            )
            if store.key is None or store.cert is None:
                raise ValueError("it holds no certificate with its private key")
            password = secrets.token_hex(16)
            key = store.key.private_bytes(
                Encoding.PEM,
                PrivateFormat.PKCS8,
                BestAvailableEncryption(password.encode()),
            )
            chain = [store.cert, *store.additional_certs]
            certificates = b"".join(one.certificate.public_bytes(Encoding.PEM) for one in chain)
            _load(context, certificates + key, password)
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"ssl.keystore.location: {self.location} cannot be used: {error}"
            ) from None


Identity = CertificateFiles | CertificateText | KeyStore


def _load(context: ssl.SSLContext, pem: bytes, password: str | None) -> None:
    """Load a chain with its key; Python takes files alone, so it is one for a moment."""
    with TemporaryDirectory() as folder:  # nobody else's to look into
        file = Path(folder, "identity.pem")
        file.touch(mode=0o600)
        file.write_bytes(pem)
        context.load_cert_chain(file, password=password or "")
