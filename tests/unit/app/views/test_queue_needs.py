"""What is wrong with RabbitMQ's queues, and what to do about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from alerting.rules.model import AlertSeverity, Rule
from app.data.context import View
from app.ui import routes
from app.ui.browser.items import Item, Target
from app.ui.incidents import Incident
from app.views.queues import needs
from tests.alert_of import alert
from tests.unit.app.views.test_queues import DEAD, DROPS, grown, queues

BACKLOG = Rule(
    name="QueueBacklog", check="queue_backlog", severity=AlertSeverity.WARNING, threshold=10_000.0
)


def growing(most: int = 300, **given: Any) -> pl.DataFrame:
    return grown(*(most - 60 * ago for ago in reversed(range(6))), **given)


@pytest.mark.parametrize(
    ("most", "rules", "said"),
    [
        pytest.param(
            *(300, [BACKLOG], " QueueBacklog takes more than 10\u202f000."),
            id="too few wait",
        ),
        pytest.param(20_000, [BACKLOG], "", id="one fires, or soon"),
        pytest.param(300, [], " No rule alerts on that.", id="no rule"),
        pytest.param(300, None, "", id="rules cannot be read"),
    ],
)
def test_why_no_alert_tells_of_a_queue_that_falls_behind(
    most: int, rules: list[Rule] | None, said: str
) -> None:
    (row,) = needs.without_alert(growing(most, publish_per_second=None), set(), rules)
    assert row.what == "queue 0 falls behind"
    assert row.why == f"It grows by 1/s.{said}"


RATES = {"publish_per_second": 20.0, "deliver_per_second": 12.0}


@pytest.mark.parametrize(
    ("given", "why", "step"),
    [
        pytest.param(RATES, "20/s published, 12/s taken.", "Add consumers, or", id="consumed"),
        pytest.param(
            *(
                RATES | {"consumers": 0},
                "20/s published, 12/s taken.",
                "Clients poll it (basic.get): let them subscribe (basic.consume).",
            ),
            id="polled",
        ),
        pytest.param(
            *(RATES | {"consumer_capacity": 0.4}, "20/s published, 12/s taken."),
            "Raise the prefetch of its consumers or add some: its capacity is 40\u202f%.",
            id="its consumers are full",
        ),
        pytest.param(
            *(RATES | {"unacknowledged": 999}, "20/s published, 12/s taken."),
            "Look at what its consumers wait for: they hold 999 without an ack.",
            id="its consumers hold most",
        ),
        pytest.param(
            *(RATES | {"publish_per_second": 5.0}, "It grows by 1/s.", "Add consumers"),
            id="the rates of these seconds do not show it",
        ),
    ],
)
def test_a_queue_that_falls_behind_has_its_rates_and_a_step(
    given: dict[str, Any], why: str, step: str
) -> None:
    (row,) = needs.without_alert(growing(**given), set())
    assert row.why == why
    assert row.step.startswith(step)


def test_each_trouble_without_an_alert_has_a_step_and_the_worst_comes_first() -> None:
    rows = queues({}, {"ready": 3, "consumers": 0}, DEAD, DROPS, DROPS)
    found = needs.without_alert(rows, {"shop/queue 4"})
    assert [(one.what, one.why) for one in found] == [
        (
            "queue 3 loses its dead letters",
            "No queue is bound to its dead-letter exchange gone (DLX): each is lost.",
        ),
        ("Dead letters wait in queue 2", "2 ready, 1 unacknowledged."),
        ("Nobody consumes queue 1", "3 messages wait; it has 0 consumers."),
    ]
    assert all(one.step for one in found)
    assert found[1].acts == [
        Target(
            label="dead letters in queue 2",
            page=routes.DEAD_LETTERS,
            parameters={"name": "shop/queue 2"},
        )
    ]
    direct = queues(DROPS | {"dead_letter_exchange": "", "dead_letter_routing_key": "b"})
    (row,) = needs.without_alert(direct, set())
    assert row.step == "Create the queue b."


def test_the_row_of_an_alert_leads_to_its_rule_and_its_dead_letters(view: View) -> None:
    labels = {"cluster": "rabbit", "vhost": "shop", "queue": "queue 0"}
    one = Incident(cause=alert(rule="QueueBacklog", labels=labels))
    assert needs.names_of(one) == {"shop/queue 0"}
    rows = queues({"dead_letter_queues": ["dead"]}, {"dead_letter_queues": ["others"]})
    story = Target(label="it", page=routes.INCIDENT, parameters={})
    own = Target(label="queues", page=routes.QUEUES, parameters={})
    note = f"came back 1 time, in {view.place('rabbit')}"
    item = Item(id="a", badge=None, what="it", link=story, acts=[own], note=note)
    found = needs.with_links(item, one, rows, view)
    assert found.note == "came back 1 time"
    assert found.link == story
    assert [(link.label, link.page) for link in found.acts] == [
        ("dead letters in dead", routes.DEAD_LETTERS),
        ("rule QueueBacklog", routes.RULES),
    ]
    arriving = Incident(cause=alert(labels={"cluster": "rabbit", "name": "shop/dead"}))
    assert needs.names_of(arriving) == {"shop/dead"}
    there = replace(item, acts=[replace(own, page=routes.DEAD_LETTERS)])
    found = needs.with_links(there, one, rows, view)
    assert [link.page for link in found.acts] == [routes.DEAD_LETTERS, routes.RULES]
    unstored = needs.with_links(replace(item, link=own, acts=[]), one, rows, view)
    assert unstored.link is None
