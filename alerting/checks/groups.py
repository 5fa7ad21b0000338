"""What checks see of consumer groups: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from alerting.checks.loss_deadline import is_losing, keep_longer, next_loss
from alerting.checks.model import Check, CheckInput, CheckResult, check
from alerting.inputs.windows import GroupKey
from alerting.status.baseline import REBALANCING, plain_state
from alerting.status.descriptions import (
    MISSES_OBJECTIVE,
    WAIT_STEP,
    GroupWords,
    group_words,
)
from alerting.status.model import FINE, GroupStatus, Status
from alerting.status.phrases import duration, messages, plural
from lake.schemas.tables import GROUP_OFFSETS, GROUPS, PARTITIONS, TOPICS

_AFTER: Mapping[Status, frozenset[Status]] = {
    Status.STOPPED: frozenset({Status.CATCHING_UP, Status.FALLING_BEHIND, Status.STALLED}),
    Status.STALLED: frozenset({Status.CATCHING_UP, Status.FALLING_BEHIND}),
    Status.REWOUND: frozenset({Status.CATCHING_UP, Status.FALLING_BEHIND}),
    Status.FALLING_BEHIND: frozenset({Status.CATCHING_UP}),
}
"""In these states a group still has the backlog that the trouble left."""


def _status(status: Status, meaning: str) -> Check:
    """Make the check of the groups that have a status, and those that may have it."""

    @check(
        name=status.value.lower(),
        unit="1" if status is Status.UNKNOWN else "messages",
        meaning=meaning,
        labels=("group",),
        sources=(GROUPS, GROUP_OFFSETS),
    )
    def results(given: CheckInput) -> Iterable[CheckResult]:
        for key, found in given.troubled.items():
            if status is Status.UNKNOWN and _just_unread(given, found):
                yield _undecided(key, found)
            elif found.status is status and (
                found.is_lasting or status is not Status.FALLING_BEHIND
            ):
                yield CheckResult(
                    labels=_labels(key),
                    value=_worth(found),
                    what=f"{key.group} {_words(given, key, found).verb}",
                    detail=found.reason,
                    since=found.since,
                    began_before=found.began_before_window,
                    cause=_words(given, key, found).cause,
                    step=_step(given, key, found),
                    page="group",
                    status=status.value,
                    related=_related(found),
                )
            elif found.status in _AFTER.get(status, ()):
                catches_up = found.status is Status.CATCHING_UP
                yield CheckResult(
                    labels=_labels(key),
                    value=_worth(found),
                    stands=True,
                    what=_mending(key, found),
                    detail=found.reason,
                    since=found.since,
                    cause=f"It {_was(status)}, and what came meanwhile is not read yet.",
                    step=WAIT_STEP if catches_up else _words(given, key, found).step,
                    page="group",
                    status=found.status.value,
                    related=_related(found),
                )
            # A group that may only pass through a peak: no reason to begin, nor to end an alert.
            elif found.status is status or (status is not Status.UNKNOWN and has_unknown(found)):
                yield _undecided(key, found)

    return results


def _just_unread(given: CheckInput, found: GroupStatus) -> bool:
    """Return whether one or two polls could not read a group: nobody is told of that."""
    frames = given.frames
    return (
        found.status is Status.UNKNOWN
        and found.since is not None
        and frames.is_brief(frames.sampled_at - found.since + frames.interval_seconds)
    )


def _undecided(key: GroupKey, found: GroupStatus) -> CheckResult:
    return CheckResult(labels=_labels(key), value=None, is_read=not has_unknown(found))


def has_unknown(found: GroupStatus) -> bool:
    """Return whether a partition that counts is unknown: then its group may be worse than it looks.

    One that is fine has none.
    """
    return found.status is Status.UNKNOWN or (
        found.status not in FINE
        and any(
            part.subscribed and part.decides and part.status is Status.UNKNOWN
            for part in found.partitions
        )
    )


def _mending(key: GroupKey, found: GroupStatus) -> str:
    """Say what a group does that was in trouble and has not caught up."""
    catches_up = found.status is Status.CATCHING_UP
    return f"{key.group} {'is catching up' if catches_up else _verb(found.status)}"


def _verb(status: Status) -> str:
    words = group_words(status)
    return words.verb if words else ""


def _was(status: Status) -> str:
    return {Status.FALLING_BEHIND: "fell behind"}.get(status, _verb(status))


def _worth(found: GroupStatus) -> float:
    """Return the value of a status: messages, at least 1."""
    numbers = found.numbers
    if found.status is Status.UNKNOWN:
        return 1.0
    lost = found.status is Status.LOSING_DATA
    return max(1.0, float((numbers.lost_messages if lost else numbers.lag) or 0))


def _labels(key: GroupKey) -> dict[str, str]:
    return {"cluster": key.cluster, "group": key.group}


_NO_WORDS = GroupWords(
    verb="", cause="", step="See the group's page for what arrives and what is read."
)


def _words(given: CheckInput, key: GroupKey, found: GroupStatus) -> GroupWords:
    if found.status is Status.FALLING_BEHIND and not found.is_lasting:
        return _NO_WORDS
    kind = given.groups.get(key.group, {}).get("kind")
    return group_words(found.status, kind) or _NO_WORDS


def _step(given: CheckInput, key: GroupKey, found: GroupStatus) -> str:
    step = _words(given, key, found).step
    if found.status is not Status.LOSING_DATA:
        return step
    return _against_loss(given, step, found)


def _against_loss(given: CheckInput, step: str, found: GroupStatus) -> str:
    """Return the step against a loss: another one where the objective lets messages be deleted."""
    topics = {part.topic for part in found.partitions if part.subscribed}
    return keep_longer(found.objective_seconds, given.kept, topics) or step


def _related(found: GroupStatus) -> dict[str, str]:
    if found.status in FINE:
        return {}
    topics = {part.topic for part in found.partitions if part.status is found.status}
    return {"topic": ",".join(sorted(topics))}


@check(
    unit="seconds",
    meaning="age of the oldest message that the group has not read",
    labels=("group",),
    sources=(GROUPS, GROUP_OFFSETS),
)
def time_lag(given: CheckInput) -> Iterable[CheckResult]:
    """Return how far behind each group is."""
    for key, found in given.statuses.items():
        numbers = found.numbers
        yield _of_lag(
            given,
            key,
            found,
            value=numbers.behind_seconds if numbers.lag else 0.0 if numbers.lag == 0 else None,
            what=f"{key.group} is {duration(numbers.behind_seconds or 0.0)} behind",
        )


@check(
    unit="seconds",
    meaning="of a group that keeps falling behind: how much older than its objective its oldest "
    "unread message is",
    labels=("group",),
    sources=(GROUPS, GROUP_OFFSETS),
)
def objective_missed(given: CheckInput) -> Iterable[CheckResult]:
    """Return the groups that are later than their objective and go on falling behind."""
    for key, found in given.troubled.items():
        words = _words(given, key, found)
        mends = found.status in _AFTER[Status.FALLING_BEHIND]
        is_dated = not mends and found.over_objective_since is not None
        if found.over_objective_seconds or mends:
            yield CheckResult(
                labels=_labels(key),
                value=found.over_objective_seconds,
                stands=mends,
                what=_mending(key, found) if mends else f"{key.group} {MISSES_OBJECTIVE}",
                detail=found.reason,
                since=found.over_objective_since if is_dated else found.since,
                began_before=found.over_objective_before_window
                if is_dated
                else found.began_before_window,
                began=found.since,
                cause=words.cause,
                step=WAIT_STEP if mends else words.step,
                page="group",
                status=found.status.value,
                related=_related(found),
            )
        # As with falling behind: no reason to begin, nor to end an alert.
        elif found.status is Status.FALLING_BEHIND or has_unknown(found):
            yield _undecided(key, found)


@check(
    unit="messages",
    meaning="messages that the group has not read",
    labels=("group",),
    sources=(GROUPS, GROUP_OFFSETS),
)
def lag(given: CheckInput) -> Iterable[CheckResult]:
    """Return how many messages each group has not read."""
    for key, found in given.statuses.items():
        waiting = found.numbers.lag
        yield _of_lag(
            given,
            key,
            found,
            value=None if waiting is None else float(waiting),
            what=f"{messages(waiting or 0)} wait for {key.group}",
        )


def _of_lag(
    given: CheckInput,
    key: GroupKey,
    found: GroupStatus,
    *,
    value: float | None,
    what: str,
) -> CheckResult:
    words = _words(given, key, found)
    return CheckResult(
        labels=_labels(key),
        value=value,
        may_be_worse=has_unknown(found),
        what=what,
        detail=found.reason,
        cause=words.cause,
        step=words.step,
        page="group",
        status=found.status.value,
        related=_related(found),
    )


@check(
    unit="consumers",
    meaning="members that hold no partition",
    labels=("group",),
    sources=(GROUPS, GROUP_OFFSETS),
)
def idle_consumers(given: CheckInput) -> Iterable[CheckResult]:
    """Return the groups that have members without a partition.

    Before a rebalance has assigned partitions nobody knows which members will have none.
    """
    for key, found in given.statuses.items():
        row = given.groups.get(key.group, {})
        members, idle = row.get("members"), row.get("idle_members")
        if members is None or idle is None or _is_assigning(row.get("state"), members, idle):
            yield CheckResult(labels=_labels(key), value=None)
        elif idle:
            is_more = members > len(found.partitions)
            shared = plural(len(found.partitions), "partition")
            yield CheckResult(
                labels=_labels(key),
                value=float(idle),
                what=f"{key.group} has {plural(idle, 'idle consumer')}",
                detail=f"{plural(members, 'member')} share {shared}.",
                cause="There are more consumers than partitions." if is_more else _UNEVEN,
                step=f"Run {members - idle} instead of {members}.",
                page="group",
            )


_UNEVEN = "The group's assignor gives some members no partition, as range does over several topics."


def _is_assigning(state: str | None, members: int, idle: int) -> bool:
    return plain_state(state or "") in REBALANCING or 0 < members == idle


@check(
    unit="seconds",
    meaning="time until retention reaches an unread message",
    labels=("group",),
    bad="below",
    sources=(GROUPS, GROUP_OFFSETS, TOPICS, PARTITIONS),
)
def data_loss_deadline(given: CheckInput) -> Iterable[CheckResult]:
    """Return when retention will reach the first message that a group has not read."""
    for key, found in given.statuses.items():
        loss = next_loss(given.losses[key.group])
        labels = _labels(key)
        if loss.partition is not None and loss.seconds is not None:
            part, left = loss.partition, loss.seconds
            has_lost = found.status is Status.LOSING_DATA
            words = _words(given, key, found)
            step = "Raise the topic's retention until the group has caught up."
            yield CheckResult(
                labels=labels,
                value=left,
                may_be_worse=loss.is_unknown,
                what=f"{key.group} loses {'more data' if has_lost else 'data soon'}",
                # Its rates are those of the partition, which tells first of what they are.
                detail=f"On {part.name} {loss.reason}.",
                # What it loses already has no time to come.
                deadline=None if is_losing(found, given.frames) else given.frames.now + left,
                cause=words.cause or "It is nearly as late as retention is long.",
                step=_against_loss(given, step, found),
                page="group",
                status=found.status.value,
                related=_related(found),
            )
        elif loss.is_unknown:
            yield CheckResult(labels=labels, value=None)


_WAITING = "messages that wait (at least 1) while the group is"

OF_SAMPLES = (
    _status(
        Status.LOSING_DATA,
        "messages lost since the group's last commit, or the most in ten minutes",
    ),
    _status(Status.STOPPED, f"{_WAITING} stopped"),
    _status(Status.STALLED, f"{_WAITING} stalled"),
    _status(Status.FALLING_BEHIND, f"{_WAITING} falling behind, once that lasts"),
    _status(Status.REWOUND, f"{_WAITING} rewound"),
    _status(Status.UNKNOWN, "1 while the group's status is not known"),
    objective_missed,
    time_lag,
    lag,
)
"""Those that need the samples of groups alone."""

CHECKS = (*OF_SAMPLES, data_loss_deadline, idle_consumers)
