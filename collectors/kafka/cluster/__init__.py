"""Reads of topics, partitions and brokers, and what changed in them."""
