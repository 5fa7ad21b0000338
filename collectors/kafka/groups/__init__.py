"""Reads of consumer groups: members, committed offsets, subscriptions."""
