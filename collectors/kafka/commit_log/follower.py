"""Follows ``__consumer_offsets`` in a thread of its own, and says at any time what it tells.

A poll hands over where the partitions are and takes the last commits; it never waits for the
follower. The follower has its own connections. It joins no group and asks for no topic by name
before a poll has seen that the topic exists, so that it cannot create it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import Metadata
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.commit_log.partition import COMMITS_SCHEMA, PartitionCommits
from collectors.kafka.commit_log.rebalances import MOST
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.error_codes import reason
from collectors.kafka.protocol.fetch.fetch_requests import READ_UNCOMMITTED, Position, fetch_request
from collectors.kafka.protocol.fetch.record_batches import CorruptBatchError
from collectors.kafka.protocol.threads import started
from collectors.source.rows import frame
from lake.schemas.tables import REBALANCES

log = logging.getLogger(__name__)

TOPIC = "__consumer_offsets"
NEEDS = f"not permitted: needs READ on the topic {TOPIC}"
"""The right without which commits are estimated."""

FRESH_SECONDS = 60.0
"""A partition that was not read to its end for this long is unknown."""

FETCH_BYTES = 2**20
_PAUSE_SECONDS = 1.0  # between two looks at a log that has been read to its end
_DUTY = 0.5  # share of a core while there is more to read
_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS = 1.0, 30.0
_DENIED_RETRY_SECONDS = 180.0
_CLOSE_SECONDS = 1.0
_LOST_SECONDS = 3600.0  # how long a part of the log that is lost is reported

_OFFSET_OUT_OF_RANGE, _TOPIC_AUTHORIZATION_FAILED = 1, 29


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """How far the follower is.

    Attributes:
        partitions: How many the topic has; 0 before a poll has seen it.
        reported: How many were read to their end lately, so that they tell the last commits.
        late: Whether it has had the time to read all of the log.
        behind: Records between what was read and the high watermarks, as far as is known.
        lost: What could not be understood within the last hour, one line each.
    """

    partitions: int = 0
    reported: int = 0
    late: bool = False
    behind: int = 0
    denied: bool = False
    problems: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    commits_read: int = 0

    @property
    def caught_up(self) -> bool:
        """Whether every partition tells its last commits."""
        return 0 < self.partitions == self.reported

    @property
    def complaints(self) -> list[str]:
        """What an operator has to know: nothing while the log is read for the first time."""
        lines = [*self.problems, *self.lost]
        if self.late and self.reported < self.partitions and not self.problems:
            lines.append(
                f"{self.partitions - self.reported} of {self.partitions} partitions of {TOPIC} are "
                f"not read to their end; {self.behind} records are known to be left"
            )
        return lines


@dataclass(slots=True, kw_only=True)
class _Followed:
    """One partition and how its reading goes."""

    index: int
    commits: PartitionCommits
    high_watermark: int | None = None
    pause: float = 0.0  # before the next try, in seconds; 0 while it is read
    retry_at: float = 0.0
    problem: str | None = None
    lost: tuple[float, str] | None = None  # until when to report it; a batch stepped over

    @property
    def behind(self) -> int:
        if self.high_watermark is None or self.commits.position is None:
            return 0
        return max(0, self.high_watermark - self.commits.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where the topic's partitions are: partition to its leader, None where there is none."""

    brokers: Sequence[Broker] = ()
    topic_id: str | None = None
    leaders: Mapping[int, int | None] = field(default_factory=dict)


