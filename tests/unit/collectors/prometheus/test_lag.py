from __future__ import annotations

import re
from typing import Any

import polars as pl

from collectors.prometheus.client import Series
from collectors.prometheus.lag import (
    LEADER,
    MINION_LAG,
    NEVER_COMMITTED,
    NO_COMMITTED,
    NO_END,
    NO_TIME_LAG,
    group_offsets,
    partitions,
)

COMMITTED, LAG = "kafka_consumergroup_current_offset", "kafka_consumergroup_lag"
END, START = "kafka_topic_partition_current_offset", "kafka_topic_partition_oldest_offset"


class History:
    """What Prometheus has, by the metric's name."""

    def __init__(self) -> None:
        self.series: dict[str, list[Series]] = {}

    def add(
        self, name: str, values: dict[int, float], *, instance: str = "a", **labels: str
    ) -> None:
        """Add a series: a value at each moment."""
        points = tuple((float(at), value) for at, value in values.items())
        self.series.setdefault(name, []).append(
            Series(
                labels={"instance": instance, "topic": "t", "partition": "0", **labels},
                points=points,
            )
        )

    def ask(self, query: str) -> list[Series]:
        """Return the series of the one metric that a query is about."""
        (name,) = [name for name in self.series if re.search(rf"\({name}\{{", query)]
        return self.series[name]

    def offsets(self) -> list[dict[str, Any]]:
        rows = group_offsets(self.ask, set(self.series), {})
        return rows.sort("at", "group", "partition").to_dicts()

    def partitions(self) -> pl.DataFrame:
        return partitions(self.ask, set(self.series), {})


def test_the_end_is_the_one_that_belongs_to_the_commit() -> None:
    past = History()
    past.add(COMMITTED, {0: 100}, consumergroup="g")
    past.add(LAG, {0: 30}, consumergroup="g")
    past.add(END, {0: 120})  # read before the commit was
    (row,) = past.offsets()
    assert (row["committed"], row["lag"], row["log_end"]) == (100, 30, 130)
    assert (row["log_start"], row["unknown_reason"]) == (None, NO_TIME_LAG)


def test_without_a_lag_it_is_what_the_partition_ends_with() -> None:
    past = History()
    past.add(COMMITTED, {0: 100, 60: 130}, consumergroup="g")
    past.add(END, {0: 120, 60: 125})
    past.add(START, {0: 101, 60: 101})
    first, second = past.offsets()
    assert (first["lag"], first["log_end"], first["lost_messages"]) == (20, 120, 1)
    assert (second["lag"], second["log_end"], second["lost_messages"]) == (0, 125, 0)


def test_without_an_end_the_lag_is_unknown() -> None:
    past = History()
    past.add(COMMITTED, {0: 100}, consumergroup="g")
    (row,) = past.offsets()
    assert (row["committed"], row["lag"], row["unknown_reason"]) == (100, None, NO_END)
    assert row["time_lag_seconds"] is None


def test_minus_one_is_no_commit() -> None:
    past = History()
    past.add(COMMITTED, {0: -1}, consumergroup="g")
    past.add(LAG, {0: -1}, consumergroup="g")
    past.add(END, {0: 9})
    (row,) = past.offsets()
    assert (row["committed"], row["lag"], row["log_end"]) == (None, None, 9)
    assert row["unknown_reason"] == NEVER_COMMITTED


def test_values_of_two_instances_are_not_mixed() -> None:
    """Given a second instance that is read later, its commit does not go with the first's lag."""
    past = History()
    past.add(COMMITTED, {0: 100, 60: 200}, consumergroup="g")
    past.add(LAG, {0: 30, 60: 30}, consumergroup="g")
    past.add(COMMITTED, {0: 150, 60: 250, 120: 300}, instance="b", consumergroup="g")
    past.add(LAG, {0: 1, 60: 1, 120: 1}, instance="b", consumergroup="g")
    found = [(row["at"], row["committed"], row["lag"]) for row in past.offsets()]
    assert found == [(0, 100, 30), (60, 200, 30), (120, 300, 1)]


def test_kafka_exporter_goes_before_kminion() -> None:
    past = History()
    past.add(COMMITTED, {0: 100}, instance="z", consumergroup="g")
    past.add(LAG, {0: 30}, instance="z", consumergroup="g")
    minion = {"topic_name": "t", "partition_id": "0"}
    past.add(MINION_LAG, {0: 29, 60: 40}, group_id="g", **minion)
    past.add("kminion_kafka_topic_partition_high_water_mark", {60: 140}, **minion)
    first, second = past.offsets()
    assert (first["committed"], first["lag"]) == (100, 30)
    assert (second["committed"], second["lag"], second["log_end"]) == (None, 40, 140)
    assert second["unknown_reason"] == NO_COMMITTED


def test_offsets_beyond_double_precision_of_seconds_stay_whole() -> None:
    past = History()
    past.add(COMMITTED, {0: 4_503_599_627_370_497.0}, consumergroup="g")
    past.add(LAG, {0: 1}, consumergroup="g")
    (row,) = past.offsets()
    assert row["log_end"] == 4_503_599_627_370_498


def test_series_that_are_no_partitions_are_left_out() -> None:
    past = History()
    past.add(COMMITTED, {0: 1}, consumergroup="")
    past.add(COMMITTED, {0: 1}, consumergroup="g", partition="all")
    past.add(COMMITTED, {0: 1}, consumergroup="g", topic="")
    assert past.offsets() == []


def test_without_exporters_there_is_nothing() -> None:
    assert group_offsets(History().ask, {"up"}, {}).is_empty()
    assert partitions(History().ask, {"up"}, {}).is_empty()


def test_partitions_need_leaders_to_be_told() -> None:
    past = History()
    past.add(END, {0: 9})
    assert past.partitions().is_empty(), "or each would look offline"
    past.add(LEADER, {0: 3})
    (row,) = past.partitions().to_dicts()
    assert (row["leader"], row["log_end"], row["preferred_leader"]) == (3, 9, None)
    assert (row["replicas"], row["in_sync_replicas"]) == (None, None)


def test_partitions_of_two_instances_count_once() -> None:
    past = History()
    for instance in ("a", "b"):
        past.add(LEADER, {0: 3}, instance=instance)
        past.add(END, {0: 9}, instance=instance)
    assert past.partitions().height == 1
