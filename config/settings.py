"""The settings of every part of Headroom, validated before anything starts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from config.alerting import AlertingSettings
from config.app import AppSettings
from config.integrations import (
    BesideKafkaSettings,
    ConnectSettings,
    DittoSettings,
    HttpSettings,
    PrometheusSettings,
    RabbitMQSettings,
    SchemaRegistrySettings,
)
from config.parts import (
    LONGEST_INTERVAL_SECONDS,
    GroupSelection,
    Name,
    Pattern,
    Section,
    Selection,
)
from config.scaling import ScalingSettings
from config.secret import Secret, Token, one_line, resolve_secret
from config.storage import RetentionSettings, check_options, object_store_options

SECRET_PROPERTY = re.compile(
    r"(?i)(password|secret|passphrase|jaas\.config|oauthbearer\.config|key\.pem$|credentials$)"
)
"""librdkafka's properties whose value must never be written into the configuration."""

DEAD_LETTER_PATTERN = (
    r"(?i)(^|[._-])(dlq|dlt|dead[._-]?letters?|parking[._-]?lot|poison)([._-]|$)"
    r"|^errors?([._-]|$)|[._-]errors?([._-]?v?\d+)?$"
)
"""Names that announce a dead-letter topic where nothing else says so.

"Error" does at either end only: ``orders.errors``, Spring's ``error.orders.group``, but not
``app.error.codes``.
"""

_HOST_PORT = re.compile(
    r"^(?:[A-Za-z][A-Za-z0-9_]*://)?(\[[0-9A-Fa-f:]+\]|[^\s:/,\[\]]+):(\d{1,5})$"
)


class DeadLetterSettings(Section):
    """How dead-letter topics are found, and who works through them."""

    topics: list[str] = Field(default=[], description="dead-letter topics by name")
    patterns: list[Pattern] = Field(
        default=[DEAD_LETTER_PATTERN], description="names that announce a dead-letter topic"
    )
    ignore: list[Pattern] = Field(default=[], description="topics that are none in spite of it")
    redrive_groups: dict[str, str] = Field(
        default={}, description="dead-letter topic: the consumer group that works through it"
    )
    origins: dict[str, str] = Field(
        default={}, description="dead-letter topic: the topic whose failures it holds"
    )
    sample_records: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="newest and oldest records whose headers are read for reasons; 0: none",
    )


class TimeLagSettings(Section):
    """How late a group is where its partition was not watched for long enough."""

    ask_brokers: bool = Field(
        default=True, description="read the timestamp of the record at the committed offset"
    )
    lookups: int = Field(
        default=200, ge=0, le=100_000, description="records asked for in one poll, at most"
    )


Feature = Literal[
    "topic_configs",
    "log_directories",
    "quorum",
    "reassignments",
    "versions",
    "registrations",
    "certificates",
    "follower_lag",
    "eligible_leaders",
    "tiered_storage",
    "transactions",
    "rebalances",
    "broker_configs",
    "group_configs",
    "client_quotas",
    "acls",
    "scram_users",
]
"""What is read of a Kafka cluster with a right of its own, and can be done without."""


