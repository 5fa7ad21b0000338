"""Evaluating clusters in the background, where no alerting service does: never while drawing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.current.state import EvaluationInMemory
from alerting.rules.rule_file import usable_rules
from app.data.background import Background
from app.data.context import View
from config.settings import Settings
from lake.schemas.model import Table
from lake.storage.store import Lake

EVALUATED_AGAIN_AFTER = timedelta(seconds=15)

_log = logging.getLogger(__name__)

Rows = Mapping[Table, pl.DataFrame]


def tables(view: View) -> Rows | None:
    """Return the newest evaluation of the cluster; None until the first one is there.

    Raises:
        LakeError: What the evaluation needs cannot be read.
    """
    evaluation = _evaluation(view.lake_uri, view.settings, view.lake, view.now.timestamp())
    cluster, now = view.cluster, view.now.timestamp()
    found = _evaluations().newest(
        (view.lake_uri, cluster), lambda: evaluation.evaluate(cluster, now), view.now
    )
    return None if found is None else found.future.result()


def wait_for_evaluations() -> None:
    """Wait until no evaluation is under way."""
    _evaluations().wait()


@st.cache_resource(show_spinner=False)
def _evaluations() -> Background[Rows]:
    return Background(EVALUATED_AGAIN_AFTER)


@st.cache_resource(max_entries=8, show_spinner=False)
def _evaluation(uri: str, _settings: Settings, _lake: Lake, _began_at: float) -> EvaluationInMemory:
    usable = usable_rules(_settings.alerting.rules)
    for problem in usable.problems:
        _log.warning("%s", problem)
    return EvaluationInMemory(_lake, usable.rules, watched_since=_began_at)
