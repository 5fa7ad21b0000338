"""Reads of consumer groups in a few requests a broker: who there is, members, committed offsets.

Kafka's ListGroups answers for the groups that the asked broker coordinates, so asking every broker
finds every group *and* its coordinator. Each coordinator is then asked once for all of its groups.
A known group that no broker lists is looked up: it is gone only where its coordinator says so, and
*unknown* where the coordinator cannot be asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import polars as pl
from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.groups.committed_offsets import read_commits
from collectors.kafka.groups.descriptions import describe
from collectors.kafka.groups.model import (
    GROUPS_SCHEMA,
    MEMBERS_SCHEMA,
    OWNERS_SCHEMA,
    SUBSCRIPTIONS_SCHEMA,
    GroupRef,
    Groups,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import reason

_GROUPS_A_REQUEST = 500


def read_groups(
    wire: Wire,
    brokers: Iterable[int],
    known: Mapping[str, GroupRef],
    selects: Callable[[str], bool],
    deadline: Deadline,
) -> Groups:
    """Read all groups with their members and committed offsets."""
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
    by_broker: dict[int, list[GroupRef]] = defaultdict(list)
    for group, broker in coordinators.items():
        by_broker[broker].append(refs[group])
    described = describe(wire, by_broker, _chunks, deadline)
    commits = read_commits(wire, by_broker, _chunks, deadline)
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
    return Groups(
        groups=pl.DataFrame(list(described.groups.values()), schema=GROUPS_SCHEMA).sort("group"),
        members=pl.DataFrame(described.members, schema=MEMBERS_SCHEMA).sort("group", "member_id"),
        owners=pl.DataFrame(described.owners, schema=OWNERS_SCHEMA),
        subscriptions=pl.DataFrame(described.subscriptions, schema=SUBSCRIPTIONS_SCHEMA),
        committed=commits.rows,
        offsets_unknown={**described.unknown, **commits.unknown},
        refs=refs,
        problems=problems,
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


def _chunks(ids: Sequence[str]) -> Iterable[list[str]]:
    for start in range(0, len(ids), _GROUPS_A_REQUEST):
        yield list(ids[start : start + _GROUPS_A_REQUEST])
