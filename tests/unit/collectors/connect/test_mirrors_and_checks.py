"""MirrorMaker 2's lag and the check, against a server that says what it is told to."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from collectors.connect.comparison import NO_PARTITION
from collectors.source.model import Check
from collectors.source.shared_facts import SharedFacts
from tests.unit.collectors.connect.fakeconnect import FakeConnect, entry, says
from tests.unit.collectors.connect.polling import Source, ends, mirror, offsets, poll, rows

EXPANDED = "/connectors?expand=status&expand=info"


def test_a_mirror_is_compared_with_its_source_cluster(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists({"mirror": mirror(), "a": entry("a")})
    fake.answers["/connectors/mirror/offsets"] = offsets(
        ("orders", 0, 39), ("orders", 1, 99), ("deleted", 0, 5)
    )
    shared.set_end_offsets("east", ends(("orders", 0, 100), ("orders", 1, 100), ("other", 0, 7)))
    results = poll(make(fake.url))
    assert results["mirrors"].status == "ok"
    found = rows(results, "mirror_offsets")
    assert [
        (row["topic"], row["partition"], row["replicated"], row["source_log_end"], row["lag"])
        for row in found
    ] == [("orders", 0, 40, 100, 60), ("orders", 1, 100, 100, 0), ("deleted", 0, 6, None, None)]
    assert {(row["connector"], row["source_cluster"]) for row in found} == {("mirror", "east")}
    assert found[2]["unknown_reason"] == NO_PARTITION


def test_an_alias_may_have_another_name_in_the_configuration(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists({"mirror": mirror(source__cluster__alias="old-dc")})
    fake.answers["/connectors/mirror/offsets"] = says(
        {"offsets": [{"partition": {"topic": "t", "partition": 0}, "offset": {"offset": 1}}]}
    )
    shared.set_end_offsets("east", ends(("t", 0, 5)))
    (row,) = rows(poll(make(fake.url, mirrors={"old-dc": "east"})), "mirror_offsets")
    assert (row["source_cluster"], row["replicated"], row["lag"]) == ("old-dc", 2, 3)


@pytest.mark.parametrize(
    ("alias", "mirrors", "reason"),
    [
        pytest.param("west", {}, "west is not among clusters; .* mirrors: {west: NAME}", id="none"),
        pytest.param("west", {"west": "nobody"}, "mirrors names nobody, which is not", id="wrong"),
        pytest.param("east", {}, "east has not been read yet", id="not yet"),
    ],
)
def test_a_source_cluster_that_is_not_known_makes_the_lag_unknown(
    fake: FakeConnect,
    make: Callable[..., Source],
    alias: str,
    mirrors: dict[str, str],
    reason: str,
) -> None:
    fake.lists({"mirror": mirror()})
    answer = {
        "partition": {"cluster": alias, "topic": "t", "partition": 0},
        "offset": {"offset": 1},
    }
    fake.answers["/connectors/mirror/offsets"] = says({"offsets": [answer]})
    results = poll(make(fake.url, mirrors=mirrors))
    assert results["mirrors"].status == "partial"
    assert re.search(reason, str(results["mirrors"].error)), results["mirrors"].error
    (row,) = rows(results, "mirror_offsets")
    assert (row["replicated"], row["source_log_end"], row["lag"]) == (2, None, None)
    assert re.search(reason, row["unknown_reason"])


def test_one_mirror_that_cannot_be_read_costs_no_other(
    fake: FakeConnect, make: Callable[..., Source], shared: SharedFacts
) -> None:
    fake.lists({name: mirror(name) for name in ("good", "bad", "with/slash")})
    fake.answers["/connectors/bad/offsets"] = says({"message": "boom"}, 500)
    fake.answers["/connectors/good/offsets"] = offsets(("t", 0, 1))
    fake.answers["/connectors/with%2Fslash/offsets"] = offsets(("u", 0, 1))
    shared.set_end_offsets("east", ends(("t", 0, 5), ("u", 0, 5)))
    results = poll(make(fake.url))
    assert results["connectors"].status == "ok"
    assert results["mirrors"].status == "partial"
    assert "bad: how far it has copied is unknown" in str(results["mirrors"].error)
    assert [row["connector"] for row in rows(results, "mirror_offsets")] == ["good", "with/slash"]
    fake.lists({"bad": mirror("bad")})
    assert poll(make(fake.url))["mirrors"].status == "failed"


def test_an_old_connect_tells_no_offsets(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror()})
    fake.answers["/connectors/mirror/status"] = says({"name": "mirror"})
    error = poll(make(fake.url))["mirrors"].error
    assert error is not None
    assert "needs Kafka Connect 3.5" in error


def checks(source: Source) -> dict[str, Check]:
    return {check.feature: check for check in source.check()}


def test_the_check_of_a_healthy_cluster(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror(), "a": entry("a")})
    fake.answers["/connectors/mirror/offsets"] = offsets(("t", 0, 1), ("t", 1, 1))
    found = checks(make(fake.url))
    assert {name: (each.works, each.required) for name, each in found.items()} == {
        "connection": (True, True),
        "connectors": (True, True),
        "MirrorMaker 2 offsets": (True, False),
    }
    assert "4.3.1" in found["connection"].detail
    assert "2 connectors" in found["connectors"].detail
    assert "2 partitions" in found["MirrorMaker 2 offsets"].detail


def test_the_check_tries_no_mirrors_where_there_are_none(
    fake: FakeConnect, make: Callable[..., Source]
) -> None:
    fake.lists({"a": entry("a")})
    assert checks(make(fake.url))["MirrorMaker 2 offsets"].works is None


def test_the_check_says_what_is_missing(fake: FakeConnect, make: Callable[..., Source]) -> None:
    fake.lists({"mirror": mirror()})
    fake.answers["/connectors/mirror/offsets"] = says(
        {
            "offsets": [
                {
                    "partition": {"cluster": "west", "topic": "t", "partition": 0},
                    "offset": {"offset": 1},
                }
            ]
        }
    )
    found = checks(make(fake.url))["MirrorMaker 2 offsets"]
    assert found.works is False
    assert "mirrors: {west: NAME}" in found.detail
    fake.answers[EXPANDED] = says({"message": "no"}, 403)
    found = checks(make(fake.url))["connectors"]
    assert found.works is False
    assert found.required
    assert "not permitted" in found.detail
    fake.answers["/"] = says({"message": "no"}, 401)
    (only,) = checks(make(fake.url)).values()
    assert (only.works, only.required) == (False, True)
    assert "check username and password" in only.detail
