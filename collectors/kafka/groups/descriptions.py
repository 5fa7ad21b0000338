"""Descriptions of consumer groups of every type: state, members, assignments, subscriptions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.groups.member_protocol import decode_assignment, decode_subscription
from collectors.kafka.groups.model import (
    MEMBERS_SCHEMA,
    OWNERS_SCHEMA,
    SUBSCRIPTIONS_SCHEMA,
    GroupRef,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import COORDINATOR_MOVES, GROUP_NOT_FOUND, reason
from collectors.kafka.protocol.messages import (
    ConsumerGroupDescribeRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)

NOT_UNDERSTOOD = "its description could not be understood"
NOT_ANSWERED = "its coordinator did not answer for it"

_CONSUMER_PROTOCOL = "consumer"

_REQUESTS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "classic": lambda ids: DescribeGroupsRequest(groups=ids, include_authorized_operations=False),
    "consumer": lambda ids: ConsumerGroupDescribeRequest(
        group_ids=ids, include_authorized_operations=False
    ),
    "share": lambda ids: ShareGroupDescribeRequest(
        group_ids=ids, include_authorized_operations=False
    ),
    "streams": lambda ids: StreamsGroupDescribeRequest(
        group_ids=ids, include_authorized_operations=False
    ),
}

Assignment = Sequence[tuple[str, Sequence[int]]]


@dataclass(slots=True, kw_only=True)
class Described:
    """Columns that grow while descriptions are read.

    Attributes:
        groups: Group: its row (``GROUPS_SCHEMA``).
        gone: Groups of which their coordinator says that they do not exist.
        moved: Groups that the asked broker does not coordinate any more.
    """

    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, list[Any]] = field(default_factory=lambda: _columns(MEMBERS_SCHEMA))
    owners: dict[str, list[Any]] = field(default_factory=lambda: _columns(OWNERS_SCHEMA))
    subscriptions: dict[str, list[Any]] = field(
        default_factory=lambda: _columns(SUBSCRIPTIONS_SCHEMA)
    )
    unknown: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)

    def add(self, part: Described) -> None:
        """Take over what another one holds; it knows better of groups that are in both."""
        for group in part.groups:
            self.unknown.pop(group, None)
        self.groups.update(part.groups)
        for mine, theirs in (
            (self.members, part.members),
            (self.owners, part.owners),
            (self.subscriptions, part.subscriptions),
        ):
            for name, values in theirs.items():
                mine[name] += values
        self.unknown.update(part.unknown)
        self.gone |= part.gone
        self.moved |= part.moved

    def add_unknown(self, ref: GroupRef, broker: int | None, why: str) -> None:
        """Note a group that exists as far as is known, and that could not be described."""
        row = _row(ref, broker, state="unknown", members=None)
        row["unknown_reason"] = why
        self.groups[ref.group] = row
        self.unknown[ref.group] = why


def describe(
    wire: Wire,
    by_broker: Mapping[int, Sequence[GroupRef]],
    chunks: Callable[[Sequence[str]], Iterable[list[str]]],
    deadline: Deadline,
) -> Described:
    """Ask each coordinator for its groups, all groups of a type in few requests."""
    found = Described()
    for type_, make in _REQUESTS.items():
        asked: dict[int, list[Any]] = {}
        refs: dict[int, dict[str, GroupRef]] = {}
        for broker, all_refs in by_broker.items():
            refs[broker] = {ref.group: ref for ref in all_refs if ref.type == type_}
            if refs[broker]:
                asked[broker] = [make(chunk) for chunk in chunks(list(refs[broker]))]
        read = partial(_read, {ref.group: ref for some in refs.values() for ref in some.values()})
        for broker, parts in wire.each(asked, deadline, read).items():
            if isinstance(parts, CollectorError):
                for ref in refs[broker].values():
                    _not_described(found, ref, broker, parts)
                continue
            for part in parts:
                for group in part.groups.values():
                    group["coordinator"] = broker
                found.add(part)
            for group in refs[broker].keys() - found.groups.keys():
                found.add_unknown(refs[broker][group], broker, NOT_ANSWERED)
    for broker, all_refs in by_broker.items():
        for ref in all_refs:
            if ref.type not in _REQUESTS:
                row = _row(ref, broker, state=None, members=None)
                row["unknown_reason"] = f"members of {ref.type} groups are not read"
                found.groups[ref.group] = row
    return found


def _not_described(found: Described, ref: GroupRef, broker: int, error: CollectorError) -> None:
    if not isinstance(error, UnsupportedError):
        found.add_unknown(ref, broker, str(error))
        return
    # The broker lists groups of this type and cannot describe them; their offsets are known.
    row = _row(ref, broker, state=None, members=None)
    row["unknown_reason"] = f"members of {ref.type} groups need a newer broker"
    found.groups[ref.group] = row


def _read(refs: Mapping[str, GroupRef], answer: Any) -> Described:
    """Turn one answer into columns."""
    part = Described()
    for described in answer.groups or ():
        ref = refs.get(described.group_id)
        if ref is None:
            continue
        one = Described()
        try:
            _group(one, ref, described)
        except (AttributeError, TypeError, ValueError):  # a part of it is null that must not be
            one = Described()
            one.add_unknown(ref, None, NOT_UNDERSTOOD)
        part.add(one)
    return part


def _group(part: Described, ref: GroupRef, described: Any) -> None:
    state = described.group_state.lower()
    # Before version 6 a group that does not exist is described as dead, without an error.
    if described.error_code == GROUP_NOT_FOUND or (not described.error_code and state == "dead"):
        part.gone.add(ref.group)
        part.groups[ref.group] = _row(ref, None, state="dead", members=0)
        return
    if described.error_code:
        if described.error_code in COORDINATOR_MOVES:
            part.moved.add(ref.group)
        part.add_unknown(ref, None, reason(described.error_code))
        return
    members = described.members or ()
    row = _row(ref, None, state=_snake(described.group_state), members=len(members))
    if ref.type == "classic":
        row["protocol_type"] = described.protocol_type
        row["protocol"] = described.protocol_data or None
    else:
        row["protocol"] = getattr(described, "assignor_name", None) or None
        row["epoch"] = described.group_epoch
    part.groups[ref.group] = row
    sources = _sources_of(described) if ref.type == "streams" else {}
    for member in members:
        _member(part, ref, row["protocol_type"], member, sources)
    _subscriptions(part, ref, row["protocol_type"], described, sources)


def _member(
    part: Described,
    ref: GroupRef,
    protocol_type: str,
    member: Any,
    sources: Mapping[str, Sequence[str]],
) -> None:
    is_classic = ref.type == "classic"
    if is_classic:
        assignment = _assignment(protocol_type, bytes(member.member_assignment or b""))
    elif ref.type == "streams":
        assignment = _tasks(member.assignment.active_tasks or (), sources)
    else:
        assignment = [
            (item.topic_name, item.partitions or ())
            for item in member.assignment.topic_partitions or ()
        ]
    host = (member.client_host or "").lstrip("/")
    members = part.members
    members["group"].append(ref.group)
    members["member_id"].append(member.member_id)
    members["client_id"].append(member.client_id)
    members["host"].append(host)
    instance = "group_instance_id" if is_classic else "instance_id"
    members["instance_id"].append(getattr(member, instance, None))
    members["rack"].append(getattr(member, "rack_id", None))
    members["epoch"].append(getattr(member, "member_epoch", None))
    members["assigned_partitions"].append(
        None if assignment is None else sum(len(partitions) for _, partitions in assignment)
    )
    if ref.type == "share" or assignment is None:  # a share partition has no owner of its own
        return
    owners = part.owners
    for topic, partitions in assignment:
        count = len(partitions)
        owners["group"] += [ref.group] * count
        owners["topic"] += [topic] * count
        owners["partition"].extend(partitions)
        owners["member_id"] += [member.member_id] * count
        owners["client_id"] += [member.client_id] * count
        owners["host"] += [host] * count


def _subscriptions(
    part: Described,
    ref: GroupRef,
    protocol_type: str,
    described: Any,
    sources: Mapping[str, Sequence[str]],
) -> None:
    """Note what the group reads; nothing where one member's subscription is not known."""
    topics: set[str] = set()
    patterns: set[str] = set()
    for member in described.members or ():
        if ref.type == "classic":
            found = _subscription(protocol_type, bytes(member.member_metadata or b""))
            if found is None:
                return
            topics.update(found)
        elif ref.type == "streams":
            topics.update(topic for names in sources.values() for topic in names)
        else:
            topics.update(member.subscribed_topic_names or ())
            pattern = getattr(member, "subscribed_topic_regex", None)
            if pattern:
                patterns.add(pattern)
    columns = part.subscriptions
    columns["group"] += [ref.group] * (len(topics) + len(patterns))
    columns["topic"] += [*topics, *[None] * len(patterns)]
    columns["pattern"] += [*[None] * len(topics), *patterns]


