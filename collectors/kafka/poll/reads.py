"""One poll of one cluster: reads that sections share, each done once, in the right order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import polars as pl

from collectors.errors import CollectorError, NoAnswerError, SwitchedOffError, UnsupportedError
from collectors.kafka.cluster.broker_reads import (
    LogDirectories,
    Quorum,
    read_log_directories,
    read_quorum,
    read_reassignments,
    read_registrations,
)
from collectors.kafka.cluster.changes import compare_ends, ends_to_keep
from collectors.kafka.cluster.metadata import (
    Metadata,
    TopicConfig,
    read_metadata,
)
from collectors.kafka.cluster.offsets import out_of_sync, read_follower_ends, read_offsets
from collectors.kafka.cluster.settings_reads import Found
from collectors.kafka.cluster.transactions import Transaction, read_transactions
from collectors.kafka.dead_letters.detection import MARKING_CONFIG, find_dead_letters
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.read import read_groups
from collectors.kafka.poll import due
from collectors.kafka.poll.cluster_settings import SettingsReads
from collectors.kafka.poll.once import once
from collectors.kafka.poll.state import Memory
from collectors.kafka.poll.topic_configs import is_known, read_due_configs
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.source.shared_facts import SharedFacts, Sink
from config.settings import ClusterSettings, Feature
from lake.schemas.tables import LOG_DIRECTORIES, WRITTEN_EVERY_SECONDS

_MOST_FOLLOWERS = 5000


class PollView:
    """What a section sees of the cluster in one poll.

    Attributes:
        now: When the poll began, by the clock: what rows carry.
        tick: When the poll began, in monotonic seconds: what decides whether something is due.
        offsets_at: When the end offsets were read.
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
        shared: SharedFacts,
    ) -> None:
        self.wire = wire
        self.settings = settings
        self.memory = memory
        self.now = now
        self.tick = time.monotonic()
        self.offsets_at = now
        self.deadline = deadline
        self.shared = shared
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
        self.asked_for("quorum")
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
        self.asked_for("reassignments")
        # Whoever gets no answer about the quorum gets none from the controller here either.
        with suppress(UnsupportedError, SwitchedOffError):
            _ = self.quorum
        return read_reassignments(self.wire, self.deadline)

    def asked_for(self, feature: Feature) -> None:
        """Raise SwitchedOffError where the settings switch a feature off."""
        if feature in self.settings.switched_off:
            raise SwitchedOffError(f"switched off: {feature}")

    @property
    def certificates(self) -> Mapping[int, datetime]:
        """Broker: when the certificate expires that it showed to this client."""
        return {} if "certificates" in self.settings.switched_off else self.wire.certificates

    def report(self, what: str, error: CollectorError) -> None:
        """Note what is unknown because of an error; what is switched off is no problem."""
        if not isinstance(error, SwitchedOffError):
            self.problems.append(f"{what}: {error}")

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

    def selects_groups(self, groups: pl.Series) -> pl.Series:
        """Return which of some groups are watched."""
        return pl.Series([self._selects_group(group) for group in groups], dtype=pl.Boolean())

    @once
    def offsets(self) -> pl.DataFrame:
        """First, last stable and end offsets of the watched partitions.

        Committed offsets are read first: a race then overstates lag and never makes it negative.
        """
        partitions = self.partitions
        # Where the groups cannot be read at all, the end offsets are still worth having.
        with suppress(CollectorError):
            _ = self.groups
        # Groups were read before, which takes seconds of a large cluster.
        self.offsets_at = self.now + timedelta(seconds=time.monotonic() - self.tick)
        found = read_offsets(self.wire, partitions, self.deadline)
        self.shared.set_end_offsets(
            self.settings.name, found.select("topic", "partition", "log_end")
        )
        return found

    @once
    def follower_lag(self) -> pl.DataFrame:
        """How many records replicas that are not in sync are behind (``LAG_SCHEMA``).

        Read anew every minute; those that are unknown are missing.
        """
        self.asked_for("follower_lag")
        memory = self.memory
        if memory.due.is_due(due.FOLLOWER_LAG, self.tick):
            behind = out_of_sync(self.partitions).filter(pl.col("broker_id").is_in(self.broker_ids))
            memory.follower_lag = memory.follower_lag.clear()
            if not behind.is_empty():
                memory.due.was_read(due.FOLLOWER_LAG, self.tick, again_after=due.EVERY_SECONDS)
                asked = behind.head(_MOST_FOLLOWERS)
                memory.follower_lag = (
                    read_follower_ends(self.wire, asked, self.deadline)
                    .join(self.offsets, on=["topic", "partition"])
                    .select(
                        "topic",
                        "partition",
                        "broker_id",
                        (pl.col("log_end") - pl.col("end")).clip(lower_bound=0).alias("lag"),
                    )
                    .drop_nulls("lag")
                )
        return memory.follower_lag

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
        """Topic: its configuration, or why it is unknown.

        Read anew every five minutes. They are the largest of all answers: what was not read in two
        seconds is left to the next polls.
        """
        self.asked_for("topic_configs")
        read_due_configs(self.wire, self.memory, self.watched_topics, self.deadline, self.tick)
        return self.memory.configs

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
    def cluster_settings(self) -> SettingsReads:
        """What administrators have set, each kind read when it is due."""
        return SettingsReads(
            wire=self.wire,
            deadline=self.deadline,
            memory=self.memory.settings,
            alive=lambda: self.broker_ids,
            remembered=self.memory.brokers.keys(),
            asked_for=self.asked_for,
            now=self.tick,
        )

    @once
    def settings_found(self) -> Mapping[str, Found]:
        """What administrators have set, by kind, as far as it is known."""
        return self.cluster_settings.read_all()

    @once
    def registrations(self) -> Mapping[int, bool]:
        """Broker that is registered: whether it is fenced.

        Read anew every five minutes, and when a broker came or went.
        """
        self.asked_for("registrations")
        memory, alive = self.memory, frozenset(self.broker_ids)
        if memory.registered_of != alive or memory.due.is_due(due.REGISTRATIONS, self.tick):
            try:
                memory.registrations = read_registrations(self.wire, self.deadline)
            except NoAnswerError:
                raise  # and it stays due
            except CollectorError as error:
                memory.registrations = error
            memory.registered_of = alive
            memory.due.was_read(due.REGISTRATIONS, self.tick, again_after=due.CONFIGS_EVERY_SECONDS)
        if isinstance(memory.registrations, CollectorError):
            raise memory.registrations
        return memory.registrations

    @once
    def transactions(self) -> tuple[Sequence[Transaction], Sequence[str]]:
        """Transactions that are open for more than a minute, and what stayed unknown of them.

        Read anew every minute, and at every poll while a broker is silent.
        """
        self.asked_for("transactions")
        memory = self.memory
        if memory.due.is_due(due.TRANSACTIONS, self.tick):
            try:
                memory.transactions = read_transactions(self.wire, self.broker_ids, self.deadline)
            except UnsupportedError:
                memory.transactions = None
            memory.due.was_read(
                due.TRANSACTIONS,
                self.tick,
                again_after=0.0 if self.wire.failures else due.EVERY_SECONDS,
            )
        if memory.transactions is None:
            raise UnsupportedError("the brokers do not offer ListTransactions")
        return memory.transactions

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
        return self.shared.sinks(self.settings.name)

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
        self.asked_for("log_directories")
        memory = self.memory
        wanted = self.broker_ids
        if memory.due.is_due(due.LOG_DIRECTORIES, self.tick):
            memory.log_directories.clear()
            memory.sizes = memory.sizes.clear()
            self._read_disks()
        else:
            known = memory.log_directories
            wanted = [broker for broker in wanted if not is_known(known.get(broker))]
        if wanted:
            found, sizes = read_log_directories(self.wire, wanted, self.deadline)
            memory.log_directories.update(found)
            memory.sizes = pl.concat(
                [memory.sizes.filter(~pl.col("broker_id").is_in(wanted)), sizes]
            )
            if any(is_known(disks) for disks in found.values()):
                self._read_disks()
        return memory.log_directories, memory.sizes

    def _read_disks(self) -> None:
        every = WRITTEN_EVERY_SECONDS[LOG_DIRECTORIES.name]
        self.memory.due.was_read(due.LOG_DIRECTORIES, self.tick, again_after=every)
