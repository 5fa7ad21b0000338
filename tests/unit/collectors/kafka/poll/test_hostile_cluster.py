"""Polls of a cluster of which one answer has an odd value, between two polls without one."""

from __future__ import annotations

import copy
import copyreg
import random
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace as Answer
from typing import Any, cast

import polars as pl
import pytest

from collectors.kafka.poll.memory import Memory
from collectors.kafka.poll.read_cluster import Selection, read_cluster
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.sections.registry import SECTIONS
from collectors.service.rows import Stamp, rows_of
from collectors.source.model import SectionResult
from collectors.source.section import run_collector
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from lake.schemas.tables import TABLES
from lake.storage.append import conform
from tests.selection import MARK
from tests.unit.collectors.kafka.poll.small_cluster import Brokers, answers

# So that memories can be copied.
copyreg.pickle(type(threading.Lock()), lambda _: (threading.Lock, ()))

NOW = datetime(2026, 11, 20, tzinfo=UTC)
APART = 2 * 3600
SETTINGS = ClusterSettings.model_validate(
    {"name": "c", "bootstrap_servers": "kafka:9092", "commit_log": False}
)
Key = tuple[Any, ...]
Rows = dict[str, dict[Key, dict[str, Any]]]
"""Table: the rows by what they are of."""


class Context(PollContext):
    """Of a poll that takes no time."""

    def clock(self) -> datetime:
        return self.now


class Cluster:
    """Is polled so seldom that each poll reads everything; keeps what it has to meanwhile."""

    def __init__(self) -> None:
        self.memory, self.shared = Memory(), SharedFacts()
        self.asked: set[str] = set()
        self._polls, self._began = 0, time.monotonic()

    def poll(self, said: Mapping[str, Any]) -> Poll:
        wire = Brokers(said)
        now = NOW + timedelta(seconds=APART * self._polls)
        context = Context(
            wire=cast(Wire, wire),
            deadline=Deadline(60.0, 30.0),
            now=now,
            tick=self._began + APART * self._polls,
        )
        self._polls += 1
        selection = Selection(topic=bool, group=bool)
        reads = read_cluster(context, SETTINGS, selection, self.memory, self.shared)
        self.asked |= wire.asked
        return Poll(
            {
                name: run_collector(name, section.collect, reads, SETTINGS, now)
                for name, section in SECTIONS.items()
            },
            now,
        )


class Poll:
    """What came of a poll: the lake takes all of it, and no key is there twice."""

    def __init__(self, results: Mapping[str, SectionResult], now: datetime) -> None:
        self.errors = {name: one.error for name, one in results.items()}
        self.failed = {name for name, one in results.items() if one.status == "failed"}
        self.rows: Rows = {}
        stamp = Stamp.new("kafka", "c", now)
        for result in results.values():
            for table, rows in rows_of(result, stamp, 15.0):
                written = conform(table, rows)
                assert written.select(table.identity).is_unique().all(), "a key is there twice"
            for name, frame in result.frames.items():
                self.rows[name] = keyed(name, frame)

    @property
    def faults(self) -> dict[str, str]:
        return {name: error for name, error in self.errors.items() if error and is_fault(error)}


def keyed(table: str, frame: pl.DataFrame) -> dict[Key, dict[str, Any]]:
    names = [name for name in TABLES[table].identity if name in frame.columns]
    return {tuple(row[name] for name in names): row for row in frame.to_dicts()}


def is_fault(error: str) -> bool:
    return any(sign in error for sign in ("Error: ", "Exception: ", "Error(", "not understood"))


TEXTS = ("", "\x00", "x" * 300, "²", "nan", "true", "2147483648", None)
NUMBERS = (-1, 0, 1, 99, 2**31 - 1, -(2**31))
LARGE = (2**63 - 1, -(2**63))
WIDE = ("offset", "timestamp", "size", "bytes", "_ms", "producer_id", "watermark")
"""What the names of fields of 64 bits have in them."""
NAMES = (
    *("group_id", "name", "topic", "resource_name", "transactional_id", "member_id"),
    *("node_id", "broker_id", "replica_id", "partition_index", "user"),
)
"""Fields that say which thing is meant."""