def _subscription(protocol_type: str, payload: bytes) -> Sequence[str] | None:
    """Return a classic member's topics; None where it does not say or says something else.

    A member that is about to join has no metadata yet.
    """
    if protocol_type != _CONSUMER_PROTOCOL or not payload:
        return None
    try:
        return decode_subscription(payload)
    except ValueError:
        return None


def _assignment(protocol_type: str, payload: bytes) -> Assignment | None:
    """Return a classic member's partitions; None where it has something else or nothing readable.

    Connect's workers and others put their own data where consumers have partitions.
    """
    if protocol_type != _CONSUMER_PROTOCOL:
        return None
    try:
        return decode_assignment(payload)
    except ValueError:
        return None


def _sources_of(described: Any) -> dict[str, list[str]]:
    """Return the topics that each subtopology of a Streams application reads."""
    topology = described.topology
    if topology is None:
        return {}
    return {
        sub.subtopology_id: [
            *(sub.source_topics or ()),
            *(topic.name for topic in sub.repartition_source_topics or ()),
        ]
        for sub in topology.subtopologies or ()
    }


def _tasks(tasks: Any, sources: Mapping[str, Sequence[str]]) -> Assignment:
    """Return the partitions of active tasks: task n reads partition n of each source topic."""
    found: dict[str, list[int]] = defaultdict(list)
    for task in tasks:
        for topic in sources.get(task.subtopology_id, ()):
            found[topic] += task.partitions or ()
    return list(found.items())


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
        "epoch": None,
        "unknown_reason": None,
    }


def _columns(schema: Iterable[str]) -> dict[str, list[Any]]:
    return {name: [] for name in schema}


def _snake(state: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in state).lstrip("_")
