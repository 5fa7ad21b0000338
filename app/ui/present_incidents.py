"""The incidents of the newest evaluation: folded once, for each page and number that tells them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl
import streamlit as st

from app.data import alert_store, present
from app.data.context import View
from app.ui.incident_order import in_order
from app.ui.incident_rows import of_rows
from app.ui.incidents import Incident


def here(view: View) -> Sequence[Incident]:
    """Return what is open in the cluster, and in the sources that belong to no Kafka cluster."""
    return _of(view, present.open_alerts(view))


def everywhere(view: View) -> Sequence[Incident]:
    """Return what is open in all clusters and sources that the viewer sees."""
    return _of(view, present.every_open_alert(view))


def _of(view: View, rows: pl.DataFrame) -> Sequence[Incident]:
    evaluations = rows.group_by("cluster").agg(pl.col("evaluated_at").max())
    found = _folded(view.cache_key, tuple(sorted(evaluations.iter_rows())), rows)
    return in_order(found, view.now, alert_store.looked_after(view))


# Rows of an evaluation never change; incidents are never altered, so all sessions share them.
@st.cache_resource(max_entries=64, show_spinner=False)
def _folded(
    key: str, evaluations: tuple[tuple[str, datetime], ...], _rows: pl.DataFrame
) -> Sequence[Incident]:
    return tuple(of_rows(_rows))
