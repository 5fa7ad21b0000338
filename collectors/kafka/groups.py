"""Reads of consumer groups in a few requests a broker: who there is, members, committed offsets.

Kafka's ListGroups answers for the groups that the asked broker coordinates, so asking every broker
finds every group *and* its coordinator. Each coordinator is then asked once for all of its groups.
A group that was known before and is listed by nobody is looked up: it is gone only where its
coordinator says so, and *unknown* where the coordinator cannot be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.answers import GROUP_NOT_FOUND, reason
from collectors.kafka.assignment import decode_assignment
from collectors.kafka.grouptypes import (
    COMMITTED_SCHEMA,
    GROUPS_SCHEMA,
    MEMBERS_SCHEMA,
    OWNERS_SCHEMA,
    GroupRef,
    Groups,
)
from collectors.kafka.messages import ConsumerGroupDescribeRequest, ShareGroupDescribeRequest
from collectors.kafka.wire import Deadline, Wire

_GROUPS_A_REQUEST = 2000
_CONSUMER_PROTOCOL = "consumer"


@dataclass(slots=True)
class _Reading:
    """Columns that grow while the answers are read."""

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, list[Any]] = field(
        default_factory=lambda: {name: [] for name in MEMBERS_SCHEMA}
    )
    owners: dict[str, list[Any]] = field(
        default_factory=lambda: {name: [] for name in OWNERS_SCHEMA}
    )
    committed: dict[str, list[Any]] = field(
        default_factory=lambda: {name: [] for name in COMMITTED_SCHEMA}
    )
    offsets_unknown: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


def read_groups(
    wire: Wire,
    brokers: Iterable[int],
    known: Mapping[str, GroupRef],
    selects: Callable[[str], bool],
    deadline: Deadline,
) -> Groups:
    """Read all groups with their members and committed offsets.

    Args:
        wire: The connections.
        brokers: The brokers that are alive.
        known: The groups of earlier polls.
        selects: Tells whether a group is watched.
        deadline: The poll's.
    """
    refs, coordinators, problems = _list(wire, brokers, selects, deadline)
    missing = [group for group in known if group not in refs and selects(group)]
    lost: dict[str, str] = {}
    if missing:
        places = _find_coordinators(wire, missing, deadline)
        for group in missing:
            refs[group] = known[group]
            place = places[group]
            if isinstance(place, int):
                coordinators[group] = place
            else:
                lost[group] = place
    reading = _Reading()
    for group, why in lost.items():
        _unknown(reading, refs[group], None, why)
    by_broker: dict[int, list[GroupRef]] = defaultdict(list)
    for group, broker in coordinators.items():
        by_broker[broker].append(refs[group])
    _describe(wire, by_broker, reading, deadline)
    _fetch_offsets(wire, by_broker, reading, deadline)
    # Found by its old coordinator's absence of an answer only: the coordinator says it is gone.
    for group in reading.gone:
        if group in known and group in missing:
            reading.groups.pop(group, None)
            reading.offsets_unknown.pop(group, None)
            refs.pop(group, None)
    unknown = sum(1 for row in reading.groups.values() if row["state"] == "unknown")
    if unknown:
        problems.append(f"{unknown} of {len(refs)} groups are unknown")
    return Groups(
        pl.DataFrame(list(reading.groups.values()), schema=GROUPS_SCHEMA).sort("group"),
        pl.DataFrame(reading.members, schema=MEMBERS_SCHEMA).sort("group", "member_id"),
        pl.DataFrame(reading.owners, schema=OWNERS_SCHEMA),
        pl.DataFrame(reading.committed, schema=COMMITTED_SCHEMA),
        reading.offsets_unknown,
        refs,
        problems,
    )


def _list(
    wire: Wire, brokers: Iterable[int], selects: Callable[[str], bool], deadline: Deadline
) -> tuple[dict[str, GroupRef], dict[str, int], list[str]]:
    refs: dict[str, GroupRef] = {}
    coordinators: dict[str, int] = {}
    problems: list[str] = []
    asked = {broker: [ListGroupsRequest()] for broker in brokers}
    for broker, answers in wire.each(asked, deadline).items():
        if isinstance(answers, CollectorError):
            problems.append(f"groups of {answers}")
            continue
        (answer,) = answers
        if answer.error_code:
            problems.append(f"groups of broker {broker}: {reason(answer.error_code)}")
        for listed in answer.groups:
            if not selects(listed.group_id):
                continue
            # A group may be listed twice while its coordinator moves; the describing tells.
            type_ = (getattr(listed, "group_type", None) or "classic").lower()
            refs[listed.group_id] = GroupRef(listed.group_id, type_, listed.protocol_type)
            coordinators[listed.group_id] = broker
    return refs, coordinators, problems


def _find_coordinators(
    wire: Wire, groups: Sequence[str], deadline: Deadline
) -> dict[str, int | str]:
    """Return each group's coordinator, or why there is none."""
    try:
        answer = wire.any(
            lambda: FindCoordinatorRequest(
                key_type=0, coordinator_keys=list(groups), min_version=4, max_version=4
            ),
            deadline,
        )
    except UnsupportedError:
        return _find_coordinators_one_by_one(wire, groups, deadline)
    except CollectorError as error:
        return dict.fromkeys(groups, str(error))
    return {
        item.key: reason(item.error_code) if item.error_code else int(item.node_id)
        for item in answer.coordinators
    }


