"""The samples of what stands beside Kafka: Connect, RabbitMQ, Ditto, registries, Prometheus."""

from __future__ import annotations

from lake.schemas.bronze import samples

CONNECTORS = samples(
    "connectors",
    ("connect", "connector"),
    collected_by=("connect",),
    connect="string",  # the Connect cluster
    connector="string",
    type="string",  # source, sink
    kind="string",  # plain, mirror, debezium, …
    class_name="string",
    state="string",
    worker="string",
    tasks_expected="int",  # tasks.max
    tasks="int",
    tasks_running="int",
    tasks_failed="int",
    error="string",  # the first line of its trace
    topics="list<string>",  # of a sink; null where a regular expression tells them
    group="string",  # of a sink
    dead_letter_topic="string",
    dead_letter_headers="boolean",
    errors_tolerance="string",
    unknown_reason="string",
)

CONNECTOR_TASKS = samples(
    "connector_tasks",
    ("connect", "connector", "task"),
    collected_by=(),  # the section ``connectors`` writes it
    connect="string",
    connector="string",
    task="int",
    state="string",
    worker="string",
    error_class="string",
    cause_class="string",  # of the exception at the bottom, where it is another
    error="string",
)

MIRROR_OFFSETS = samples(
    "mirror_offsets",
    ("connect", "connector", "topic", "partition"),
    collected_by=(),  # the section ``mirrors`` writes it
    connect="string",
    connector="string",
    source_cluster="string",  # its alias
    topic="string",
    partition="int",
    replicated="long",  # the next offset of the source that MirrorMaker 2 will copy
    source_log_end="long",
    lag="long",
    unknown_reason="string",
)

QUEUES = samples(
    "queues",
    ("vhost", "queue"),
    collected_by=("rabbitmq",),
    vhost="string",
    queue="string",
    type="string",  # classic, quorum, stream
    kind="string",  # plain, dead letter, retry, stream
    state="string",
    node="string",
    ready="long",
    unacknowledged="long",
    publish_per_second="double",
    deliver_per_second="double",
    ack_per_second="double",
    redeliver_per_second="double",
    consumers="int",
    consumer_capacity="double",
    oldest_at="timestamp",
    memory_bytes="long",
    message_bytes="long",
    dead_letter_exchange="string",
    dead_letter_routing_key="string",
    dead_letter_queues="list<string>",
    dead_letter_target_missing="boolean",
    delivery_limit="int",
    message_ttl_seconds="double",
    policy="string",
    unknown_reason="string",
)

BROKER_METRICS = samples(
    "broker_metrics",
    ("metric", "broker", "labels"),
    collected_by=("prometheus",),
    prometheus="string",  # the Prometheus server
    metric="string",  # canonical name
    broker="string",  # null: the cluster's as a whole
    labels="map<string,string>",
    value="double",
    is_backfilled="boolean",
    unknown_reason="string",
)

DITTO_CONNECTIONS = samples(
    "ditto_connections",
    ("ditto", "connection"),
    collected_by=("ditto",),
    ditto="string",
    connection="string",
    name="string",
    type="string",
    desired_status="string",
    live_status="string",
    recovery_status="string",
    connected_since="timestamp",
    status_details="string",
    clients="int",  # as configured
    clients_open="int",
    consumers="int",  # of all clients and sources, as configured
    sources_failed="int",
    targets_failed="int",
    group="string",
    topics="list<string>",
    qos="int",
    consumed_minute="long",  # of the last minute, a window that moves: never added up
    dropped_minute="long",
    failed_minute="long",
    published_minute="long",
    unknown_reason="string",
)

SCHEMA_REGISTRIES = samples(
    "schema_registries",
    ("schema_registry",),
    collected_by=("schema_registry",),
    schema_registry="string",
    subjects="int",
    subjects_unknown="int",  # of which the newest version is not known
    deleted_subjects="int",  # deleted softly: they can be had back
    compatibility="string",  # of subjects without a level of their own
    mode="string",
    unknown_reason="string",
)

SCHEMA_SUBJECTS = samples(
    "schema_subjects",
    ("schema_registry", "subject"),
    collected_by=(),  # the section ``schema_registries`` writes it
    schema_registry="string",
    subject="string",
    topic="string",  # by TopicNameStrategy; null: the name tells of none
    version="int",  # the newest one
    schema_id="int",
    schema_type="string",  # AVRO, JSON, PROTOBUF
    compatibility="string",
    compatibility_is_own="boolean",  # false: the registry's; null: unknown
    mode="string",
    is_deleted="boolean",
    read_at="timestamp",
    unknown_reason="string",
)
