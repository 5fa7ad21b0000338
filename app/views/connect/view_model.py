"""Kafka Connect's connectors and mirrors, prepared for their page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

import polars as pl

from alerting.inputs.facts import short_class, without_package
from alerting.rules.lifecycle import State
from app.style import theme
from app.style.columns import DASH, NONE
from app.style.format import UNKNOWN, brief_beginning, clock, count, exact, listing
from app.style.theme import BadgeStyle
from app.ui import group_list, incident_list
from app.ui.incident_rows import labels_of

FAILED = BadgeStyle(
    word="failed",
    symbol="✖",
    icon=":material/error:",
    colour="red",
    meaning="It has failed, or all its tasks have.",
)
NO_TASKS = BadgeStyle(
    word="no tasks",
    symbol="●",
    icon=":material/error:",
    colour="red",
    meaning="It runs and has no task: nothing is moved.",
)
PARTLY = BadgeStyle(
    word="partly failed",
    symbol="▲",
    icon=":material/error:",
    colour="orange",
    meaning="Some of its tasks have failed.",
)
WAITING = BadgeStyle(
    word="not running",
    symbol="▲",
    icon=":material/hourglass_empty:",
    colour="orange",
    meaning="It or one of its tasks waits for a worker or starts again.",
)
HALTED = BadgeStyle(
    word="halted",
    symbol="■",
    icon=":material/pause:",
    colour="gray",
    meaning="Somebody paused or stopped it.",
)
UNSURE, OK = theme.UNSURE, theme.OK
BADGE_STYLES = (FAILED, NO_TASKS, PARTLY, WAITING, UNSURE, HALTED, OK)
"""Every status of a connector, the worst first."""
FAILING = (FAILED, NO_TASKS, PARTLY)

HOW_TO_CONFIGURE = """connect:
  - name: main
    url: http://connect:8083      # the REST address of any worker
    cluster: {cluster}
