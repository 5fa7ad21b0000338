"""Reads that are not needed at every poll: each knows when it is due, and keeps what it read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from collectors.errors import CollectorError, NoAnswerError, UnsupportedError
from collectors.kafka.cluster.broker_reads import (
    SIZES_SCHEMA,
    LogDirectories,
    read_log_directories,
    read_registrations,
)
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.offsets import LAG_SCHEMA, out_of_sync, read_follower_ends
from collectors.kafka.cluster.tiered_storage import (
    TIERED_SCHEMA,
    read_tiered,
    tiered_topics,
)
from collectors.kafka.cluster.transactions import Transaction, read_transactions
from collectors.kafka.protocol.poll_context import PollContext
from collectors.source import due
from collectors.source.due import Due
from lake.schemas.tables import LOG_DIRECTORIES, WRITTEN_EVERY_SECONDS

_MOST_FOLLOWERS = 5000
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """The brokers' log directories.

    Attributes:
        by_broker: Broker: its directories, or why they are unknown.
        sizes: One row a replica (``SIZES_SCHEMA``).
        is_new: Whether any were read in this poll.
    """

    by_broker: Mapping[int, LogDirectories | str]
    sizes: pl.DataFrame
    is_new: bool


class DiskReads:
    """Disks by broker and the size of each replica, read anew every minute.

    Those of a broker that failed or refused to tell are asked for at every poll.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._disks: dict[int, LogDirectories | str] = {}
        self._sizes = pl.DataFrame(schema=SIZES_SCHEMA)
        self._due = Due()

    def read(self, context: PollContext, brokers: Collection[int]) -> Disks:
        """Return what is known of the disks of the brokers that are alive."""
        every = WRITTEN_EVERY_SECONDS[LOG_DIRECTORIES.name]
        if self._due.is_due(_ALL, context.tick):
            self._disks.clear()
            self._sizes = self._sizes.clear()
            self._due.was_tried(_ALL, context.tick, again_after=every)
        wanted = [
            broker for broker in brokers if not isinstance(self._disks.get(broker), LogDirectories)
        ]
        if wanted:
            found, sizes = read_log_directories(context.wire, wanted, context.deadline)
            self._disks.update(found)
            others = self._sizes.filter(~pl.col("broker_id").is_in(wanted))
            self._sizes = sizes if others.is_empty() else pl.concat([others, sizes])
            if any(isinstance(disks, LogDirectories) for disks in found.values()):
                self._due.was_tried(_ALL, context.tick, again_after=every)
        return Disks(
            by_broker=dict(self._disks),
            sizes=self._sizes,
            is_new=self._due.was_tried_at(_ALL, context.tick),
        )


class FollowerLagReads:
    """How many records replicas that are not in sync are behind, read anew every minute."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._lags = pl.DataFrame(schema=LAG_SCHEMA)
        self._due = Due()

    def read(
        self,
        context: PollContext,
        partitions: pl.DataFrame,
        offsets: pl.DataFrame,
        brokers: Collection[int],
    ) -> pl.DataFrame:
        """Return the lags that are known (``LAG_SCHEMA``)."""
        if not self._due.is_due(_ALL, context.tick):
            return self._lags
        behind = out_of_sync(partitions).filter(pl.col("broker_id").is_in(brokers))
        self._lags = self._lags.clear()
        if not behind.is_empty():
            self._due.was_tried(_ALL, context.tick, again_after=due.EVERY_SECONDS)
            asked = behind.head(_MOST_FOLLOWERS)
            self._lags = (
                read_follower_ends(context.wire, asked, context.deadline)
                .join(offsets, on=["topic", "partition"])
                .select(
                    "topic",
                    "partition",
                    "broker_id",
                    (pl.col("log_end") - pl.col("end")).clip(lower_bound=0).alias("lag"),
                )
                .drop_nulls("lag")
            )
        return self._lags


class TieredReads:
    """What of the logs lies on disks and in remote storage, read anew every minute."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known = pl.DataFrame(schema=TIERED_SCHEMA)
        self._due = Due()

    def read(
        self,
        context: PollContext,
        partitions: pl.DataFrame,
        configs: Mapping[str, TopicConfig | str],
    ) -> pl.DataFrame:
        """Return what is known of the partitions of tiered topics (``TIERED_SCHEMA``)."""
        if self._due.is_due(_ALL, context.tick):
            tiered = pl.col("topic").is_in(tiered_topics(configs))
            led = partitions.filter(tiered & pl.col("leader").is_not_null())
            if led.is_empty():
                self._known = self._known.clear()
            else:
                self._known = read_tiered(context.wire, led, context.deadline)
                self._due.was_tried(_ALL, context.tick, again_after=due.EVERY_SECONDS)
        return self._known


class RegistrationReads:
    """Which brokers the controller knows of.

    Read anew every five minutes, and when a broker came or went.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: Mapping[int, bool] | CollectorError = {}
        self._alive: frozenset[int] | None = None
        self._due = Due()

    def read(self, context: PollContext, brokers: Collection[int]) -> Mapping[int, bool]:
        """Return each registered broker, and whether it is fenced."""
        alive = frozenset(brokers)
        if alive != self._alive or self._due.is_due(_ALL, context.tick):
            try:
                self._known = read_registrations(context.wire, context.deadline)
            except NoAnswerError:
                raise  # and it stays due
            except CollectorError as error:
                self._known = error.again()
            self._alive = alive
            self._due.was_tried(_ALL, context.tick, again_after=due.CONFIGS_EVERY_SECONDS)
        if isinstance(self._known, CollectorError):
            raise self._known.again()
        return self._known


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransactions:
    """Transactions that are open for more than a minute.

    Attributes:
        problems: What stayed unknown of them.
        is_new: Whether they were read in this poll.
    """

    transactions: Sequence[Transaction]
    problems: Sequence[str]
    is_new: bool


class TransactionReads:
    """Open transactions, read anew every minute, and at every poll while a broker is silent."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: tuple[list[Transaction], list[str]] | None = None
        self._due = Due()

    def read(self, context: PollContext, brokers: Collection[int]) -> OpenTransactions:
        """Return those that are open for more than a minute."""
        if self._due.is_due(_ALL, context.tick):
            try:
                self._known = read_transactions(context.wire, brokers, context.deadline)
            except UnsupportedError:
                self._known = None
            again = 0.0 if context.wire.failures else due.EVERY_SECONDS
            self._due.was_tried(_ALL, context.tick, again_after=again)
        if self._known is None:
            raise UnsupportedError("the brokers do not offer ListTransactions")
        transactions, problems = self._known
        is_new = self._due.was_tried_at(_ALL, context.tick)
        return OpenTransactions(transactions=transactions, problems=problems, is_new=is_new)
