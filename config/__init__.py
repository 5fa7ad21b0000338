"""Typed settings: one YAML file, overridden by ``HEADROOM_…`` environment variables."""