class ClusterSettings(Section):
    """One Kafka cluster."""

    name: Name
    bootstrap_servers: str = Field(description="host:port, separated by commas")
    properties: dict[str, str | Secret] = Field(
        default={}, description="any property of librdkafka: security.protocol, sasl.…, ssl.…"
    )
    oauth_callback: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$",
        description="package.module:function that returns an OAUTHBEARER token and its expiry",
    )
    poll_interval_seconds: float | None = Field(
        default=None,
        ge=1,
        le=LONGEST_INTERVAL_SECONDS,
        description="overrides collectors.poll_interval_seconds",
    )
    request_timeout_seconds: float = Field(
        default=5.0, ge=0.5, le=300, description="how long one request may wait for an answer"
    )
    topics: Selection = Selection()
    groups: GroupSelection = GroupSelection()
    switched_off: list[Feature] = Field(
        default=[], description="what is not read, where the right to it is missing on purpose"
    )
    dead_letters: DeadLetterSettings = DeadLetterSettings()
    time_lag: TimeLagSettings = TimeLagSettings()
    commit_log: bool = Field(
        default=True,
        description="follow __consumer_offsets for the time of each commit, where READ is granted",
    )

    @field_validator("bootstrap_servers", mode="before")
    @classmethod
    def _host_and_port(cls, value: Any) -> Any:
        servers = value.split(",") if isinstance(value, str) else value
        if not isinstance(servers, list) or not all(map(_is_host_and_port, servers)):
            raise ValueError("each server must read host:port, for example kafka-1:9092")
        return ",".join(server.strip() for server in servers)

    @field_validator("properties", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {str(key): _property(str(key), item) for key, item in value.items()}

    def librdkafka(self) -> dict[str, str]:
        """Return all properties for a client of librdkafka, secrets in the clear.

        Hand it to a client at once: it must reach no log, no row and no message.
        """
        plain = {
            key: item.get_secret_value() if isinstance(item, SecretStr) else item
            for key, item in self.properties.items()
        }
        return {"client.id": "headroom", **plain, "bootstrap.servers": self.bootstrap_servers}


def _is_host_and_port(server: Any) -> bool:
    # Only texts are looked at: writing out a list of lists of aliases may never end.
    match = _HOST_PORT.match(server.strip()) if isinstance(server, str) else None
    return match is not None and 0 < int(match.group(2)) < 65536


def _property(key: str, value: Any) -> str | SecretStr:
    if key == "bootstrap.servers":
        raise ValueError("bootstrap.servers: write bootstrap_servers beside the cluster's name")
    try:
        if isinstance(value, dict) or SECRET_PROPERTY.search(key):
            secret = resolve_secret(value)
            return secret if key.endswith(".pem") else one_line(secret)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"{key}: must be a text, a number or a secret")


class LakeSettings(Section):
    """Where samples and history are kept."""

    uri: str = Field(
        default="headroom-data/lake",
        min_length=1,
        description="a folder (from the configuration's folder), or an object store's URL",
    )
    storage_options: dict[str, str | Secret] = Field(
        default={}, description="options of the object store, for example its endpoint and keys"
    )
    retention: RetentionSettings = RetentionSettings()

    @field_validator("uri")
    @classmethod
    def _no_credentials(cls, value: str) -> str:
        if "://" in value and ":" in value.partition("://")[2].partition("/")[0].rpartition("@")[0]:
            raise ValueError("credentials belong into storage_options, not into the URL")
        return value

    @field_validator("storage_options")
    @classmethod
    def _no_plain_secret(cls, value: dict[str, str | SecretStr]) -> dict[str, str | SecretStr]:
        check_options(value)
        return value

    @property
    def is_local(self) -> bool:
        """Whether the lake is a folder of this machine."""
        return "://" not in self.uri

    def plain_storage_options(self) -> dict[str, str]:
        """Return the object store's options with Headroom's defaults, secrets in the clear."""
        return object_store_options(self.uri, self.storage_options)


MetricNames = Literal["headroom", "kafka_exporter", "kminion"]
"""Headroom's own names for metrics, or those of another exporter."""


class ExporterSettings(Section):
    """``/metrics``, ``/healthz`` and ``/readyz`` of the polling service."""

    port: int | None = Field(default=None, ge=1, le=65535, description="none: nothing is served")
    address: str = Field(default="localhost", description="0.0.0.0 to serve other machines")
    token: Token | None = Field(default=None, description="bearer token that /metrics wants")
    mark_token: Token | None = Field(
        default=None, description="bearer token that POST /marks wants; none: it is not served"
    )
    names: list[MetricNames] = Field(
        default=["headroom"], description="whose names the metrics carry; several at once"
    )
    per_partition: list[MetricNames] = Field(
        default=["kafka_exporter", "kminion"],
        description="of these, whose series there are for each partition, not sums alone",
    )


class CollectorSettings(Section):
    """The polling service."""

    poll_interval_seconds: float = Field(default=15.0, ge=1, le=LONGEST_INTERVAL_SECONDS)
    exporter: ExporterSettings = ExporterSettings()


