"""Secrets as they lie in files and in the environment."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pydantic import ValidationError

from config.integrations import PrometheusSettings
from config.logs import FORMAT, log_to_stderr
from config.secret import hide, resolve_secret
from config.settings import ClusterSettings, LakeSettings


def source(folder: Path, text: str, key: str = "token") -> PrometheusSettings:
    file = folder / "secret"
    file.write_text(text, encoding="utf-8")
    more = {"username": "me"} if key == "password" else {}
    return PrometheusSettings.model_validate(
        {"name": "m", "url": "http://host", key: {"file": str(file)}, **more}
    )


@pytest.mark.parametrize("text", ["s3cr3t", "s3cr3t\n", " s3cr3t \r\n", "\ts3cr3t\n\n"])
def test_blanks_and_line_ends_around_a_secret_are_left_out(tmp_path: Path, text: str) -> None:
    token = source(tmp_path, text).token
    assert token is not None
    assert token.get_secret_value() == "s3cr3t"


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("token", "half\nother", "must be one line of ASCII"),
        ("token", "two words", "must be one line of ASCII"),
        ("token", "fürchterlich", "must be one line of ASCII"),
        ("token", " \n", "is empty"),
        ("password", "half\nother", "must be one line of printable characters"),
        ("password", "null\0byte", "must be one line of printable characters"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_the_start(
    tmp_path: Path, key: str, text: str, said: str
) -> None:
    with pytest.raises(ValidationError) as error:
        source(tmp_path, text, key)
    assert said in str(error.value)
    for part in text.split():
        assert part not in str(error.value)


def test_a_password_may_hold_blanks_and_any_letter(tmp_path: Path) -> None:
    password = source(tmp_path, "für dich\n", "password").password
    assert password is not None
    assert password.get_secret_value() == "für dich"


@pytest.mark.parametrize(
    "key",
    [
        "sasl.password",
        "SASL.PASSWORD",
        "sasl.jaas.config",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.pem",
    ],
)
def test_a_secret_property_is_never_written_out(key: str) -> None:
    with pytest.raises(ValidationError, match="must come from the environment or a file"):
        ClusterSettings.model_validate(
            {"name": "a", "bootstrap_servers": "k:9092", "properties": {key: "written"}}
        )


@pytest.mark.parametrize("key", ["ssl.key.location", "sasl.username", "ssl.certificate.pem"])
def test_other_properties_may_be_written_out(key: str) -> None:
    ClusterSettings.model_validate(
        {"name": "a", "bootstrap_servers": "k:9092", "properties": {key: "written"}}
    )


@pytest.mark.parametrize(
    "key", ["token", "bearer_token", "access_key", "master_key", "google_service_account_key"]
)
def test_a_secret_option_of_the_store_is_never_written_out(key: str) -> None:
    with pytest.raises(ValidationError, match="must come from the environment or a file"):
        LakeSettings(uri="s3://bucket", storage_options={key: "written"})


def test_an_address_of_the_lake_holds_no_credentials() -> None:
    with pytest.raises(ValidationError, match="credentials belong into storage_options"):
        LakeSettings(uri="s3://key:secret@bucket/lake")
    assert LakeSettings(uri="abfss://container@account.dfs.core.windows.net/lake").uri


def test_the_longest_secret_is_hidden_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "hunter-2")
    monkeypatch.setenv("LONG", "hunter-2-and-more")
    for name in ("SHORT", "LONG"):
        resolve_secret({"env": name})
    assert hide("hunter-2-and-more, hunter-2") == "***, ***"


def test_no_secret_is_logged_not_even_in_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOGGED", "hunter-3-logged")
    resolve_secret({"env": "LOGGED"})
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()
    try:
        log_to_stderr()
        try:
            raise ValueError("Illegal header value b'Bearer hunter-3-logged'")
        except ValueError:
            logging.getLogger("test").exception("with %s", "hunter-3-logged")
    finally:
        root.handlers[:] = handlers
    said = capsys.readouterr().err
    assert "ERROR test with ***" in said
    assert "b'Bearer ***'" in said
    assert "hunter-3-logged" not in said
    assert "%(name)s" in FORMAT
