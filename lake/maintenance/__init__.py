"""Maintenance of all tables, by one process at a time."""
