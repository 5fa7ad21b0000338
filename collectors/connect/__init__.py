"""Kafka Connect and MirrorMaker 2, over Connect's REST interface."""
