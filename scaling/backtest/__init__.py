"""Policies compared on the same workloads."""
