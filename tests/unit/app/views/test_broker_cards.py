"""What the cards of brokers say, and what is the same of all of them."""

from __future__ import annotations

from datetime import timedelta

import polars as pl

from app.views.brokers import card, led
from app.views.brokers import view_model as brokers_view_model
from lake.schemas.current import BROKER_STATUS
from lake.schemas.tables import CLUSTER_SETTINGS, PARTITIONS
from tests.unit.app.views.made_rows import START as NOW


def test_a_card_is_a_list_of_labels_and_values_that_is_no_markup_of_others() -> None:
    row = dict.fromkeys(BROKER_STATUS.polars_schema) | {
        "broker_id": 1,
        "leaders": 1,
        "rack": "<b>",
        "version": "4.3",
        "registration": "fenced",
        "log_bytes": 1024,
        "disk_free_bytes": 2048,
    }
    rows = card.rows(row, {1: 234.0}, NOW)
    assert rows == [
        ("leads", "1 partition"),
        ("messages in", "234/s, led"),
        ("replicas", "unknown"),
        ("logs", "1 KiB, 2 KiB free"),
        ("address", "host unknown:?"),
        ("rack", "<b>"),
        ("Kafka", "4.3"),
        ("registered", "but fenced: down, or not ready yet"),
    ]
    assert "<b>" not in card.html(rows)
    assert "&lt;b&gt;</dd>" in card.html(rows)


def test_messages_led_are_those_of_all_partitions_that_a_broker_leads_now() -> None:
    polls = [
        {"topic": "t", "partition": number, "leader": leader, "log_end": end, "observed_at": at}
        for number, leaders, ends in ((0, (1, 1), (0, 60)), (1, (1, 2), (0, 30)), (2, (2, 2), (5,)))
        for leader, end, at in zip(leaders, ends, (NOW, NOW + timedelta(seconds=60)), strict=False)
    ]
    frame = pl.DataFrame(
        [{"cluster": "c", **row} for row in polls], schema=PARTITIONS.polars_schema
    )
    assert led.by_leader(frame) == {1: 1.0, 2: None}, "of one of its partitions it is not known"
    assert led.by_leader(frame.filter(pl.col("partition") < 2)) == {1: 1.0, 2: 0.5}


def test_settings_are_the_same_only_where_they_were_read() -> None:
    def same(*values: str, reason: str | None = None) -> bool:
        rows = [
            {
                "kind": "broker configuration",
                "subject": str(number),
                "settings": [{"key": "num.io.threads", "value": value}],
                "unknown_reason": reason,
            }
            for number, value in enumerate(values)
        ]
        frame = pl.DataFrame(rows, schema=CLUSTER_SETTINGS.polars_schema)
        return brokers_view_model.have_same_settings(frame)

    assert same("8", "8")
    assert not same("8", "9")
    assert not same("8", reason="timed out")
    assert not same()


def test_cards_of_brokers_fill_their_rows() -> None:
    abreast = {number: card.cards_abreast(number) for number in (1, 2, 3, 4, 6, 8)}
    assert abreast == {1: 1, 2: 2, 3: 3, 4: 4, 6: 3, 8: 4}
    assert card.cards_abreast(5) == 3, "one lacks, instead of three"