def _find_coordinators_one_by_one(
    wire: Wire, groups: Sequence[str], deadline: Deadline
) -> dict[str, int | str]:
    """As ``_find_coordinators``, for brokers before 3.0."""
    places: dict[str, int | str] = {}
    for group in groups:
        try:
            answer = wire.any(
                partial(FindCoordinatorRequest, key=group, key_type=0, max_version=3),
                deadline,
            )
        except CollectorError as error:
            places[group] = str(error)
            continue
        code = answer.error_code
        places[group] = reason(code) if code else int(answer.node_id)
    return places


def _describe(
    wire: Wire,
    by_broker: Mapping[int, Sequence[GroupRef]],
    reading: _Reading,
    deadline: Deadline,
) -> None:
    makers: dict[str, Callable[[list[str]], Any]] = {
        "classic": lambda ids: DescribeGroupsRequest(
            groups=ids, include_authorized_operations=False
        ),
        "consumer": lambda ids: ConsumerGroupDescribeRequest(
            group_ids=ids, include_authorized_operations=False
        ),
        "share": lambda ids: ShareGroupDescribeRequest(
            group_ids=ids, include_authorized_operations=False
        ),
    }
    for type_, make in makers.items():
        asked: dict[int, list[Any]] = {}
        of_type: dict[int, list[GroupRef]] = {}
        for broker, refs in by_broker.items():
            of_type[broker] = [ref for ref in refs if ref.type == type_]
            ids = [ref.group for ref in of_type[broker]]
            if ids:
                asked[broker] = [make(chunk) for chunk in _chunks(ids)]
        for broker, answers in wire.each(asked, deadline).items():
            if isinstance(answers, CollectorError):
                for ref in of_type[broker]:
                    _unknown(reading, ref, broker, str(answers))
                continue
            by_id = {ref.group: ref for ref in of_type[broker]}
            for answer in answers:
                for described in answer.groups:
                    _described(reading, by_id[described.group_id], broker, described)
    for broker, refs in by_broker.items():
        for ref in refs:
            if ref.type not in makers:
                row = _row(ref, broker, state=None, members=None)
                row["unknown_reason"] = f"members of {ref.type} groups are not read"
                reading.groups[ref.group] = row


def _described(reading: _Reading, ref: GroupRef, broker: int, described: Any) -> None:
    state = described.group_state.lower()
    # Before version 6 a group that does not exist is described as dead, without an error.
    if described.error_code == GROUP_NOT_FOUND or (not described.error_code and state == "dead"):
        reading.gone.add(ref.group)
        reading.groups[ref.group] = _row(ref, broker, state="dead", members=0)
        return
    if described.error_code:
        _unknown(reading, ref, broker, reason(described.error_code))
        return
    row = _row(ref, broker, state=_snake(described.group_state), members=len(described.members))
    if ref.type == "classic":
        row["protocol_type"] = described.protocol_type
        row["protocol"] = described.protocol_data or None
    else:
        row["protocol"] = described.assignor_name or None
    reading.groups[ref.group] = row
    for member in described.members:
        _member(reading, ref, row["protocol_type"], member)


