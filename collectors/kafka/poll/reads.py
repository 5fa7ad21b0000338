"""One poll of one cluster: reads that sections share, each done once, in the right order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Generic, TypeVar

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.cluster.broker_reads import (
    LogDirectories,
    Quorum,
    read_log_directories,
    read_quorum,
    read_reassignments,
)
from collectors.kafka.cluster.changes import compare_ends, ends_to_keep
from collectors.kafka.cluster.metadata import (
    Metadata,
    read_metadata,
    read_offsets,
    read_topic_configs,
)
from collectors.kafka.dead_letters.detection import MARKING_CONFIG, find_dead_letters
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.read import read_groups
from collectors.kafka.poll.state import Memory, TopicConfig
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.source.shared_state import Exchange, Sink
from config.settings import ClusterSettings
from lake.schemas.tables import LOG_DIRECTORIES, WRITTEN_EVERY_SECONDS

T = TypeVar("T")

CONFIGS_EVERY_SECONDS = 300.0


class once(Generic[T]):
    """A read that is done when a section first asks for it, and never twice in a poll.

    Where it fails, it fails with the same error for every section.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __get__(self, view: PollView, _: object = None) -> T:
        if self._read not in view.done:
            try:
                view.done[self._read] = self._read(view)
            except CollectorError as error:
                view.done[self._read] = error
        outcome = view.done[self._read]
        if isinstance(outcome, CollectorError):
            raise outcome
        return outcome  # type: ignore[return-value]  # what the read returned


