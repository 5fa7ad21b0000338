"""The systems around Kafka: what is asked over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from config.parts import LONGEST_INTERVAL_SECONDS, CredentialSettings, Name, Selection


class HttpSettings(CredentialSettings):
    """A server that is asked over HTTP."""

    name: Name
    url: str = Field(description="http:// or https://, without credentials")
    certificate_file: Path | None = Field(default=None, description="our certificate (PEM)")
    key_file: Path | None = Field(default=None, description="its key (PEM)")
    poll_interval_seconds: float | None = Field(
        default=None,
        ge=1,
        le=LONGEST_INTERVAL_SECONDS,
        description="overrides collectors.poll_interval_seconds",
    )
    request_timeout_seconds: float = Field(
        default=5.0, ge=0.1, le=300, description="how long one request may wait for an answer"
    )

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must read http://host:port or https://host:port")
        try:
            _ = parts.port
        except ValueError:
            raise ValueError("its port is not a number from 0 to 65535") from None
        if parts.username or parts.password:
            raise ValueError("credentials belong into username and password, not into the URL")
        if parts.query or parts.fragment:
            raise ValueError("must end with the path: no ? and no #")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.key_file is not None and self.certificate_file is None:
            raise ValueError("key_file without certificate_file")
        return self


class BesideKafkaSettings(HttpSettings):
    """A server that belongs to a Kafka cluster: its samples carry the cluster's name."""

    cluster: str | None = Field(
        default=None, description="the Kafka cluster it belongs to; needed where there are several"
    )


class ConnectSettings(BesideKafkaSettings):
    """A Kafka Connect cluster, by the REST address of any of its workers."""

    connectors: Selection = Selection()
    mirrors: dict[str, str] = Field(
        default={},
        description="MirrorMaker 2: alias of a source cluster, and its name under clusters",
    )


class RabbitMQSettings(HttpSettings):
    """A RabbitMQ cluster, by its management address; its samples carry its own name."""

    vhosts: Selection = Selection()
    queues: Selection = Selection()


LabelName = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")]
"""The name of a label, as Prometheus allows it."""

Labels = dict[LabelName, str]
"""Labels with the value that each must have."""


class PrometheusSettings(BesideKafkaSettings):
    """A Prometheus server (or one that speaks its API) that scrapes the brokers."""

    labels: Labels = Field(
        default={}, description="labels that the brokers' series carry, for example job: kafka"
    )
    exporter_labels: Labels | None = Field(
        default=None,
        description="the same of kafka_exporter's and KMinion's series; none: those of labels",
    )
    disk_labels: Labels | None = Field(
        default=None,
        description="labels of the file systems with the brokers' logs, as node_exporter or the "
        "kubelet gives them; none: disks are not read",
    )
    broker_label: LabelName = Field(
        default="instance", description="the label that tells brokers apart"
    )


class DittoSettings(BesideKafkaSettings):
    """An Eclipse Ditto, by the address of its HTTP API; needs DevOps credentials."""

    connections: Selection = Selection()


RegistryFeature = Literal["versions", "compatibility", "mode", "deleted"]
"""What is read of a Schema Registry beside the names of its subjects."""


class SchemaRegistrySettings(BesideKafkaSettings):
    """A Schema Registry, by the address below which it has ``/subjects``."""

    subjects: Selection = Selection()
    switched_off: list[RegistryFeature] = Field(
        default=[], description="what is not read, where the right to it is missing on purpose"
    )
