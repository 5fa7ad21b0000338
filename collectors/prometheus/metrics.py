"""Canonical names of broker metrics, and what the common exporters call them.

A metric of a Kafka broker is an MBean, ``kafka.<domain>:type=<type>,name=<name>``; every set of
rules for jmx_exporter makes another name of it. Told apart here:

- jmx_exporter's examples ``kafka-2_0_0.yml`` and ``kafka-kraft-3_0_0.yml``, and Strimzi's rules,
  which come from them: ``kafka_server_brokertopicmetrics_bytesin_total``, in lower case or not
- Confluent's jmx-monitoring-stacks: ``kafka_server_brokertopicmetrics_bytesinpersec``
- Amazon MSK, and any agent without rules: ``kafka_server_BrokerTopicMetrics_Count`` with the
  label ``name="BytesInPerSec"``
- kafka_exporter, KMinion, and Confluent Cloud's metrics API, which know clusters and no brokers

Series of single topics stand beside the totals under the same name: only those without a topic
are totals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Scope = Literal["brokers", "exporter", "disks"]
"""Whose labels (in the settings) an alias's series carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """One name of a metric.

    Attributes:
        matchers: Label: the value that it must have, where the name alone does not tell.
        is_counter: Whether it only grows: its rate is asked for.
        scale: What its values are multiplied with to have the canonical unit.
        scope: Whose series they are.
        by_topic: Whether there are series of topics only, which are added up.
        broker: The label that names the broker; "" for the one of the settings; None where the
            series are about the cluster as a whole.
        constants: Labels that the name implies.
        at_most: Larger values are something else under the same name.
        each: Labels that tell one thing that is counted from another, where two instances of an
            exporter may tell the same.
    """

    name: str
    matchers: tuple[tuple[str, str], ...] = ()
    is_counter: bool = False
    scale: float = 1.0
    scope: Scope = "brokers"
    by_topic: bool = False
    broker: str | None = ""
    constants: tuple[tuple[str, str], ...] = ()
    at_most: float | None = None
    each: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A canonical metric.

    Attributes:
        aliases: Its names in Prometheus, the best first: of each broker, the first that has a
            value is taken, so that nothing counts twice.
        how: How several series of one broker become one value: sum, max, avg.
    """

    name: str
    aliases: tuple[Alias, ...]
    how: str = "sum"
    labels: tuple[str, ...] = field(default=())


_PARTITION = ("topic", "partition")


def _camel(domain: str, type_: str, name: str) -> str:
    return f"kafka_{domain}_{type_}_{name}"


def _attribute(
    domain: str, type_: str, name: str, attribute: str, **options: object
) -> list[Alias]:
    """Return what an agent without rules calls an attribute of an MBean."""
    camel = f"kafka_{domain}_{type_}_{attribute}"
    matchers = (("name", name),)
    return [Alias(name=each, matchers=matchers, **options) for each in (camel, camel.lower())]  # type: ignore[arg-type]


def _gauge(domain: str, type_: str, name: str) -> tuple[Alias, ...]:
    camel = _camel(domain, type_, name)
    names = (camel.lower(), camel, f"{camel.lower()}_value", f"{camel}_Value")
    return (*(Alias(name=each) for each in names), *_attribute(domain, type_, name, "Value"))


def _meter(domain: str, type_: str, name: str) -> tuple[Alias, ...]:
    """Return the names of a meter ``<name>PerSec``: its count, or its own one-minute rate."""
    short, whole = _camel(domain, type_, name), _camel(domain, type_, f"{name}PerSec")
    counts = (
        f"{short.lower()}_total",
        f"{short}_total",
        f"{whole.lower()}_total",
        f"{whole.lower()}_count",
        f"{whole}_Count",
        f"{short}_Count",
        whole.lower(),
    )
    rates = (
        f"{whole.lower()}_oneminuterate",
        f"{whole}_OneMinuteRate",
        f"{whole.lower()}_oneminuterate_alltopics",
    )
    return (
        *(Alias(name=each, is_counter=True) for each in counts),
        *_attribute(domain, type_, f"{name}PerSec", "Count", is_counter=True),
        *(Alias(name=each) for each in rates),
        *_attribute(domain, type_, f"{name}PerSec", "OneMinuteRate"),
    )


