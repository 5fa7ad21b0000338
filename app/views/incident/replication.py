"""How many partitions were at risk in an incident whose cause is a broker: pure functions."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from alerting.rules.lifecycle import Alert
from app.data.history import History
from app.style.format import exact
from app.ui import partition_risk
from app.views.incident.lag import extremes

_OF_BROKERS = frozenset({"broker_missing", "no_controller", "log_directory_offline"})


def takes_replicas(cause: Alert) -> bool:
    """Return whether a cause takes replicas or leaders away, whatever the topic."""
    return cause.check in _OF_BROKERS


def is_known(course: pl.DataFrame) -> bool:
    """Return whether a history of the cluster tells how many partitions were at risk."""
    return bool(course["under_replicated"].count())


def figures(found: History, began: datetime) -> list[tuple[str, str, str, str, str]]:
    """Return how many partitions were at risk: the kind, then as ``lag.figures`` does of lag."""
    step = timedelta(seconds=found.step_seconds)
    return [
        (partition_risk.COUNTS[name], *extremes(found.frame, name, began, step, exact))
        for name in partition_risk.seen(found.frame)
    ]
