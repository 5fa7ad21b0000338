"""How long what was read from the lake is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl

from app.data import queries
from app.data.context import View
from app.data.time_range import between
from lake.schemas.current import CLUSTER_STATUS
from lake.schemas.tables import DEAD_LETTERS, QUEUES, WAITING_COLLECTORS
from tests.unit.app.views_of import NOW


def evaluate(view: View, at: datetime, cluster: str = "east") -> None:
    """Write what an evaluation writes."""
    rows = pl.DataFrame({"cluster": [cluster], "evaluated_at": [at]})
    types = CLUSTER_STATUS.polars_schema
    whole = rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None)).cast(type_).alias(name)
        for name, type_ in types.items()
    )
    view.lake.current.replace(CLUSTER_STATUS, cluster, whole)


def wait(view: View, name: str) -> None:
    """Write that a collector waits."""
    row = {"cluster": "east", "observed_at": NOW, "collector": name, "poll_id": name}
    view.lake.append(WAITING_COLLECTORS, pl.DataFrame([row]))


def test_samples_are_read_again_when_the_cluster_was_evaluated_again(view: View) -> None:
    evaluate(view, NOW)
    wait(view, "one")
    assert queries.recent(view, WAITING_COLLECTORS)["collector"].to_list() == ["one"]
    wait(view, "two")
    assert queries.recent(view, WAITING_COLLECTORS)["collector"].to_list() == ["one"]
    evaluate(view, NOW + timedelta(seconds=15))
    assert queries.recent(view, WAITING_COLLECTORS).height == 1, "all of one run is of one moment"
    seen = queries.recent(replace(view, held={}), WAITING_COLLECTORS)["collector"].to_list()
    assert sorted(seen) == ["one", "two"]


def test_dead_letters_of_a_fixed_time_are_those_of_that_time(view: View) -> None:
    hour = timedelta(hours=1)
    for source, ago in (("kafka", 0.2), ("kafka", 2.5), ("rabbit", 2.5), ("kafka", 3.5)):
        at = NOW - ago * hour
        row = {"cluster": "east", "observed_at": at, "source": source, "name": "a", "poll_id": "1"}
        view.lake.append(DEAD_LETTERS, pl.DataFrame([row]))
    fixed = between(NOW - 3 * hour, NOW - 2 * hour, NOW, None)
    found = queries.dead_letter_samples(replace(view, range=fixed), "kafka", "a")
    assert found["observed_at"].to_list() == [NOW - 2.5 * hour]


def test_samples_of_a_source_that_belongs_to_no_cluster_are_read(view: View) -> None:
    row = {"cluster": "rabbit", "observed_at": NOW, "poll_id": "1", "queue": "q", "vhost": "/"}
    view.lake.append(QUEUES, pl.DataFrame([row]))
    evaluate(view, NOW, "rabbit")
    beside = replace(view, cluster="rabbit")
    assert queries.recent(beside, QUEUES)["queue"].to_list() == ["q"]
    assert queries.newest(beside, QUEUES)["queue"].to_list() == ["q"]
