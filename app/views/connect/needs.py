"""What is wrong with connectors, and what to do about it: a row for each trouble."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import polars as pl

from alerting.inputs.facts import task_failure
from app.ui import routes
from app.ui.browser.items import Item
from app.ui.incidents import Incident
from app.ui.unalerted import UNALERTED
from app.views.connect import view_model

ERRORS = 5
"""Most errors of a connector that are written out."""
SEEN_COMMANDS = 3
"""Most commands that are seen without opening the rest."""
RESTART = "Fix the cause, then restart it: the command is below."
_MAKE_TASKS = "Look at the worker's log: it has told this connector to run, and gave it no task."

Key = tuple[str, str]
"""The Connect cluster and the connector."""


def connectors_of(one: Incident, workers: Container[str]) -> list[Key]:
    """Return the connectors that an incident is about, of some Connect clusters."""
    every = [alert.labels for alert in (one.cause, *one.symptoms)]
    found = [
        (labels["connect"], labels["connector"])
        for labels in every
        if labels.get("connect") in workers and "connector" in labels
    ]
    return list(dict.fromkeys(found))


def with_details(
    item: Item,
    which: Sequence[Key],
    details: Mapping[Key, Sequence[str]],
    commands: Mapping[Key, str],
) -> Item:
    """Return the row of an incident with the errors of its connectors; the page restarts them.

    Args:
        item: The row.
        which: What ``connectors_of`` says of the incident.
        details: What ``details`` found.
        commands: What ``restarts`` found.
    """
    # This is the page of connectors: a link to it leads nowhere.
    is_here = item.link is not None and item.link.page == routes.CONNECT
    more = [*item.more, *(line for key in which for line in details.get(key, ()))]
    return replace(
        item,
        link=None if is_here else item.link,
        step=RESTART if item.step and not commands.keys().isdisjoint(which) else item.step,
        more=list(dict.fromkeys(more)),
    )


def details(connectors: pl.DataFrame, failed: pl.DataFrame) -> dict[Key, list[str]]:
    """Return of each connector that fails what its tasks say.

    Args:
        connectors: Rows with what ``view_model.with_status`` adds.
        failed: Rows of ``view_model.failed_tasks``.
    """
    said: dict[Key, dict[str, list[str]]] = {}
    told = failed.with_columns(task_failure().alias("said")).drop_nulls("said")
    for connect, name, task, worker, text in told.select(
        "connect", "connector", "task", "worker", "said"
    ).iter_rows():
        where = f"{task} on {worker}" if worker else str(task)
        said.setdefault((connect, name), {}).setdefault(text, []).append(where)
    found: dict[Key, list[str]] = {}
    for row in view_model.that_fail(connectors).iter_rows(named=True):
        key = row["connect"], row["connector"]
        errors = [
            f"{row['connector']}, task {', '.join(tasks)}: {text}"
            for text, tasks in said.get(key, {}).items()
        ]
        more = [f"{len(errors) - ERRORS} more errors"] if len(errors) > ERRORS else []
        found[key] = [*errors[:ERRORS], *more]
    return found


def restarts(connectors: pl.DataFrame, urls: Mapping[str, str]) -> dict[Key, str]:
    """Return the command that restarts what failed of each connector, the worst first.

    Args:
        connectors: Rows with what ``view_model.with_status`` adds.
        urls: The address of each Connect cluster.
    """
    return {
        (row["connect"], row["connector"]): restart(row["connect"], row["connector"], urls)
        for row in view_model.that_fail(connectors).iter_rows(named=True)
        if _has_tasks(row) and row["connect"] in urls
    }


def _has_tasks(row: Mapping[str, Any]) -> bool:
    """Return whether a connector that fails has tasks, of which some failed."""
    return bool(row["rank"] != view_model.BADGE_STYLES.index(view_model.NO_TASKS))


def without_alert(
    connectors: pl.DataFrame, told: Iterable[Key], details: Mapping[Key, Sequence[str]]
) -> list[Item]:
    """Return a row for each connector that fails and of which no alert tells, the worst first.

    Args:
        connectors: Rows of ``view_model.table_rows``.
        told: The connectors of which an alert tells.
        details: What ``details`` found.
    """
    known = set(told)
    found = []
    for row in view_model.that_fail(connectors).iter_rows(named=True):
        key = row["connect"], row["connector"]
        if key in known:
            continue
        has_tasks = _has_tasks(row)
        said = "failed" if has_tasks else "has no task: it moves nothing"
        found.append(
            Item(
                id="/".join(key),
                badge=UNALERTED,
                what=f"{row['connector']} {said}",
                why=f"{row['why']}; {row['running']} tasks run" if row["why"] else "",
                step=RESTART if has_tasks else _MAKE_TASKS,
                note=row["loss"],
                more=details.get(key, ()),
            )
        )
    return found


def restart(connect: str, connector: str, urls: Mapping[str, str]) -> str:
    """Return the command by which a person starts what failed of a connector again."""
    return (
        f"curl -X POST '{urls[connect]}/connectors/{quote(connector, safe='')}/restart"
        "?includeTasks=true&onlyFailed=true'"
    )
