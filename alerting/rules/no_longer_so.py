"""What lists tell as recovering at once: what another alert of its trouble shows not to be so now.

An alert that was untrue at one evaluation may be true again at the next, so that it fires on and
nobody is notified. In a list it stands beside what was found since, and must not contradict it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from alerting.rules.lifecycle import Alert, State
from alerting.status.model import Status

_LOSSES = frozenset({"losing_data", "data_loss_deadline"})


CatchUps = Mapping[tuple[str, str], float]
"""When groups were seen to catch up last, in Unix seconds, by cluster and group."""


def without_worked_off(alerts: Iterable[Alert], seen: CatchUps) -> list[Alert]:
    """Return alerts with the losses that are averted: their group has been seen to catch up since.

    Its deadline, and what to do against it, are those of before.

    Args:
        alerts: The alerts; those that say that their group catches up tell so, too.
        seen: What else is known of groups that catch up.
    """
    listed = list(alerts)
    catches_up = dict(seen)
    for one in listed:
        if one.status == Status.CATCHING_UP and one.state is State.FIRING:
            group = group_of(one)
            catches_up[group] = max(one.last_true_at, catches_up.get(group, 0.0))
    return [
        _recovering(one, since=catches_up.get(group_of(one))) if one.check in _LOSSES else one
        for one in listed
    ]


def without_past_causes(
    alerts: Sequence[Alert], root_of: Mapping[str, str], newest: Mapping[str, Alert]
) -> list[Alert]:
    """Return alerts so that each of a trouble whose cause is past, and is not so now, recovers.

    What leads such a trouble, the cause or else a symptom, so is what was found last.

    Args:
        alerts: As they are folded.
        root_of: The fingerprint of the first cause of each alert, by its id; its own where it has
            none, or is over.
        newest: The newest alert by fingerprint.
    """
    found_at: dict[str, float] = {}
    for one in alerts:
        if one.state is State.FIRING and not one.is_recovering:
            root = root_of[one.id]
            found_at[root] = max(one.last_true_at, found_at.get(root, 0.0))
    past = {root: at for root, at in found_at.items() if _is_past(newest.get(root), at)}
    return [_recovering(one, since=past.get(root_of[one.id])) for one in alerts]


def _is_past(cause: Alert | None, found_at: float) -> bool:
    return cause is not None and (cause.state is State.RESOLVED or _was_before(cause, found_at))


def _recovering(alert: Alert, *, since: float | None) -> Alert:
    if since is None or not _was_before(alert, since):
        return alert
    since = alert.recovering_since or alert.untrue_since or alert.last_true_at
    return replace(alert, recovering_since=since)


def _was_before(alert: Alert, at: float) -> bool:
    """Return whether an alert that fires was not found at a moment; what is unknown may be so."""
    fires = alert.state is State.FIRING and alert.no_data_since is None
    return fires and alert.last_true_at < at


def group_of(alert: Alert) -> tuple[str, str]:
    """Return the cluster and the group of an alert; empty texts where it has none."""
    return alert.labels.get("cluster", ""), alert.labels.get("group", "")