"""

_CONNECTOR = ["connect", "connector"]


def present(rows: pl.DataFrame, attempts: pl.DataFrame, section: str) -> pl.DataFrame:
    """Return the rows of each Connect cluster's newest poll that worked.

    Clusters are polled at moments of their own; one that had no connector left no row. A poll
    may be told of before its rows are read: then those before it still count.

    Args:
        rows: Rows of ``connectors``, ``connector_tasks`` or ``mirror_offsets`` of some minutes.
        attempts: Rows of ``collections``; see ``app.data.queries.collections``.
        section: The section that wrote the rows.
    """
    poll = ["connect", "observed_at"]
    worked = attempts.filter(
        pl.col("status").is_in(["ok", "partial"]) & pl.col("section").str.ends_with(f": {section}")
    ).with_columns(pl.col("source").str.strip_prefix("connect/").alias("connect"))
    read = pl.concat(
        [
            worked.filter(pl.col("rows") == 0).select(poll),
            worked.select(poll).join(rows, on=poll, how="semi"),
        ]
    )
    newest = read.group_by("connect").agg(pl.col("observed_at").max())
    return rows.join(newest, on=poll, how="semi")


def tasks_of(tasks: pl.DataFrame, connectors: pl.DataFrame) -> pl.DataFrame:
    """Return the tasks of connectors that have any: a poll without a task leaves no row of one."""
    having = connectors.filter(pl.col("tasks").is_null() | (pl.col("tasks") > 0))
    return tasks.join(having, on=["connect", "connector"], how="semi")


def with_status(connectors: pl.DataFrame) -> pl.DataFrame:
    """Add each connector's status, the worst first.

    Returns:
        Besides the rows: ``rank`` (place in ``BADGE_STYLES``), ``status`` (its label in a list).
    """
    tasks, failed = pl.col("tasks"), pl.col("tasks_failed")
    state = pl.col("state")
    order = {badge_style: number for number, badge_style in enumerate(BADGE_STYLES)}
    rank = (
        pl.when(state.is_in(["PAUSED", "STOPPED"]))
        .then(order[HALTED])
        .when((state == "FAILED") | ((tasks > 0) & (failed == tasks)))
        .then(order[FAILED])
        .when(failed > 0)
        .then(order[PARTLY])
        .when(state.is_null() | tasks.is_null())
        .then(order[UNSURE])
        .when(state != "RUNNING")
        .then(order[WAITING])
        .when(tasks == 0)
        .then(order[NO_TASKS])
        .when(pl.col("tasks_running") < tasks)
        .then(order[WAITING])
        .otherwise(order[OK])
    )
    return (
        connectors.with_columns(rank.alias("rank"))
        .with_columns(
            pl.col("rank")
            .map_elements(
                lambda place: [BADGE_STYLES[place].label], return_dtype=pl.List(pl.String)
            )
            .alias("status")
        )
        .sort("rank", *_CONNECTOR)
    )


def with_since(
    connectors: pl.DataFrame, alerts: pl.DataFrame, *, zone: tzinfo, now: datetime
) -> pl.DataFrame:
    """Add since when each connector fails, as its open alerts tell; the earliest counts.

    Args:
        connectors: Rows of ``with_status``.
        alerts: Rows of ``open_alerts``.
        zone: The viewer's.
        now: The present.

    Returns:
        Besides the rows: ``since``, a phrase, and ``failing``, as a table writes it; a dash where
        it does not fail, null where that is not known.
    """
    begins = {}
    is_open = pl.col("state") != State.RESOLVED.value
    for row in alerts.filter(is_open).sort("since", descending=True).iter_rows(named=True):
        labels = labels_of(row)
        began = clock(row["since"], zone, now=now)
        key = labels.get("connect"), labels.get("connector")
        at_least = bool(row["since_at_least"])
        begins[key] = (
            incident_list.beginning(began, at_least=at_least),
            brief_beginning(began, at_least),
        )
    known = [begins.get(key, (None, None)) for key in connectors.select(_CONNECTOR).iter_rows()]
    phrases, brief = zip(*known, strict=True) if known else ((), ())
    return connectors.with_columns(
        pl.when(_is_any_of(OK, HALTED))
        .then(pl.lit(DASH))
        .when(_is_any_of(*FAILING))
        .then(pl.Series(said, dtype=pl.String))
        .alias(name)
        for name, said in (("since", phrases), ("failing", brief))
    )


def groups_of_sinks(connectors: pl.DataFrame, groups: pl.DataFrame, most: int) -> list[str]:
    """Return the consumer groups of sinks, those with the highest lag first.

    Args:
        connectors: Rows of ``connectors``.
        groups: Rows of ``group_status``: one that could not be read has the lag that is known.
        most: How many.
    """
    of_sinks = groups.filter(pl.col("group").is_in(connectors["group"].drop_nulls().to_list()))
    waiting = pl.max_horizontal("lag", "known_lag")
    by_lag = of_sinks.sort(waiting, "group", descending=[True, False], nulls_last=True)
    return by_lag["group"].head(most).to_list()


def with_groups(connectors: pl.DataFrame, groups: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Add how late each sink's consumer group is, and how soon it loses data.

    Args:
        connectors: Rows of ``connectors``.
        groups: Rows of ``group_status``.
        now: The present.

    Returns:
        Besides the rows: ``time_lag_seconds``, null where it is not known; ``data_loss_at``;
        ``loss``, a phrase that is empty where none is in sight; ``is_unseen``, whether the group
        of a sink is not among the groups, where any are known.
    """
    losses = [group_list.loss(row, now) for row in groups.iter_rows(named=True)]
    of_groups = groups.select(
        "group", "time_lag_seconds", "data_loss_at", pl.Series("loss", losses, dtype=pl.String)
    )
    return connectors.join(of_groups, on="group", how="left", maintain_order="left").with_columns(
        pl.when(pl.col("group").is_null())
        .then(NONE)
        .otherwise("time_lag_seconds")
        .alias("time_lag_seconds"),
        (pl.col("group").is_not_null() & pl.col("loss").is_null() & bool(losses)).alias(
            "is_unseen"
        ),
        pl.col("loss").fill_null(""),
    )


def _is_any_of(*badge_styles: BadgeStyle) -> pl.Expr:
    return pl.col("rank").is_in([BADGE_STYLES.index(badge_style) for badge_style in badge_styles])


