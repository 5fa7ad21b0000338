"""The tables of the alert store, and how its file is opened."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

_BUSY_SECONDS = 30.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS alerts (
    id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, cluster TEXT NOT NULL, state TEXT NOT NULL,
    started_at REAL NOT NULL, resolved_at REAL, is_current INTEGER NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS alerts_current ON alerts (is_current, cluster);
CREATE INDEX IF NOT EXISTS alerts_started ON alerts (started_at);
CREATE TABLE IF NOT EXISTS told (
    name TEXT PRIMARY KEY, cluster TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS notices (
    key TEXT PRIMARY KEY, at REAL NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL REFERENCES notices (key),
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
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the file; it is made where there is none.

    Raises:
        sqlite3.Error: It cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
    )
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.executescript(f"BEGIN IMMEDIATE;{SCHEMA}COMMIT;")
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on, also while others open the same new file.

    SQLite does not call its busy handler for this one statement: whoever comes second is told
    "locked" at once, however long the connection's timeout is.
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
