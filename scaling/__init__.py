"""Decides what to change: advice on consumers, partitions and posture, with its evidence."""
