"""What exporters of Kafka metrics serve, as far as Headroom reads it: the shape of each rule set.

Each is of two brokers, and says the same in its own names: so many bytes a second, so many
partitions that are under-replicated. Series of single topics stand beside the totals.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One series of an exporter.

    Attributes:
        name: Its name.
        labels: Its labels as the exposition format writes them.
        value: Its value at the start.
        per_second: What it grows by.
    """

    name: str
    labels: str
    value: float
    per_second: float = 0.0

    def at(self, seconds: float) -> str:
        """Return the line that is served so many seconds after the start."""
        labels = f"{{{self.labels}}}" if self.labels else ""
        return f"{self.name}{labels} {self.value + self.per_second * seconds!r}"


BYTES_IN, MESSAGES_IN, REQUESTS, ISR_SHRINKS = 4000.0, 40.0, 12.0, 0.5
UNDER_REPLICATED = 3.0
HANDLER_IDLE, NETWORK_IDLE = 0.75, 0.5
PRODUCE_P99_SECONDS = 0.25
LOG_BYTES = 3_000_000.0
CONNECTIONS = (3.0, 4.0)  # of each network processor


def _kraft() -> list[Line]:
    """jmx_exporter's example kafka-kraft-3_0_0.yml; kafka-2_0_0.yml gives the same names."""
    server, network = "kafka_server", "kafka_network"
    return [
        Line(f"{server}_replicamanager_underreplicatedpartitions", "", UNDER_REPLICATED),
        Line(f"{server}_replicamanager_underminisrpartitioncount", "", 1),
        Line(f"{server}_replicamanager_isrshrinks_total", "", 10, ISR_SHRINKS),
        Line("kafka_controller_kafkacontroller_activecontrollercount", "", 1),
        Line("kafka_controller_kafkacontroller_offlinepartitionscount", "", 2),
        Line(f"{server}_brokertopicmetrics_bytesin_total", "", 1e9, BYTES_IN),
        Line(f"{server}_brokertopicmetrics_bytesin_total", 'topic="orders"', 1e8, BYTES_IN),
        Line(f"{server}_brokertopicmetrics_messagesin_total", "", 1e6, MESSAGES_IN),
        Line(f"{server}_brokertopicmetrics_messagesin_total", 'topic="orders"', 1, MESSAGES_IN),
        Line(
            f"{network}_requestmetrics_requests_total",
            'request="Produce",version="11"',
            5,
            REQUESTS / 2,
        ),
        Line(
            f"{network}_requestmetrics_requests_total",
            'request="Produce",version="12"',
            5,
            REQUESTS / 2,
        ),
        Line(f"{network}_requestmetrics_requests_total", 'request="Metadata",version="13"', 5, 1),
        Line(
            f"{network}_requestmetrics_totaltimems",
            'request="Produce",quantile="0.99"',
            PRODUCE_P99_SECONDS * 1000,
        ),
        Line(f"{network}_requestmetrics_totaltimems", 'request="Produce",quantile="0.50"', 4),
        Line(f"{network}_requestmetrics_totaltimems", 'request="Metadata",quantile="0.99"', 9),
        Line(f"{server}_kafkarequesthandlerpool_requesthandleravgidle_percent", "", HANDLER_IDLE),
        Line(f"{network}_socketserver_networkprocessoravgidlepercent", "", NETWORK_IDLE),
        Line("kafka_log_log_size", 'topic="orders",partition="0"', LOG_BYTES / 3),
        Line("kafka_log_log_size", 'topic="orders",partition="1"', LOG_BYTES * 2 / 3),
        Line("kafka_cluster_partition_underreplicated", 'topic="orders",partition="0"', 1),
    ]


def _strimzi() -> list[Line]:
    """Strimzi's rules: those of jmx_exporter, but every percentage is called one."""
    pod = 'namespace="kafka",strimzi_io_cluster="main"'
    lines = []
    for line in _kraft():
        name = line.name.replace(
            "networkprocessoravgidlepercent", "networkprocessoravgidle_percent"
        )
        labels = f"{pod},{line.labels}" if line.labels else pod
        lines.append(Line(name, labels, line.value, line.per_second))
    software = "kafka_server_socket_server_metrics_connections_software"
    client = 'clientSoftwareName="apache-kafka-java",clientSoftwareVersion="3.9.0"'
    for processor, connections in enumerate(CONNECTIONS):
        where = f'listener="PLAIN-9092",networkProcessor="{processor}"'
        lines.append(Line(software, f"{pod},{client},{where}", connections))
    return lines


