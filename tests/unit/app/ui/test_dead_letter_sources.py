"""What is said of dead letters while those that read their origin are stopped or catch up."""

from __future__ import annotations

import polars as pl
import pytest

from app.data.context import View
from app.ui.dead_letter_sources import Source, sources_of
from app.ui.incident_list import badge_of
from app.ui.incidents import Incident
from app.ui.open_incidents import told, with_source
from lake.schemas.current import GROUP_STATUS, READERS
from lake.schemas.tables import CONNECTORS, DEAD_LETTERS
from tests import alert_of


def found(
    statuses: dict[str, str],
    *,
    origin: str | None = "orders",
    sinks: dict[str, str | None] | None = None,
) -> Source | None:
    """Return what is said of the dead letters of orders, by the status of the groups that read it.

    The group that redrives them reads it, too. Sinks are groups with their dead-letter topic.
    """
    letters = [{"name": "orders.dlq", "origin": origin, "redrive_group": "redrive"}]
    reads = [{"topic": "orders", "group": name} for name in (*statuses, "redrive")]
    reads.append({"topic": "other", "group": "elsewhere"})
    of_all = {"redrive": "STOPPED", "elsewhere": "STOPPED", **statuses}
    groups = [{"group": name, "status": one, "members": 0} for name, one in of_all.items()]
    connectors = [
        {"connect": "k", "connector": name, "group": name, "dead_letter_topic": topic}
        for name, topic in (sinks or {}).items()
    ]
    return sources_of(
        pl.DataFrame(letters, schema=DEAD_LETTERS.polars_schema),
        pl.DataFrame(reads, schema=READERS.polars_schema),
        pl.DataFrame(groups, schema=GROUP_STATUS.polars_schema),
        pl.DataFrame(connectors, schema=CONNECTORS.polars_schema),
    ).get("orders.dlq")


@pytest.mark.parametrize(
    ("statuses", "said", "is_stopped"),
    [
        pytest.param({"a": "STOPPED"}, "a, the only reader of orders, is stopped", True, id="one"),
        pytest.param(
            {"a": "LOSING_DATA"}, "a, the only reader of orders, is stopped", True, id="and loses"
        ),
        pytest.param(
            {"a": "STOPPED", "b": "STOPPED"},
            "a and b, all readers of orders, are stopped",
            True,
            id="all",
        ),
        pytest.param(
            {"a": "OK", "b": "STOPPED"},
            "b, one of 2 readers of orders, is stopped",
            False,
            id="one of two may write elsewhere",
        ),
        pytest.param(
            {"a": "CATCHING_UP", "b": "OK"},
            "a, one of 2 readers of orders, is catching up: more may fail a minute",
            False,
            id="catches up",
        ),
    ],
)
def test_who_reads_the_origin_is_said(
    statuses: dict[str, str], said: str, is_stopped: bool
) -> None:
    source = found(statuses)
    assert source is not None and source.said.startswith(said)
    assert source.is_stopped == is_stopped
    assert source.catches_up == ("CATCHING_UP" in statuses.values())


def test_nothing_is_said_where_readers_work_or_are_not_known() -> None:
    assert found({"a": "OK"}) is None
    assert found({}) is None
    assert found({"a": "UNKNOWN"}) is None
    assert found({"a": "STOPPED"}, origin=None) is None


def test_to_the_topic_of_a_sink_writes_its_group_alone() -> None:
    own, other = {"sink": "orders.dlq"}, {"sink": "sink.dlq"}
    assert found({"sink": "OK", "shop": "STOPPED"}, sinks=own) is None
    source = found({"sink": "STOPPED", "shop": "OK"}, sinks=own, origin=None)
    assert source is not None and source.is_stopped
    assert source.said.startswith("sink, the only sink that writes to orders.dlq, is stopped")
    assert found({"sink": "STOPPED", "shop": "OK"}, sinks=other) is None
    assert found({"sink": "STOPPED"}, sinks={"sink": None}) is None
    source = found({"sink": "OK", "shop": "STOPPED"}, sinks=other)
    assert source is not None and source.is_stopped
    assert source.said.startswith("shop, the only reader of orders beside sinks, is stopped")


def test_the_alert_of_dead_letters_says_what_their_source_does() -> None:
    labels = {"cluster": "c", "source": "kafka", "name": "orders.dlq"}
    given = {"check": "dead_letter_ratio", "labels": labels, "detail": "2 % of orders fail."}
    fires = alert_of.alert(started_at=1000.0, **given)
    recovers = alert_of.alert(started_at=1000.0, recovering_since=1500.0, **given)
    known = {("c", "orders.dlq"): Source(said="a is stopped.", is_stopped=True)}
    found = [with_source(Incident(cause=one), known) for one in (fires, recovers)]
    assert [one.cause.detail for one in found] == [
        "2 % of orders fail. a is stopped.",
        "a is stopped.",
    ]
    assert [badge_of(one).word for one in found] == ["act now", "source stopped"]
    late = {("c", "orders.dlq"): Source(said="a is catching up.", catches_up=True)}
    assert badge_of(with_source(Incident(cause=recovers), late)).word == "recovering"
    assert with_source(Incident(cause=fires), {}).cause.detail == "2 % of orders fail."


def test_dead_letters_of_a_queue_have_no_group_to_ask_about(view: View) -> None:
    """Given an alert of a RabbitMQ, which is no cluster, then it is told as it is."""
    labels = {"cluster": "rabbit", "source": "rabbitmq", "name": "orders.dlq"}
    queue = alert_of.alert(started_at=1000.0, check="dead_letter_ratio", labels=labels)
    assert told(view, [Incident(cause=queue)]) == [Incident(cause=queue)]
