"""What is wrong with RabbitMQ's queues, and what to do about it: a row for each trouble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from alerting.rules.model import Rule
from app.data.context import View
from app.style.columns import rates
from app.style.format import count, exact, rate, share
from app.ui import routes
from app.ui.browser.items import Item, Target
from app.ui.incidents import Incident
from app.ui.unalerted import UNALERTED
from app.views.queues import view_model


def names_of(one: Incident) -> set[str]:
    """Return the queues that an incident is about, each as ``virtual host/queue``."""
    every = [alert.labels for alert in (one.cause, *one.symptoms)]
    queues = {f"{labels['vhost']}/{labels['queue']}" for labels in every if "queue" in labels}
    return queues | {labels["name"] for labels in every if "name" in labels}


def with_links(item: Item, one: Incident, rows: pl.DataFrame, view: View) -> Item:
    """Return the row of an incident with links to its dead-letter queues and to its rule.

    Args:
        item: The row.
        one: The incident.
        rows: Rows of ``queues`` of the newest poll.
        view: The frame of the page.
    """
    of_these = rows.filter(pl.format("{}/{}", "vhost", "queue").is_in(sorted(names_of(one))))
    links = [link for row in of_these.iter_rows(named=True) for link in dead_letter_links(row)]
    if any(one.page == routes.DEAD_LETTERS for one in (item.link, *item.acts) if one is not None):
        links = []  # it leads there itself
    rule = Target(
        label=f"rule {one.cause.rule}", page=routes.RULES, parameters={"rule": one.cause.rule}
    )
    # This is the page of queues: a link to it leads nowhere.
    link = None if item.link is not None and item.link.page == routes.QUEUES else item.link
    acts = [one for one in item.acts if one.page != routes.QUEUES]
    place = f"in {view.place(one.cause.labels['cluster'])}"
    note = ", ".join(said for said in item.note.split(", ") if said != place)  # the page says it
    return replace(item, link=link, acts=[*acts, *links, rule], note=note)


def dead_letter_links(row: Mapping[str, Any]) -> list[Target]:
    """Return links to where a queue's dead letters are looked at: its own page has none."""
    to = [row["queue"]] if row["kind"] == "dead letter" else row["dead_letter_queues"] or []
    return [
        Target(
            label=f"dead letters in {queue}",
            page=routes.DEAD_LETTERS,
            parameters={"name": f"{row['vhost']}/{queue}"},
        )
        for queue in to
    ]


def without_alert(
    rows: pl.DataFrame, told: set[str], rules: Sequence[Rule] | None = None
) -> list[Item]:
    """Return a row for each queue with a trouble of which no alert tells, the worst first.

    Args:
        rows: Rows of ``with_growth``.
        told: The queues of which an alert tells, each as ``virtual host/queue``.
        rules: The rules of alerts; None: they cannot be read.
    """
    found = []
    for row, state in zip(rows.iter_rows(named=True), view_model.state_of(rows), strict=True):
        name = f"{row['vhost']}/{row['queue']}"
        if name in told or state not in _SAY:
            continue
        what, say = _SAY[state]
        why, step = say(row, rules)
        order = (view_model.BADGE_STYLES.index(state), -(row["growth_per_second"] or 0.0), name)
        item = Item(
            id=name,
            badge=UNALERTED,
            what=what.format(row["queue"]),
            why=why,
            step=step,
            acts=dead_letter_links(row),
        )
        found.append((order, item))
    return [item for _, item in sorted(found, key=lambda one: one[0])]


def _falls_behind(row: Mapping[str, Any], rules: Sequence[Rule] | None) -> tuple[str, str]:
    published, taken = (row[f"{name}_per_second"] for name in ("publish", "deliver"))
    # RabbitMQ's rates are of seconds, and a message may arrive that nobody published: where they
    # do not show that the queue falls behind, how fast it grows does.
    if published is not None and taken is not None and published > taken:
        write = rates([published, taken])
        why = f"{write(published)} published, {write(taken)} taken."
    else:
        why = f"It grows by {rate(row['growth_per_second'])}."
    unalerted = "" if rules is None else _why_no_alert(row, rules)
    return f"{why} {unalerted}".rstrip(), _against_growth(row)


def _against_growth(row: Mapping[str, Any]) -> str:
    """Return what to do about a queue that grows, by what its consumers do."""
    capacity, held = row["consumer_capacity"], row["unacknowledged"] or 0
    if row["consumers"] == 0:
        return "Clients poll it (basic.get): let them subscribe (basic.consume)."
    if held > (row["ready"] or 0):
        return f"Look at what its consumers wait for: they hold {exact(held)} without an ack."
    if capacity is not None and capacity < 1:
        return (
            f"Raise the prefetch of its consumers or add some: its capacity is {share(capacity)}."
        )
    return "Add consumers, or make them faster."


def _why_no_alert(row: Mapping[str, Any], rules: Sequence[Rule]) -> str:
    """Say why no alert tells of a queue that falls behind; nothing where one does, or may."""
    labels = {name: row[name] for name in ("cluster", "vhost", "queue")}
    applied = [
        (found.threshold, found)
        for rule in rules
        if rule.check == "queue_backlog"
        and (found := rule.applied_to(labels)) is not None
        and found.threshold is not None
    ]
    if not applied:
        return "No rule alerts on that."
    if row["ready"] is None or any(found.is_true_of(row["ready"]) for _, found in applied):
        return ""
    least, rule = min(applied, key=lambda one: one[0])
    return f"{rule.name} takes more than {exact(least)}."


def _loses(row: Mapping[str, Any], _: object) -> tuple[str, str]:
    exchange = row["dead_letter_exchange"]
    if not exchange:
        queue = row["dead_letter_routing_key"] or "that its routing key names"
        return f"There is no queue {queue}: each is lost.", f"Create the queue {queue}."
    why = f"No queue is bound to its dead-letter exchange {exchange} (DLX): each is lost."
    return why, f"Create a queue and bind it to {exchange}."


def _waits(row: Mapping[str, Any], _: object) -> tuple[str, str]:
    held = row["unacknowledged"] or 0
    why = f"{exact(row['ready'])} ready" + (f", {exact(held)} unacknowledged." if held else ".")
    step = "Read the x-death headers of some, mend what they name, then move them back (shovel)."
    return why, step


def _idle(row: Mapping[str, Any], _: object) -> tuple[str, str]:
    waits = count(
        (row["ready"] or 0) + (row["unacknowledged"] or 0), "message waits", "messages wait"
    )
    return f"{waits}; it has 0 consumers.", "Start its consumers; if they run, look at their log."


_SAY = {
    view_model.DROPPED: ("{} loses its dead letters", _loses),
    view_model.WAITING: ("Dead letters wait in {}", _waits),
    view_model.IDLE: ("Nobody consumes {}", _idle),
    view_model.FALLING_BEHIND: ("{} falls behind", _falls_behind),
}
"""What is said of a queue by its status; why, and the next step."""
