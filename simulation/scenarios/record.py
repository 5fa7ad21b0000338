"""Scenarios from the simulator: what is drawn for a variant, and how a run becomes samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, isnan, log
from typing import TypeVar

import numpy as np

from simulation.model import Consumers, GroupObservation, Rate, SimulatedEvent, Workload
from simulation.scenarios.model import Scenario, ScenarioPartition, ScenarioSample, Truth
from simulation.simulator import Simulation

_Value = TypeVar("_Value")

HOUR = 3600.0
Change = Callable[[str, int, ScenarioSample], ScenarioSample | None]
"""Topic, partition and sample to what is seen instead; None: that poll is missing."""


class Draw:
    """Draws what a variant of a scenario is made of; variant 0 is the usual case."""

    def __init__(self, name: str, variant: int) -> None:
        """Begin; one name and variant draw the same on every machine."""
        self.seed = variant
        self._rng = np.random.default_rng([variant, *name.encode()])

    def between(self, usual: float, low: float, high: float) -> float:
        """Return a number between two, evenly on a logarithmic scale."""
        drawn = exp(self._rng.uniform(log(low), log(high)))
        return usual if self.seed == 0 else float(drawn)

    def one_of(self, usual: _Value, *others: _Value) -> _Value:
        """Return one of some values."""
        options = (usual, *others)
        index = int(self._rng.integers(len(options)))
        return usual if self.seed == 0 else options[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What every scenario has: a healthy group of which something may become of.

    Attributes:
        draw: Draws further values.
        name: Name of the scenario.
        poll_seconds: Between polls.
        partitions: Of the topic.
        members: Consumers.
        arrival: Messages per second, all partitions together.
        consumers: Who consumes; a factor faster than messages arrive.
        burstiness: See ``simulation.model.Workload``.
    """

    draw: Draw
    name: str
    poll_seconds: float
    partitions: int
    members: int
    arrival: float
    consumers: Consumers
    burstiness: float

    @property
    def capacity(self) -> float:
        """Messages per second, all partitions together, with which its busiest member keeps up."""
        return self.consumers.rate_per_second / _busiest_share(self.partitions, self.members)

    def rate_for(self, capacity: float) -> float:
        """Return what each consumer processes per second in a group of a capacity."""
        return capacity * _busiest_share(self.partitions, self.members)

    def workload(
        self,
        rate: Rate | None = None,
        events: Sequence[SimulatedEvent] = (),
        **changes: float,
    ) -> Workload:
        """Return the group's work: one topic, ``orders``.

        Args:
            rate: Arrivals; the usual ones, evenly, unless given.
            events: What happens.
            **changes: Fields of ``Consumers``.
        """
        return Workload(
            name=self.name,
            topics={"orders": self.partitions},
            rate=rate or flat(self.arrival),
            consumers=replace(self.consumers, **changes) if changes else self.consumers,  # type: ignore[arg-type]
            burstiness=self.burstiness,
            events=tuple(events),
        )

    def begins(self, usual: float = 900.0) -> float:
        """Draw when something happens, in seconds."""
        return round(self.draw.between(usual, usual * 0.8, usual * 1.7))

    def scenario(
        self,
        workload: Workload,
        seconds: float,
        truth: Iterable[Truth] = (),
        *,
        changes: Sequence[Change] = (),
    ) -> Scenario:
        """Run the group and return what is seen of it; without a truth all is well.

        Args:
            workload: What is run.
            seconds: How long.
            truth: What is really going on.
            changes: What becomes of each sample, in this order.
        """
        seen = observe(workload, self.draw.seed, self.poll_seconds, seconds)
        known = tuple(truth) or (Truth(begin=0.0, end=seconds, status="OK", should_alert=False),)
        return Scenario(
            name=self.name,
            poll_seconds=self.poll_seconds,
            group="billing",
            partitions=samples_of(seen, changes),
            truth=known,
        )


