"""No secret of a connector's configuration is left in what it says."""

from __future__ import annotations

import pytest

from collectors.source.redaction import redact

SECRET = "s3cr3t-Value"  # noqa: S105  made up


@pytest.mark.parametrize(
    "key",
    [
        "connection.password",
        "database.password",
        "aws.secret.access.key",
        "aws.access.key.id",
        "elastic.api.key",
        "ssl.keystore.password",
        "ssl.key.password",
        "azure.account.key",
        "github.token",
        "gcs.credentials.json",
        "basic.auth.user.info",
        "value.converter.basic.auth.user.info",
        "consumer.override.sasl.jaas.config",
        "snowflake.private.key",
        "bearer.token",
        "connection.pwd",
    ],
)
def test_the_value_of_a_secret_key_is_left_out(key: str) -> None:
    assert redact(f"a.B: wrong value {SECRET} here", {key: SECRET}) == "a.B: wrong value *** here"


def test_a_secret_inside_a_longer_value_is_left_out() -> None:
    jaas = f'org.example.PlainLoginModule required username="me" password="{SECRET}";'
    said = redact(f"a.B: cannot log in with {SECRET}", {"sasl.jaas.config": jaas})
    assert said == "a.B: cannot log in with ***"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(
            "a.B: jdbc:postgresql://db/x?user=me&password=s3cr3t-Value&ssl=true",
            "a.B: jdbc:postgresql://db/x?user=me&password=***&ssl=true",
            id="JDBC",
        ),
        pytest.param("a.B: http://me:s3cr3t-Value@db:80/x", "a.B: http://***@db:80/x", id="URL"),
        pytest.param(
            'a.B: {"secret": "s3cr3t-Value", "n": 1}', 'a.B: {"secret": ***, "n": 1}', id="JSON"
        ),
        pytest.param("a.B: AccountKey=s3cr3t-Value;x", "a.B: AccountKey=***;x", id="Azure"),
        pytest.param("a.B: Authorization: Bearer s3cr3t-Value", None, id="bearer"),
    ],
)
def test_what_the_text_itself_calls_a_secret_is_left_out(text: str, left: str | None) -> None:
    said = redact(text, {})
    assert SECRET not in said
    if left is not None:
        assert said == left


def test_what_is_no_secret_stays() -> None:
    text = "a.B: Couldn't find or create file '/data/out.txt' for orders"
    config = {"file": "/data/out.txt", "topics": "orders", "key.converter": "a.B", "x.password": ""}
    assert redact(text, config) == text


def test_a_reference_to_a_secret_is_none() -> None:
    text = "a.B: ${file:/run/db.properties:pw} is missing"
    assert redact(text, {"db.password": "${file:/run/db.properties:pw}"}) == text


def test_the_longest_secret_goes_first() -> None:
    config = {"a.password": "hunter", "b.password": "hunter-and-more"}
    assert redact("hunter-and-more or hunter", config) == "*** or ***"


def test_every_secret_of_a_configuration_with_many_is_hidden() -> None:
    config = {f"password.{number}": f" secret-{number} " for number in range(100)}

    shown = redact(" ".join(f"secret-{number}" for number in range(100)), config)

    assert "secret" not in shown


def test_a_text_beside_more_secrets_than_connectors_have_is_not_shown() -> None:
    config = {"sasl.jaas.config": " ".join(f"'part-{number}'" for number in range(20_000))}

    assert redact("at part-7 " * 100_000, config).startswith("not shown: ")


def test_a_secret_on_the_cut_of_a_very_long_text_is_not_shown_in_half() -> None:
    secret = "s3cr3t " * 40
    text = ("x" * 9 + "\n") * 200_000
    middle = len(text) // 2
    for at in (16_000, 128_000, middle, len(text) - 128_000, len(text) - 16_000):
        for shift in range(-len(secret), 1, 70):
            quoted = text[: at + shift] + secret + text[at + shift :]
            assert "s3cr3t" not in redact(quoted, {"password": secret.strip()})