def _idle(domain: str, type_: str, name: str) -> tuple[Alias, ...]:
    """Return the names of ``<name>Percent``, which is a ratio in spite of it."""
    short, whole = _camel(domain, type_, name).lower(), _camel(domain, type_, f"{name}Percent")
    # Confluent's rules give the meter's count, in nanoseconds, the name that the gauge has
    # elsewhere, and put the gauge under "_total".
    names = (
        f"{short}_percent",
        f"{whole.lower()}_total",
        f"{whole.lower()}_oneminuterate",
        whole.lower(),
        whole,
    )
    return (
        *(Alias(name=each, at_most=2.0) for each in names),
        *_attribute(domain, type_, f"{name}Percent", "OneMinuteRate", at_most=2.0),
        *_attribute(domain, type_, f"{name}Percent", "Value", at_most=2.0),
    )


_PERCENTILES = {"50th": "0.5", "95th": "0.95", "99th": "0.99", "999th": "0.999"}


def _milliseconds(domain: str, type_: str, name: str) -> tuple[Alias, ...]:
    """Return the names of a histogram's quantiles, in seconds."""
    camel = _camel(domain, type_, name)
    return (
        *(Alias(name=each, scale=0.001) for each in (camel.lower(), camel)),
        *(
            alias
            for percentile, quantile in _PERCENTILES.items()
            for alias in _attribute(
                domain,
                type_,
                name,
                f"{percentile}Percentile",
                scale=0.001,
                constants=(("quantile", quantile),),
            )
        ),
    )


def _exporter(name: str, **options: object) -> Alias:
    """Return a name that is about a whole cluster."""
    return Alias(name=name, **{"scope": "exporter", "broker": None, **options})  # type: ignore[arg-type]


def _confluent_cloud(name: str, *, is_delta: bool = False) -> Alias:
    """Return a name of Confluent Cloud, whose deltas are those of a minute."""
    return _exporter(
        f"confluent_kafka_server_{name}", each=("topic",), scale=1 / 60 if is_delta else 1.0
    )


def _topic_meter(name: str, *more: Alias) -> tuple[Alias, ...]:
    return (*_meter("server", "BrokerTopicMetrics", name), *more)


_REPLICA_MANAGER = {
    "under_min_isr_partitions": "UnderMinIsrPartitionCount",
    "offline_replicas": "OfflineReplicaCount",
    "partitions": "PartitionCount",
    "leaders": "LeaderCount",
    "reassigning_partitions": "ReassigningPartitions",
    "late_transaction_partitions": "PartitionsWithLateTransactionsCount",
}
_CONTROLLER = {  # what a controller knows; take the largest
    "offline_partitions": "OfflinePartitionsCount",
    "fenced_brokers": "FencedBrokerCount",
    "preferred_replica_imbalance": "PreferredReplicaImbalanceCount",
}

