"""How alerts are scored against what was really going on: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.overdue import overdue_times

_NO_PAGE = frozenset({"info"})
_TELLS_NOTHING = "UNKNOWN"
_FALLS_BEHIND = "FALLING_BEHIND"
_LATE_POLLS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """One alert of one evaluator."""

    begin: float
    end: float  # when it was resolved; the last poll's time where it never was
    rule: str
    status: str
    severity: str  # how loud it is; ``info`` does not page
    resolved: bool = True

    @property
    def pages(self) -> bool:
        """Whether somebody is notified."""
        return self.severity not in _NO_PAGE

    @property
    def tells(self) -> bool:
        """Whether it tells of an incident: that nothing is known does not."""
        return self.pages and self.status != _TELLS_NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertScore:
    """How right an evaluator was on one scenario.

    Attributes:
        overdue: How long after it was overdue each group that fell behind was notified; 0: before.
    """

    incidents: int
    delays: tuple[float, ...]
    overdue: tuple[float, ...]
    missed: int
    false_alerts: int
    flaps: int
    sent: int  # messages: one for each alert, one for each that was resolved

    @property
    def is_right(self) -> bool:
        """Whether every incident was notified, and nothing else."""
        return not self.missed and not self.false_alerts

    @property
    def result(self) -> str:
        """In a word."""
        if self.missed and self.false_alerts:
            return "missed, false alarm"
        if self.missed:
            return "missed"
        return "false alarm" if self.false_alerts else "right"


def score(scenario: Scenario, fired: Sequence[Fired]) -> AlertScore:
    """Score the alerts of one evaluator on one scenario.

    An incident is notified by the first alert that holds while it lasts. An alert is false where it
    began outside every incident, and where it is not open whether one is right; two polls after
    the end are still its own, because nobody can have seen the end before.
    """
    grace = _LATE_POLLS * scenario.poll_seconds
    may_alert = [one for one in scenario.truth if one.should_alert is not False]
    incidents = _merged([one for one in scenario.truth if one.should_alert])
    paging = [alert for alert in fired if alert.pages]
    delays = []
    overdue = []
    flaps = 0
    for incident in incidents:
        telling = [
            alert
            for alert in paging
            if alert.tells and alert.begin < incident.end and alert.end > incident.begin
        ]
        if telling:
            first = min(alert.begin for alert in telling)
            delays.append(max(0.0, first - incident.begin))
            if incident.status == _FALLS_BEHIND:
                late = overdue_times(scenario, incident.begin, incident.end)
                overdue += [max(0.0, first - since) for since, _ in late[:1]]
            rules = [alert.rule for alert in telling]
            flaps += len(rules) - len(set(rules))
    false = sum(
        1
        for alert in paging
        if not any(one.begin <= alert.begin <= one.end + grace for one in may_alert)
    )
    return AlertScore(
        incidents=len(incidents),
        delays=tuple(delays),
        overdue=tuple(overdue),
        missed=len(incidents) - len(delays),
        false_alerts=false,
        flaps=flaps,
        sent=len(paging) + sum(1 for alert in paging if alert.resolved),
    )


def _merged(incidents: Sequence[Truth]) -> list[Truth]:
    """Join what follows without a pause: one incident may change its status."""
    merged: list[Truth] = []
    for one in sorted(incidents, key=lambda found: found.begin):
        if merged and one.begin <= merged[-1].end:
            last = merged.pop()
            one = Truth(
                begin=last.begin, end=max(last.end, one.end), status=last.status, should_alert=True
            )
        merged.append(one)
    return merged