def odd(chance: random.Random, name: str, value: Any) -> Any:
    """Return what else a field may hold by the protocol's types."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        bits = 63 if any(each in name for each in WIDE) else 31
        drawn = chance.randrange(-(2**bits), 2**bits) >> chance.randrange(bits)
        return chance.choice((*NUMBERS, *(LARGE if bits == 63 else ()), drawn))
    if isinstance(value, float):
        return chance.choice((float("nan"), float("inf"), -1.0, 1e308, chance.random()))
    if isinstance(value, list):
        return chance.choice((None, [], value[:1], [*value, *copy.deepcopy(value)]))
    if isinstance(value, bytes):
        at = chance.randrange(len(value) + 1)
        flipped = value[:at] + bytes([chance.randrange(256)]) + value[at + 1 :]
        return chance.choice((None, b"", b"\xff" * 80, value[:at], flipped))
    return chance.choice((*TEXTS, "".join(chr(chance.randrange(0xD800)) for _ in range(3))))


@dataclass
class Odd:
    """What a cluster answers of which one value is odd.

    Attributes:
        kind: Whose answer it is.
        path: The names of the fields down to the odd one.
        things: The names of what it is part of; empty: of everything.
    """

    said: dict[str, Any]
    kind: str
    path: list[str] = field(default_factory=list)
    things: set[Any] = field(default_factory=set)
    value: Any = None

    def __str__(self) -> str:
        return f"{self.kind} {'.'.join(self.path)} = {self.value!r:.60}"


def mutated(seed: int, count: int) -> Iterator[Odd]:
    chance = random.Random(seed)  # noqa: S311  which value is odd is no secret
    for _ in range(count):
        said = answers()
        found = Odd(said, chance.choice(sorted(said)))
        inner = said[found.kind]
        while True:
            name = chance.choice(sorted(vars(inner)))
            value = getattr(inner, name)
            found.path.append(name)
            items = value if isinstance(value, list) else [value]
            if items and isinstance(items[0], Answer) and chance.random() < 0.8:
                inner = chance.choice(items)
                found.things |= {each for key, each in vars(inner).items() if key in NAMES}
                continue
            if isinstance(value, Answer):
                continue
            found.value = odd(chance, name, value)
            setattr(inner, name, found.value)
            if name in NAMES:
                found.things.add(found.value)
            break
        yield found


AFFECTED = {
    "ApiVersionsRequest": "brokers cluster_settings",
    "ConsumerGroupDescribeRequest": "groups group_members group_offsets",
    "DescribeAclsRequest": "cluster_settings",
    "DescribeClientQuotasRequest": "cluster_settings",
    "DescribeClusterRequest": "brokers",
    "DescribeConfigsRequest": "topics partitions cluster_settings",
    "DescribeGroupsRequest": "groups group_members group_offsets",
    "DescribeLogDirsRequest": "partitions brokers log_directories",
    "DescribeQuorumRequest": "brokers quorum",
    "DescribeTopicPartitionsRequest": "partitions",
    "DescribeTransactionsRequest": "transactions",
    "DescribeUserScramCredentialsRequest": "cluster_settings",
    "FetchRequest": "group_offsets dead_letters",
    "ListConfigResourcesRequest": "cluster_settings",
    "ListGroupsRequest": "groups group_members group_offsets",
    "ListOffsetsRequest": "group_offsets partitions dead_letters",
    "ListOffsetsRequest: starts": "group_offsets partitions dead_letters",
    "ListPartitionReassignmentsRequest": "partitions brokers",
    "ListTransactionsRequest": "transactions",
    "MetadataRequest topics": "partitions topics group_offsets brokers dead_letters",
    "OffsetFetchRequest": "group_offsets",
}
"""Answer: the tables that are made of it; all, where it is missing."""
SUMS = {"brokers", "cluster_settings", "dead_letters", "log_directories", "quorum"}
"""Tables whose rows are made of several things."""
ASKED_BY_NAME = {
    "ConsumerGroupDescribeRequest groups",
    "ConsumerGroupDescribeRequest groups.group_id",
    "DescribeConfigsRequest results",
    "DescribeConfigsRequest results.resource_name",
    "DescribeGroupsRequest groups",
    "DescribeGroupsRequest groups.group_id",
    "DescribeTransactionsRequest transaction_states",
    "DescribeTransactionsRequest transaction_states.transactional_id",
    "OffsetFetchRequest groups",
    "OffsetFetchRequest groups.group_id",
}
"""What is missing there was not answered for; elsewhere it does not exist."""
SAYS_SO = {
    *("committed_offset", "entity_name", "entity_type", "finalized_features_epoch", "group_type"),
    *("is_internal", "log_dir", "principal"),
}
"""Fields by which there are fewer rows, or others."""
HISTORY = {"arrival_ratio", "commits_per_second", "time_lag_seconds", "time_lag_source"}
"""Columns that are unknown where the poll before made no sense."""


def is_touched(odd: Odd, table: str, key: Key) -> bool:
    tables = AFFECTED.get(odd.kind) or AFFECTED.get(f"{odd.kind} {odd.path[0]}")
    if tables is None or table == "cluster_events":
        return True
    if table not in tables.split():
        return False
    return not odd.things or table in SUMS or any(each in odd.things for each in key)


def may_be_fewer(odd: Odd) -> bool:
    place = f"{odd.kind} {'.'.join(odd.path)}"
    if place in ASKED_BY_NAME:
        return False
    is_list = odd.value is None or isinstance(odd.value, list)
    return is_list or odd.path[-1] in NAMES or odd.path[-1] in SAYS_SO


def check(odd: Odd, mutant: Poll, sound: Poll) -> None:
    """Expect no fault of ours, all rows but those of the odd value, and no row that gets lost."""
    assert mutant.faults == {}, odd
    for table, rows in sound.rows.items():
        found = mutant.rows.get(table, {})
        lost = [key for key in rows if key not in found]
        changed = {key for key, row in rows.items() if found.get(key) != row}
        assert [key for key in changed if not is_touched(odd, table, key)] == [], f"{odd}: {table}"
        is_told = mutant.errors != sound.errors
        assert not lost or is_told or may_be_fewer(odd), f"{odd}: {table} lacks {lost}"


def check_next(odd: Odd, after: Poll, sound: Poll) -> None:
    """Expect what there would be without the odd value, or that it is unknown."""
    assert after.faults == {}, odd
    for table, rows in sound.rows.items():
        if table == "cluster_events":
            continue
        found = after.rows[table]
        for key, row in rows.items():
            assert key in found, f"{odd}: {table} lacks {key}"
            differ = {name: found[key][name] for name in row if found[key][name] != row[name]}
            may_differ = {"state_since"}
            if odd.path[-1] == "committed_offset":  # it was committed again, as far as was seen
                may_differ |= {"committed_at", "commits_per_second"}
            if odd.path[-1] == "offset":  # the log was shorter, as far as was seen, and grew since
                may_differ |= {"time_lag_seconds", "time_lag_source"}
            differ = {name: value for name, value in differ.items() if name not in may_differ}
            unknown = {name for name in HISTORY & differ.keys() if differ[name] is None}
            assert differ.keys() <= unknown, f"{odd}: {table} {key} {differ}"
        for key in found.keys() - rows.keys():
            is_dead = found[key].get("is_alive") is False
            assert is_dead or found[key].get("unknown_reason"), f"{odd}: {table} has {key}"


def run(seed: int, count: int) -> None:
    """Poll a cluster without, with, and again without an odd value, from one memory each time."""
    first = Cluster()
    first.poll(answers())
    always_sound = copy.deepcopy(first)
    second, third = (always_sound.poll(answers()) for _ in range(2))
    for odd in mutated(seed, count):
        cluster = copy.deepcopy(first)
        check(odd, cluster.poll(odd.said), second)
        check_next(odd, cluster.poll(answers()), third)


def test_every_answer_is_read() -> None:
    said = answers()
    cluster = Cluster()
    found = cluster.poll(said)
    assert cluster.asked == set(said)
    assert {name: error for name, error in found.errors.items() if error} == {
        "partitions": "the offsets of 1 of 7 partitions are unknown: the partition has no leader"
    }
    assert found.rows["partitions"]["dark", 0]["eligible_leader_replicas"] == [1, 2]
    at_first = {"rebalances", "cluster_events"}
    assert {name for name, rows in found.rows.items() if not rows} == at_first


def test_a_partition_that_its_leader_leaves_out_is_unknown_and_not_gone() -> None:
    said = answers()
    for kind in ("ListOffsetsRequest", "ListOffsetsRequest: starts"):
        (orders,) = [topic for topic in said[kind].topics if topic.name == "orders"]
        del orders.partitions[1]
    found = Cluster().poll(said)
    for table in ("partitions", "group_offsets"):
        rows = [
            row
            for row in found.rows[table].values()
            if (row["topic"], row["partition"]) == ("orders", 1)
        ]
        assert rows
        for row in rows:
            assert row["unknown_reason"] == "the leader did not tell of the partition"
            assert row["log_end"] is None
    assert found.errors["group_offsets"]


def test_one_odd_value_costs_nothing_but_itself() -> None:
    run(1, 60)


@MARK
@pytest.mark.parametrize("seed", range(2, 22))
def test_one_odd_value_of_many_costs_nothing_but_itself(seed: int, ten_with_all: int) -> None:
    run(seed, 50 * ten_with_all)