class SparkSettings(Section):
    """The history jobs."""

    master: str = Field(
        default="local[*]", pattern=r"^(local(\[.+\])?|spark://.+|yarn|k8s://.+|sc://.+)$"
    )
    trigger_seconds: float = Field(default=120.0, ge=1, le=3600)
    shuffle_partitions: int = Field(default=2, ge=1, le=10_000)
    driver_memory: str = Field(default="1g", pattern=r"^\d+[mgMG]$")
    late_after_seconds: float = Field(
        default=3600.0, ge=60, description="samples later than this are counted, not merged"
    )
    properties: dict[str, str] = Field(default={}, description="any further property of Spark")


class Settings(BaseSettings):
    """All settings; ``config.load`` reads them."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix="HEADROOM_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    clusters: list[ClusterSettings] = Field(min_length=1)
    connect: list[ConnectSettings] = []
    rabbitmq: list[RabbitMQSettings] = []
    prometheus: list[PrometheusSettings] = []
    ditto: list[DittoSettings] = []
    schema_registry: list[SchemaRegistrySettings] = []
    lake: LakeSettings = LakeSettings()
    collectors: CollectorSettings = CollectorSettings()
    spark: SparkSettings = SparkSettings()
    alerting: AlertingSettings = AlertingSettings()
    scaling: ScalingSettings = ScalingSettings()
    app: AppSettings = AppSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment override what the file says."""
        return env_settings, init_settings

    @property
    def integrations(self) -> Sequence[HttpSettings]:
        """Every source that is not a Kafka cluster."""
        return [
            *self.connect,
            *self.rabbitmq,
            *self.prometheus,
            *self.ditto,
            *self.schema_registry,
        ]

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [cluster.name for cluster in self.clusters]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"clusters: two clusters have the name {name}")
        taken = [(type(source).__name__, source.name) for source in self.integrations]
        for source in self.integrations:
            if taken.count((type(source).__name__, source.name)) > 1:
                raise ValueError(f"{source.name}: two sources of one kind have this name")
            if not isinstance(source, BesideKafkaSettings):
                if source.name in names:
                    raise ValueError(f"{source.name}: a Kafka cluster has this name, too")
            elif source.cluster is None and len(names) > 1:
                raise ValueError(f"{source.name}: say to which cluster it belongs (cluster: NAME)")
            elif source.cluster is not None and source.cluster not in names:
                raise ValueError(f"{source.name}: there is no cluster {source.cluster}")
        for query in self.scaling.spark_queries:
            if query.cluster not in names:
                raise ValueError(f"scaling: {query.name}: there is no cluster {query.cluster}")
        return self

    def cluster_of(self, source: HttpSettings) -> str:
        """Return the name that a source's samples carry: its Kafka cluster's, or its own."""
        if not isinstance(source, BesideKafkaSettings):
            return source.name
        return source.cluster or self.clusters[0].name

    def poll_interval_seconds(self, source: ClusterSettings | HttpSettings) -> float:
        """Return the cadence of ``source`` in seconds."""
        return source.poll_interval_seconds or self.collectors.poll_interval_seconds

    def cluster(self, name: str) -> ClusterSettings:
        """Return the cluster of that name."""
        for cluster in self.clusters:
            if cluster.name == name:
                return cluster
        raise KeyError(name)

    def relative_to(self, folder: Path) -> Settings:
        """Return the settings with paths that are written relative to ``folder``."""
        state = str((folder / Path(self.alerting.state).expanduser()).resolve())
        rules = self.alerting.rules
        alerting = self.alerting.model_copy(
            update={
                "state": state,
                "rules": None if rules is None else (folder / rules.expanduser()).resolve(),
            }
        )
        settings = self.model_copy(update={"alerting": alerting})
        if not self.lake.is_local:
            return settings
        path = (folder / Path(self.lake.uri).expanduser()).resolve()
        lake = self.lake.model_copy(update={"uri": str(path)})
        return settings.model_copy(update={"lake": lake})
