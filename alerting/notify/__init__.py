"""Sending messages to their targets."""
