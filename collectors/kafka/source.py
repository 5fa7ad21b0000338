"""A Kafka cluster as a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import polars as pl

from collectors.kafka.checks import run_checks
from collectors.kafka.cluster.changes import ClusterView
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.settings_reads import Found
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.poll.reads import PollView
from collectors.kafka.poll.state import Memory
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.sections.registry import SECTIONS
from collectors.kafka.sections.topics import VALUE_LENGTH
from collectors.kafka.time_lag.recall import recalled_times
from collectors.kafka.time_lag.timeline import CAPACITY
from collectors.source.model import Check, Recall, SectionResult
from collectors.source.section import run_collector
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings, Settings

# Of the cadence: what a poll may take, and what a single request of it may.
_POLL_FRACTION = 0.8
_REQUEST_FRACTION = 0.3
_NAMES = 200_000
REBALANCES_TOLD = timedelta(hours=1)
"""How old a rebalance may be that a first start tells: no older ones are recalled."""


class KafkaSource:
    """Polls one Kafka cluster. For one thread."""

    name = "kafka"
    recalls = (
        Recall(table="brokers"),
        Recall(table="groups"),
        Recall(table="group_offsets"),
        Recall(table="cluster_settings"),
        Recall(table="rebalances"),
        Recall(table="topics", each=("topic",), columns=("configs",)),
        Recall(
            table="partitions",
            polls=CAPACITY,
            columns=("topic", "partition", "topic_id", "log_end"),
        ),
    )

    def __init__(
        self, settings: ClusterSettings, interval_seconds: float, shared: SharedFacts
    ) -> None:
        self._settings = settings
        self.cluster = settings.name
        self.interval_seconds = interval_seconds
        self._shared = shared
        self._connections = validate(settings)
        self._wire = self._connect()
        # A poll asks for every name.
        remembered = lru_cache(_NAMES)
        self._selects = (
            remembered(settings.topics.selects),
            remembered(settings.groups.selects),
        )
        self._memory = Memory()
        self._polled = False

    @property
    def cluster_id(self) -> str | None:
        """Kafka's own id of the cluster, once it was read."""
        return self._memory.cluster_id

    @property
    def controller(self) -> int | None:
        """Node id of the controller, once it was read."""
        return self._memory.controller

    def remember(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Take over brokers and groups of the last poll before a restart.

        Without that, a broker that is missing and a group whose coordinator is lost at the time
        of the restart would be unheard of instead of missing and unknown.
        """
        memory = self._memory
        if "brokers" in tables:
            places = tables["brokers"].drop_nulls(["host", "port"])
            for row in places.select("broker_id", "host", "port", "rack").iter_rows(named=True):
                memory.brokers.setdefault(row["broker_id"], Broker(**row))
            memory.seen = _seen(tables["brokers"])
        if "cluster_settings" in tables:
            memory.settings.found = memory.settings.seen = _settings(tables["cluster_settings"])
        if "topics" in tables:
            memory.configs_seen = _topic_configs(tables["topics"])
        if "groups" in tables:
            memory.states = {
                group: (state, since)
                for group, state, since in tables["groups"]
                .select("group", "state", "state_since")
                .iter_rows()
            }
            memory.groups = {
                group: GroupRef(group=group, type=type_ or "classic", protocol_type="")
                for group, type_ in tables["groups"].select("group", "type").iter_rows()
            }
        if "rebalances" in tables:
            memory.rebalances_since = tables["rebalances"]["rebalanced_at"].max()  # type: ignore[assignment]  # a time: Polars cannot say so
        if "group_offsets" in tables:
            rows = tables["group_offsets"]
            memory.group_partitions = rows.select("group", "topic", "partition")
            if "partitions" in tables:
                memory.times = recalled_times(tables["partitions"], rows)

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        """Read everything once; one result a section, as soon as it is known.

        From the second poll on the log of commits is followed beside: one poll alone would end
        before that log has been read.
        """
        if self._polled and self._settings.commit_log and self._memory.commit_log is None:
            self._memory.commit_log = CommitLog(
                self.cluster,
                self._connect,
                self._settings.request_timeout_seconds,
                since=self._memory.rebalances_since or now - REBALANCES_TOLD,
            )
        self._polled = True
        view = self.view(now)
        for name, section in SECTIONS.items():
            yield run_collector(name, section, view, self._settings, now)

    def view(self, now: datetime) -> PollView:
        """Begin a poll without collecting any section."""
        self._wire.begin_poll()
        self._memory.follow_clock(now)
        deadline = Deadline(
            self.interval_seconds * _POLL_FRACTION,
            min(self._settings.request_timeout_seconds, self.interval_seconds * _REQUEST_FRACTION),
        )
        return PollView(
            self._wire,
            self._settings,
            self._selects,
            self._memory,
            now,
            deadline,
            self._shared,
        )

    def check(self) -> Sequence[Check]:
        """Try each feature once."""
        return run_checks(self.view(datetime.now(UTC)))

    def close(self) -> None:
        """Give up all connections."""
        if self._memory.commit_log is not None:
            self._memory.commit_log.close()
        self._wire.close()

    def _connect(self) -> Wire:
        client_id = self._settings.librdkafka()["client.id"]
        return Wire(self._settings.bootstrap_servers, self._connections, client_id)


def _seen(brokers: pl.DataFrame) -> ClusterView:
    """Return what the last poll before a restart saw of brokers and controller."""
    controller = brokers.filter("is_controller")["broker_id"]
    return ClusterView(
        controller=int(controller[0]) if controller.len() else None,
        brokers={
            broker: f"{host}:{port}"
            for broker, host, port in brokers.select("broker_id", "host", "port").iter_rows()
        },
        alive=frozenset(brokers.filter("is_alive")["broker_id"]),
    )


def _settings(rows: pl.DataFrame) -> dict[str, Found]:
    """Return what administrators had set at the last poll before a restart."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for kind, subject, entries in rows.select("kind", "subject", "settings").iter_rows():
        known = found.setdefault(kind, {})
        if subject is not None:
            known[subject] = {entry["key"]: entry["value"] for entry in entries or ()}
    unknown = rows.filter(pl.col("unknown_reason").is_not_null())["kind"]
    return {kind: subjects for kind, subjects in found.items() if subjects or kind not in unknown}


def _topic_configs(rows: pl.DataFrame) -> dict[str, TopicConfig]:
    """Return what was set on topics before a restart; nothing of one with a value that was cut."""
    known = rows.drop_nulls("configs").select("topic", "configs").iter_rows()
    return {
        topic: {entry["key"]: (entry["value"], True) for entry in entries}
        for topic, entries in known
        if all(len(entry["value"]) < VALUE_LENGTH for entry in entries)
    }


def kafka_sources(settings: Settings, shared: SharedFacts) -> Iterator[KafkaSource]:
    """Make a source of each Kafka cluster in the settings."""
    for each in settings.clusters:
        yield KafkaSource(each, settings.poll_interval_seconds(each), shared)
