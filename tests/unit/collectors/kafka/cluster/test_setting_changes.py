"""What is told of settings that changed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from collectors.kafka.cluster.setting_changes import changed, cut, topic_config_changes

Config = Mapping[str, tuple[str | None, bool]]

DEFAULTS: Config = {
    "retention.ms": ("604800000", False),
    "cleanup.policy": ("delete", False),
}


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({}, {"orders": DEFAULTS}, [], id="first sight"),
        pytest.param({"orders": DEFAULTS}, {}, [], id="gone or unknown"),
        pytest.param({"orders": DEFAULTS}, {"orders": dict(DEFAULTS)}, [], id="the same"),
        pytest.param(
            {"orders": DEFAULTS},
            {"orders": {**DEFAULTS, "retention.ms": ("3600000", True)}},
            [("orders", "retention.ms=604800000 (default)", "retention.ms=3600000")],
            id="set",
        ),
        pytest.param(
            {"orders": {**DEFAULTS, "retention.ms": ("604800000", True)}},
            {"orders": DEFAULTS},
            [("orders", "retention.ms=604800000", "retention.ms=604800000 (default)")],
            id="given back to the default",
        ),
        pytest.param(
            {"orders": DEFAULTS},
            {"orders": {**DEFAULTS, "retention.ms": ("3600000", False)}},
            [],
            id="another default of the brokers",
        ),
        pytest.param(
            {"orders": {"a": ("1", True), "b": ("1", True), "c": ("1", True)}},
            {"orders": {"a": ("2", True), "b": ("1", True), "d": (None, True)}},
            [("orders", "a=1, c=1", "a=2, d")],
            id="several, one with no value",
        ),
        pytest.param(
            {"orders": {"store.password": ("old-one", True)}},
            {"orders": {"store.password": ("new-one", True)}},
            [],
            id="what names a secret",
        ),
    ],
)
def test_configurations_of_topics(
    before: Mapping[str, Config], now: Mapping[str, Config], expected: list[tuple[str, ...]]
) -> None:
    found = topic_config_changes(before, now)
    assert [(event.subject, event.before, event.after) for event in found] == expected


def test_an_event_stays_short() -> None:
    before = {f"setting-{number:04}": "x" for number in range(5000)}
    (event,) = changed("kind", "subject", before, {})
    assert event.before is not None
    assert event.before.startswith("setting-0000=x, ")
    assert event.before.endswith(", 4980 more")
    assert event.after is None


def test_texts_of_others() -> None:
    assert cut("a" * 256) == "a" * 256
    assert cut("a" * 257) == "a" * 255 + "…"
    assert cut("half \ud800") == "half \\ud800"
