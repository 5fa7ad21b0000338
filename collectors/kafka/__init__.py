"""Kafka clusters: metadata, groups, offsets, dead letters. Reads only."""
