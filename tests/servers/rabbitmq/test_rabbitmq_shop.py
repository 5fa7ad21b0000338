"""The demo's shop on a real node: Headroom finds what its documentation declares."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from demo.rabbitmq.shop import SEEDED_INVOICES, VIRTUAL_HOST, Shop, declare
from tests.servers.rabbitmq.server import Running, poll, rows
from tests.support import eventually


@pytest.fixture(scope="module")
def found(rabbit_node: Running) -> Iterator[tuple[Any, Any, datetime]]:
    """Rows of ``queues`` and ``dead_letters`` after ten seconds' work, and when it began."""
    host = rabbit_node.server.virtual_host(VIRTUAL_HOST)
    declare(host)
    declare(host)  # again, as after a restart
    shop = Shop(host)
    began_at = datetime.now(UTC).replace(microsecond=0)  # its timestamps are whole seconds
    shop.seed()
    for _ in range(10):
        shop.step()
    source = rabbit_node.source(vhosts={"include": [VIRTUAL_HOST]})

    def settled() -> tuple[Any, Any] | None:
        sections = poll(source)
        queues, dead = rows(sections["queues"]), rows(sections["dead_letters"])
        letters = dead["shop/invoices.dead"]
        depths = (queues["invoices"]["ready"], letters["retained"])
        # A node gathers depths and timestamps of first messages one after the other.
        known = letters["oldest_unprocessed_at"] is not None
        return (queues, dead) if depths == (SEEDED_INVOICES + 5, 1) and known else None

    yield (*eventually(settled, what="the depths of the shop's queues"), began_at)
    source.close()
    rabbit_node.server.ask("DELETE", f"/api/vhosts/{VIRTUAL_HOST}")


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        pytest.param(
            "invoices",
            {"type": "quorum", "kind": "plain", "dead_letter_queues": ["invoices.dead"]},
            id="invoices",
        ),
        pytest.param("invoices.dead", {"kind": "dead letter", "ready": 1}, id="invoices.dead"),
        pytest.param("mails", {"kind": "plain", "dead_letter_queues": ["mails.wait"]}, id="mails"),
        pytest.param(
            "mails.wait",
            {"kind": "retry", "message_ttl_seconds": 15.0, "dead_letter_queues": ["mails"]},
            id="mails.wait",
        ),
        pytest.param(
            "parcels",
            {"kind": "plain", "policy": "parcels", "dead_letter_target_missing": True},
            id="parcels",
        ),
        pytest.param("audit", {"kind": "stream", "ready": None}, id="audit"),
    ],
)
def test_a_queue_of_the_shop(
    found: tuple[Any, Any, datetime], queue: str, expected: dict[str, Any]
) -> None:
    row = found[0][queue]
    assert {key: row[key] for key in expected} == expected


def test_dead_letters_of_the_shop(found: tuple[Any, Any, datetime]) -> None:
    dead = found[1]
    assert dead.keys() == {"shop/invoices.dead"}
    assert dead["shop/invoices.dead"]["origin"] == "shop/invoices"
    oldest = dead["shop/invoices.dead"]["oldest_unprocessed_at"]
    assert found[2] <= oldest <= datetime.now(UTC)
