"""Settings, features and access of brokers as the page Brokers lists them."""

from __future__ import annotations

import polars as pl

from app.views.brokers import view_model as brokers_view_model
from lake.schemas.tables import CLUSTER_SETTINGS
from tests.unit.app.views.made_rows import rows


def settings(*given: tuple[str, str, dict[str, str]]) -> pl.DataFrame:
    return rows(
        CLUSTER_SETTINGS,
        *(
            {
                "kind": kind,
                "subject": subject,
                "settings": [{"key": key, "value": value} for key, value in values.items()],
            }
            for kind, subject, values in given
        ),
    )


def test_settings_that_differ_between_brokers() -> None:
    kind = "broker configuration"
    found = brokers_view_model.drift(
        settings(
            (kind, "1", {"num.io.threads": "16", "same": "5", "node.id": "1", "rate": ""}),
            (kind, "2", {"num.io.threads": "8 (default)", "same": "5 (default)", "node.id": "2"}),
            (kind, "3", {"num.io.threads": "8", "same": "5", "rate": "3"}),
            ("acl", "2", {"num.io.threads": "7"}),
        )
    )
    assert found.rows() == [
        ("num.io.threads", "16 on 1; 8 on 2, 3"),
        ("rate", "empty on 1; 3 on 3"),
    ]


def test_features_and_what_was_set() -> None:
    given = settings(
        ("feature", "metadata.version", {"level": "27", "supported": "30"}),
        ("feature", "odd", {"level": "many"}),
        ("acl", "User:a", {"allow READ on topic orders from *": ""}),
    )
    assert brokers_view_model.features(given).rows() == [
        ("metadata.version", 27, 30),
        ("odd", None, None),
    ]
    listed = brokers_view_model.listed(given, "acl")
    assert listed.rows() == [("User:a", "allow READ on topic orders from *")]
    assert brokers_view_model.unknown(given, "acl") is None
    refused = rows(CLUSTER_SETTINGS, {"kind": "acl", "unknown_reason": "not permitted"})
    assert brokers_view_model.unknown(refused, "acl") == "not permitted"
    assert brokers_view_model.listed(refused, "acl").is_empty()


def test_kinds_without_entries_are_one_line_and_what_is_unknown_is_not_in_it() -> None:
    given = rows(
        CLUSTER_SETTINGS,
        {"kind": "acl", "subject": None},
        {"kind": "client quota", "subject": None},
        {"kind": "scram user", "unknown_reason": "not permitted"},
    )
    assert brokers_view_model.without_entries(given) == "No client quotas, ACLs."
    some = settings(("acl", "User:a", {"allow READ on topic orders from *": ""}))
    assert brokers_view_model.without_entries(some) == ""
