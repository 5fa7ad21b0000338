"""What the busiest of a number of consumers gets, against what it may get."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alerting.status.phrases import rate, share
from scaling.advice.model import Evidence
from scaling.facts.intervals import Floats
from scaling.sizing.size import SizeInputs, member_rates

BUSIEST = "busiest consumer"
ALLOWED = "allowed for it"
"""The names of the two figures that are compared."""


class BusiestConsumer(NamedTuple):
    """The consumer that gets most of what it can process."""

    consumers: int  # of how many it is the busiest
    per_second: float
    share: float  # of what all get
    at_least: float  # what it can process, messages per second: the lower end
    utilisation: float  # how much of that it may be used

    @property
    def allowed(self) -> float:
        """What it may get, messages per second."""
        return self.utilisation * self.at_least

    def words(self, verb: str = "gets") -> str:
        """Compare what it gets with what it may get, so that a reader can check the sum."""
        who, part = f"the busiest of {self.consumers}", f" ({share(self.share)})"
        if self.consumers == 1:
            who, part = "a single one", ""
        compared = "more than" if self.per_second > self.allowed else "within"
        return (
            f"{who} {verb} {rate(self.per_second)}{part}, {compared} the {rate(self.allowed)} "
            f"allowed ({share(self.utilisation)} of the {rate(self.at_least)} that it processes at "
            "least)"
        )

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The same as figures."""
        return (
            Evidence(name=BUSIEST, value=self.per_second, unit="messages/s"),
            Evidence(name="its share", value=round(self.share, 3), unit="ratio"),
            Evidence(name=ALLOWED, value=self.allowed, unit="messages/s"),
            Evidence(name="utilisation allowed", value=round(self.utilisation, 3), unit="ratio"),
        )


def busiest_consumer(
    inputs: SizeInputs, loads: Floats, consumers: int, utilisation: float
) -> BusiestConsumer:
    """Return the consumer that would get most of what it can process.

    Args:
        inputs: What is known of the group.
        loads: Messages per second by partition; what a message blocks is nobody's load.
        consumers: How many there are.
        utilisation: How much of what one can process it may be used.
    """
    if inputs.blocked is not None:
        loads = np.where(inputs.blocked, 0.0, loads)
    held = np.bincount(inputs.assignment.holders(consumers), loads, minlength=consumers)
    rates = member_rates(inputs, consumers)
    busiest, total = int(np.argmax(held / rates)), float(held.sum())
    return BusiestConsumer(
        consumers=consumers,
        per_second=float(held[busiest]),
        share=float(held[busiest]) / total if total else 1 / consumers,
        at_least=float(rates[busiest]),
        utilisation=utilisation,
    )