def _member(reading: _Reading, ref: GroupRef, protocol_type: str, member: Any) -> None:
    assignment: Sequence[tuple[str, Sequence[int]]] | None
    if ref.type != "classic":
        assignment = [
            (part.topic_name, part.partitions) for part in member.assignment.topic_partitions
        ]
        instance = getattr(member, "instance_id", None)
    else:
        assignment = _assignment(protocol_type, bytes(member.member_assignment))
        instance = member.group_instance_id
    host = member.client_host.lstrip("/")
    members = reading.members
    members["group"].append(ref.group)
    members["member_id"].append(member.member_id)
    members["client_id"].append(member.client_id)
    members["host"].append(host)
    members["instance_id"].append(instance)
    members["assigned_partitions"].append(
        None if assignment is None else sum(len(partitions) for _, partitions in assignment)
    )
    if ref.type == "share" or assignment is None:  # a share partition has no owner of its own
        return
    owners = reading.owners
    for topic, partitions in assignment:
        count = len(partitions)
        owners["group"] += [ref.group] * count
        owners["topic"] += [topic] * count
        owners["partition"].extend(partitions)
        owners["member_id"] += [member.member_id] * count
        owners["client_id"] += [member.client_id] * count
        owners["host"] += [host] * count


def _assignment(protocol_type: str, payload: bytes) -> Sequence[tuple[str, Sequence[int]]] | None:
    """Return a classic member's partitions; None where it has something else or nothing readable.

    Connect's workers and others put their own data where consumers have partitions.
    """
    if protocol_type != _CONSUMER_PROTOCOL:
        return None
    try:
        return decode_assignment(payload)
    except ValueError:
        return None


def _fetch_offsets(
    wire: Wire,
    by_broker: Mapping[int, Sequence[GroupRef]],
    reading: _Reading,
    deadline: Deadline,
) -> None:
    asked: dict[int, list[Any]] = {}
    ids_of = {}
    for broker, refs in by_broker.items():
        ids = [ref.group for ref in refs if ref.holds_offsets]
        if ids:
            ids_of[broker] = ids
            asked[broker] = [_offset_fetch(chunk) for chunk in _chunks(ids)]
    old: dict[int, list[Any]] = {}
    for broker, answers in wire.each(asked, deadline).items():
        if isinstance(answers, UnsupportedError):
            old[broker] = [_offset_fetch_of_one(group) for group in ids_of[broker]]
        elif isinstance(answers, CollectorError):
            reading.offsets_unknown.update(dict.fromkeys(ids_of[broker], str(answers)))
        else:
            for answer in answers:
                for group in answer.groups:
                    _committed(reading, group.group_id, group)
    for broker, answers in wire.each(old, deadline).items():
        if isinstance(answers, CollectorError):
            reading.offsets_unknown.update(dict.fromkeys(ids_of[broker], str(answers)))
            continue
        for group, answer in zip(ids_of[broker], answers, strict=True):
            _committed(reading, group, answer)


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


def _committed(reading: _Reading, group: str, answer: Any) -> None:
    code = answer.error_code
    if code == GROUP_NOT_FOUND:
        return
    if code:
        reading.offsets_unknown[group] = reason(code)
        return
    columns = reading.committed
    for topic in answer.topics:
        for partition in topic.partitions:
            error = partition.error_code
            if not error and partition.committed_offset < 0:
                continue
            columns["group"].append(group)
            columns["topic"].append(topic.name)
            columns["partition"].append(partition.partition_index)
            columns["committed"].append(None if error else partition.committed_offset)
            columns["committed_unknown"].append(reason(error) if error else None)


def _unknown(reading: _Reading, ref: GroupRef, broker: int | None, why: str) -> None:
    row = _row(ref, broker, state="unknown", members=None)
    row["unknown_reason"] = why
    reading.groups[ref.group] = row
    reading.offsets_unknown[ref.group] = why


def _row(
    ref: GroupRef, broker: int | None, state: str | None, members: int | None
) -> dict[str, Any]:
    return {
        "group": ref.group,
        "state": state,
        "type": ref.type,
        "protocol_type": ref.protocol_type,
        "protocol": None,
        "coordinator": broker,
        "members": members,
        "unknown_reason": None,
    }


def _snake(state: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in state).lstrip("_")


def _chunks(ids: Sequence[str]) -> Iterable[list[str]]:
    for start in range(0, len(ids), _GROUPS_A_REQUEST):
        yield list(ids[start : start + _GROUPS_A_REQUEST])
