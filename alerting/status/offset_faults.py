"""What the offsets of a partition did: steps backwards, a new log, what retention overtook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from alerting.status.baseline import members_of
from alerting.status.model import Sample, StatusRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """The committed offset went backwards."""

    at: float
    before: int
    after: int
    was_meant: bool  # whether the group had no members then: offsets are reset by hand only so


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """Retention deleted messages that the group had not committed."""

    since: float  # the first time in the window, in Unix seconds
    last_at: float  # the last time
    messages: int  # of all these times
    times: int


def present_log(samples: Sequence[Sample]) -> tuple[Sequence[Sample], float | None]:
    """Cut off what was before the log end last went backwards: those offsets mean nothing now."""
    highest: int | None = None
    start, restarted_at = 0, None
    for index, sample in enumerate(samples):
        if sample.log_end is None:
            continue
        if highest is not None and sample.log_end < highest:
            start, restarted_at = index, sample.at
        highest = sample.log_end
    return samples[start:], restarted_at


def rewind(samples: Sequence[Sample], rules: StatusRules) -> Rewind | None:
    """Find the last step backwards that still stands.

    Two steps back are no rewinds: one no larger than what is consumed between two samples, since a
    member that loses a partition may commit after its successor; and one from beyond the log end,
    since the log was truncated.
    """
    known = [(s, s.committed) for s in samples if s.committed is not None]
    rewind: Rewind | None = None
    largest_step = rules.minimum_messages
    for (earlier, before), (sample, after) in pairwise(known):
        if rewind is not None and after >= rewind.before:
            rewind = None
        cut = earlier.log_end is not None and before > earlier.log_end
        if before - after > largest_step and not cut:
            was_meant = members_of(sample) == 0 or members_of(earlier) == 0
            if rewind is None:
                rewind = Rewind(at=sample.at, before=before, after=after, was_meant=was_meant)
            else:
                meant = was_meant and rewind.was_meant
                rewind = Rewind(
                    at=sample.at, before=max(before, rewind.before), after=after, was_meant=meant
                )
        largest_step = max(largest_step, after - before)
    return rewind


def came_to_new_log_at(samples: Sequence[Sample], rules: StatusRules) -> float | None:
    """Return when the group first committed an offset of a log that was recreated.

    None where it did so soon after.
    """
    beyond_since, came_at = None, None
    for sample in samples:
        if sample.committed is None or sample.log_end is None:
            continue
        if sample.committed > sample.log_end:
            beyond_since = sample.at if beyond_since is None else beyond_since
            continue
        if beyond_since is not None and sample.at - beyond_since >= rules.window_seconds:
            came_at = sample.at
        beyond_since = None
    return came_at


def reads_to_end(samples: Sequence[Sample], *, from_end: bool = False) -> bool:
    """Return whether the group has read up to the very end of a log in which messages arrive.

    Markers of transactions keep it from that, except before the first of them.

    Args:
        samples: In order of time.
        from_end: Whether it must have been there in the sample before, too.
    """
    return any(
        after.lag == 0
        and (before.lag == 0 or not from_end)
        and after.log_end is not None
        and before.log_end is not None
        and after.log_end > before.log_end
        for before, after in pairwise(samples)
    )


def largest_commit(samples: Sequence[Sample]) -> int:
    """Return the most messages that were committed from one sample to the next."""
    known = [sample.committed for sample in samples if sample.committed is not None]
    return max((after - before for before, after in pairwise(known)), default=0)


def grew_since(samples: Sequence[Sample], since: float | None) -> bool:
    """Return whether messages arrived since a moment; never since none."""
    if since is None:
        return False
    ends = [s.log_end for s in samples if s.at >= since and s.log_end is not None]
    return len(ends) > 1 and ends[-1] > ends[0]


def overtaken(samples: Sequence[Sample]) -> Overtaken | None:
    """Find where the log start passed the committed offset.

    A consumer still commits what it had fetched, and goes on behind what is gone, so that the
    newest sample may show less than earlier ones. What is lost until it commits beyond what was
    deleted is one time, and several times add up. What it commits below that was read in time: the
    same messages do not count again.
    """
    found: Overtaken | None = None
    before: int | None = None
    deleted_to = 0
    risen = earlier = 0
    for sample in samples:
        if sample.log_start is None or sample.committed is None:
            continue
        lost = max(0, sample.log_start - sample.committed)
        if before is not None and lost > before:
            found = Overtaken(
                since=found.since if found else sample.at,
                last_at=sample.at,
                messages=max(found.messages if found else 0, earlier + risen + lost - before),
                times=(found.times if found else 0) + (risen == 0),
            )
            risen += lost - before
        elif before is not None and lost < before:
            if found and sample.committed >= deleted_to:
                earlier, risen = found.messages, 0
            else:
                risen = max(0, risen - (before - lost))
        before, deleted_to = lost, sample.log_start
    return found
