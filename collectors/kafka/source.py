"""A Kafka cluster as a source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import polars as pl

from collectors.kafka.checks import run_checks
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.cluster_settings import TOGETHER_SECONDS
from collectors.kafka.poll.group_lags import GROUP_PARTITION
from collectors.kafka.poll.memory import Memory
from collectors.kafka.poll.read_cluster import Selection, read_cluster
from collectors.kafka.poll.recall import recalled
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.protocol.transport.throttling import Throttling
from collectors.kafka.sections.registry import SECTIONS
from collectors.kafka.time_lag.recall import recalled_times
from collectors.kafka.time_lag.timelines import CAPACITY
from collectors.source.model import Check, Recall, SectionResult
from collectors.source.section import run_collector
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings, Settings

# Of the cadence: what a poll may take, and what a single request of it may.
_POLL_FRACTION = 0.8
_REQUEST_FRACTION = 0.3
# Of a check, which opens every connection and has no poll behind it.
_CHECK_SECONDS = 120.0
_CHECK_REQUEST_SECONDS = 15.0
_NAMES = 200_000
REBALANCES_TOLD = timedelta(hours=1)
"""How old a rebalance may be that a first start tells: no older ones are recalled."""


class KafkaSource:
    """Polls one Kafka cluster. For one thread."""

    name = "kafka"
    recalls = (
        Recall(table="brokers"),
        Recall(table="groups"),
        Recall(table="group_offsets", columns=tuple(GROUP_PARTITION)),
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
        self._throttling = Throttling()
        self._wire = self._connect()
        # A poll asks for every name.
        remembered = lru_cache(_NAMES)
        self._selection = Selection(
            topic=remembered(settings.topics.selects), group=remembered(settings.groups.selects)
        )
        self._memory = Memory()
        self._rebalances_since: datetime | None = None
        self._cluster_id: str | None = None
        self._controller: int | None = None
        self._polled = False

    @property
    def cluster_id(self) -> str | None:
        """Kafka's own id of the cluster, once it was read."""
        return self._cluster_id

    @property
    def controller(self) -> int | None:
        """Node id of the controller, once it was read."""
        return self._controller

    def remember(
        self, tables: Mapping[str, pl.DataFrame], polls: Iterable[pl.DataFrame] = ()
    ) -> None:
        """Take over what the last polls before a restart saw.

        Without that, a broker that is missing and a group whose coordinator is lost at the time
        of the restart would be unheard of instead of missing and unknown.
        """
        self._memory = recalled(tables)
        if "rebalances" in tables:
            self._rebalances_since = tables["rebalances"]["rebalanced_at"].max()  # type: ignore[assignment]  # a time: Polars cannot say so
        self._memory.time_lags = recalled_times(polls)

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        """Read everything once; then one result a section.

        From the second poll on the log of commits is followed beside: one poll alone would end
        before that log has been read.
        """
        if self._polled and self._settings.commit_log and not self._memory.commit_times.is_followed:
            self._memory.commit_times.follow(
                CommitLog(
                    self.cluster,
                    self._connect,
                    self._settings.request_timeout_seconds,
                    since=self._rebalances_since or now - REBALANCES_TOLD,
                )
            )
        self._polled = True
        reads = self._read(now, self._deadline())
        for name, section in SECTIONS.items():
            yield run_collector(
                name, section.collect, reads, self._settings, now, reads.seconds(section.reads)
            )

    def check(self) -> Sequence[Check]:
        """Try each feature once."""
        deadline = Deadline(_CHECK_SECONDS, _CHECK_REQUEST_SECONDS)
        reads = self._read(datetime.now(UTC), deadline, settings_seconds=math.inf)
        return run_checks(reads, self._settings, self._wire, deadline)

    def close(self) -> None:
        """Give up all connections."""
        self._memory.commit_times.close()
        self._wire.close()

    def _read(
        self, now: datetime, deadline: Deadline, *, settings_seconds: float = TOGETHER_SECONDS
    ) -> ClusterReads:
        self._wire.begin_poll()
        self._memory.follow_clock(now)
        context = PollContext(wire=self._wire, deadline=deadline, now=now)
        reads = read_cluster(
            context,
            self._settings,
            self._selection,
            self._memory,
            self._shared,
            settings_seconds,
        )
        if reads.metadata.found is not None:
            self._cluster_id = reads.metadata.found.cluster_id
            self._controller = reads.controller.found
        return reads

    def _deadline(self) -> Deadline:
        return Deadline(
            self.interval_seconds * _POLL_FRACTION,
            min(self._settings.request_timeout_seconds, self.interval_seconds * _REQUEST_FRACTION),
        )

    def _connect(self) -> Wire:
        client_id = self._settings.librdkafka()["client.id"]
        return Wire(
            self._settings.bootstrap_servers, self._connections, client_id, self._throttling
        )


def kafka_sources(settings: Settings, shared: SharedFacts) -> Iterator[KafkaSource]:
    """Make a source of each Kafka cluster in the settings."""
    for each in settings.clusters:
        yield KafkaSource(each, settings.poll_interval_seconds(each), shared)
