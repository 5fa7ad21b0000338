"""The follower, on brokers that are played: what it tells, and what it makes of their errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collectors.errors import CollectorError, UnreachableError
from collectors.kafka.cluster.metadata import PARTITIONS_SCHEMA, Metadata
from collectors.kafka.commit_log import follower as module
from collectors.kafka.commit_log.follower import NEEDS, TOPIC, CommitLog
from collectors.kafka.protocol.broker_requests import Broker, Deadline
from collectors.kafka.protocol.many_partitions import OffsetsRequest
from collectors.kafka.protocol.transport.connection import as_it_is
from tests.support import eventually
from tests.unit.collectors.kafka.commit_log import building as build

TIME = 1_763_700_000_000


@dataclass
class Part:
    """A partition of the played cluster."""

    batches: list[tuple[int, bytes]] = field(default_factory=list)
    start: int = 0
    end: int = 0
    error: int = 0
    diverging: bool = False

    def append(self, *records: build.Record) -> None:
        self.batches.append((self.end, build.batch(self.end, records)))
        self.end += len(records)


class Cluster:
    """Plays the wire to two brokers: the first leads even partitions, the second odd ones."""

    def __init__(self, partitions: int = 4) -> None:
        self.parts = [Part() for _ in range(partitions)]
        self.down: set[int] = set()
        self.asked: list[str] = []
        self.fetched: list[list[int]] = []
        self.closed = threading.Event()
        self.topic_id = "one"
        self.most_batches = 100

    def metadata(self, leaders: dict[int, int | None] | None = None) -> Metadata:
        at = leaders or {number: number % 2 for number in range(len(self.parts))}
        rows = [
            {"topic": TOPIC, "topic_id": self.topic_id, "partition": number, "leader": leader}
            for number, leader in at.items()
        ]
        rows.append({"topic": "orders", "topic_id": "two", "partition": 0, "leader": 0})
        brokers = (Broker(broker_id=0, host="a", port=1), Broker(broker_id=1, host="b", port=1))
        return Metadata(
            cluster_id="id",
            controller=0,
            brokers=brokers,
            partitions=pl.DataFrame(
                [{**dict.fromkeys(PARTITIONS_SCHEMA), **row} for row in rows],
                schema=PARTITIONS_SCHEMA,
            ),
        )

    def begin_poll(self) -> None:
        pass

    def meet(self, brokers: Any) -> None:
        self.brokers = brokers

    def close(self) -> None:
        self.closed.set()

    def each(
        self,
        requests: dict[int, list[Any]],
        deadline: Deadline,
        read: Callable[[Any], Any] = as_it_is,
    ) -> dict[int, list[Any] | CollectorError]:
        return {
            broker: UnreachableError(f"broker {broker}: refused")
            if broker in self.down
            else [read(self.answer(request)) for request in asked]
            for broker, asked in requests.items()
        }

    def answer(self, request: Any) -> Any:
        self.asked.append(type(request).__name__)
        if isinstance(request, OffsetsRequest):
            ((_, wanted),) = request.wanted.by_topic()
            partitions = [
                SimpleNamespace(
                    partition_index=number, error_code=0, offset=self.parts[number].start
                )
                for number in wanted
            ]
            return SimpleNamespace(topics=[SimpleNamespace(name=TOPIC, partitions=partitions)])
        (topic,) = request.topics
        assert topic.topic == TOPIC
        self.fetched.append([each.partition for each in topic.partitions])
        partitions = [self.fetch(each.partition, each.fetch_offset) for each in topic.partitions]
        return SimpleNamespace(responses=[SimpleNamespace(partitions=partitions)])

    def fetch(self, number: int, offset: int) -> Any:
        part = self.parts[number]
        code = part.error
        if not code and not part.start <= offset <= part.end:
            code = 1
        found = [data for at, data in part.batches if at >= offset][: self.most_batches]
        diverging, part.diverging = part.diverging, False
        return SimpleNamespace(
            partition_index=number,
            error_code=code,
            diverging_epoch=SimpleNamespace(epoch=1, end_offset=0) if diverging else None,
            high_watermark=-1 if code else part.end,
            records=None if code else b"".join(found),
        )


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def log(cluster: Cluster) -> Iterator[CommitLog]:
    made = CommitLog("test", lambda: cluster, 1.0, duty=1.0, pause_seconds=0.01)  # type: ignore[arg-type, return-value]
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_RETRY_SECONDS", 0.02)
    monkeypatch.setattr(module, "_LAST_RETRY_SECONDS", 0.1)
    monkeypatch.setattr(module, "_DENIED_RETRY_SECONDS", 0.1)


def commit(offset: int, group: str = "billing") -> build.Record:
    return build.commit(group, "orders", 0, offset, TIME + offset)


def reported(log: CommitLog) -> dict[str, int]:
    return dict(log.latest().select("group", "log_committed").iter_rows())


def becomes(ask: Callable[[], Any], value: Any) -> None:
    eventually(lambda: ask() == value, timeout_seconds=5, what=f"{value}, but {ask()}")


def test_it_starts_only_when_the_topic_exists(cluster: Cluster, log: CommitLog) -> None:
    empty = cluster.metadata()
    log.meet(
        Metadata(
            cluster_id="id",
            controller=0,
            brokers=empty.brokers,
            partitions=empty.partitions.filter(pl.col("topic") != TOPIC),
        )
    )
    assert cluster.asked == []
    assert log.state.partitions == 0
    assert not log.state.caught_up
    assert log.latest().is_empty()


def test_where_no_thread_could_be_started_the_next_poll_starts_it(
    cluster: Cluster, log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError, match="new thread"):
            log.meet(cluster.metadata())
    log.meet(cluster.metadata())
    becomes(lambda: log.state.caught_up, True)


def test_a_partition_that_fails_for_a_day_stops_no_other(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FIRST_RETRY_SECONDS", 1e-9)
    monkeypatch.setattr(module, "_LAST_RETRY_SECONDS", 0.0)
    log = CommitLog("test", lambda: cluster, 1.0, duty=1.0, pause_seconds=0.0)  # type: ignore[arg-type, return-value]
    log.meet(cluster.metadata())
    becomes(lambda: log.state.caught_up, True)
    log.meet(cluster.metadata({0: 0, 1: None, 2: 0, 3: None}))
    begun = len(cluster.fetched)
    eventually(lambda: len(cluster.fetched) > begun + 1200, timeout_seconds=30, what="tries")
    cluster.parts[0].append(commit(7))
    becomes(lambda: reported(log), {"billing": 7})
    log.close()


def test_it_catches_up_and_follows(cluster: Cluster, log: CommitLog) -> None:
    cluster.parts[0].append(commit(5), commit(6))
    cluster.parts[1].append(commit(1, "shipping"))
    log.meet(cluster.metadata())
    eventually(lambda: log.state.caught_up, what="caught up")
    assert reported(log) == {"billing": 6, "shipping": 1}
    cluster.parts[1].append(commit(2, "shipping"))
    becomes(lambda: reported(log), {"billing": 6, "shipping": 2})
    state = log.state
    assert (state.partitions, state.reported, state.behind, state.problems) == (4, 4, 0, ())
    assert state.commits_read == 4


def test_a_partition_that_is_read_halfway_tells_nothing(cluster: Cluster, log: CommitLog) -> None:
    cluster.parts[0].append(commit(5))
    cluster.parts[0].end = 9  # the broker does not give the rest just now
    cluster.parts[1].append(commit(1, "shipping"))
    log.meet(cluster.metadata())
    eventually(lambda: log.state.reported == 3, what="three partitions")
    assert reported(log) == {"shipping": 1}
    assert log.state.behind == 8
    assert not log.state.caught_up
    cluster.parts[0].end = 1
    becomes(lambda: reported(log), {"billing": 5, "shipping": 1})


def test_a_start_beyond_zero(cluster: Cluster, log: CommitLog) -> None:
    part = cluster.parts[2]
    part.start = part.end = 700
    part.append(commit(5))
    log.meet(cluster.metadata())
    becomes(lambda: reported(log), {"billing": 5})


def test_many_fetches(cluster: Cluster, log: CommitLog) -> None:
    cluster.most_batches = 1
    for turn in range(50):
        for part in cluster.parts:
            part.append(commit(turn, f"group-{id(part)}"))
    log.meet(cluster.metadata())
    eventually(lambda: log.state.caught_up, what="caught up")
    assert set(reported(log).values()) == {49}
    assert len({tuple(order) for order in cluster.fetched}) > 2  # partitions take turns


@pytest.mark.parametrize("how", ["out of range", "diverging", "recreated"])
def test_a_log_that_is_another_one_is_read_anew(cluster: Cluster, log: CommitLog, how: str) -> None:
    part = cluster.parts[0]
    part.append(commit(5), commit(6), commit(7, "gone"))
    log.meet(cluster.metadata())
    becomes(lambda: reported(log), {"billing": 6, "gone": 7})
    part.batches, part.end = [], 0
    part.append(commit(4))
    if how == "diverging":
        part.append(commit(3), commit(2), commit(1))
        part.diverging = True
    if how == "recreated":
        part.append(commit(3), commit(2), commit(1))
        cluster.topic_id = "another"
        log.meet(cluster.metadata())
    becomes(lambda: reported(log), {"billing": 4 if how == "out of range" else 1})


def test_read_denied_is_tried_again(
    cluster: Cluster, log: CommitLog, caplog: pytest.LogCaptureFixture
) -> None:
    for part in cluster.parts:
        part.error = 29
    cluster.parts[0].append(commit(5))
    log.meet(cluster.metadata())
    eventually(lambda: log.state.denied, what="denial")
    assert log.state.problems == (NEEDS,)
    assert "READ on the topic __consumer_offsets" in NEEDS
    assert log.latest().is_empty()
    fetches = len(cluster.fetched)
    eventually(lambda: len(cluster.fetched) > fetches + 3, what="further tries")
    assert caplog.text.count("commit times are estimated") == 1
    for part in cluster.parts:
        part.error = 0
    becomes(lambda: reported(log), {"billing": 5})
    assert not log.state.denied
    assert log.state.problems == ()


@pytest.mark.parametrize("code", [3, 5, 6, 56, 74])
def test_an_error_of_one_partition_is_its_own(cluster: Cluster, log: CommitLog, code: int) -> None:
    cluster.parts[0].append(commit(5))
    cluster.parts[1].append(commit(1, "shipping"))
    cluster.parts[1].error = code
    log.meet(cluster.metadata())
    becomes(lambda: reported(log), {"billing": 5})
    (problem,) = log.state.problems
    assert problem.startswith("__consumer_offsets partition 1: ")
    cluster.parts[1].error = 0
    becomes(lambda: reported(log), {"billing": 5, "shipping": 1})
    assert log.state.problems == ()


def test_a_broker_that_is_down_costs_what_it_holds(
    cluster: Cluster, log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.parts[0].append(commit(5))
    cluster.parts[1].append(commit(1, "shipping"))
    log.meet(cluster.metadata())
    eventually(lambda: log.state.caught_up, what="caught up")
    cluster.down.add(1)
    becomes(
        lambda: log.state.problems,
        tuple(f"__consumer_offsets partition {n}: broker 1: refused" for n in (1, 3)),
    )
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.05)  # what is old is not reported any more
    becomes(lambda: reported(log), {"billing": 5})
    monkeypatch.undo()
    log.meet(cluster.metadata(dict.fromkeys(range(4), 0)))  # another broker leads now
    cluster.parts[1].append(commit(2, "shipping"))
    becomes(lambda: reported(log), {"billing": 5, "shipping": 2})


def test_a_partition_without_a_leader(cluster: Cluster, log: CommitLog) -> None:
    cluster.parts[0].append(commit(5))
    log.meet(cluster.metadata({0: 0, 1: None, 2: 0, 3: 1}))
    becomes(lambda: reported(log), {"billing": 5})
    becomes(
        lambda: log.state.problems, ("__consumer_offsets partition 1: the partition has no leader",)
    )


def test_a_corrupt_batch_is_named_and_stepped_over(cluster: Cluster, log: CommitLog) -> None:
    part = cluster.parts[2]
    part.append(commit(5))
    part.append(commit(6), commit(7))
    at, data = part.batches[1]
    part.batches[1] = (at, data[:61] + b"\xff" + data[62:])
    part.append(commit(8, "other"))
    cluster.parts[0].append(commit(1, "shipping"))
    log.meet(cluster.metadata())
    becomes(lambda: reported(log), {"other": 8, "shipping": 1})
    (lost,) = log.state.lost
    assert lost.startswith("__consumer_offsets partition 2: the record batch at offset 1 is not")
    assert lost.endswith("what was committed there before offset 3 is lost")
    part.append(commit(9))
    becomes(lambda: reported(log), {"other": 8, "shipping": 1, "billing": 9})


def test_a_batch_without_an_end_is_stepped_over_to_the_logs_end(
    cluster: Cluster, log: CommitLog
) -> None:
    part = cluster.parts[0]
    part.append(commit(5))
    part.append(commit(6))
    at, data = part.batches[1]
    part.batches[1] = (at, data[:16] + b"\x07" + data[17:])
    log.meet(cluster.metadata())
    eventually(lambda: log.state.caught_up, what="caught up")
    assert reported(log) == {}
    assert "its format is 7" in log.state.lost[0]
    part.append(commit(9))
    becomes(lambda: reported(log), {"billing": 9})


def test_a_fault_of_ours_is_said_and_does_not_end_it(
    cluster: Cluster, log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(offset: int) -> Any:
        raise KeyError("oops")

    cluster.parts[0].append(commit(5))
    monkeypatch.setattr(cluster, "fetch", lambda *_: broken(0))
    log.meet(cluster.metadata())
    becomes(lambda: log.state.problems, ("__consumer_offsets: KeyError: 'oops'",))
    monkeypatch.undo()
    becomes(lambda: reported(log), {"billing": 5})
    becomes(lambda: log.state.problems, ())


def test_close_ends_the_thread_and_its_connections(cluster: Cluster, log: CommitLog) -> None:
    log.meet(cluster.metadata())
    eventually(lambda: log.state.caught_up, what="caught up")
    assert any(thread.name == "commits-test" for thread in threading.enumerate())
    log.close()
    assert cluster.closed.is_set()
    assert not any(thread.name == "commits-test" for thread in threading.enumerate())
    log.meet(cluster.metadata())
    assert not any(thread.name == "commits-test" for thread in threading.enumerate())