def _confluent() -> list[Line]:
    """Confluent's rules: counts under the meter's whole name."""
    names = {
        "isrshrinks_total": "isrshrinkspersec",
        "bytesin_total": "bytesinpersec",
        "messagesin_total": "messagesinpersec",
        "requests_total": "requestspersec",
        "requesthandleravgidle_percent": "requesthandleravgidlepercent_total",
    }
    lines = []
    for line in _kraft():
        name = line.name
        for short, whole in names.items():
            name = name.replace(short, whole)
        lines.append(Line(name, line.labels, line.value, line.per_second))
    handler = "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent"
    return [*lines, Line(handler, "", 8.1e14, 1e9)]  # the meter's count: nanoseconds


def _msk() -> list[Line]:
    """An agent without rules, as on Amazon MSK: the attribute's name, the MBean's in a label."""

    def line(path: str, name: str, value: float, rate: float = 0.0, more: str = "") -> Line:
        return Line(f"kafka_{path}", f'name="{name}"{more}', value, rate)

    produce, version = ',request="Produce"', ',version="11"'
    orders = ',topic="orders"'
    return [
        line("server_ReplicaManager_Value", "UnderReplicatedPartitions", UNDER_REPLICATED),
        line("server_ReplicaManager_Value", "UnderMinIsrPartitionCount", 1),
        line("server_ReplicaManager_Count", "IsrShrinksPerSec", 10, ISR_SHRINKS),
        line("controller_KafkaController_Value", "ActiveControllerCount", 1),
        line("controller_KafkaController_Value", "OfflinePartitionsCount", 2),
        line("server_BrokerTopicMetrics_Count", "BytesInPerSec", 1e9, BYTES_IN),
        line("server_BrokerTopicMetrics_Count", "BytesInPerSec", 1e8, BYTES_IN, orders),
        line("server_BrokerTopicMetrics_OneMinuteRate", "BytesInPerSec", 77),
        line("server_BrokerTopicMetrics_Count", "MessagesInPerSec", 1e6, MESSAGES_IN),
        line("server_BrokerTopicMetrics_Count", "MessagesInPerSec", 9, MESSAGES_IN, orders),
        line("network_RequestMetrics_Count", "RequestsPerSec", 5, REQUESTS, produce + version),
        line(
            "network_RequestMetrics_99thPercentile",
            "TotalTimeMs",
            PRODUCE_P99_SECONDS * 1000,
            more=produce,
        ),
        line("network_RequestMetrics_50thPercentile", "TotalTimeMs", 4, more=produce),
        line(
            "server_KafkaRequestHandlerPool_OneMinuteRate",
            "RequestHandlerAvgIdlePercent",
            HANDLER_IDLE,
        ),
        line("network_SocketServer_Value", "NetworkProcessorAvgIdlePercent", NETWORK_IDLE),
        line("log_Log_Value", "Size", LOG_BYTES, more=orders + ',partition="0"'),
    ]


RULE_SETS: dict[str, list[Line]] = {
    "kraft": _kraft(),
    "strimzi": _strimzi(),
    "confluent": _confluent(),
    "msk": _msk(),
}
"""Rule set of a JMX exporter: what it serves for each broker."""

KAFKA_EXPORTER = [
    Line("kafka_brokers", "", 3),
    Line("kafka_topic_partition_current_offset", 'topic="orders",partition="0"', 1000, 10),
    Line("kafka_topic_partition_current_offset", 'topic="orders",partition="1"', 2000, 30),
    Line("kafka_topic_partition_under_replicated_partition", 'topic="orders",partition="0"', 1),
    Line("kafka_topic_partition_under_replicated_partition", 'topic="orders",partition="1"', 0),
    Line("kafka_consumergroup_current_offset", 'consumergroup="g",topic="orders",partition="0"', 1),
]
KMINION = [
    Line("kminion_kafka_broker_info", 'broker_id="1",is_controller="true"', 1),
    Line("kminion_kafka_broker_info", 'broker_id="2",is_controller="false"', 1),
    Line("kminion_kafka_broker_log_dir_size_total_bytes", 'broker_id="1"', LOG_BYTES),
    Line("kminion_kafka_broker_log_dir_size_total_bytes", 'broker_id="2"', LOG_BYTES),
    Line("kminion_kafka_topic_high_water_mark_sum", 'topic_name="orders"', 1000, 40),
]
CONFLUENT_CLOUD = [
    Line("confluent_kafka_server_received_bytes", 'kafka_id="lkc-1",topic="orders"', 6000),
    Line("confluent_kafka_server_received_bytes", 'kafka_id="lkc-1",topic="billing"', 600),
    Line("confluent_kafka_server_retained_bytes", 'kafka_id="lkc-1",topic="orders"', LOG_BYTES),
]
NODE_EXPORTER = [
    Line("node_filesystem_size_bytes", 'mountpoint="/data"', 100e9),
    Line("node_filesystem_avail_bytes", 'mountpoint="/data"', 60e9),
    Line("node_filesystem_size_bytes", 'mountpoint="/"', 5e9),
]
