"""Offsets that jump: resets, deleted data, topics made anew."""
