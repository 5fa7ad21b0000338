"""Brokers and replication, shaped from rows made by hand."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import polars as pl
import pytest

from app.style.columns import DASH
from app.ui.brokers_up import BrokersUp, brokers_up
from app.views.brokers import card, leadership
from app.views.brokers import view_model as brokers_view_model
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS, PARTITIONS_AT_RISK, TOPIC_STATUS
from lake.schemas.tables import CLUSTER_EVENTS
from tests.unit.app.views.made_rows import START, at, rows


def cluster_status(**given: Any) -> pl.DataFrame:
    row = {"cluster": "c", "evaluated_at": START, **given}
    return pl.DataFrame([row], schema=CLUSTER_STATUS.polars_schema)


def up_of(cluster: pl.DataFrame, brokers: pl.DataFrame) -> BrokersUp:
    return brokers_up(cluster, brokers, zone=UTC, now=at(600), stale_after=timedelta(minutes=1))


def test_the_sentence_of_brokers() -> None:
    def sentence(cluster: pl.DataFrame, *brokers: dict[str, Any]) -> tuple[str, str]:
        every = [
            {"cluster": "c", "evaluated_at": START, "broker_id": number, **broker}
            for number, broker in enumerate(brokers, 1)
        ]
        known = pl.DataFrame(every, schema=BROKER_STATUS.polars_schema)
        return brokers_view_model.sentence(cluster, known, up_of(cluster, known))

    counts = {"offline": 0, "under_min_isr": 0, "under_replicated": 0}
    up = {"is_alive": True, "offline_if_lost": 0, "refused_if_lost": 0}
    fine = sentence(cluster_status(brokers=2, missing_brokers=[], **counts), up, up)
    assert fine == (
        "All brokers are up",
        "Every partition has a leader and all its replicas in sync.",
    )
    one_down = cluster_status(brokers=3, missing_brokers=[2], **counts | {"under_replicated": 4})
    title, detail = sentence(
        one_down,
        up,
        {"is_alive": False, "missing_since": at(60)},
        up | {"refused_if_lost": 4},
    )
    assert title == f"Broker 2 is missing since {at(60):%H:%M}"
    assert detail == (
        "4 partitions under-replicated; none is offline or below min ISR: reads and writes go on; "
        "if broker 3 fails too, writes with acks=all stop on 4 partitions."
    )
    refused = up | {"refused_if_lost": 4}
    _, detail = sentence(one_down, refused, {"is_alive": False}, refused)
    assert detail.endswith("if broker 1 or 3 fails too, writes with acks=all stop on 4 partitions.")
    _, detail = sentence(
        one_down, refused, up | {"offline_if_lost": 2}, up | {"offline_if_lost": 1}, *[refused] * 5
    )
    assert detail.endswith(
        "if broker 2 or 3 fails too, up to 2 partitions go offline; "
        "if any of 6 brokers fails too, writes with acks=all stop on 4 partitions."
    )
    title, detail = sentence(one_down, up, {"is_alive": False}, up)
    assert title == "Broker 2 is missing"
    assert detail.endswith("one more loss would stop no partition.")
    ends = {"ends_quorum_if_lost": True}
    _, detail = sentence(one_down, up | ends, {"is_alive": False}, refused | ends)
    assert detail.endswith(
        "if broker 3 fails too, writes with acks=all stop on 4 partitions; if broker 1 or 3 fails "
        "too, the controllers' quorum has no majority: no other leader is elected, no topic can be "
        "changed."
    )
    _, detail = sentence(one_down, refused | ends, {"is_alive": False}, refused | ends)
    assert detail.endswith(
        "if broker 1 or 3 fails too, writes with acks=all stop on 4 partitions, and the "
        "controllers' quorum has no majority: no other leader is elected, no topic can be changed."
    ), "what the same brokers do is said once"
    goes_on = up | {"ends_quorum_if_lost": False}
    _, detail = sentence(one_down, goes_on, {"is_alive": False}, goes_on)
    assert "quorum" not in detail
    unsure = sentence(one_down, {"is_alive": True})
    assert "loss" not in unsure[1] and "fails" not in unsure[1]
    for unread in (cluster_status(), cluster_status().clear()):
        title, detail = sentence(unread)
        assert title == "Which brokers are up is unknown"
        assert "unknown" in detail


def test_a_broker_that_is_back_says_what_it_leads_and_what_moves_leaders_there() -> None:
    def brokers(*numbers: tuple[int | None, int | None]) -> pl.DataFrame:
        return pl.DataFrame(
            [
                {"cluster": "c", "evaluated_at": START, "broker_id": number, "is_alive": number < 9}
                | {"preferred_led": led, "preferred": of}
                for number, (led, of) in enumerate(numbers, 1)
            ],
            schema=BROKER_STATUS.polars_schema,
        )

    every = cluster_status(
        brokers=3, missing_brokers=[], offline=0, under_min_isr=0, under_replicated=0
    )
    events = rows(
        CLUSTER_EVENTS,
        *(
            {"kind": kind, "subject": "2", "observed_at": at(second)}
            for kind, second in (("broker missing", 0), ("broker back", 60), ("broker back", 120))
        ),
    )
    back = leadership.returned(events)
    assert back == {"2": at(120)}
    given = brokers((70, 70), (0, 70), (50, 70), (None, None), (0, 0), (64, 70))
    found = leadership.lacking(given)
    assert found["broker_id"].to_list() == [2, 3], "few leaders elsewhere are no news"
    said = leadership.clauses(found, back, UTC, at(600))
    title, detail = brokers_view_model.sentence(every, given, up_of(every, given), leadership=said)
    assert title == (
        "All brokers are up, broker 2 is back since 08:02 and leads 0 of the 70 partitions that "
        "prefer it"
    )
    assert detail == (
        "Every partition has a leader and all its replicas in sync; broker 3 leads 50 of the 70 "
        "partitions that prefer it; a preferred leader election (kafka-leader-election.sh) or "
        "auto.leader.rebalance.enable moves leaders there."
    )
    fine = leadership.clauses(leadership.lacking(brokers((70, 70))), back, UTC, at(600))
    assert fine == []
    gone = brokers(*[(70, 70)] * 8, (0, 70))
    assert leadership.lacking(gone).is_empty(), "nobody moves leaders to what is missing"


def test_replicas_that_lack_are_named() -> None:
    found = brokers_view_model.with_labels(
        pl.DataFrame(
            [
                {
                    "cluster": "c",
                    "topic": "t",
                    "partition": 0,
                    "evaluated_at": START,
                    "replication": "under-replicated",
                    "replicas": [1, 2],
                    "in_sync_replicas": [1],
                }
            ],
            schema=PARTITIONS_AT_RISK.polars_schema,
        )
    )
    assert found["lacking"].to_list() == [[2]]
    assert found["label"].to_list() == [["▲ under-replicated"]]


def test_the_worst_come_first_and_own_topics_before_internal_ones() -> None:
    names = ["__consumer_offsets", "orders", "__state", "clicks", "odd"]
    states = ["under-replicated", "under-replicated", "offline", "offline", None]
    given = pl.DataFrame(
        {"topic": names, "replication": states}, schema_overrides={"replication": pl.String}
    )
    frame = pl.concat([PARTITIONS_AT_RISK.empty, given], how="diagonal_relaxed")
    found = brokers_view_model.with_labels(frame)
    assert found["topic"].to_list() == ["clicks", "__state", "orders", "__consumer_offsets", "odd"]


def partitions_at_risk(*given: dict[str, Any]) -> pl.DataFrame:
    """Return partitions of three replicas, at risk since broker 2 is gone."""
    usual = {
        "topic": "t",
        "replication": "under-replicated",
        "leader": 1,
        "replicas": [1, 2, 3],
        "in_sync_replicas": [1, 3],
        "min_in_sync_replicas": 1,
    }
    return pl.DataFrame([usual | one for one in given], schema=PARTITIONS_AT_RISK.polars_schema)


def by_topic(*given: dict[str, Any], **of: int | None) -> list[dict[str, Any]]:
    """Return the rows by topic of partitions at risk."""
    topics = [{"topic": topic, "partitions": number} for topic, number in of.items()]
    found = brokers_view_model.by_topic(
        brokers_view_model.with_labels(partitions_at_risk(*given)),
        pl.DataFrame(topics, schema=TOPIC_STATUS.polars_schema),
    )
    return found.rows(named=True)


def test_partitions_at_risk_are_one_row_a_topic_and_kind_of_trouble() -> None:
    hostile = "<img src=x>|`[a](b)`\n$x$"
    found = by_topic(
        {"topic": "__consumer_offsets"},
        {"topic": hostile, "partition": 0},
        {"topic": hostile, "partition": 1, "replicas": [1, 3, 4]},
        {"topic": hostile, "partition": 2, "replication": "offline", "leader": None},
        {"topic": "odd", "replication": None},
        **{hostile: 12, "__consumer_offsets": 50},
    )
    assert [(row["topic"], row["label"], row["partitions"], row["of"]) for row in found] == [
        (hostile, ["✖ offline"], 1, 12),
        (hostile, ["▲ under-replicated"], 2, 12),
        ("__consumer_offsets", ["▲ under-replicated"], 1, 50),
        ("odd", ["? unknown"], 1, None),
    ]
    assert [row["lacking"] for row in found[:2]] == ["2", "2, 4"]
    assert [row["partitions_of"] for row in found[1:]] == ["2 of 12", "1 of 50", "1 of unknown"]
    assert by_topic() == []


@pytest.mark.parametrize(
    ("partitions", "lacking"),
    [
        pytest.param([{"in_sync_replicas": []}], "1, 2, 3", id="all"),
        pytest.param([{"replicas": [1, 3]}], "none", id="min ISR above the replicas"),
        pytest.param([{"in_sync_replicas": None}], None, id="unknown"),
        pytest.param([{"replicas": None}], None, id="replicas unknown"),
        pytest.param([{}, {"in_sync_replicas": None}], "2, others unknown", id="one unknown"),
    ],
)
def test_brokers_that_lack_are_named_by_topic(
    partitions: list[dict[str, Any]], lacking: str | None
) -> None:
    (row,) = by_topic(*partitions)
    assert row["lacking"] == lacking


@pytest.mark.parametrize(
    ("partitions", "said"),
    [
        pytest.param([{}, {}], "stops nothing more", id="nothing"),
        pytest.param([{"min_in_sync_replicas": 2}] * 2, "refuses acks=all on 2", id="refused"),
        pytest.param([{"min_in_sync_replicas": 3}], "stops nothing more", id="refused already"),
        pytest.param(
            [
                {"in_sync_replicas": [1]},
                {"in_sync_replicas": [1]},
                {"in_sync_replicas": [3]},
                {"min_in_sync_replicas": 2},
            ],
            "takes 2 offline; refuses acks=all on 1",
            id="of the broker that would do most",
        ),
        pytest.param(
            [{"leader": None, "replication": "offline", "in_sync_replicas": [2]}],
            DASH,
            id="without a leader",
        ),
        pytest.param([{"in_sync_replicas": None}], None, id="unknown"),
        pytest.param([{}, {"min_in_sync_replicas": None}], None, id="min ISR unknown"),
        pytest.param(
            [{"in_sync_replicas": [1]}, {"in_sync_replicas": None}],
            "takes 1 offline; others unknown",
            id="partly",
        ),
        pytest.param(
            [{"in_sync_replicas": [1], "min_in_sync_replicas": None}],
            "takes 1 offline",
            id="the last one, whatever min ISR is",
        ),
    ],
)
def test_what_one_more_loss_would_do_to_a_topic(
    partitions: list[dict[str, Any]], said: str | None
) -> None:
    (row,) = by_topic(*partitions)
    assert row["one_more"] == said


def test_what_is_alike_is_said_once_and_internal_topics_come_last() -> None:
    given = [
        {"topic": topic, "partition": number, "min_in_sync_replicas": 2}
        for topic in ("__consumer_offsets", "connect-status", "orders", "clicks")
        for number in range(2)
    ]
    at_risk = partitions_at_risk(*given)
    topics = pl.DataFrame(
        [{"topic": "connect-status", "kind": "connect", "partitions": 2}],
        schema=TOPIC_STATUS.polars_schema,
    )
    found = brokers_view_model.by_topic(brokers_view_model.with_labels(at_risk), topics)
    assert found["topic"].to_list() == [
        *("orders", "clicks", "connect-status", "__consumer_offsets")
    ]
    assert brokers_view_model.alike(found) == (
        "All 4 topics, 8 partitions: under-replicated; not in sync on 2; "
        "one more loss refuses acks=all on partitions of each."
    )
    differs = partitions_at_risk(*given[:-1], {**given[-1], "replicas": [1, 3, 4]})
    rows = brokers_view_model.by_topic(brokers_view_model.with_labels(differs), topics)
    assert brokers_view_model.alike(rows) == ""
    assert brokers_view_model.alike(found.head(2)) == ""


def test_a_missing_broker_follows_nothing() -> None:
    given = [
        {
            "broker_id": number,
            "is_alive": is_alive,
            "leaders": 0 if number == 2 else 30,
            "replicas": 70,
        }
        for number, is_alive in ((1, True), (2, False), (3, None))
    ]
    frame = pl.DataFrame(given, schema=BROKER_STATUS.polars_schema)
    found = brokers_view_model.with_names(frame)
    assert found["followers"].to_list() == [40, 0, 40]
    cards = [dict(card.rows(row, {}, at(0))) for row in found.iter_rows(named=True)]
    assert [one["leads"] for one in cards] == ["30 partitions", "0 partitions", "30 partitions"]
    assert [one["replicas"] for one in cards] == ["70", "70, out of reach", "70"]
    assert "messages in" not in cards[0], "of no broker is it known"
    cards = [dict(card.rows(row, {1: 7.0}, at(0))) for row in found.iter_rows(named=True)]
    assert [one["messages in"] for one in cards] == ["7/s, led", "0/s, led", "unknown"]


def test_who_can_lead_a_partition_without_a_leader_is_named() -> None:
    rows: list[dict[str, Any]] = [
        {"leader": None, "in_sync_replicas": [3], "eligible_leader_replicas": [2, 3]},
        {"leader": None, "in_sync_replicas": [3], "eligible_leader_replicas": None},
        {"leader": None, "in_sync_replicas": [], "eligible_leader_replicas": []},
        {"leader": 1, "in_sync_replicas": [1], "eligible_leader_replicas": None},
    ]
    frame = pl.DataFrame(rows, schema=PARTITIONS_AT_RISK.polars_schema)
    found = brokers_view_model.with_labels(frame.with_columns(replication=pl.lit("offline")))
    assert found["can_lead"].to_list() == [[2, 3], [3], [], None]


def test_preferred_leaders() -> None:
    known = cluster_status(preferred_led=5, partitions=9)
    assert (
        brokers_view_model.preferred_share(known)
        == "5 of 9 partitions led by their preferred replica."
    )
    assert brokers_view_model.preferred_share(cluster_status()) == "Preferred leaders are unknown."


def test_a_broker_that_does_not_answer_is_not_called_up() -> None:
    every = cluster_status(
        brokers=2, missing_brokers=[], offline=0, under_min_isr=0, under_replicated=0
    )
    why = "broker 2 (b:9092): Connection refused"
    row = {"cluster": "c", "evaluated_at": START, "is_alive": True}
    known = pl.DataFrame(
        [row | {"broker_id": 1}, row | {"broker_id": 2, "unknown_reason": why}],
        schema=BROKER_STATUS.polars_schema,
    )
    title, detail = brokers_view_model.sentence(every, known, up_of(every, known))
    assert title == "Broker 2 does not answer, the other one does"
    assert detail == (
        "Broker 2 (b:9092): Connection refused; whether all replicas are in sync is not known."
    )
    named = brokers_view_model.with_names(known).iter_rows(named=True)
    assert [brokers_view_model.badge_style(one).word for one in named] == ["up", "unknown"]
    unread = BrokersUp(said="Not known", is_now=False)
    _, detail = brokers_view_model.sentence(every, known, unread)
    assert detail.startswith("When last read, every partition has a leader")


@pytest.mark.parametrize(
    ("total", "free", "expected"),
    [(200, 50, 0.75), (200, 300, 0.0), (None, 50, None), (200, None, None), (0, 0, None)],
)
def test_how_full_disks_are(total: int | None, free: int | None, expected: float | None) -> None:
    broker = {"disk_total_bytes": total, "disk_free_bytes": free}
    assert card.disk_full(broker) == expected
