"""What is known of open incidents beside their alerts: the same on each page that tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from alerting.status.descriptions import SCALING_STEP
from app.data import present
from app.data.context import View
from app.ui import components
from app.ui.advice import current_advice
from app.ui.incidents import Incident, in_order, with_rows


def at_present(view: View, found: Sequence[Incident]) -> list[Incident]:
    """Return open incidents of the alert store with their deadlines, in the order of lists."""
    with components.guarded():
        found = with_rows(found, present.every_open_alert(view))
    return in_order(found, view.now)


def with_advice(view: View, found: Sequence[Incident]) -> list[Incident]:
    """Return incidents whose step is what Scaling advises, where what to do is its question."""
    asked: dict[str, list[str]] = {}
    for cluster, group in filter(None, map(_asks, found)):
        asked.setdefault(cluster, []).append(group)
    advised: dict[tuple[str, str], str] = {}
    with components.guarded():
        for cluster, groups in asked.items():
            lines = current_advice.of_groups(replace(view, cluster=cluster), groups)
            advised |= {(cluster, group): line for group, line in lines.items()}
    return [advised_step(one, advised) for one in found]


def advised_step(one: Incident, advised: Mapping[tuple[str, str], str]) -> Incident:
    """Return an incident with its advice as the step, where it asks for it.

    Args:
        one: The incident.
        advised: Advice in a line, by cluster and group.
    """
    line = advised.get(_asks(one) or ("", ""))
    if line is None:
        return one
    return replace(one, cause=replace(one.cause, step=f"Scaling advises: {line}"))


def _asks(one: Incident) -> tuple[str, str] | None:
    """Return the cluster and the group whose advice is the step of an incident."""
    labels = one.cause.labels
    if one.ended_at is not None or one.cause.step != SCALING_STEP or "group" not in labels:
        return None
    return labels["cluster"], labels["group"]
