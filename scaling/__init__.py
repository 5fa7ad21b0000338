"""Decides what to change: advice on consumers, partitions and durability, with its evidence."""
