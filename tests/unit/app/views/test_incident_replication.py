"""Partitions at risk in an incident."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from app.views.incident import replication
from tests.unit.app.views.made_incident import CAUSE, RISK, STEP, at


def test_an_incident_of_a_broker_tells_how_many_partitions_were_at_risk() -> None:
    assert replication.takes_replicas(CAUSE)
    assert not replication.takes_replicas(replace(CAUSE, check="certificate_expiry"))
    assert replication.figures(RISK, at(1000), STEP / 2) == [
        ("under-replicated", "0", "54", "1970-01-01 00:17:00 UTC", "12"),
        ("offline", "0", "1", "1970-01-01 00:17:00 UTC", "0"),
    ]
    assert not replication.is_known(RISK.with_columns(under_replicated=pl.lit(None, pl.Int64)))


def test_the_minute_in_which_an_incident_began_is_not_of_before() -> None:
    """The broker was lost half a minute into it: what was at risk then came of that."""
    began = at(1050)
    assert replication.figures(RISK, began, STEP)[0] == (
        *("under-replicated", "0", "54"),
        *("1970-01-01 00:17:00 UTC", "12"),
    )
    assert replication.figures(RISK, at(1000), STEP)[0][1] == "unknown"