def setting(name: str, variant: int, *, slowest: float = 8.0, poll: float | None = None) -> Setting:
    """Draw the group of a scenario.

    Args:
        name: Name of the scenario.
        variant: Which variant; 0 is the usual case.
        slowest: Fewest messages per second.
        poll: Seconds between polls, where it is not to be drawn.
    """
    draw = Draw(name, variant)
    arrival = draw.between(240.0, slowest, 4000.0)
    partitions = draw.one_of(6, 1, 3, 12)
    members = draw.one_of(min(3, partitions), min(partitions, 2), 1, partitions)
    spare = draw.between(1.8, 1.4, 4.0)
    poll_seconds = poll or draw.one_of(15.0, 15.0, 5.0, 30.0, 60.0)
    consumers = Consumers(
        count=members,
        rate_per_second=spare * arrival * _busiest_share(partitions, members),
        noise=draw.one_of(0.15, 0.05, 0.25),
        commit_seconds=draw.one_of(5.0, 1.0, 10.0, 20.0),
    )
    return Setting(
        draw=draw,
        name=f"{name} {variant}" if variant else name,
        poll_seconds=poll_seconds,
        partitions=partitions,
        members=members,
        arrival=arrival,
        consumers=consumers,
        burstiness=draw.one_of(0.2, 0.0, 0.5),
    )


def _busiest_share(partitions: int, members: int) -> float:
    """Of three partitions one of two members has two: it is full first."""
    return ceil(partitions / members) / partitions


def stalled(at: float, back: float, end: float) -> list[Truth]:
    """Return the truth of a group that stands still for a time and then catches up.

    Args:
        at: When it stops committing, in seconds.
        back: When it works again.
        end: The scenario's end.
    """
    return [
        Truth(begin=0.0, end=at, status="OK", should_alert=False),
        Truth(begin=at, end=back, status="STALLED", should_alert=True),
        Truth(begin=back, end=end, status="CATCHING_UP", should_alert=False),
    ]


def seen_from(begin: float, scenario: Scenario) -> Scenario:
    """Return what is seen of a scenario by a monitor that begins in the middle of it."""
    return replace(
        scenario,
        partitions=tuple(
            replace(
                part,
                samples=tuple(
                    replace(sample, t=sample.t - begin)
                    for sample in part.samples
                    if sample.t >= begin
                ),
            )
            for part in scenario.partitions
        ),
        truth=tuple(
            replace(one, begin=max(0.0, one.begin - begin), end=one.end - begin)
            for one in scenario.truth
            if one.end > begin
        ),
    )


def flat(per_second: float) -> Rate:
    """Return arrivals that do not change."""
    return lambda times: np.full(times.shape, per_second)


def observe(
    workload: Workload, seed: int, poll_seconds: float, seconds: float
) -> list[GroupObservation]:
    """Run a workload and look at it at each poll."""
    simulation = Simulation(workload, seed)
    seen = []
    for poll in range(int(seconds // poll_seconds) + 1):
        simulation.run_until(workload.starts_at + poll * poll_seconds)
        seen.append(simulation.observe())
    return seen


def samples_of(
    seen: Sequence[GroupObservation], changes: Sequence[Change] = ()
) -> tuple[ScenarioPartition, ...]:
    """Return what was seen as a scenario's partitions, each sample changed in order."""
    found: dict[tuple[str, int], list[ScenarioSample]] = {}
    begin = seen[0].at
    for one in seen:
        for index, (topic, partition) in enumerate(one.keys):
            committed = one.committed[index]
            sample: ScenarioSample | None = ScenarioSample(
                t=one.at - begin,
                log_start=int(one.log_start[index]),
                log_end=int(one.log_end[index]),
                committed=None if isnan(committed) else int(committed),
                members=one.members,
                assigned=bool(one.member[index] >= 0),
                state=one.state,
            )
            for change in changes:
                if sample is not None:
                    sample = change(topic, partition, sample)
            if sample is not None:
                found.setdefault((topic, partition), []).append(sample)
    return tuple(
        ScenarioPartition(topic=topic, partition=partition, samples=tuple(samples))
        for (topic, partition), samples in found.items()
    )
