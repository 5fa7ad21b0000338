"""Evaluating clusters in the background, where no alerting service does: never while drawing.

What is found is of the whole cluster; ``app.data.present`` shows each viewer what is theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.current.state import EvaluationInMemory
from alerting.errors import AlertingError
from alerting.rules.lifecycle import Alerts
from alerting.rules.rule_file import usable_rules
from app.data.alert_store import whole_store
from app.data.background import Background
from app.data.context import View
from config.stamp import Stamp, stamp_of
from lake.schemas.model import Table
from lake.storage.store import Lake

EVALUATED_AGAIN_AFTER = timedelta(seconds=15)

_log = logging.getLogger(__name__)

Rows = Mapping[Table, pl.DataFrame]


def tables(view: View) -> Rows | None:
    """Return the newest evaluation of the cluster; None until the first one is there."""
    rules = stamp_of(view.settings.alerting.rules)
    scaling = view.settings.scaling
    # By its text: another objective is another evaluation.
    evaluation = _evaluation(view.settings.lake.uri, rules, scaling.model_dump_json(), view)
    cluster, now = view.cluster, view.now.timestamp()
    found = _evaluations().newest(
        (view.settings.lake.uri, cluster), lambda: evaluation.evaluate(cluster, now), view.now
    )
    return None if found is None else found.future.result()


@st.cache_resource(show_spinner=False)
def _evaluations() -> Background[Rows]:
    return Background(EVALUATED_AGAIN_AFTER)


@st.cache_resource(max_entries=8, show_spinner=False)
def _evaluation(uri: str, rules: Stamp | None, scaling: str, _view: View) -> EvaluationInMemory:
    """Return the evaluation of a lake by the rules as they stand in their file."""
    usable = usable_rules(_view.settings.alerting.rules)
    for problem in usable.problems:
        _log.warning("%s", problem)

    def alerts_of(cluster: str) -> Alerts:
        try:
            store = whole_store(_view)
            return {} if store is None else store.alerts(cluster)
        except AlertingError as error:
            _log.warning("alerts begin anew: %s", error)
            return {}

    return EvaluationInMemory(
        Lake(_view.settings.lake),
        usable.rules,
        watched_since=_view.now.timestamp(),
        objective=_view.settings.scaling.objective_seconds,
        alerts_of=alerts_of,
    )
