"""Finding things by their name."""

from __future__ import annotations

import polars as pl
import pytest

from app.data.directory import SCHEMA, found


def known(*names: str) -> pl.DataFrame:
    return of_kinds(*(("group", name, False) for name in names))


def of_kinds(*named: tuple[str, str, bool]) -> pl.DataFrame:
    rows = [(kind, name, "", "", "", name, in_trouble) for kind, name, in_trouble in named]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def names(text: str, *of: str) -> list[str]:
    return found(known(*of), text)["name"].to_list()


def test_what_begins_with_the_text_comes_first_then_its_words_then_the_rest() -> None:
    of = ("reorders", "eu.orders.dlq", "orders-redrive", "orders")
    assert names("orders", *of) == ["orders", "orders-redrive", "eu.orders.dlq", "reorders"]


def test_every_word_must_be_in_the_name_in_any_order() -> None:
    assert names("dlq ORD", "orders.dlq", "orders", "x.dlq") == ["orders.dlq"]


@pytest.mark.parametrize("text", ["", "   "])
def test_nothing_is_found_by_nothing(text: str) -> None:
    assert names(text, "orders") == []


@pytest.mark.parametrize("text", ["a.c", "(", "[a", "a+", "\\", "$", "*", "ä", "^x"])
def test_a_text_is_no_pattern(text: str) -> None:
    assert names(text, "abc", "aac") == []
    assert names(text, f"x-{text}-y") == [f"x-{text}-y"]


def test_a_name_comes_before_what_is_wrong_with_it_and_symptoms_come_where_nothing_else_does() -> (
    None
):
    everything = of_kinds(
        ("alert", "orders loses data", True),
        ("symptom", "orders misses its objective", True),
        ("topic", "orders", False),
        ("topic", "orders.dlq", False),
        ("group", "orders", True),
        ("group", "reorders", True),
    )
    assert found(everything, "orders").select("kind", "name").rows() == [
        ("group", "orders"),
        ("topic", "orders"),
        ("topic", "orders.dlq"),
        ("alert", "orders loses data"),
        ("group", "reorders"),
    ]
    assert found(everything, "orders misses")["kind"].to_list() == ["symptom"]


def test_of_names_alike_what_is_in_trouble_comes_first_then_groups_then_topics() -> None:
    everything = of_kinds(
        ("topic", "payment", False),
        ("alert", "payment-batch misses its objective", False),
        ("rule", "PaymentLate", False),
        ("topic", "payments.captured", False),
        ("group", "payment-reports", False),
        ("connector", "payment-sink", True),
        ("group", "payment-settlement", True),
        ("alert", "payment-settlement is stalled", True),
        ("group", "late-payments", True),
    )
    assert found(everything, "payment").select("kind", "name").rows() == [
        ("topic", "payment"),
        ("group", "payment-settlement"),
        ("connector", "payment-sink"),
        ("group", "payment-reports"),
        ("topic", "payments.captured"),
        ("rule", "PaymentLate"),
        ("alert", "payment-settlement is stalled"),
        ("alert", "payment-batch misses its objective"),
        ("group", "late-payments"),
    ]
