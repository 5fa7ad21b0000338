"""How fast each consumer is at each moment."""

from __future__ import annotations

import numpy as np

from simulation.model import Consumers, Floats, Integers

_TICK_SECONDS = 5.0
_BLOCK_TICKS = 512
_STREAM = 2


class Service:
    """Capacity of each member over time: noisy, autoregressive, and slower where it is shared.

    Noise is drawn for every slot, used or not, so that a slot's good and bad moments are the same
    whatever number of consumers a policy asks for. Time only goes forward.
    """

    def __init__(self, consumers: Consumers, seed: int, step_seconds: float) -> None:
        self._consumers = consumers
        self._step = step_seconds
        self._held = max(1, round(_TICK_SECONDS / step_seconds))
        self._rng = np.random.default_rng((seed, _STREAM))
        self._kept = float(np.exp(-self._held * step_seconds / consumers.noise_seconds))
        self._log: Floats = self._rng.standard_normal(consumers.maximum)
        self._block = -1
        self._noise: Floats = np.zeros((0, consumers.maximum))
        self.factor = 1.0
        """What all members' rates are multiplied by."""
        self.member_factor: Floats = np.ones(consumers.maximum)
        """What each member's rate is multiplied by."""

    def steps(self, first: int, limit: int, slots: Integers) -> Floats:
        """Return what each of some slots can process in steps from ``first``.

        Returns:
            Messages a step, of shape (steps, slots): at most ``limit`` steps, fewer at the end of
            a block of noise.
        """
        rates = self._consumers.rate_per_second * self.factor * self.member_factor[slots]
        if self._consumers.noise:
            rates = rates * self._multipliers(first, limit, slots)
        else:
            rates = np.broadcast_to(rates, (limit, len(slots)))
        shared = self._consumers.shared_limit_per_second
        if shared is not None:
            together = rates.sum(axis=1, keepdims=True)
            rates = rates * np.minimum(1.0, shared / np.maximum(together, 1e-12))
        capacity: Floats = rates * self._step
        return capacity

    def _multipliers(self, first: int, limit: int, slots: Integers) -> Floats:
        ticks = np.arange(first, first + limit) // self._held
        block = int(ticks[0]) // _BLOCK_TICKS
        while self._block < block:
            self._draw()
        within = ticks[ticks < (block + 1) * _BLOCK_TICKS] - block * _BLOCK_TICKS
        drawn: Floats = self._noise[within[:, None], slots]
        return drawn

    def _draw(self) -> None:
        fresh = self._rng.standard_normal((_BLOCK_TICKS, len(self._log)))
        fresh *= np.sqrt(1 - self._kept**2)
        for row in fresh:
            row += self._kept * self._log
            self._log = row
        self._log = self._log.copy()
        sigma = self._consumers.noise
        self._noise = np.exp(sigma * fresh - sigma**2 / 2)
        self._block += 1
