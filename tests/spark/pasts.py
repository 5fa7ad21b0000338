"""Pasts in which everything happens that history must get right."""

from __future__ import annotations

from datetime import timedelta

from tests.spark import bronze


def eventful(seed: int, polls: int = 40) -> list[bronze.Rows]:
    """Return polls with gaps, unknowns, resets, a new partition, a deleted group."""
    model = bronze.Model(seed=seed)
    step = timedelta(seconds=model.interval_seconds)
    rows, at = [], bronze.START
    for number in range(polls):
        if number == polls // 4:
            model.recreate("topic-0")
        if number == polls // 3:
            model.add_partition("shared")
        if number == polls // 2:
            model.rewind("group-1")
            at += timedelta(seconds=47)  # longer than a difference may reach
        if number == 2 * polls // 3:
            model.delete_group("group-2")
        rows.append(model.poll(at))
        at += step
    return rows


def quiet(seed: int, polls: int) -> list[bronze.Rows]:
    """Return polls in which most partitions come to rest, and of which a group is deleted."""
    model = bronze.Model(seed=seed, calm=True)
    step = timedelta(seconds=model.interval_seconds)
    rows = []
    for number in range(polls):
        if number == 4:
            model.idle = frozenset(model.topics) - {"shared"}
        if number == 2 * polls // 3:
            model.delete_group("group-1")
        rows.append(model.poll(bronze.START + step * number))
    return rows
