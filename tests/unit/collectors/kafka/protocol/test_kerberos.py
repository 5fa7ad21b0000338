"""Kerberos without its library, and with one that is installed."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from collectors.errors import SettingsError
from collectors.kafka.protocol.librdkafka import validate
from config.settings import ClusterSettings


def cluster(**more: str) -> ClusterSettings:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.principal": "me", **more}
    return ClusterSettings.model_validate(
        {"name": "kerb", "bootstrap_servers": "127.0.0.1:1", "properties": properties}
    )


@pytest.mark.parametrize("key", ["sasl.mechanism", "sasl.mechanisms"])
def test_settings_are_checked_though_librdkafka_has_no_kerberos(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", ModuleType("gssapi"))
    sasl = validate(cluster(**{key: "GSSAPI"})).sasl
    assert sasl is not None
    assert sasl.kerberos is not None
    assert sasl.kerberos.principal == "me"
    with pytest.raises(SettingsError, match=r"sasl\.kerberos\.nonsense"):
        validate(cluster(**{key: "GSSAPI", "sasl.kerberos.nonsense": "x"}))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(SettingsError) as caught:
        validate(cluster())
    assert str(caught.value).startswith("cluster kerb: properties: sasl.mechanism: GSSAPI")
    assert "the Python package gssapi" in str(caught.value)