class CommitLog:
    """The last commit of every group partition of a cluster, from the coordinators' log.

    Its methods are for one thread, the one that polls; the reading is done by another one, which
    ends with ``close`` or with the process.
    """

    def __init__(
        self,
        cluster: str,
        connect: Callable[[], Wire],
        request_seconds: float,
        *,
        since: datetime | None = None,
        duty: float = _DUTY,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        """Follow nothing yet.

        Args:
            cluster: Its name, for the log.
            connect: Makes the connections of the follower's own.
            request_seconds: How long one request waits for its answer.
            since: Rebalances from then on are told; None: all that the log has.
            duty: Share of a core while there is more to read.
            pause_seconds: Between two looks at a log that has been read to its end.
        """
        self._cluster = cluster
        self._connect = connect
        self._request_seconds = request_seconds
        self._since = since
        self._duty = duty
        self._pause_seconds = pause_seconds
        self._reported: deque[_Layout] = deque(maxlen=1)  # by a poll, not taken over yet
        self._layout = _Layout()
        self._followed: dict[int, _Followed] = {}
        self._denied_until: float | None = None
        self._fault: str | None = None
        self._turn = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun_at: float | None = None

    def meet(self, metadata: Metadata) -> None:
        """Take over where the topic's partitions are now; start to follow when there are any."""
        rows = metadata.partitions.filter(pl.col("topic") == TOPIC)
        if rows.is_empty():  # not created yet, or not visible just now
            return
        leaders = dict(rows.select("partition", "leader").iter_rows())
        self._reported.append(
            _Layout(brokers=metadata.brokers, topic_id=rows["topic_id"][0], leaders=leaders)
        )
        if self._thread is None and not self._stop.is_set():
            self._begun_at = time.monotonic()
            self._thread = started(self._follow, name=f"commits-{self._cluster}")

    def latest(self) -> pl.DataFrame:
        """Return the last commit of each key (``partition.COMMITS_SCHEMA``).

        Only partitions that were read to their end within ``FRESH_SECONDS`` are reported.
        """
        now = time.monotonic()
        frames = [
            each.commits.frame() for each in list(self._followed.values()) if _is_fresh(each, now)
        ]
        return pl.concat(frames) if frames else pl.DataFrame(schema=COMMITS_SCHEMA)

    def rebalances(self) -> tuple[pl.DataFrame, list[str]]:
        """Return the rebalances that were found since the last call, and what is unknown of them.

        Those up to ``since`` are left out: the lake has them, or they are too old.
        """
        rows, problems = [], []
        for index, each in list(self._followed.items()):
            groups = each.commits.groups
            if len(groups.found) == MOST:
                problems.append(f"only the last {MOST} rebalances of {each.commits.where} are told")
            while groups.found:
                rows.append({**asdict(groups.found.popleft()), "log_partition": index})
            if groups.problem is not None:
                problems.append(f"{each.commits.where}: {groups.problem}")
                groups.problem = None
        found = frame(REBALANCES, rows)
        if self._since is not None:
            found = found.filter(pl.col("rebalanced_at") > self._since)
        return found, problems

    @property
    def state(self) -> LogState:
        """How far the follower is."""
        now = time.monotonic()
        followed = list(self._followed.values())
        denied = self._denied_until is not None
        problems = [each for each in (NEEDS if denied else None, self._fault) if each is not None]
        problems += [each.problem for each in followed if each.problem is not None]
        return LogState(
            partitions=len(followed),
            reported=sum(_is_fresh(each, now) for each in followed),
            late=self._begun_at is not None and now - self._begun_at > FRESH_SECONDS,
            behind=sum(each.behind for each in followed),
            denied=denied,
            problems=tuple(problems),
            lost=tuple(each.lost[1] for each in followed if each.lost and now < each.lost[0]),
            commits_read=sum(each.commits.commits_read for each in followed),
        )

    def close(self) -> None:
        """End the follower; a request that a frozen broker holds up is not waited for."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _follow(self) -> None:
        wire = self._connect()
        try:
            while not self._stop.is_set():
                start = time.thread_time()
                try:
                    more, self._fault = self._fetch_once(wire), None
                except Exception as error:  # a fault of ours must not end the following for good
                    log.exception("cluster=%s %s", self._cluster, TOPIC)
                    self._fault = f"{TOPIC}: {type(error).__name__}: {error}"
                    self._stop.wait(_LAST_RETRY_SECONDS)
                    continue
                busy = time.thread_time() - start
                self._stop.wait(busy * (1 / self._duty - 1) if more else self._pause_seconds)
        finally:
            wire.close()

    def _fetch_once(self, wire: Wire) -> bool:
        """Fetch once from every leader; tell whether there is more to read at once."""
        self._take_layout(wire)
        now = time.monotonic()
        if self._denied_until is not None and now < self._denied_until:
            return False
        wire.begin_poll()
        deadline = Deadline(self._request_seconds, self._request_seconds)
        due = [each for each in self._followed.values() if each.retry_at <= now]
        self._find_starts(wire, due, deadline)
        requests = self._requests([each for each in due if each.commits.position is not None])
        more = False
        for leader, answers in wire.each(requests, deadline).items():
            if isinstance(answers, CollectorError):
                for each in due:
                    if self._layout.leaders.get(each.index) == leader:
                        self._failed(each, str(answers))
                continue
            for topic in answers[0].responses or ():
                for answer in topic.partitions or ():
                    if answer.partition_index in self._followed:
                        more |= self._take(self._followed[answer.partition_index], answer, now)
        return more

    def _take_layout(self, wire: Wire) -> None:
        try:
            layout = self._reported.pop()
        except IndexError:
            return
        wire.meet(layout.brokers)
        known = self._followed if layout.topic_id == self._layout.topic_id else {}
        followed = {}
        for index, leader in sorted(layout.leaders.items()):
            each = known.get(index) or _Followed(index=index, commits=PartitionCommits(index))
            if self._layout.leaders.get(index) != leader:
                each.retry_at = 0.0
            followed[index] = each
        self._followed, self._layout = followed, layout

    def _find_starts(self, wire: Wire, due: Sequence[_Followed], deadline: Deadline) -> None:
        """Let partitions begin at their log's start."""
        new = {each.index: each for each in due if each.commits.position is None}
        if not new:
            return
        rows = pl.DataFrame(
            {
                "topic": [TOPIC] * len(new),
                "partition": list(new),
                "leader": [self._layout.leaders[index] for index in new],
            },
            schema_overrides={"partition": pl.Int32(), "leader": pl.Int32()},
        )
        found = read_offsets(wire, rows, deadline)
        for index, start, why in found.select(
            "partition", "log_start", "offsets_unknown"
        ).iter_rows():
            if start is None:
                self._failed(new[index], why)
            else:
                new[index].commits.position = start

    def _requests(self, due: Sequence[_Followed]) -> dict[int, list[Any]]:
        """Return a Fetch for each leader.

        Partitions take turns at the first place, since a full response holds nothing of the later
        ones.
        """
        self._turn += 1
        first = self._turn % max(1, len(due))
        by_leader: dict[int, list[_Followed]] = {}
        for each in [*due[first:], *due[:first]]:
            leader = self._layout.leaders[each.index]
            if leader is None:
                self._failed(each, "the partition has no leader")
            else:
                by_leader.setdefault(leader, []).append(each)
        return {leader: [_fetch(partitions)] for leader, partitions in by_leader.items()}

    def _take(self, each: _Followed, answer: Any, asked_at: float) -> bool:
        """Take over what a broker answered for a partition; tell whether it has more."""
        code = answer.error_code
        commits = each.commits
        if code == _TOPIC_AUTHORIZATION_FAILED:
            self._deny()
            return False
        if code == _OFFSET_OUT_OF_RANGE or answer.diverging_epoch is not None:
            # Deleted up to here, cut off by an unclean election, or created anew: what was known
            # may be wrong. It is read anew from the start.
            commits.restart()
            each.high_watermark = None
            return False
        if code:
            self._failed(each, reason(code))
            return False
        self._permitted()
        each.high_watermark = answer.high_watermark
        before = commits.position
        try:
            if answer.records:
                commits.feed(bytes(answer.records), asked_at)
        except CorruptBatchError as error:
            self._step_over(each, error)
        each.pause, each.problem = 0.0, None
        if each.behind:
            return commits.position != before
        commits.reached_end(asked_at)
        return False

    def _step_over(self, each: _Followed, error: CorruptBatchError) -> None:
        """Go on behind a batch that is not understood; at the log's end where nothing tells."""
        if error.resume is None and each.high_watermark is not None:
            each.commits.position = each.high_watermark
        line = f"{error}; what was committed there before offset {each.commits.position} is lost"
        each.lost = (time.monotonic() + _LOST_SECONDS, line)
        log.warning("cluster=%s %s", self._cluster, line)

    def _failed(self, each: _Followed, why: str) -> None:
        each.pause = min(_LAST_RETRY_SECONDS, max(_FIRST_RETRY_SECONDS, each.pause * 2))
        each.retry_at = time.monotonic() + each.pause
        each.problem = f"{each.commits.where}: {why}"

    def _deny(self) -> None:
        if self._denied_until is None:
            log.warning("cluster=%s commit times are estimated: %s", self._cluster, NEEDS)
        self._denied_until = time.monotonic() + _DENIED_RETRY_SECONDS

    def _permitted(self) -> None:
        if self._denied_until is not None:
            log.info("cluster=%s %s can be read", self._cluster, TOPIC)
        self._denied_until = None


def _fetch(partitions: Sequence[_Followed]) -> Any:
    return fetch_request(
        {
            TOPIC: [
                Position(each.index, each.commits.position, each.commits.leader_epoch)
                for each in partitions
                if each.commits.position is not None
            ]
        },
        partition_bytes=FETCH_BYTES,
        answer_bytes=FETCH_BYTES,
        isolation_level=READ_UNCOMMITTED,
    )


def _is_fresh(each: _Followed, now: float) -> bool:
    ended_at = each.commits.ended_at
    return ended_at is not None and now - ended_at <= FRESH_SECONDS