class PollView:
    """What a section sees of the cluster in one poll.

    Attributes:
        problems: What went wrong so far in the section that is being collected; a section with
            problems is ``partial``.
    """

    def __init__(
        self,
        wire: Wire,
        settings: ClusterSettings,
        selects: tuple[Callable[[str], bool], Callable[[str], bool]],
        memory: Memory,
        now: datetime,
        deadline: Deadline,
        exchange: Exchange,
    ) -> None:
        self.wire = wire
        self.settings = settings
        self.memory = memory
        self.now = now
        self.deadline = deadline
        self.exchange = exchange
        self.problems: list[str] = []
        self._selects_topic, self._selects_group = selects
        self.done: dict[object, object] = {}

    @once
    def metadata(self) -> Metadata:
        """Brokers and partitions; all partitions, watched or not."""
        found = read_metadata(self.wire, self.deadline)
        self.memory.cluster_id = found.cluster_id
        for broker in found.brokers:
            self.memory.brokers[broker.broker_id] = broker
        return found

    @once
    def quorum(self) -> Quorum:
        """The metadata quorum."""
        return read_quorum(self.wire, self.deadline)

    @once
    def controller(self) -> int | None:
        """Node id of the controller; None where there is none or it is not permitted to know.

        With KRaft a broker names itself or any other one as the controller in its metadata; the
        leader of the quorum is the one. Clusters with ZooKeeper tell the truth.
        """
        try:
            found = self.quorum.leader
        except UnsupportedError:
            found = self.metadata.controller
        except CollectorError:
            found = None
        self.memory.controller = found
        return found

    @once
    def reassignments(self) -> pl.DataFrame:
        """Partitions that are being moved (``REASSIGNMENTS_SCHEMA``)."""
        # Whoever gets no answer about the quorum gets none from the controller here either.
        with suppress(UnsupportedError):
            _ = self.quorum
        return read_reassignments(self.wire, self.deadline)

    @property
    def broker_ids(self) -> list[int]:
        """The brokers that are alive."""
        return [broker.broker_id for broker in self.metadata.brokers]

    @once
    def partitions(self) -> pl.DataFrame:
        """Partitions of the watched topics."""
        frame = self.metadata.partitions
        topics = [topic for topic in frame["topic"].unique() if self._selects_topic(topic)]
        return frame.filter(pl.col("topic").is_in(topics))

    @once
    def all_topics(self) -> set[str]:
        """Every topic of the cluster, watched or not."""
        return set(self.metadata.partitions["topic"].unique())

    def leaders(self, topic: str) -> dict[int, int]:
        """Return the broker that leads each partition of a topic; those without one are missing."""
        rows = self.partitions.filter((pl.col("topic") == topic) & pl.col("leader").is_not_null())
        return dict(rows.select("partition", "leader").iter_rows())

    @once
    def watched_topics(self) -> list[str]:
        """The watched topics, sorted."""
        return sorted(self.partitions["topic"].unique().to_list())

    @once
    def topic_ids(self) -> Mapping[str, str | None]:
        """Topic: its id, which changes when it is created anew; None before Kafka 2.8."""
        return dict(self.metadata.partitions.select("topic", "topic_id").unique().iter_rows())

    @once
    def groups(self) -> Groups:
        """Watched groups with members and committed offsets."""
        found = read_groups(
            self.wire,
            self.broker_ids,
            self.memory.groups,
            self._selects_group,
            self.deadline,
        )
        self.memory.groups = found.refs
        return found

    @once
    def offsets(self) -> pl.DataFrame:
        """First, last stable and end offsets of the watched partitions.

        Committed offsets are read first: a race then overstates lag and never makes it negative.
        """
        partitions = self.partitions
        # Where the groups cannot be read at all, the end offsets are still worth having.
        with suppress(CollectorError):
            _ = self.groups
        found = read_offsets(self.wire, partitions, self.deadline)
        self.exchange.tell_ends(self.settings.name, found.select("topic", "partition", "log_end"))
        return found

    @once
    def ends(self) -> pl.DataFrame:
        """The log ends beside those of the poll before (``changes.compare_ends``)."""
        found = compare_ends(
            self.partitions.select("topic", "partition", "topic_id", "leader").join(
                self.offsets.select("topic", "partition", "log_end"),
                on=["topic", "partition"],
                how="left",
            ),
            self.memory.ends,
        )
        self.memory.ends = ends_to_keep(found)
        return found

    @once
    def configs(self) -> Mapping[str, TopicConfig | str]:
        """Topic: its configuration, or why it is unknown. Read anew every five minutes."""
        memory = self.memory
        topics = self.watched_topics
        at = memory.configs_at
        if at is None or (self.now - at).total_seconds() >= CONFIGS_EVERY_SECONDS:
            wanted = topics
            memory.configs_at = self.now
        else:
            wanted = [topic for topic in topics if _worth_asking(memory.configs.get(topic))]
        memory.configs = {
            topic: memory.configs[topic] for topic in topics if topic in memory.configs
        }
        if wanted:
            for topic, config in read_topic_configs(self.wire, wanted, self.deadline).items():
                # What was known stays known while it cannot be asked for again.
                if not (isinstance(config, str) and _is_known(memory.configs.get(topic))):
                    memory.configs[topic] = config
        return memory.configs

    @property
    def config_problems(self) -> list[str]:
        """What to say about configurations that are unknown; nothing where all are known."""
        unknown = [config for config in self.configs.values() if isinstance(config, str)]
        if not unknown:
            return []
        reasons = "; ".join(sorted(set(unknown)))
        return [
            f"the configuration of {len(unknown)} of {len(self.configs)} topics is unknown: "
            f"{reasons}"
        ]

    @once
    def dead_letters(self) -> Mapping[str, str]:
        """Watched dead-letter topics, with how each was found."""
        try:
            configs = self.configs
        except CollectorError:
            configs = {}
        marked = {
            topic
            for topic, config in configs.items()
            if not isinstance(config, str)
            and config.get(MARKING_CONFIG, (None, False))[0] == "true"
        }
        internal = self.partitions.filter("internal")["topic"].unique().to_list()
        of_sinks = {
            sink.dead_letter_topic for sink in self.sinks if sink.dead_letter_topic is not None
        }
        return find_dead_letters(
            self.watched_topics, self.settings.dead_letters, marked, of_sinks, set(internal)
        )

    @once
    def sinks(self) -> Sequence[Sink]:
        """Sinks of Kafka Connect on this cluster, the same ones throughout a poll."""
        return self.exchange.sinks(self.settings.name)

    @property
    def groups_of_dead_letters(self) -> set[str]:
        """Groups whose committed offsets count dead letters: redriving ones, and sinks'."""
        redriving = self.settings.dead_letters.redrive_groups.values()
        return {sink.group for sink in self.sinks} | set(redriving)

    @once
    def log_directories(self) -> tuple[Mapping[int, LogDirectories | str], pl.DataFrame]:
        """Disks by broker and the size of each replica.

        Read anew every minute; of a broker that failed or refused to tell, at every poll.
        """
        memory = self.memory
        at = memory.log_directories_at
        every_seconds = WRITTEN_EVERY_SECONDS[LOG_DIRECTORIES.name]
        wanted = self.broker_ids
        if at is None or (self.now - at).total_seconds() >= every_seconds:
            memory.log_directories.clear()
            memory.sizes = memory.sizes.clear()
            memory.log_directories_at = self.now
        else:
            known = memory.log_directories
            wanted = [broker for broker in wanted if not _is_known(known.get(broker))]
        if wanted:
            found, sizes = read_log_directories(self.wire, wanted, self.deadline)
            memory.log_directories.update(found)
            memory.sizes = pl.concat(
                [memory.sizes.filter(~pl.col("broker_id").is_in(wanted)), sizes]
            )
            if any(_is_known(disks) for disks in found.values()):
                memory.log_directories_at = self.now
        return memory.log_directories, memory.sizes


def _is_known(found: object) -> bool:
    """Tell whether something was read: reasons why it was not are texts."""
    return found is not None and not isinstance(found, str)


def _worth_asking(known: TopicConfig | str | None) -> bool:
    """Tell whether a configuration is new or failed to be read; a refusal stays one for a while."""
    return known is None or (isinstance(known, str) and not known.startswith("not permitted"))
