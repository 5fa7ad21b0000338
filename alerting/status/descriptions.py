"""What the statuses of a group are called, what is behind them as a rule, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from alerting.status.model import Status

WAIT_STEP = "Watch that it catches up; add consumers if that takes too long."
"""The step where nothing but time is needed."""

SCALING_STEP = "See what the Scaling page advises and what it cannot tell."
"""The step where what to do is a question of scaling: lists put the advice there."""

LATE_STEP = "Look at what its handlers wait for; if they are busy all the time, add consumers."
"""The same where Scaling advises no change: who has to act is not to be told to wait."""

MISSES_OBJECTIVE = "misses its objective"

LOST_DATA = "lost data"
"""What a group did that loses none now, or whose loss is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWords:
    """How a status reads."""

    verb: str
    cause: str
    step: str


_WORDS: dict[Status, GroupWords] = {
    Status.LOSING_DATA: GroupWords(
        verb="loses data",
        cause="It is later than its topic's retention is long.",
        step="Raise the topic's retention at once, then find out why the group is late.",
    ),
    Status.STOPPED: GroupWords(
        verb="stopped",
        cause="Its consumers were shut down, crashed, or cannot join the group.",
        step="Start its consumers; if they run, look at their log for why they left the group.",
    ),
    Status.STALLED: GroupWords(
        verb="stalled",
        cause="A message that the handler cannot get past, or a call in the handler that hangs.",
        step="Look at the handler's log at the committed offset; more consumers will not help.",
    ),
    Status.FALLING_BEHIND: GroupWords(
        verb="falls behind",
        cause="More arrives than its consumers can process.",
        step=SCALING_STEP,
    ),
    Status.REWOUND: GroupWords(
        verb="was rewound",
        cause="Its offsets were reset, or a restored backup committed old ones.",
        step="Ask whether the reset was meant; messages will be handled a second time.",
    ),
    Status.UNKNOWN: GroupWords(
        verb="is unknown",
        cause="Its offsets or its topics' log ends could not be read.",
        step="See Monitoring health for what is missing.",
    ),
}
_OF_SINKS: dict[Status, GroupWords] = {
    Status.STOPPED: GroupWords(
        verb="stopped",
        cause="Its connector was stopped or paused, its tasks failed, or no worker runs them.",
        step="See on the page of Kafka Connect why its connector does not run, and restart it.",
    ),
}


def group_words(status: Status, kind: str | None = None) -> GroupWords | None:
    """Return how a status of a group reads; None where there is nothing to say."""
    if kind == "connect" and status in _OF_SINKS:
        return _OF_SINKS[status]
    return _WORDS.get(status)
