from __future__ import annotations

import socket
from pathlib import Path

import pytest

from collectors.errors import SettingsError
from collectors.kafka.protocol.properties import (
    ConnectionSettings,
    Tls,
    connection_settings,
)
from collectors.kafka.protocol.sasl.settings import Kerberos, OAuth, Sasl, TokenCallback
from collectors.kafka.protocol.sockets import SocketOptions
from collectors.kafka.protocol.tls_identity import (
    CertificateFiles,
    CertificateText,
    KeyStore,
)

MADE_UP = "s3cret"
ISSUER = "https://id.example/token"
PLAIN = {"sasl.mechanism": "PLAIN", "sasl.username": "reader", "sasl.password": MADE_UP}
OAUTH = {
    "sasl.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.token.endpoint.url": ISSUER,
    "sasl.oauthbearer.client.id": "headroom",
    "sasl.oauthbearer.client.secret": MADE_UP,
}


@pytest.mark.parametrize(
    ("properties", "understood"),
    [
        pytest.param({}, ConnectionSettings(), id="plaintext by default"),
        pytest.param({"security.protocol": "plaintext"}, ConnectionSettings(), id="lower case"),
        pytest.param(
            {"ssl.ca.location": "/ca.pem", **PLAIN},
            ConnectionSettings(),
            id="not asked for, not used",
        ),
        pytest.param(
            {"security.protocol": "SSL"}, ConnectionSettings(tls=Tls()), id="tls, system's CAs"
        ),
        pytest.param(
            {
                "security.protocol": "SSL",
                "ssl.ca.location": "/ca.pem",
                "ssl.certificate.location": "/client.pem",
                "ssl.key.location": "/client.key",
                "ssl.key.password": MADE_UP,
                "ssl.endpoint.identification.algorithm": "none",
            },
            ConnectionSettings(
                tls=Tls(
                    ca_file="/ca.pem",
                    identity=CertificateFiles(
                        certificate="/client.pem", key="/client.key", key_password=MADE_UP
                    ),
                    check_host_name=False,
                )
            ),
            id="mutual tls",
        ),
        pytest.param(
            {
                "security.protocol": "SSL",
                "ssl.certificate.pem": "a chain",
                "ssl.key.pem": MADE_UP,
                "ssl.crl.location": "/revoked.pem",
            },
            ConnectionSettings(
                tls=Tls(
                    identity=CertificateText(certificate="a chain", key=MADE_UP),
                    revoked_file="/revoked.pem",
                )
            ),
            id="certificate as text",
        ),
        pytest.param(
            {
                "security.protocol": "SSL",
                "ssl.keystore.location": "/client.p12",
                "ssl.keystore.password": MADE_UP,
            },
            ConnectionSettings(
                tls=Tls(identity=KeyStore(location="/client.p12", password=MADE_UP))
            ),
            id="key store",
        ),
        pytest.param(
            {"security.protocol": "ssl", "enable.ssl.certificate.verification": "false"},
            ConnectionSettings(tls=Tls(verify=False)),
            id="unverified",
        ),
        pytest.param(
            {"security.protocol": "SASL_PLAINTEXT", **PLAIN},
            ConnectionSettings(sasl=Sasl(mechanism="PLAIN", username="reader", password=MADE_UP)),
            id="plain",
        ),
        pytest.param(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanisms": "scram-sha-512",
                "sasl.username": "reader",
                "sasl.password": MADE_UP,
            },
            ConnectionSettings(
                tls=Tls(),
                sasl=Sasl(mechanism="SCRAM-SHA-512", username="reader", password=MADE_UP),
            ),
            id="scram over tls",
        ),
        pytest.param(
            {
                "security.protocol": "SASL_SSL",
                **OAUTH,
                "sasl.oauthbearer.scope": "kafka",
                "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, identityPoolId=p",
            },
            ConnectionSettings(
                tls=Tls(),
                sasl=Sasl(
                    mechanism="OAUTHBEARER",
                    oauth=OAuth(
                        token_url=ISSUER,
                        client_id="headroom",
                        client_secret=MADE_UP,
                        scope="kafka",
                        extensions=(("logicalCluster", "lkc-1"), ("identityPoolId", "p")),
                    ),
                ),
            ),
            id="oauthbearer",
        ),
        pytest.param(
            {"security.protocol": "SASL_PLAINTEXT"},
            ConnectionSettings(sasl=Sasl(mechanism="GSSAPI", kerberos=Kerberos())),
            id="kerberos by default",
        ),
        pytest.param(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "broker",
                "sasl.kerberos.principal": "headroom@EXAMPLE.COM",
                "sasl.kerberos.keytab": __file__,
            },
            ConnectionSettings(
                tls=Tls(),
                sasl=Sasl(
                    mechanism="GSSAPI",
                    kerberos=Kerberos(
                        service_name="broker", principal="headroom@EXAMPLE.COM", keytab=__file__
                    ),
                ),
            ),
            id="kerberos",
        ),
        pytest.param(
            {
                "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
                "broker.address.family": "v4",
                "socket.keepalive.enable": "true",
                "socket.nagle.disable": "false",
                "socket.send.buffer.bytes": "65536",
                "socket.receive.buffer.bytes": "131072",
                "socket.connection.setup.timeout.ms": "12000",
                "reconnect.backoff.ms": "250",
                "reconnect.backoff.max.ms": "60000",
            },
            ConnectionSettings(
                sockets=SocketOptions(
                    family=socket.AF_INET,
                    canonical_bootstrap=True,
                    keep_alive=True,
                    no_delay=False,
                    send_buffer=65536,
                    receive_buffer=131072,
                    setup_seconds=12.0,
                    first_back_off_seconds=0.25,
                    last_back_off_seconds=60.0,
                )
            ),
            id="sockets",
        ),
        pytest.param(
            {"reconnect.backoff.ms": "0", "reconnect.backoff.max.ms": "0"},
            ConnectionSettings(
                sockets=SocketOptions(first_back_off_seconds=0.1, last_back_off_seconds=0.1)
            ),
            id="no pause, which would be hundreds of tries a second",
        ),
    ],
)
def test_what_is_understood(properties: dict[str, str], understood: ConnectionSettings) -> None:
    assert connection_settings(properties) == understood


