"""For each behaviour that the demo shows: the right status and the right advice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.status.group_status import Status
from scaling.advice.model import AdviceKind, AdviceSeverity, CaveatLevel
from scaling.advisers.falling_behind import FallingBehind
from scaling.advisers.slowed_consumer import slowed_consumer
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import GroupFacts
from tests.unit.alerting.status.scenarios import changed, constant, window
from tests.unit.scaling.advisers.advising import WEEK, advice_on, evidence, facts, kinds, six


def test_healthy_group_keeps_what_it_has() -> None:
    healthy = facts(six())

    [advice] = advice_on(healthy)

    assert healthy.status.status is Status.OK
    assert advice.kind is AdviceKind.KEEP
    assert (advice.current, advice.proposed) == (3, 3)
    assert advice.severity is AdviceSeverity.INFO
    assert evidence(advice)["useful numbers of consumers"] == "1, 2, 3, 6"


def test_peak_that_overtakes_capacity_wants_more_but_names_no_number() -> None:
    late = facts(
        six(arrival=lambda t: 100.0 + max(0.0, t) / 2, capacity=constant(150.0)),
        holders=lambda p: f"m{p % 3}",
    )

    [advice] = advice_on(late)

    assert late.status.status is Status.FALLING_BEHIND
    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert advice.current == 3
    assert advice.proposed is None
    assert "was not measured" in (advice.unknown_reason or "")
    assert evidence(advice)["next useful number of consumers"] == 6
    arrival, consumption = evidence(advice)["arrival"], evidence(advice)["consumption"]
    assert isinstance(arrival, float) and isinstance(consumption, float)
    assert arrival > consumption == pytest.approx(6 * 150, rel=0.05)


def slow(seen: float, **more: object) -> GroupFacts:
    """Return three consumers that get 200/s each and do less; one was seen to do ``seen``."""
    return facts(
        six(arrival=constant(100.0), capacity=constant(60.0), warm_up=0.0),
        **{  # type: ignore[arg-type]
            "holders": lambda p: f"m{p % 3}",
            "capacity": Capacity(status=CapacityStatus.LOWER_BOUND, reason="seen", low=seen),
            **more,
        },
    )


def test_consumers_that_did_enough_before_may_need_no_more_of_them() -> None:
    [advice] = advice_on(slow(250.0))
    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert "so more may not be needed: see first what slows the handlers." in advice.reason
    figures = evidence(advice)
    assert figures["busiest consumer"] == pytest.approx(200.0, rel=0.05)
    assert figures["seen of one consumer, at least"] == 250.0


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(slow(150.0), id="less than it gets"),
        pytest.param(slow(250.0, capacity=None), id="nothing was seen"),
        pytest.param(slow(250.0, holders=lambda p: None), id="who holds what is unknown"),
    ],
)
def test_consumers_that_were_not_seen_to_do_enough_are_not_called_slow(late: GroupFacts) -> None:
    [advice] = advice_on(late)
    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert "may not be needed" not in advice.reason


def test_what_retention_deletes_is_no_work_that_was_seen() -> None:
    late = slow(250.0)
    numbers = replace(late.status.numbers, lost_messages=9)
    assert slowed_consumer(late) is not None
    assert slowed_consumer(replace(late, status=replace(late.status, numbers=numbers))) is None


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        pytest.param(3, AdviceKind.ADD_CONSUMERS, id="more consumers"),
        pytest.param(6, AdviceKind.PARTITION_BOUND, id="the bound of the partitions"),
    ],
)
def test_a_group_that_falls_behind_in_a_part_says_where_and_nothing_of_the_whole(
    members: int, kind: AdviceKind
) -> None:
    late = facts(six(members=members), holders=lambda p: f"m{p % members}", members=members)
    numbers = late.status.numbers
    part = replace(late.partitions[0].status, status=Status.FALLING_BEHIND)
    behind = replace(
        late,
        partitions=(replace(late.partitions[0], status=part), *late.partitions[1:]),
        status=replace(
            late.status,
            status=Status.FALLING_BEHIND,
            numbers=replace(numbers, arrival_per_second=87.0, consumption_per_second=95.0),
        ),
    )

    advice = advice_on(behind)[0]

    assert advice.kind is kind
    assert advice.reason.startswith(f"The group falls behind on {part.topic}-{part.partition}. ")
    assert "More arrives than is consumed" not in advice.reason
    there = evidence(advice)
    assert there["falls behind on"] == f"{part.topic}-{part.partition}"
    assert there["waiting there"] == part.numbers.lag
    assert "/s" not in advice.reason, "figures are of minutes ago: they are its evidence"


def test_rates_that_are_even_are_not_why_a_group_falls_behind() -> None:
    even = FallingBehind("The group falls behind on t-1", 90.0, 92.0, 300, "t-1")
    assert [one.name for one in even.evidence] == ["falls behind on", "waiting there"]
    grows = even._replace(consumption=80.0)
    assert grows.evidence[-1].name == "consumption there"


@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        pytest.param("sessioned", AdviceKind.KEEP, id="workers of Kafka Connect"),
        pytest.param("range", AdviceKind.UNKNOWN, id="a sink that committed nothing"),
    ],
)
def test_workers_of_connect_are_no_consumers(protocol: str, kind: AdviceKind) -> None:
    silent = facts([], kind="connect", assignor=protocol)

    advice = advice_on(replace(silent, members=2))[0]

    assert advice.kind is kind
    assert ("workers of Kafka Connect" in advice.reason) == (kind is AdviceKind.KEEP)


def test_no_useful_numbers_are_unknown_and_not_an_empty_text() -> None:
    known = facts(six())
    nothing = replace(known, partitions=(), topics={}, members=None)

    advice = advice_on(nothing)[0]

    assert advice.kind is AdviceKind.UNKNOWN
    assert evidence(advice)["useful numbers of consumers"] is None


def test_more_members_than_partitions_lose_the_idle_ones() -> None:
    wide = facts(six(members=8), members=8, idle_members=2)

    [advice] = advice_on(wide)

    assert wide.status.status is Status.OK
    assert advice.kind is AdviceKind.REMOVE_IDLE_CONSUMERS
    assert (advice.current, advice.proposed) == (8, 6)
    assert evidence(advice)["idle now"] == 2
    assert any("takes over at once" in caveat.text for caveat in advice.caveats)


def test_stopped_group_is_started_not_scaled() -> None:
    stopped = facts(
        six(members=0, state="empty", capacity=constant(0.0), backlog=500),
        holders=lambda p: None,
    )

    [advice] = advice_on(stopped)

    assert stopped.status.status is Status.STOPPED
    assert advice.kind is AdviceKind.START_CONSUMERS
    assert advice.severity is AdviceSeverity.ACT_NOW
    assert evidence(advice)["time until retention"] == pytest.approx(WEEK, rel=0.01)
    assert advice.proposed is None and advice.unknown_reason


def test_a_group_that_stopped_is_started_with_as_many_as_ran() -> None:
    stopped = facts(
        six(members=0, state="empty", capacity=constant(0.0), backlog=500),
        holders=lambda p: None,
        members_before=3,
    )

    [advice] = advice_on(stopped)

    assert advice.kind is AdviceKind.START_CONSUMERS
    assert (advice.current, advice.proposed, advice.unknown_reason) == (0, 3, None)
    assert advice.reason == "Start 3 consumers, as many as ran before.", "the status says why"
    assert [one.text.split()[-1] for one in advice.artefacts] == ["--replicas=3"]


def test_connector_of_a_stopped_sink_is_restarted() -> None:
    stopped = facts(
        six(members=0, state="empty", capacity=constant(0.0), backlog=500),
        holders=lambda p: None,
        kind="connect",
    )

    [advice] = advice_on(stopped)

    assert advice.kind is AdviceKind.RESTART_CONNECTOR
    assert "Kafka Connect" in advice.reason and "consumers" not in advice.reason


def test_next_generation_group_is_advised_like_a_classic_one() -> None:
    late = facts(
        six(arrival=constant(200.0), capacity=constant(150.0)),
        type="consumer",
        assignor="uniform",
    )

    [advice] = advice_on(late)

    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert not any("range" in caveat.text for caveat in advice.caveats)


def test_transactional_pipeline_keeps_what_it_has() -> None:
    pipeline = facts(six(markers=1, arrival=constant(5.0)))

    [advice] = advice_on(pipeline)

    assert pipeline.status.status is Status.OK
    assert advice.kind is AdviceKind.KEEP


def test_every_partition_has_its_consumer_and_the_group_is_late() -> None:
    bound = facts(six(members=6, arrival=constant(200.0), capacity=constant(150.0)), members=6)

    [advice] = advice_on(bound)

    assert advice.kind is AdviceKind.PARTITION_BOUND
    assert (advice.quantity, advice.current, advice.proposed) == ("partitions", 6, None)
    assert advice.caveats[0].level is CaveatLevel.BLOCKER
    assert advice.reason.startswith("The group falls behind. Every partition ")
    assert "more consumers will not help" in advice.reason
    assert advice.artefacts == ()


def test_late_group_with_idle_members_hears_both() -> None:
    found = advice_on(
        facts(six(members=8, arrival=constant(200.0), capacity=constant(150.0)), members=8)
    )

    assert kinds(found) == [AdviceKind.PARTITION_BOUND, AdviceKind.REMOVE_IDLE_CONSUMERS]


@pytest.mark.parametrize(
    ("more", "level", "part"),
    [
        pytest.param({"kind": "streams"}, CaveatLevel.BLOCKER, "Streams", id="streams"),
        pytest.param({"kind": "ksqldb"}, CaveatLevel.BLOCKER, "Streams", id="ksqldb"),
        pytest.param({"static_members": 0}, CaveatLevel.BLOCKER, "order is lost", id="plain"),
    ],
)
def test_caveats_of_more_partitions(more: dict[str, object], level: CaveatLevel, part: str) -> None:
    [advice] = advice_on(
        facts(six(members=6, arrival=constant(200.0), capacity=constant(150.0)), members=6, **more)
    )

    assert any(c.level is level and part in c.text for c in advice.caveats)


@pytest.mark.parametrize(
    ("more", "part"),
    [
        pytest.param({"static_members": 3}, "group.instance.id", id="static membership"),
        pytest.param({"kind": "connect"}, "tasks.max", id="connect"),
        pytest.param({"kind": "ditto"}, "clientCount", id="ditto"),
        pytest.param({"assignor": "range"}, "cooperative", id="range"),
    ],
)
def test_caveats_of_other_members(more: dict[str, object], part: str) -> None:
    [advice] = advice_on(facts(six(arrival=constant(200.0), capacity=constant(150.0)), **more))

    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert any(part in caveat.text for caveat in advice.caveats)


def test_share_group_is_not_bound_by_partitions() -> None:
    found = advice_on(
        facts(
            six(members=8, arrival=constant(200.0), capacity=constant(150.0)),
            members=8,
            type="share",
        )
    )

    assert kinds(found) == [AdviceKind.ADD_CONSUMERS]


def test_range_over_two_topics_is_bound_by_the_larger_one() -> None:
    parts = [window(partition=p, topic=t, poll=5.0) for t in ("a", "b") for p in range(4)]

    [advice] = advice_on(facts(parts, members=6, idle_members=2))

    assert advice.kind is AdviceKind.REMOVE_IDLE_CONSUMERS
    assert advice.proposed == 4


def test_consumers_without_membership_cannot_be_counted() -> None:
    late = facts(
        six(members=0, state="empty", arrival=constant(200.0), capacity=constant(150.0)),
        holders=lambda p: None,
    )

    [advice] = advice_on(late)

    assert advice.kind is AdviceKind.ADD_CONSUMERS
    assert advice.current is None
    assert "assign their partitions themselves" in (advice.unknown_reason or "")


def test_catching_up_group_is_left_alone() -> None:
    [advice] = advice_on(facts(six(backlog=200_000, capacity=constant(220.0), warm_up=0.0)))

    assert advice.kind is AdviceKind.KEEP
    assert advice.reason.startswith("The group is catching up: ")


def test_a_count_between_two_useful_ones_is_mentioned() -> None:
    parts = [window(partition=p, members=20, poll=5.0) for p in range(24)]

    [advice] = advice_on(facts(parts, members=20))

    assert advice.kind is AdviceKind.KEEP
    assert "12 consumers would carry as much as 20" in advice.reason


@pytest.mark.parametrize(
    "unknown",
    [
        pytest.param(facts([]), id="no offsets"),
        pytest.param(facts(six(), members=None), id="members unknown"),
        pytest.param(
            facts([changed(w, lambda t, s: s._replace(lag=None)) for w in six()]), id="lag unknown"
        ),
    ],
)
def test_unknown_is_said_with_its_reason(unknown: GroupFacts) -> None:
    [advice] = advice_on(unknown)

    assert advice.kind is AdviceKind.UNKNOWN
    assert advice.proposed is None
    assert advice.unknown_reason
    assert advice.severity is AdviceSeverity.UNKNOWN


def test_no_advice_names_a_number_that_needs_a_capacity() -> None:
    for arrival in (120.0, 200.0, 400.0):
        for members in (1, 2, 3, 4, 5, 6):
            found = advice_on(
                facts(six(members=members, arrival=constant(arrival), capacity=constant(100.0)))
            )
            for advice in found:
                assert advice.kind in (AdviceKind.ADD_CONSUMERS, AdviceKind.PARTITION_BOUND)
                assert advice.proposed is None and advice.unknown_reason


def test_advice_is_as_urgent_as_the_alert_that_names_it() -> None:
    """Given a group that goes on falling behind, beyond its objective or within it."""
    slow = six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0)
    late, in_time = facts(slow, objective_seconds=60.0), facts(slow, objective_seconds=9e9)

    assert late.status.is_lasting
    assert advice_on(late)[0].kind is AdviceKind.ADD_CONSUMERS
    assert advice_on(late)[0].severity is AdviceSeverity.ACT_NOW
    assert advice_on(in_time)[0].severity is AdviceSeverity.WATCH