METRICS: tuple[Metric, ...] = (
    *(
        Metric(name=name, aliases=_gauge("server", "ReplicaManager", bean))
        for name, bean in _REPLICA_MANAGER.items()
    ),
    *(
        Metric(name=name, aliases=_gauge("controller", "KafkaController", bean), how="max")
        for name, bean in _CONTROLLER.items()
    ),
    Metric(
        name="under_replicated_partitions",  # of those that the broker leads: add brokers up
        aliases=(
            *_gauge("server", "ReplicaManager", "UnderReplicatedPartitions"),
            _exporter("kafka_topic_partition_under_replicated_partition", each=_PARTITION),
        ),
    ),
    Metric(
        name="offline_log_directories",
        aliases=_gauge("log", "LogManager", "OfflineLogDirectoryCount"),
    ),
    Metric(  # 1 over all brokers together
        name="active_controllers",
        aliases=(
            *_gauge("controller", "KafkaController", "ActiveControllerCount"),
            _exporter(
                "kminion_kafka_broker_info",
                matchers=(("is_controller", "true"),),
                each=("broker_id",),
            ),
        ),
    ),
    Metric(
        name="brokers",
        aliases=(
            *_gauge("controller", "KafkaController", "ActiveBrokerCount"),
            _exporter("kafka_brokers", each=("job",)),
            _exporter("kminion_kafka_broker_info", each=("broker_id",)),
        ),
    ),
    Metric(name="isr_shrinks_per_second", aliases=_meter("server", "ReplicaManager", "IsrShrinks")),
    Metric(name="isr_expands_per_second", aliases=_meter("server", "ReplicaManager", "IsrExpands")),
    Metric(
        name="unclean_elections_per_second",
        aliases=_meter("controller", "ControllerStats", "UncleanLeaderElections"),
    ),
    Metric(
        name="bytes_in_per_second",
        aliases=_topic_meter("BytesIn", _confluent_cloud("received_bytes", is_delta=True)),
    ),
    Metric(
        name="bytes_out_per_second",
        aliases=_topic_meter("BytesOut", _confluent_cloud("sent_bytes", is_delta=True)),
    ),
    Metric(
        name="messages_in_per_second",
        aliases=_topic_meter(
            "MessagesIn",
            _confluent_cloud("received_records", is_delta=True),
            _exporter("kafka_topic_partition_current_offset", is_counter=True, each=_PARTITION),
            _exporter(
                "kminion_kafka_topic_high_water_mark_sum", is_counter=True, each=("topic_name",)
            ),
        ),
    ),
    Metric(name="replication_bytes_in_per_second", aliases=_topic_meter("ReplicationBytesIn")),
    Metric(name="replication_bytes_out_per_second", aliases=_topic_meter("ReplicationBytesOut")),
    Metric(
        name="failed_produce_requests_per_second", aliases=_topic_meter("FailedProduceRequests")
    ),
    Metric(name="failed_fetch_requests_per_second", aliases=_topic_meter("FailedFetchRequests")),
    Metric(
        name="requests_per_second",
        aliases=_meter("network", "RequestMetrics", "Requests"),
        labels=("request",),
    ),
    Metric(
        name="request_time_seconds",
        aliases=_milliseconds("network", "RequestMetrics", "TotalTimeMs"),
        how="max",
        labels=("request", "quantile"),
    ),
    Metric(
        name="request_queue_length", aliases=_gauge("network", "RequestChannel", "RequestQueueSize")
    ),
    Metric(
        name="request_handler_idle_ratio",
        aliases=_idle("server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdle"),
        how="avg",
    ),
    Metric(
        name="network_idle_ratio",
        aliases=_idle("network", "SocketServer", "NetworkProcessorAvgIdle"),
        how="avg",
    ),
    Metric(  # by what clients say of themselves; by Strimzi's rules
        name="client_connections",
        aliases=(Alias(name="kafka_server_socket_server_metrics_connections_software"),),
        labels=("clientSoftwareName", "clientSoftwareVersion"),
    ),
    Metric(
        name="log_bytes",
        aliases=(
            Alias(name="kafka_log_log_size", by_topic=True),
            Alias(name="kafka_log_Log_Size", by_topic=True),
            *_attribute("log", "Log", "Size", "Value", by_topic=True),
            _exporter(
                "kminion_kafka_broker_log_dir_size_total_bytes",
                broker="broker_id",
                each=("broker_id",),
            ),
            _confluent_cloud("retained_bytes"),
        ),
    ),
    Metric(
        name="disk_total_bytes",
        aliases=(
            Alias(name="node_filesystem_size_bytes", scope="disks"),
            Alias(name="kubelet_volume_stats_capacity_bytes", scope="disks"),
        ),
        how="max",
        labels=("mountpoint", "persistentvolumeclaim"),
    ),
    Metric(
        name="disk_free_bytes",
        aliases=(
            Alias(name="node_filesystem_avail_bytes", scope="disks"),
            Alias(name="kubelet_volume_stats_available_bytes", scope="disks"),
        ),
        how="max",
        labels=("mountpoint", "persistentvolumeclaim"),
    ),
)
"""Every metric that is looked for."""

REQUESTS = ("Produce", "FetchConsumer", "FetchFollower", "Fetch")
"""Of the request metrics, those whose latency an application feels."""

QUANTILES = ("0.5", "0.50", "0.95", "0.99", "0.999")

NAME_PATTERNS: dict[Scope, str] = {
    "brokers": "kafka_(server|controller|network|log)_.+",
    "exporter": "kafka_brokers|kafka_topic_partition_.+|kafka_consumergroup_.+"
    "|kminion_kafka_.+|confluent_kafka_server_.+",
    "disks": "node_filesystem_(size|avail)_bytes|kubelet_volume_stats_(capacity|available)_bytes",
}
"""Whose series: what the names of all of them match."""
