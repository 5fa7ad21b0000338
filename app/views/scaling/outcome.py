"""What a what-if found, in words: how late, what is lost, how far the model is off. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.style.format import count, duration, exact
from scaling.whatif.queue_model import WhatIf, WhatIfOutcome
from scaling.whatif.replay import MeasuredMinute

_OFF = 0.2
"""A model whose highest lag is off what was measured by more than this part says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """What is known of messages that are deleted unread.

    Attributes:
        measured: How many were, in the time that is replayed; None: that is not known.
        is_unknown: Whether no number of the model is one: of what one consumer can do only a lower
            bound is known, so that it may be none.
    """

    measured: int | None = None
    is_unknown: bool = False


UNKNOWN = Lost()


def outcome(found: WhatIf, lost: Lost = UNKNOWN) -> str:
    """Say how late the group would be with the change and as it is, and what makes no difference.

    A backlog that is drained and comes back is said to.

    Args:
        found: What was simulated.
        lost: What is known of messages that are deleted unread.
    """
    spare = f" {found.spare[0].upper()}{found.spare[1:]}." if found.spare else ""
    loss = instead_of_model(found, lost)
    if loss:
        found = replace(
            found,
            now=replace(found.now, lost_messages=0.0),
            changed=replace(found.changed, lost_messages=0.0),
        )
    return f"{_compared(found)}{loss}{_back(found)}{spare}"


def instead_of_model(found: WhatIf, lost: Lost) -> str:
    """Say what stands in the place of the model's number of messages that are deleted unread."""
    if lost.is_unknown and _of(found):
        return " How many messages would be deleted unread is not known."
    return _off_loss(found, lost.measured)


def _off_loss(found: WhatIf, measured: int | None) -> str:
    """Say how many messages were deleted unread where the model is far from that."""
    if measured is None or abs(found.now.lost_messages - measured) <= _OFF * measured:
        return ""
    return (
        f" Measured, {count(measured, 'message')} {'was' if measured == 1 else 'were'} deleted "
        f"unread in {duration(found.hours * 3600)}; the model does not show how many."
    )


def _compared(found: WhatIf) -> str:
    now, changed = found.now, found.changed
    would = f"the time lag would {'have been' if found.is_replay else 'be'}"
    if _how_late(now) == _how_late(changed):
        is_same = np.array_equal(now.lag, changed.lag)
        given = "As it is" if is_same else "With the change as without it"
        return f"{given}, {would} {_how_late(now)}{_of(found)}."
    given, as_it_is = "With the change", "as it is"
    if now.consumers != changed.consumers:
        # What more of them than are of use would do was not worked out: it is the same.
        consumers = found.most_useful or changed.consumers
        given, as_it_is = f"With {count(consumers, 'consumer')}", f"with {now.consumers}"
    return f"{given} {would} {_how_late(changed)}; {as_it_is} {_how_late(now)}{_of(found)}."


def _of(found: WhatIf) -> str:
    """Say in how long messages are deleted, where some are: a total alone tells little."""
    is_lost = round(found.now.lost_messages) or round(found.changed.lost_messages)
    return f" in {duration(found.hours * 3600)}" if is_lost else ""


def _back(found: WhatIf) -> str:
    """Say of a backlog that is drained and comes back that it does."""
    said = [
        f"{who}, it drains in {duration(one.drain_seconds)} and comes back"
        for who, one in (("with the change", found.changed), ("as it is", found.now))
        if one.is_back
    ]
    if len(said) == 2 and found.now.drain_seconds == found.changed.drain_seconds:
        said = said[1:]
    return f" The backlog does not stay drained: {'; '.join(said)}." if said else ""


def _how_late(one: WhatIfOutcome) -> str:
    lost = round(one.lost_messages)
    deleted = f", with {count(lost, 'message')} deleted unread" if lost else ""
    return f"at most {duration(one.time_lag_peak_seconds)}{deleted}"


def off_measured(found: WhatIf, measured: Sequence[MeasuredMinute]) -> str:
    """Say that the model's highest lag is far from the measured one; nothing where it is near.

    Args:
        found: A replay of these minutes.
        measured: What was measured.
    """
    lags = [one.lag for one in measured if one.lag is not None]
    if not lags or abs(found.now.lag_peak - max(lags)) <= _OFF * max(lags):
        return ""
    return (
        f"Measured, the lag was at most {exact(round(max(lags)))}; the model, as it is, has "
        f"{exact(round(found.now.lag_peak))}: compare its courses with each other only."
    )


def drained(one: WhatIfOutcome) -> str:
    """Say after which time a backlog is drained, in a word or two."""
    if one.drain_seconds is None:
        return "not yet"
    if one.is_back:
        return "comes back"
    return duration(one.drain_seconds) if one.drain_seconds else "never late"
