"""Decides what is wrong: the status of groups, alerts with their causes, notifications."""
