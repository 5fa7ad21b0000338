"""Reads of consumer groups in a few requests a broker: who there is, members, committed offsets.

Kafka's ListGroups answers for the groups that the asked broker coordinates, so asking every broker
finds every group *and* its coordinator. Each coordinator is then asked once for all of its groups.
A known group that no broker lists is looked up: it is gone only where its coordinator says so, and
*unknown* where the coordinator cannot be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest

from collectors.errors import CollectorError
from collectors.kafka.groups.committed_offsets import Commits, read_commits
from collectors.kafka.groups.descriptions import Described, describe
from collectors.kafka.groups.model import (
    GROUPS_SCHEMA,
    MEMBERS_SCHEMA,
    OWNERS_SCHEMA,
    SUBSCRIPTIONS_SCHEMA,
    GroupRef,
    Groups,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import COORDINATOR_MOVES, reason
from collectors.source.rows import columns_frame, distinct

_GROUPS_A_REQUEST = 500
_PARTITION = ["group", "topic", "partition"]
_COORDINATOR_NOT_AVAILABLE = 15


def read_groups(
    wire: Wire,
    brokers: Iterable[int],
    known: Mapping[str, GroupRef],
    selects: Callable[[str], bool],
    deadline: Deadline,
) -> Groups:
    """Read all groups with their members and committed offsets."""
    alive = list(brokers)
    refs, coordinators, problems = _list(wire, alive, selects, deadline)
    missing = [group for group in known if group not in refs and selects(group)]
    lost: dict[str, str] = {}
    if missing:
        places = _find_coordinators(wire, alive, missing, deadline)
        for group in missing:
            refs[group] = known[group]
            place = places.get(group, "no broker tells its coordinator")
            if isinstance(place, int):
                coordinators[group] = place
            else:
                lost[group] = place
    by_broker: dict[int, list[GroupRef]] = defaultdict(list)
    for group, broker in coordinators.items():
        by_broker[broker].append(refs[group])
    described = describe(wire, by_broker, _chunks, deadline)
    commits = read_commits(wire, by_broker, _chunks, deadline)
    _follow(wire, alive, refs, described, commits, deadline)
    for group, why in lost.items():
        described.add_unknown(refs[group], None, why)
    # Found by its old coordinator's absence of an answer only: the coordinator says it is gone.
    for group in described.gone:
        if group in known and group in missing:
            described.groups.pop(group, None)
            described.unknown.pop(group, None)
            commits.unknown.pop(group, None)
            refs.pop(group, None)
    reasons = [
        row["unknown_reason"] for row in described.groups.values() if row["state"] == "unknown"
    ]
    if reasons:
        reported = "; ".join(sorted(set(filter(None, reasons))))
        problems.append(f"{len(reasons)} of {len(refs)} groups are unknown: {reported}")
    members = distinct(columns_frame(described.members, MEMBERS_SCHEMA), ["group", "member_id"])
    claimed = columns_frame(described.owners, OWNERS_SCHEMA).filter(pl.col("partition") >= 0)
    owners, doubled = _single_owners(claimed)
    problems += doubled
    return Groups(
        groups=_frame(described.groups.values(), GROUPS_SCHEMA).sort("group"),
        members=members.sort("group", "member_id"),
        owners=owners,
        subscriptions=columns_frame(described.subscriptions, SUBSCRIPTIONS_SCHEMA),
        committed=distinct(commits.rows, _PARTITION),
        offsets_unknown={**described.unknown, **commits.unknown},
        refs=refs,
        problems=problems,
    )


def _frame(rows: Iterable[Mapping[str, Any]], schema: pl.Schema) -> pl.DataFrame:
    listed = list(rows)
    return columns_frame({name: [row[name] for row in listed] for name in schema}, schema)


def _single_owners(owners: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return at most one owner a partition, and what is said of those that have several.

    Assignments are bytes that clients supply: two members may claim the same partition.
    """
    single = distinct(owners, _PARTITION)
    if single.height == owners.height:
        return single, []
    claimed = owners.group_by(_PARTITION).agg(pl.col("member_id").n_unique().alias("members"))
    problems = [
        f"group {group}: {members} members claim {topic}-{partition} and maybe more; one is shown"
        for group, topic, partition, members in claimed.filter(pl.col("members") > 1)
        .sort(_PARTITION)
        .unique("group", keep="first", maintain_order=True)
        .iter_rows()
    ]
    return single, problems


def _follow(
    wire: Wire,
    brokers: Sequence[int],
    refs: Mapping[str, GroupRef],
    described: Described,
    commits: Commits,
    deadline: Deadline,
) -> None:
    """Ask once more for groups whose coordinator has changed since they were listed."""
    moved = sorted(described.moved | commits.moved)
    if not moved:
        return
    describable: dict[int, list[GroupRef]] = defaultdict(list)
    readable: dict[int, list[GroupRef]] = defaultdict(list)
    for group, place in _find_coordinators(wire, brokers, moved, deadline).items():
        if isinstance(place, int):
            if group in described.moved:
                describable[place].append(refs[group])
            if group in commits.moved:
                readable[place].append(refs[group])
                del commits.unknown[group]
    described.add(describe(wire, describable, _chunks, deadline))
    commits.add(read_commits(wire, readable, _chunks, deadline))


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
        for listed in answer.groups or ():
            if not listed.group_id or not selects(listed.group_id):
                continue
            # A group may be listed twice while its coordinator moves; the describing tells.
            type_ = (getattr(listed, "group_type", None) or "classic").lower()
            refs[listed.group_id] = GroupRef(
                group=listed.group_id, type=type_, protocol_type=listed.protocol_type or ""
            )
            coordinators[listed.group_id] = broker
    return refs, coordinators, problems


def _find_coordinators(
    wire: Wire, brokers: Sequence[int], groups: Sequence[str], deadline: Deadline
) -> dict[str, int | str]:
    """Return each group's coordinator, or why there is none.

    Every broker is asked to describe the groups: all but the coordinator say that they are not.
    A request to find the coordinator would make Kafka create ``__consumer_offsets`` where that
    does not exist.
    """

    def requests() -> list[Any]:
        return [
            DescribeGroupsRequest(groups=chunk, include_authorized_operations=False)
            for chunk in _chunks(groups)
        ]

    asked = {broker: requests() for broker in brokers}
    places: dict[str, int | str] = {}
    silent: list[str] = []
    for broker, answers in wire.each(asked, deadline).items():
        if isinstance(answers, CollectorError):
            silent.append(str(answers))
            continue
        for described in (each for answer in answers for each in answer.groups or ()):
            if described.error_code not in COORDINATOR_MOVES:
                places[described.group_id] = broker
    nobody = silent[0] if silent else reason(_COORDINATOR_NOT_AVAILABLE)
    return {group: places.get(group, nobody) for group in groups}


def _chunks(ids: Sequence[str]) -> Iterable[list[str]]:
    for start in range(0, len(ids), _GROUPS_A_REQUEST):
        yield list(ids[start : start + _GROUPS_A_REQUEST])
