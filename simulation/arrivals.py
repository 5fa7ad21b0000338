"""Messages that arrive, drawn in blocks: the same ones however the simulation is stepped."""

from __future__ import annotations

import numpy as np

from simulation.model import Floats, Workload

_BLOCK_STEPS = 512
_BURST_SECONDS = 10.0
_STREAM = 1


class Arrivals:
    """Arrivals of each partition, step by step.

    Each block has a random generator of its own, made of the seed and the block's number, so that
    what arrives at a time depends on nothing but seed, workload and number of partitions.
    """

    def __init__(self, workload: Workload, seed: int, step_seconds: float) -> None:
        self._workload = workload
        self._seed = seed
        self._step = step_seconds
        self._shares = _shares(workload.weights, workload.partitions)
        self._block = -1
        self._drawn: Floats = np.zeros((0, workload.partitions))

    def grow(self, partitions: int) -> None:
        """Go on with more partitions, with many keys in each.

        At k times as many, the keys of partition p are hashed to p and p + j x P, and so is its
        share; at any other number all keys move, and the shares become even.
        """
        times, rest = divmod(partitions, len(self._shares))
        self._shares = _shares(None if rest else np.tile(self._shares, times), partitions)
        self._block = -1

    def steps(self, first: int, limit: int) -> Floats:
        """Return arrivals of steps from ``first``: at most ``limit``, fewer at a block's end.

        Returns:
            Whole messages, of shape (steps, partitions).
        """
        block, offset = divmod(first, _BLOCK_STEPS)
        if block != self._block:
            self._drawn = self._draw(block)
            self._block = block
        return self._drawn[offset : offset + limit]

    def _draw(self, block: int) -> Floats:
        rng = np.random.default_rng((self._seed, _STREAM, block))
        first = block * _BLOCK_STEPS
        times: Floats = (
            self._workload.starts_at
            + np.arange(first + 1, first + _BLOCK_STEPS + 1, dtype=np.float64) * self._step
        )
        rate = np.asarray(self._workload.rate(times), dtype=np.float64)
        if rate.ndim == 1:
            rate = rate[:, None] * self._shares
        elif rate.shape[1] < len(self._shares):
            rate = rate.sum(axis=1)[:, None] * self._shares
        if self._workload.burstiness:
            sigma = self._workload.burstiness
            held = max(1, round(_BURST_SECONDS / self._step))
            bursts = np.exp(sigma * rng.standard_normal(-(-_BLOCK_STEPS // held)) - sigma**2 / 2)
            rate = rate * np.repeat(bursts, held)[:_BLOCK_STEPS, None]
        drawn: Floats = rng.poisson(np.maximum(rate, 0.0) * self._step).astype(np.float64)
        return drawn


def _shares(weights: Floats | None, partitions: int) -> Floats:
    if weights is None:
        return np.full(partitions, 1.0 / partitions)
    shares: Floats = np.asarray(weights, dtype=np.float64) / np.sum(weights)
    return shares
