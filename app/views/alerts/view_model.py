"""What the page Alerts shows, prepared for it: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alerting.rules.model import AlertSeverity
from app.data.context import View
from app.ui.incident_list import numbers
from app.ui.incidents import Incident


def matching(
    found: Iterable[Incident], *, search: str, severities: Sequence[AlertSeverity]
) -> list[Incident]:
    """Return the incidents of these severities that name a text, in their cause or a symptom.

    Args:
        found: The incidents.
        search: The text; capital letters make no difference. Empty: any.
        severities: The severities of causes; none: any.
    """
    text = search.strip().lower()
    return [
        one
        for one in found
        if (not severities or one.cause.severity in severities)
        and any(text in said.what.lower() for said in (one.cause, *one.symptoms))
    ]


def by_place(found: Iterable[Incident], view: View) -> tuple[list[Incident], list[Incident]]:
    """Return the incidents that the Overview of the chosen cluster counts, and all others."""
    places = {view.cluster, *view.sources_beside}
    here: list[Incident] = []
    others: list[Incident] = []
    for one in found:
        (here if one.cause.labels.get("cluster", view.cluster) in places else others).append(one)
    return here, others


def elsewhere(found: Sequence[Incident]) -> str:
    """Say how much more there is in other clusters, as a sentence; nothing where there is none."""
    if not found:
        return ""
    said = numbers(found)
    return f"In other clusters: {said[0].lower()}{said[1:]}. "
