"""Commit times and rates: the group coordinators' log, or an estimate without it."""
