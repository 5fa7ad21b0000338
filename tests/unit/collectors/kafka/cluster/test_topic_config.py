"""Values of a topic's configuration as numbers."""

from __future__ import annotations

import pytest

from collectors.kafka.cluster.topic_config import config_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("604800000", 604_800_000),
        ("-1", -1),
        (None, None),
        ("", None),
        ("a week", None),
        ("1.5", None),
        (str(2**63), None),
        ("9" * 5000, None),
    ],
)
def test_what_is_no_number_is_unknown(text: str | None, number: int | None) -> None:
    assert config_number({"retention.ms": (text, True)}, "retention.ms") == number


def test_a_number_larger_than_its_column_is_unknown() -> None:
    assert config_number({"n": (str(2**31), True)}, "n", 2**31 - 1) is None


def test_a_setting_that_is_missing_is_unknown() -> None:
    assert config_number({}, "retention.ms") is None
