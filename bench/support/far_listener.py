"""A listener with TLS and SCRAM, as clients find it that are not in the brokers' own network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported, without saying so
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from pydantic import SecretStr

from bench.support.certificates import HOST, key_pair
from demo.kafka.cluster import KafkaCluster
from runtime.processes import free_ports

SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_PASSWORD = "pass-phrase-of-the-far-reader"  # noqa: S105 (of a user of a broker that soon is gone)
_SECONDS = 20.0


class FarListener:
    """Ports and settings of brokers that listen twice: as always, and for clients far away.

    Attributes:
        clients: Port of each broker for plain connections.
        logins: Port of each broker for those that log in.
    """

    def __init__(self, folder: Path, brokers: int, user: str) -> None:
        """Choose ports, and write certificates into a folder."""
        self._folder = folder
        self._user = user
        ports = free_ports(3 * brokers, HOST)
        self.clients = ports[:brokers]
        self._controllers = ports[brokers : 2 * brokers]
        self.logins = ports[2 * brokers :]
        key_pair(folder, "broker", key_pair(folder, "ca", None))
        (folder / "broker-all.pem").write_text(
            (folder / "broker.key").read_text() + (folder / "broker.pem").read_text()
        )

    def broker_properties(self, broker: int, told: Sequence[int] = ()) -> dict[str, str]:
        """Return what a broker is started with.

        Args:
            broker: Its number, from 1.
            told: Ports that clients are told instead of ``logins``: those of proxies.
        """
        plain = f"PLAINTEXT://{HOST}:{self.clients[broker - 1]}"
        login, proxy = self.logins[broker - 1], (told or self.logins)[broker - 1]
        controller = f"CONTROLLER://{HOST}:{self._controllers[broker - 1]}"
        return {
            "listeners": f"{plain},LOGIN://{HOST}:{login},{controller}",
            "advertised.listeners": f"{plain},LOGIN://{HOST}:{proxy}",
            "controller.quorum.voters": ",".join(
                f"{number}@{HOST}:{port}" for number, port in enumerate(self._controllers, 1)
            ),
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "LOGIN:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._folder / "broker-all.pem"),
            "listener.name.login.sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.login.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
        }

    def make_user(self, cluster: KafkaCluster) -> None:
        """Let the user log in, once the brokers run."""
        user = UserScramCredentialUpsertion(
            self._user,
            ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096),
            _PASSWORD.encode(),
        )
        cluster.admin().alter_user_scram_credentials([user])[self._user].result(_SECONDS)

    @property
    def client_properties(self) -> dict[str, str | SecretStr]:
        """How the user logs in."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self._folder / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": self._user,
            "sasl.password": SecretStr(_PASSWORD),
        }
