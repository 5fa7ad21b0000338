"""Partitions at risk in an incident."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from app.data.history import History
from app.views.incident import replication
from tests.unit.app.views.made_incident import CAUSE, RISK, at


def test_an_incident_of_a_broker_tells_how_many_partitions_were_at_risk() -> None:
    assert replication.takes_replicas(CAUSE)
    assert not replication.takes_replicas(replace(CAUSE, check="certificate_expiry"))
    assert replication.figures(History(frame=RISK, step_seconds=30), at(1000)) == [
        ("under-replicated", "0", "54", "1970-01-01 00:17:00 UTC", "12"),
        ("offline", "0", "1", "1970-01-01 00:17:00 UTC", "0"),
    ]
    assert not replication.is_known(RISK.with_columns(under_replicated=pl.lit(None, pl.Int64)))


def test_the_minute_in_which_an_incident_began_is_not_of_before() -> None:
    """The broker was lost half a minute into it: what was at risk then came of that."""
    began = at(1050)
    by_minute = History(frame=RISK, step_seconds=60)
    assert replication.figures(by_minute, began)[0] == (
        *("under-replicated", "0", "54"),
        *("1970-01-01 00:17:00 UTC", "12"),
    )
    assert replication.figures(by_minute, at(1000))[0][1] == "unknown"
