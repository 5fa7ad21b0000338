"""Where consumer groups stand: committed offsets, and the share partitions of share groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from kafka.protocol.consumer import OffsetFetchRequest

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.groups.descriptions import NOT_ANSWERED
from collectors.kafka.groups.model import COMMITTED_SCHEMA, GroupRef
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import COORDINATOR_MOVES, GROUP_NOT_FOUND, reason
from collectors.kafka.protocol.messages import DescribeShareGroupOffsetsRequest
from collectors.source.rows import columns_frame

NEEDS_NEWER_BROKER = "needs Kafka 4.2 or newer: offsets of share groups"
NOT_INITIALISED = "the share partition has not been read from yet"

Chunks = Callable[[Sequence[str]], Iterable[list[str]]]


@dataclass(slots=True, kw_only=True)
class Commits:
    """What coordinators said.

    Attributes:
        answered: Groups that were answered for, whatever was said of them.
        unknown: Group: why its offsets could not be read.
        moved: Groups that the asked broker does not coordinate any more.
    """

    parts: list[pl.DataFrame] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    unknown: dict[str, str] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)

    @property
    def rows(self) -> pl.DataFrame:
        """All rows in one frame; what a broker tells twice counts once."""
        rows = pl.concat([pl.DataFrame(schema=COMMITTED_SCHEMA), *self.parts])
        return rows.unique(["group", "topic", "partition"], keep="last", maintain_order=True)

    def add(self, part: Commits) -> None:
        """Take over what another one holds."""
        self.parts += part.parts
        self.answered |= part.answered
        self.unknown.update(part.unknown)
        self.moved |= part.moved


class _Columns:
    """The columns of ``COMMITTED_SCHEMA`` while one answer is read."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in COMMITTED_SCHEMA}
        self.answered: set[str] = set()
        self.unknown: dict[str, str] = {}
        self.moved: set[str] = set()

    def fail(self, group: str, code: int) -> None:
        self.unknown[group] = reason(code)
        if code in COORDINATOR_MOVES:
            self.moved.add(group)

    def add(
        self,
        group: str,
        topic: str,
        partition: int,
        committed: int | None,
        share_lag: int | None = None,
        unknown: str | None = None,
    ) -> None:
        columns = self._columns
        columns["group"].append(group)
        columns["topic"].append(topic)
        columns["partition"].append(partition)
        columns["committed"].append(committed)
        columns["share_lag"].append(share_lag)
        columns["committed_unknown"].append(unknown)

    def commits(self) -> Commits:
        rows = columns_frame(self._columns, COMMITTED_SCHEMA)
        return Commits(parts=[rows], answered=self.answered, unknown=self.unknown, moved=self.moved)


def read_commits(
    wire: Wire,
    by_broker: Mapping[int, Sequence[GroupRef]],
    chunks: Chunks,
    deadline: Deadline,
) -> Commits:
    """Ask each coordinator for its groups' offsets, in few requests."""
    found = Commits()
    ids, asked = _asked(by_broker, lambda ref: ref.type != "share", chunks, _offset_fetch)
    old: dict[int, list[Any]] = {}
    for broker, answers in wire.each(asked, deadline, _read_fetch).items():
        if isinstance(answers, UnsupportedError):
            old[broker] = [_offset_fetch_of_one(group) for group in ids[broker]]
        else:
            _take(found, ids[broker], answers)
    for broker, answers in wire.each(old, deadline).items():
        if isinstance(answers, CollectorError):
            _take(found, ids[broker], answers)
            continue
        columns = _Columns()
        for group, answer in zip(ids[broker], answers, strict=True):
            _group(columns, group, answer)
        _take(found, ids[broker], [columns.commits()])
    ids, asked = _asked(by_broker, lambda ref: ref.type == "share", chunks, _share_offsets)
    for broker, answers in wire.each(asked, deadline, _read_share_answer).items():
        if isinstance(answers, UnsupportedError):
            found.unknown.update(dict.fromkeys(ids[broker], NEEDS_NEWER_BROKER))
        else:
            _take(found, ids[broker], answers)
    return found


def _asked(
    by_broker: Mapping[int, Sequence[GroupRef]],
    is_meant: Callable[[GroupRef], bool],
    chunks: Chunks,
    make: Callable[[Sequence[str]], Any],
) -> tuple[dict[int, list[str]], dict[int, list[Any]]]:
    """Return the groups that each broker is asked for, and the requests."""
    ids = {
        broker: [ref.group for ref in refs if is_meant(ref)] for broker, refs in by_broker.items()
    }
    asked = {broker: [make(chunk) for chunk in chunks(groups)] for broker, groups in ids.items()}
    return ids, {broker: requests for broker, requests in asked.items() if requests}


def _take(found: Commits, groups: Sequence[str], parts: list[Any] | CollectorError) -> None:
    if isinstance(parts, CollectorError):
        found.unknown.update(dict.fromkeys(groups, str(parts)))
        return
    for part in parts:
        found.add(part)
    found.unknown.update(dict.fromkeys(set(groups) - found.answered, NOT_ANSWERED))


def _offset_fetch(groups: Sequence[str]) -> Any:
    group_type = OffsetFetchRequest.OffsetFetchRequestGroup
    # require_stable would turn offsets with an open transaction into errors.
    return OffsetFetchRequest(
        groups=[group_type(group_id=group, topics=None) for group in groups],
        require_stable=False,
        min_version=8,
        max_version=8,
    )


def _offset_fetch_of_one(group: str) -> Any:
    return OffsetFetchRequest(
        group_id=group, topics=None, require_stable=False, min_version=2, max_version=7
    )


def _read_fetch(answer: Any) -> Commits:
    columns = _Columns()
    for group in answer.groups or ():
        _group(columns, group.group_id, group)
    return columns.commits()


def _group(columns: _Columns, group: str, answer: Any) -> None:
    columns.answered.add(group)
    code = answer.error_code
    if code == GROUP_NOT_FOUND:
        return
    if code:
        columns.fail(group, code)
        return
    for topic in answer.topics or ():
        for partition in topic.partitions or ():
            error = partition.error_code
            if error:
                columns.add(
                    group, topic.name, partition.partition_index, None, unknown=reason(error)
                )
            elif partition.committed_offset >= 0:
                columns.add(
                    group, topic.name, partition.partition_index, partition.committed_offset
                )


def _share_offsets(groups: Sequence[str]) -> Any:
    group_type = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    return DescribeShareGroupOffsetsRequest(
        groups=[group_type(group_id=group, topics=None) for group in groups]
    )


def _read_share_answer(answer: Any) -> Commits:
    columns = _Columns()
    for group in answer.groups or ():
        columns.answered.add(group.group_id)
        if group.error_code == GROUP_NOT_FOUND:
            continue
        if group.error_code:
            columns.fail(group.group_id, group.error_code)
            continue
        for topic in group.topics or ():
            for partition in topic.partitions or ():
                place = (group.group_id, topic.topic_name, partition.partition_index)
                lag = partition.lag
                if partition.error_code:
                    columns.add(*place, None, unknown=reason(partition.error_code))
                elif partition.start_offset < 0:
                    columns.add(*place, None, unknown=NOT_INITIALISED)
                elif lag is None or lag < 0:  # version 0 does not tell it
                    columns.add(*place, partition.start_offset, unknown=NEEDS_NEWER_BROKER)
                else:
                    columns.add(*place, partition.start_offset, lag)
    return columns.commits()
