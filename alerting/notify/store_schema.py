"""The tables of the alert store, and how its file is opened."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from alerting.errors import StoreError

VERSION = 2
"""Of the tables below; SQLite's ``user_version``.

Raise it with every change that another version of this program cannot work with; it can with a
table that is new.
"""

_BUSY_SECONDS = 30.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS alerts (
    id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, cluster TEXT NOT NULL, state TEXT NOT NULL,
    started_at REAL NOT NULL, fired_at REAL, resolved_at REAL, is_current INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS alerts_current ON alerts (is_current, cluster);
CREATE INDEX IF NOT EXISTS alerts_started ON alerts (started_at);
CREATE TABLE IF NOT EXISTS notified (
    name TEXT PRIMARY KEY, cluster TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS notifications (
    key TEXT PRIMARY KEY, at REAL NOT NULL, alert_group TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL REFERENCES notifications (key),
    target TEXT NOT NULL, state TEXT NOT NULL, queued_at REAL NOT NULL, next_at REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, finished_at REAL, answer TEXT, UNIQUE (key, target)
) STRICT;
CREATE INDEX IF NOT EXISTS deliveries_open ON deliveries (target, state, number);
CREATE TABLE IF NOT EXISTS silences (
    id INTEGER PRIMARY KEY AUTOINCREMENT, matchers TEXT NOT NULL, starts_at REAL NOT NULL,
    ends_at REAL NOT NULL, author TEXT NOT NULL, comment TEXT NOT NULL, created_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS acknowledgements (
    alert TEXT PRIMARY KEY, author TEXT NOT NULL, comment TEXT NOT NULL, at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS taken_back (
    alert TEXT NOT NULL, author TEXT NOT NULL, comment TEXT NOT NULL, at REAL NOT NULL,
    taken_by TEXT NOT NULL, taken_at REAL NOT NULL, PRIMARY KEY (alert, at)
) STRICT;
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
"""


IN_MEMORY = Path(":memory:")
"""The path of a store that is no file."""

FORGET = (
    "DELETE FROM alerts WHERE is_current = 0 AND resolved_at < ?",
    "DELETE FROM deliveries WHERE state IN ('sent', 'failed') AND finished_at < ?",
    "DELETE FROM notifications WHERE at < ? AND key NOT IN (SELECT key FROM deliveries)",
    "DELETE FROM silences WHERE ends_at < ?",
    "DELETE FROM acknowledgements WHERE at < ? AND alert NOT IN (SELECT id FROM alerts)",
    "DELETE FROM taken_back WHERE taken_at < ? AND alert NOT IN (SELECT id FROM alerts)",
)
"""Deletes, in this order, the history that ended before a moment."""


def connect(path: Path, copy: bytes | None = None) -> sqlite3.Connection:
    """Open the file; it is made where there is none.

    Args:
        path: The file, or ``IN_MEMORY``.
        copy: Content for a store in memory.

    Raises:
        sqlite3.Error: It cannot be opened.
        StoreError: Another version of this program made it.
    """
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    # Bytes that are no text damage one value, not every reading of its table.
    connection.text_factory = lambda found: found.decode(errors="replace")
    try:
        if copy is not None:
            connection.deserialize(copy)
        lacks_tables = _lacks_tables(connection, path)
        if path != IN_MEMORY:
            _write_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")
        if lacks_tables:
            connection.executescript(
                f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA user_version={VERSION};COMMIT;"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _lacks_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether a file has no tables yet, or was made before the newest of them.

    Raises:
        StoreError: It has those of another version.
    """
    # One statement: another process may be making the tables at this moment.
    version, tables, newest = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), count(*), "
        "count(*) FILTER (WHERE name = 'taken_back') FROM sqlite_master"
    ).fetchone()
    if tables and version != VERSION:
        where = "the state of alerts in the lake" if path == IN_MEMORY else path
        raise StoreError(
            f"{where}: this alert store has version {version}, and this program needs version "
            f"{VERSION}: start the program that made it, or move the file away and start again "
            "(silences and acknowledgements go with it, and what fires is notified anew)"
        )
    return not newest


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on, also while others open the same new file.

    SQLite does not call its busy handler for this statement: the second process gets "locked" at
    once, whatever the connection's timeout is.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
