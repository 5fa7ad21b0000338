"""One poll of one cluster: reads that sections share, each done once, in the right order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, TypeVar

import polars as pl

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    RefusedError,
    SwitchedOffError,
    UnsupportedError,
)
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
    read_metadata,
    read_topic_configs,
)
from collectors.kafka.cluster.offsets import out_of_sync, read_follower_ends, read_offsets
from collectors.kafka.cluster.setting_changes import (
    ACL,
    BROKER_CONFIG,
    BROKER_VERSION,
    CLIENT_QUOTA,
    FEATURE,
    SCRAM_USER,
)
from collectors.kafka.cluster.settings_reads import (
    Found,
    features,
    read_acls,
    read_broker_configs,
    read_client_quotas,
    read_scram_users,
    read_versions,
    set_on_brokers,
)
from collectors.kafka.cluster.transactions import Transaction, read_transactions
from collectors.kafka.dead_letters.detection import MARKING_CONFIG, find_dead_letters
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.read import read_groups
from collectors.kafka.poll.state import Memory, TopicConfig
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.source.shared_state import Exchange, Sink
from config.settings import ClusterSettings, Feature
from lake.schemas.tables import LOG_DIRECTORIES, WRITTEN_EVERY_SECONDS

T = TypeVar("T")

CONFIGS_EVERY_SECONDS = 300.0
FOLLOWERS_EVERY_SECONDS = 60.0
TRANSACTIONS_EVERY_SECONDS = 60.0
_AGAIN_SECONDS = 60.0
_SETTINGS_SECONDS = 1.0
_MOST_FOLLOWERS = 5000


SETTINGS: Mapping[str, Feature] = {
    BROKER_VERSION: "versions",
    FEATURE: "versions",
    BROKER_CONFIG: "broker_configs",
    CLIENT_QUOTA: "client_quotas",
    ACL: "acls",
    SCRAM_USER: "scram_users",
}
"""Kinds of what administrators set, in the order of reading, and what switches each off."""


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
        exchange: Exchange,
    ) -> None:
        self.wire = wire
        self.settings = settings
        self.memory = memory
        self.now = now
        self.tick = time.monotonic()
        self.offsets_at = now
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
        self._asked_for("quorum")
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
        self._asked_for("reassignments")
        # Whoever gets no answer about the quorum gets none from the controller here either.
        with suppress(UnsupportedError, SwitchedOffError):
            _ = self.quorum
        return read_reassignments(self.wire, self.deadline)

    def _asked_for(self, feature: Feature) -> None:
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
        self.exchange.tell_ends(self.settings.name, found.select("topic", "partition", "log_end"))
        return found

    @once
    def follower_lag(self) -> pl.DataFrame:
        """How many records replicas that are not in sync are behind (``LAG_SCHEMA``).

        Read anew every minute; those that are unknown are missing.
        """
        self._asked_for("follower_lag")
        memory, at = self.memory, self.memory.follower_lag_at
        if at is None or self.tick - at >= FOLLOWERS_EVERY_SECONDS:
            behind = out_of_sync(self.partitions).filter(pl.col("broker_id").is_in(self.broker_ids))
            memory.follower_lag = memory.follower_lag.clear()
            if not behind.is_empty():
                memory.follower_lag_at = self.tick
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
        """Topic: its configuration, or why it is unknown. Read anew every five minutes."""
        self._asked_for("topic_configs")
        memory = self.memory
        topics = self.watched_topics
        at = memory.configs_at
        if at is None or self.tick - at >= CONFIGS_EVERY_SECONDS:
            wanted = topics
            memory.configs_at = self.tick
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
    def settings_found(self) -> Mapping[str, Found]:
        """What administrators have set, by kind, as far as it is known.

        ``memory.settings_unknown`` says what could not be read. Kinds are left to the next polls
        once reading some has taken a second: over a slow network a poll must not wait for all.
        """
        begun = time.monotonic()
        for kind in SETTINGS:
            if time.monotonic() - begun > _SETTINGS_SECONDS:
                break
            self.read_settings(kind)
        return self.memory.settings

    def read_settings(self, kind: str) -> Found | None:
        """Return what administrators have set of a kind; None where that is not known.

        Read anew every five minutes, after a failure that may pass every minute.
        """
        memory, now = self.memory, self.tick
        if now < memory.settings_due.get(kind, -math.inf):
            return memory.settings.get(kind)
        again = CONFIGS_EVERY_SECONDS
        memory.settings = dict(memory.settings)
        memory.settings_unknown = {
            other: why for other, why in memory.settings_unknown.items() if other != kind
        }
        try:
            self._asked_for(SETTINGS[kind])
            memory.settings[kind] = self._settings_now(kind)
        except (SwitchedOffError, UnsupportedError):
            memory.settings.pop(kind, None)  # it may be known from before a restart
        except CollectorError as error:
            memory.settings_unknown[kind] = str(error)
            if not isinstance(error, RefusedError):
                again = self._again_seconds
        memory.settings_due[kind] = now + again
        return memory.settings.get(kind)

    def _settings_now(self, kind: str) -> Found:
        reads: Mapping[str, Callable[[], Found]] = {
            BROKER_VERSION: self._versions,
            FEATURE: self._features,
            BROKER_CONFIG: self._broker_configs,
            CLIENT_QUOTA: partial(read_client_quotas, self.wire, self.deadline),
            ACL: partial(read_acls, self.wire, self.deadline),
            SCRAM_USER: partial(read_scram_users, self.wire, self.deadline),
        }
        return reads[kind]()

    @property
    def _again_seconds(self) -> float:
        """How long what failed is left alone; not at all if only the poll's time was over."""
        return _AGAIN_SECONDS if self.deadline.left_seconds > 0 else 0.0

    @once
    def registrations(self) -> Mapping[int, bool]:
        """Broker that is registered: whether it is fenced.

        Read anew every five minutes, and when a broker came or went.
        """
        self._asked_for("registrations")
        memory, alive = self.memory, frozenset(self.broker_ids)
        read = memory.registrations_read
        due = read is None or read[1] != alive or self.tick - read[0] >= CONFIGS_EVERY_SECONDS
        if due or memory.registrations is None:
            memory.registrations_read = self.tick, alive
            try:
                memory.registrations = read_registrations(self.wire, self.deadline)
            except NoAnswerError:
                memory.registrations = None
                raise
            except CollectorError as error:
                memory.registrations = error
        if isinstance(memory.registrations, CollectorError):
            raise memory.registrations
        return memory.registrations

    def _versions(self) -> Found:
        versions = self.memory.versions
        self._update(versions, read_versions(self.wire, self.broker_ids, self.deadline))
        return {str(broker): {"release": version.release} for broker, version in versions.items()}

    def _features(self) -> Found:
        self.read_settings(BROKER_VERSION)  # whose answers name the features too
        if not self.memory.versions:
            raise CollectorError("no broker has told its version")
        return features(self.memory.versions.values())

    def _broker_configs(self) -> Found:
        configs = self.memory.broker_configs
        self._update(configs, read_broker_configs(self.wire, self.broker_ids, self.deadline))
        return set_on_brokers(configs)

    def _update(self, known: dict[int, T], found: Mapping[int, T | CollectorError]) -> None:
        """Take over what brokers told; of a silent one what it told before, until it is removed.

        Raises:
            CollectorError: None of them told anything.
        """
        told = {
            broker: value
            for broker, value in found.items()
            if not isinstance(value, CollectorError)
        }
        if not told:
            raise next(
                (error for error in found.values() if isinstance(error, CollectorError)),
                NoAnswerError("there is no broker"),
            )
        known.update(told)
        # Those that the section brokers has forgotten.
        for gone in known.keys() - self.memory.brokers.keys():
            del known[gone]

    @once
    def transactions(self) -> tuple[Sequence[Transaction], Sequence[str]]:
        """Transactions that are open for more than a minute, and what stayed unknown of them.

        Read anew every minute, and at every poll while a broker is silent.
        """
        self._asked_for("transactions")
        memory = self.memory
        if self.tick >= memory.transactions_due:
            memory.transactions_at, memory.transactions = self.tick, None
            memory.transactions_due = self.tick + TRANSACTIONS_EVERY_SECONDS
            memory.transactions = read_transactions(self.wire, self.broker_ids, self.deadline)
            if self.wire.failures:
                memory.transactions_due = self.tick
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
        self._asked_for("log_directories")
        memory = self.memory
        at = memory.log_directories_at
        every_seconds = WRITTEN_EVERY_SECONDS[LOG_DIRECTORIES.name]
        wanted = self.broker_ids
        if at is None or self.tick - at >= every_seconds:
            memory.log_directories.clear()
            memory.sizes = memory.sizes.clear()
            memory.log_directories_at = self.tick
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
                memory.log_directories_at = self.tick
        return memory.log_directories, memory.sizes


def _is_known(found: object) -> bool:
    """Tell whether something was read: reasons why it was not are texts."""
    return found is not None and not isinstance(found, str)


def _worth_asking(known: TopicConfig | str | None) -> bool:
    """Tell whether a configuration is new or failed to be read; a refusal stays one for a while."""
    return known is None or (isinstance(known, str) and not known.startswith("not permitted"))
