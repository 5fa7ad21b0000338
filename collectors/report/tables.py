"""One poll, or a check, of every source, as tables for a person to read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from textwrap import wrap

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from collectors.report.document import COUNTS, KAFKA, PollReport, SourceCheck
from config.visible import visible

_INDENT = " " * 13
_NARROWEST = 20


def print_report(console: Console, report: PollReport) -> None:
    """Print a poll for a person to read."""
    if report.source == KAFKA:
        _print_cluster(console, report)
    else:
        console.print(Text(f"{report.cluster}, {report.source}", "bold"))
    for name, show in _TABLES.items():
        rows = report.table(name)
        if not rows.is_empty():
            console.print(show(rows))
    sections = _table("section", "status", "rows", "seconds", "error")
    for result in report.results:
        seconds = f"{result.duration_seconds:.3f}"
        _add(sections, result.section, result.status, result.rows, seconds, result.error or "")
    console.print(sections)


def print_checks(console: Console, checks: Iterable[SourceCheck]) -> None:
    """Print what ``check`` found, source by source; what is wrong stands on lines of its own.

    Nothing is cut at any width: the name of a missing right is what this is read for.
    """
    words = {
        True: Text("works    ", "green"),
        False: Text("fails    ", "red"),
        None: Text("not tried", "yellow"),
    }
    source = None
    grants: dict[str, None] = {}
    for item in checks:
        grants.update(dict.fromkeys(item.check.grants))
        if (item.cluster, item.source) != source:
            source = (item.cluster, item.source)
            console.print(Text(f"{item.cluster}, {item.source}", "bold"), soft_wrap=True)
        check = item.check
        needed = "" if check.required else " (optional)"
        line = Text.assemble("  ", words[check.works], f"  {_shown(check.feature)}{needed}")
        console.print(line, soft_wrap=True)
        for part in _lines(_shown(check.detail), console.width - len(_INDENT)):
            console.print(Text(_INDENT + part), soft_wrap=True)
    if grants:
        console.print(Text("rights that are missing, for an administrator to grant:", "bold"))
        for grant in grants:
            console.print(Text(f"  {_shown(grant)}"), soft_wrap=True)


def _lines(text: str, width: int) -> list[str]:
    """Wrap between words only: a right or an address stays in one piece."""
    width = max(_NARROWEST, width)
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _print_cluster(console: Console, report: PollReport) -> None:
    as_object = report.as_object()
    alive = sum(1 for broker in as_object["brokers"] if broker["is_alive"])
    counts = {name: _shown(as_object[name]) for name in COUNTS}
    console.print(
        f"{report.cluster}: cluster id {_shown(report.cluster_id)}, "
        f"{alive} of {len(as_object['brokers'])} brokers, {counts['topics']} topics, "
        f"{counts['partitions']} partitions; {counts['under_replicated']} under-replicated, "
        f"{counts['under_min_isr']} under min ISR, {counts['offline']} without a leader",
        markup=False,
        highlight=False,
        style="bold",
    )
    groups = _table("group", "state", "type", "members", "partitions", "lag", "time lag s", "lost")
    for group in as_object["groups"]:
        parts = group["partitions"]
        _add(
            groups,
            *_values(group, "group", "state", "type", "members"),
            len(parts),
            _sum(part["lag"] for part in parts),
            _most(part["time_lag_seconds"] for part in parts),
            _sum(part["lost_messages"] for part in parts),
        )
    console.print(groups)


def _dead_letters(rows: pl.DataFrame) -> Table:
    dead = _table("dead letters", "origin", "unprocessed", "retained", "reasons")
    for row in rows.to_dicts():
        reasons = ", ".join(f"{each['key']} {each['value']}" for each in row["reasons"] or [])
        _add(dead, row["name"], row["origin"], row["unprocessed"], row["retained"], reasons)
    return dead


def _connectors(rows: pl.DataFrame) -> Table:
    table = _table("connector", "type", "state", "tasks running", "failed", "dead letters", "error")
    for row in rows.to_dicts():
        _add(
            table,
            *_values(row, "connector", "type", "state"),
            f"{_shown(row['tasks_running'])} of {_shown(row['tasks'])}",
            row["tasks_failed"],
            row["dead_letter_topic"] or "",
            row["error"] or row["unknown_reason"] or "",
        )
    return table


def _mirrors(rows: pl.DataFrame) -> Table:
    table = _table("mirrored topic", "from", "connector", "partitions", "lag")
    keys = ["topic", "source_cluster", "connector"]
    for key, part in rows.group_by(keys, maintain_order=True):
        _add(table, *key, part.height, _sum(part["lag"].to_list()))
    return table


def _queues(rows: pl.DataFrame) -> Table:
    table = _table("queue", "vhost", "kind", "ready", "unacknowledged", "consumers", "dead letters")
    for row in rows.to_dicts():
        target = ", ".join(row["dead_letter_queues"] or [])
        if row["dead_letter_target_missing"]:
            target = "their target is missing"
        _add(
            table,
            *_values(row, "queue", "vhost", "kind", "ready", "unacknowledged", "consumers"),
            target,
        )
    return table


def _connections(rows: pl.DataFrame) -> Table:
    table = _table("connection", "type", "wanted", "live", "clients", "consumers", "reason")
    for row in rows.to_dicts():
        _add(
            table,
            row["name"] or row["connection"],
            *_values(row, "type", "desired_status", "live_status", "clients", "consumers"),
            row["unknown_reason"] or row["status_details"] or "",
        )
    return table


def _broker_metrics(rows: pl.DataFrame) -> Table:
    table = _table("metric", "brokers", "series", "reason")
    for key, part in rows.group_by("metric", maintain_order=True):
        known = part.filter(pl.col("value").is_not_null())
        reasons = part["unknown_reason"].drop_nulls().unique(maintain_order=True)
        brokers = known["broker"].drop_nulls().n_unique()
        _add(table, *key, brokers, known.height or None, "; ".join(reasons))
    return table


def _registries(rows: pl.DataFrame) -> Table:
    table = _table("Schema Registry", "subjects", "not known", "deleted", "compatibility", "mode")
    for row in rows.to_dicts():
        _add(
            table,
            *_values(row, "schema_registry", "subjects", "subjects_unknown", "deleted_subjects"),
            *_values(row, "compatibility", "mode"),
        )
    return table


def _subjects(rows: pl.DataFrame) -> Table:
    table = _table("subject", "version", "id", "type", "compatibility", "mode", "why unknown")
    for row in rows.filter(~pl.col("is_deleted")).to_dicts():
        _add(
            table,
            *_values(row, "subject", "version", "schema_id", "schema_type"),
            *_values(row, "compatibility", "mode"),
            row["unknown_reason"] or "",
        )
    return table


_TABLES: Mapping[str, Callable[[pl.DataFrame], Table]] = {
    "connectors": _connectors,
    "mirror_offsets": _mirrors,
    "queues": _queues,
    "ditto_connections": _connections,
    "schema_registries": _registries,
    "schema_subjects": _subjects,
    "broker_metrics": _broker_metrics,
    "dead_letters": _dead_letters,
}
"""Tables that a person wants to see row by row; of others the sections tell the number of rows."""


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _add(table: Table, *cells: object) -> None:
    # As Text: a name with square brackets is no markup.
    table.add_row(*(cell if isinstance(cell, Text) else Text(_shown(cell)) for cell in cells))


def _values(row: Mapping[str, object], *names: str) -> list[object]:
    return [row[name] for name in names]


def _shown(value: object) -> str:
    return "unknown" if value is None else visible(value)


def _sum(values: Iterable[int | None]) -> str:
    """Return a sum; with a plus sign where parts of it are unknown."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    if listed and not known:
        return "unknown"
    return f"{sum(known)}{'+ unknown' if len(known) < len(listed) else ''}"


def _most(values: Iterable[float | None]) -> str:
    listed = list(values)
    if any(value is None for value in listed):
        return "unknown"
    return f"{max((value for value in listed if value is not None), default=0.0):.1f}"
