"""An incident made by hand, and what was around it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from alerting.rules.lifecycle import State, Told
from alerting.rules.model import AlertSeverity
from app.data.history import History
from app.ui.incidents import Incident
from lake.schemas.tables import CLUSTER_EVENTS
from tests.alert_of import alert


def at(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


CAUSE = alert(
    rule="BrokerMissing",
    check="broker_missing",
    labels={"cluster": "c", "broker": "2"},
    fired_at=1001.0,
    last_true_at=1300.0,
    resolved_at=1360.0,
    what="Broker 2 is missing",
    detail="2 of 3 brokers are left | <b> http://evil.example.",
    step="Restart it.",
)
SYMPTOM = alert(
    fingerprint="s",
    rule="UnderReplicated",
    check="under_replicated",
    severity=AlertSeverity.WARNING,
    labels={"cluster": "c", "topic": "t"},
    started_at=1010.0,
    fired_at=1010.0,
    last_true_at=1300.0,
    resolved_at=1350.0,
    inhibited_by="f",
    what="3 partitions of t under-replicated",
)
CHANGES = pl.DataFrame(
    [
        {
            "cluster": "c",
            "poll_id": "p",
            "observed_at": at(940),
            "kind": "broker configuration changed",
            "subject": "2",
            "before": "a=1",
            "after": "a=2",
        }
    ],
    schema=CLUSTER_EVENTS.polars_schema,
)
INCIDENT = Incident(cause=CAUSE, symptoms=(SYMPTOM,))


WAS = Told(
    until=1200.0,
    severity=AlertSeverity.CRITICAL,
    what="g stopped",
    detail="900 wait",
    step="Start it.",
)
MENDED = replace(
    CAUSE,
    check="stopped",
    labels={"cluster": "c", "group": "g"},
    severity=AlertSeverity.WARNING,
    state=State.FIRING,
    resolved_at=None,
    what="g is catching up",
    detail="10 wait",
    step="Wait.",
    before_mending=WAS,
)


RISK = pl.DataFrame(
    {
        "time": [at(second) for second in (960, 1020, 1080, 1140)],
        "under_replicated": [0, 54, 54, 12],
        "under_min_isr": [0, 0, 0, 0],
        "offline": [0, 1, None, 0],
    }
)


def late_rows(**values: tuple[list[float | None], list[int | None]]) -> History:
    rows = pl.DataFrame(
        [
            {"time": at(960 + 60 * step), "group": name, "time_lag_seconds": behind, "lag": waits}
            for name, (delays, lags) in values.items()
            for step, (behind, waits) in enumerate(zip(delays, lags, strict=True))
        ],
        schema={
            "time": pl.Datetime("us", "UTC"),
            "group": pl.String,
            "time_lag_seconds": pl.Float64,
            "lag": pl.Int64,
        },
    )
    return History(frame=rows, step_seconds=60)
