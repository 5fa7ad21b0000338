"""Decides what is wrong: group status and what needs attention first. No input or output."""
