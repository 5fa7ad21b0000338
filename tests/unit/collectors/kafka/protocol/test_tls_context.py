"""Certificates and keys that are replaced while the collector runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.support.certificates import key_pair
from collectors.errors import SettingsError
from collectors.kafka.protocol.properties import Tls
from collectors.kafka.protocol.tls_identity import CertificateFiles
from collectors.kafka.protocol.transport.tls_context import TlsContexts


def contexts(folder: Path) -> TlsContexts:
    identity = CertificateFiles(
        certificate=str(folder / "client.pem"), key=str(folder / "client.key")
    )
    return TlsContexts(Tls(ca_file=str(folder / "ca.pem"), identity=identity))


def test_one_context_serves_until_a_file_is_replaced(tmp_path: Path) -> None:
    authority = key_pair(tmp_path, "ca", None)
    key_pair(tmp_path, "client", authority)
    made = contexts(tmp_path)
    first = made.current()
    assert made.current() is first
    trusted = [each["serialNumber"] for each in first.get_ca_certs()]

    another = key_pair(tmp_path, "ca", None)
    key_pair(tmp_path, "client", another)
    second = made.current()
    assert second is not first
    assert [each["serialNumber"] for each in second.get_ca_certs()] != trusted
    assert made.current() is second


def test_while_files_do_not_fit_the_last_context_serves_on(tmp_path: Path) -> None:
    authority = key_pair(tmp_path, "ca", None)
    key_pair(tmp_path, "client", authority)
    made = contexts(tmp_path)
    first = made.current()
    key = (tmp_path / "client.key").read_bytes()
    key_pair(tmp_path, "client", authority)
    new_key = (tmp_path / "client.key").read_bytes()
    (tmp_path / "client.key").write_bytes(key)  # the certificate is new, the key not yet
    assert made.current() is first
    (tmp_path / "client.key").write_bytes(new_key)
    assert made.current() is not first


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    key_pair(tmp_path, "ca", None)
    with pytest.raises(SettingsError, match=r"ssl\.certificate\.location"):
        contexts(tmp_path).current()
    os.remove(tmp_path / "ca.pem")
    with pytest.raises(SettingsError, match=r"ssl\.ca\.location"):
        contexts(tmp_path).current()
