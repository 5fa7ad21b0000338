"""What a target lacks is a failed delivery, which is tried again: it does not end the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerting.errors import DeliveryError
from alerting.notify.targets.http import HttpClient
from config.alerting import TargetSettings


def test_certificate_that_is_not_there_fails_each_delivery(tmp_path: Path) -> None:
    client = HttpClient(_target(ca_file=tmp_path / "ca.pem"))

    for _ in range(2):
        with pytest.raises(DeliveryError, match=r"ca\.pem: No such file"):
            client.post("", b"{}")


def test_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not yet")

    with pytest.raises(DeliveryError, match=r"ca\.pem: .*no certificate"):
        HttpClient(_target(ca_file=tmp_path / "ca.pem")).post("", b"{}")


def _target(**options: object) -> TargetSettings:
    fields = {"name": "hook", "kind": "webhook", "url": "https://127.0.0.1:1/", **options}
    return TargetSettings.model_validate(fields)
