"""The present of each cluster: written into the lake by the service, or kept in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from alerting.current.rows import REMEMBERED, current_rows
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.rules.lifecycle import Alert, Alerts
from alerting.rules.model import Rule
from alerting.status.model import OBJECTIVE_SECONDS
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake

_log = logging.getLogger(__name__)


class Present:
    """Writes what each evaluation found into the tables of the present."""

    def __init__(self, store: CurrentStore) -> None:
        self._store = store
        self._previous: dict[str, dict[Table, pl.DataFrame]] = {}

    def write(self, found: ClusterEvaluation, alerts: Mapping[str, Alert]) -> None:
        """Replace a cluster's rows.

        Raises:
            LakeError: A table could not be written; its old rows stay.
        """
        cluster = found.frames.cluster
        if cluster not in self._previous:
            self._previous[cluster] = _recalled(self._store, cluster)
        rows = current_rows(found, alerts.values(), self._previous[cluster])
        self._previous[cluster] = {table: rows[table] for table in REMEMBERED}
        self._store.replace_all(cluster, rows)


class EvaluationInMemory:
    """Evaluates clusters without the alerting service: the same tables, kept in memory.

    It goes on from what that service wrote last. Nobody is notified, and nothing is written. One
    thread at a time may use it.
    """

    def __init__(
        self,
        lake: Lake,
        rules: Sequence[Rule],
        *,
        watched_since: float,
        objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS,
        alerts_of: Callable[[str], Alerts] = lambda cluster: {},
    ) -> None:
        """Prepare the evaluation.

        Args:
            lake: The lake.
            rules: The rules.
            watched_since: When the watching began, in Unix seconds.
            objective: The time lag that a group is not to exceed, seconds, by its name.
            alerts_of: The alerts of a cluster when its first evaluation begins.
        """
        self._evaluator = ClusterEvaluator(lake, watched_since=watched_since, objective=objective)
        self._store = lake.current
        self._rules = rules
        self._alerts_of = alerts_of
        self._alerts: dict[str, dict[str, Alert]] = {}
        self._rows: dict[str, dict[Table, pl.DataFrame]] = {}

    def evaluate(self, cluster: str, now: float) -> Mapping[Table, pl.DataFrame]:
        """Evaluate a cluster and return the rows of all tables of the present."""
        found = self._evaluator.evaluate(cluster, now, self._rules)
        if cluster not in self._rows:
            self._rows[cluster] = _recalled(self._store, cluster)
            self._alerts[cluster] = dict(self._alerts_of(cluster))
        alerts = advanced(self._alerts[cluster], found, self._rules)
        rows = current_rows(found, alerts.values(), self._rows[cluster])
        self._alerts[cluster], self._rows[cluster] = alerts, rows
        return rows


def _recalled(store: CurrentStore, cluster: str) -> dict[Table, pl.DataFrame]:
    """Read the rows that were written before this process began, where they can be read."""
    found: dict[Table, pl.DataFrame] = {}
    for table in REMEMBERED:
        try:
            rows = store.read(table, cluster)
        except LakeError as error:
            _log.warning("%s: since when a status holds is not known: %s", cluster, error)
            continue
        if rows is not None:
            found[table] = rows
    return found