def that_fail(connectors: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``with_status`` that fail, or move nothing; the worst first."""
    return connectors.filter(_is_any_of(*FAILING))


def sentence(
    connectors: pl.DataFrame, failed: pl.DataFrame, lag: int | None, unknown: int
) -> tuple[str, str]:
    """Return the page's headline and the sentence below it.

    Args:
        connectors: Rows with what ``with_status``, ``with_since`` and ``with_groups`` add.
        failed: Rows of ``failed_tasks``.
        lag: Messages that mirrors have not copied yet; None: not known.
        unknown: Mirrored partitions of which it is not known.
    """
    failing = that_fail(connectors)
    unsure = connectors.filter(pl.col("rank") == BADGE_STYLES.index(UNSURE)).height
    number = connectors.height
    if failing.height == 1:
        title = _failure(failing.row(0, named=True), failed)
    elif failing.height:
        title = f"{listing(failing['connector'].to_list())} do not work as they should"
    elif unsure:
        title = f"The state of {unsure} of {count(number, 'connector')} is unknown"
    else:
        title = "All connectors do their work" if number > 1 else "The connector does its work"
        if connectors.filter(pl.col("rank") != BADGE_STYLES.index(OK)).height:
            title = "No connector has failed"
    parts = []
    if failing.height == 1 and (since := failing["since"][0]):
        parts.append(f"{since[0].upper()}{since[1:]}")
    losing = failing.filter(pl.col("loss") != "").sort("data_loss_at", "group", nulls_last=False)
    parts += [f"{group} {said}" for group, said in losing.head(1).select("group", "loss").rows()]
    if unseen := connectors.filter("is_unseen")["group"].unique().sort().to_list():
        verb = "is" if len(unseen) == 1 else "are"
        parts.append(f"{listing(unseen)} {verb} not among the groups that were seen: lag unknown")
    parts.append(f"{count(number, 'connector')} with {_tasks(connectors)}")
    if lag is not None:
        parts.append(f"mirrors are {count(lag, 'message')} behind")
    if unknown:
        parts.append(f"the lag of {count(unknown, 'mirrored partition')} is unknown")
    return title, f"{'; '.join(parts)}."


def _failure(row: Mapping[str, Any], failed: pl.DataFrame) -> str:
    """Say in a line what is wrong with the only connector that fails."""
    name, tasks = row["connector"], row["tasks"]
    if row["rank"] == BADGE_STYLES.index(NO_TASKS):
        return f"{name} has no task: it moves nothing"
    of_it = (pl.col("connect") == row["connect"]) & (pl.col("connector") == name)
    reason = failed.filter(of_it)["reason"].drop_nulls().head(1).to_list()
    if not reason and row.get("error"):
        reason = [short_class(row["error"].partition(":")[0].strip())]
    number = row["tasks_failed"]
    parts = [*reason, *([f"{exact(number)} of {count(tasks, 'task')}"] if number and tasks else [])]
    return f"{name} failed: {', '.join(parts)}" if parts else f"{name} failed"


def _tasks(connectors: pl.DataFrame) -> str:
    tasks, running = total(connectors, "tasks"), total(connectors, "tasks_running")
    text = f"{tasks} {'task' if tasks == '1' else 'tasks'}, {running} running"
    failed = connectors["tasks_failed"].sum()
    return f"{text}, {exact(float(failed))} failed" if failed else text


def total(connectors: pl.DataFrame, column: str) -> str:
    """Return the sum of a column, written; with a word where parts of it are unknown."""
    known = connectors[column].drop_nulls()
    if known.is_empty():
        return UNKNOWN
    text = exact(float(known.sum()))
    return text if known.len() == connectors.height else f"{text} + {UNKNOWN}"


def table_rows(connectors: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Add what the table shows: tasks as text, why one failed, where dead letters go."""
    why = (
        failed_tasks(tasks)
        .group_by(_CONNECTOR, maintain_order=True)
        .agg(pl.col("reason").drop_nulls().first().alias("task_error"))
    )
    # As many as it may have are reported only where it has another number.
    most = pl.when(pl.col("tasks_expected") != pl.col("tasks")).then(
        pl.format(" (at most {})", "tasks_expected")
    )
    return connectors.join(why, on=_CONNECTOR, how="left").with_columns(
        pl.concat_str(pl.format("{} of {}", "tasks_running", "tasks"), most.fill_null("")).alias(
            "running"
        ),
        pl.coalesce(without_package("error"), "task_error").alias("why"),
        pl.when(pl.col("type") != "sink")
        .then(pl.lit("–"))  # noqa: RUF001 (a dash, read by people)
        .when(pl.col("dead_letter_topic").is_not_null())
        .then("dead_letter_topic")
        .when(pl.col("errors_tolerance") == "all")
        .then(pl.lit("dropped"))
        .when(pl.col("errors_tolerance").is_not_null())
        .then(pl.lit("none: stops"))
        .alias("dead_letters"),
        pl.col("topics").list.join(", ").alias("topic_names"),
        pl.coalesce("state", pl.lit("unknown")).str.to_lowercase().alias("state"),
    )


def failed_tasks(tasks: pl.DataFrame) -> pl.DataFrame:
    """Return the failed tasks with the short names of their exceptions."""
    failed = tasks.filter(pl.col("state") == "FAILED").sort(*_CONNECTOR, "task")
    return failed.with_columns(
        pl.coalesce("cause_class", "error_class")
        .map_elements(short_class, return_dtype=pl.String)
        .alias("reason")
    )


def mirror_rows(mirrors: pl.DataFrame) -> pl.DataFrame:
    """Return one row a connector and source topic: the lag of what is known, and what is not."""
    known = pl.col("lag").is_not_null()
    return (
        mirrors.group_by(*_CONNECTOR, "source_cluster", "topic")
        .agg(
            pl.len().alias("partitions"),
            pl.when(known.any()).then(pl.col("lag").sum()).alias("lag"),
            known.not_().sum().alias("unknown"),
            pl.col("unknown_reason").drop_nulls().unique(maintain_order=True).first(),
        )
        .sort("lag", *_CONNECTOR, "topic", descending=[True, False, False, False], nulls_last=True)
    )
