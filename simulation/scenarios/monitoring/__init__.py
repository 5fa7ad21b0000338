"""Samples that are missing, late or the first ones."""