CALLBACK = TokenCallback(name="tokens:new", function=lambda config: (config, 0.0))


def test_a_callback_takes_the_place_of_a_token_server() -> None:
    properties = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    understood = connection_settings(properties, CALLBACK)
    assert understood == ConnectionSettings(
        tls=Tls(), sasl=Sasl(mechanism="OAUTHBEARER", oauth=CALLBACK)
    )


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        pytest.param({}, "security.protocol", id="no authentication"),
        pytest.param({"security.protocol": "SASL_SSL", **PLAIN}, "sasl.mechanism", id="PLAIN"),
        pytest.param(
            {"security.protocol": "SASL_SSL", **OAUTH}, "sasl.oauthbearer.method", id="two sources"
        ),
    ],
)
def test_a_callback_that_would_have_no_effect(properties: dict[str, str], key: str) -> None:
    with pytest.raises(SettingsError, match=f"^{key}: .*oauth_callback"):
        connection_settings(properties, CALLBACK)


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        pytest.param({"security.protocol": "TLS"}, "security.protocol", id="protocol"),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "DIGEST-MD5"},
            "sasl.mechanism",
            id="mechanism",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.kerberos.keytab": "/absent"},
            "sasl.kerberos.keytab",
            id="no key table",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.kerberos.kinit.cmd": "kinit"},
            "sasl.kerberos.kinit.cmd",
            id="kinit",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
            "sasl.password",
            id="no password",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", **OAUTH, "sasl.oauthbearer.client.id": ""},
            "sasl.oauthbearer.client.id",
            id="no client id",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", **OAUTH, "sasl.oauthbearer.method": "default"},
            "sasl.oauthbearer.method",
            id="unsecured tokens",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", **OAUTH, "sasl.oauthbearer.extensions": "x"},
            "sasl.oauthbearer.extensions",
            id="extension without a value",
        ),
        pytest.param(
            {"security.protocol": "SSL", "ssl.engine.location": "/engine.so"},
            "ssl.engine.location",
            id="engine",
        ),
        *(
            pytest.param({"security.protocol": "SASL_SSL", **OAUTH, key: value}, key, id=key)
            for key, value in {
                "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "sasl.oauthbearer.metadata.authentication.type": "azure_imds",
                "ssl.curves.list": "P-521",
                "ssl.sigalgs.list": "ed25519",
            }.items()
        ),
        pytest.param(
            {"security.protocol": "SSL", "enable.ssl.certificate.verification": "perhaps"},
            "enable.ssl.certificate.verification",
            id="not a truth value",
        ),
        *(
            pytest.param({key: value}, key, id=key)
            for key, value in {
                "client.dns.lookup": "first",
                "broker.address.family": "v5",
                "socket.receive.buffer.bytes": "many",
                "socket.timeout.ms": "5000",
                "socket.max.fails": "3",
                "connections.max.idle.ms": "1000",
                "broker.address.ttl": "1000",
            }.items()
        ),
    ],
)
def test_a_refusal_names_the_property_and_no_secret(properties: dict[str, str], key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        connection_settings(properties)
    text = str(caught.value)
    assert text.startswith(f"{key}: ")
    assert MADE_UP not in text
    assert "\n" not in text


def test_secrets_are_not_in_what_is_printed() -> None:
    for properties in ({**PLAIN}, {**OAUTH}):
        assert MADE_UP not in repr(
            connection_settings({"security.protocol": "SASL_SSL", **properties})
        )
    for secret in ("ssl.key.pem", "ssl.key.password"):
        shown = connection_settings(
            {"security.protocol": "SSL", "ssl.certificate.pem": "c", secret: MADE_UP}
        )
        assert MADE_UP not in repr(shown)
    store = {"ssl.keystore.location": "/k.p12", "ssl.keystore.password": MADE_UP}
    assert MADE_UP not in repr(connection_settings({"security.protocol": "SSL", **store}))


@pytest.mark.parametrize(
    ("content", "tls_of", "key"),
    [
        pytest.param(None, lambda p: Tls(ca_file=str(p)), "ssl.ca.location", id="no such file"),
        pytest.param("x", lambda p: Tls(ca_file=str(p)), "ssl.ca.location", id="no certificate"),
        pytest.param(
            "x",
            lambda p: Tls(identity=CertificateFiles(certificate=str(p), key=None)),
            "ssl.certificate.location",
            id="no key",
        ),
        pytest.param(
            None,
            lambda _: Tls(identity=CertificateText(certificate="x", key=MADE_UP)),
            "ssl.certificate.pem",
            id="text is no key",
        ),
        pytest.param(
            None,
            lambda p: Tls(identity=KeyStore(location=str(p))),
            "ssl.keystore.location",
            id="no such key store",
        ),
        pytest.param(
            "x",
            lambda p: Tls(identity=KeyStore(location=str(p), password=MADE_UP)),
            "ssl.keystore.location",
            id="no key store",
        ),
        pytest.param(None, lambda _: Tls(revoked_file="/none"), "ssl.crl.location", id="revoked"),
        pytest.param(None, lambda _: Tls(ca_pem="x"), "ssl.ca.pem", id="text is no certificate"),
        pytest.param(None, lambda _: Tls(ciphers="none"), "ssl.cipher.suites", id="ciphers"),
    ],
)
def test_unusable_files_are_named(tmp_path: Path, content: str | None, tls_of, key: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "file.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError, match=f"^{key}: .*cannot be used") as caught:
        tls_of(path).context()
    assert MADE_UP not in str(caught.value)
