"""The tables of the alert store."""

from __future__ import annotations

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
