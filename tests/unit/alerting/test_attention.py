from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.attention import Kind, Severity, attention, headline
from alerting.attention_facts import (
    AttentionFacts,
    ClusterFact,
    CollectionFact,
    DeadLetterFact,
    DeadlineFact,
    GroupFact,
    IdleFact,
    MissingBroker,
)
from alerting.lag_status import GroupStatus, LagNumbers, Status

NOW = 1_800_000_000.0
HOUR = 3600.0


def group(name: str, status: Status, lag: int | None = 100, cluster: str = "demo") -> GroupFact:
    return GroupFact(
        cluster,
        name,
        GroupStatus(
            status,
            f"{status.value} for a reason.",
            NOW - 300,
            False,
            LagNumbers(lag=lag),
            ("orders", 0),
            1 if lag is None else 0,
            (),
        ),
        coordinator=2,
    )


def up(**more: object) -> ClusterFact:
    return ClusterFact(
        "demo",
        **{  # type: ignore[arg-type]
            "brokers": 3,
            "has_controller": True,
            "under_replicated": 0,
            "under_min_isr": 0,
            "offline": 0,
            **more,
        },
    )


def collected(
    section: str, *, age: float = 5.0, status: str = "ok", **more: object
) -> CollectionFact:
    return CollectionFact("demo", section, status, NOW - age, 15.0, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "severity"),
    [
        pytest.param(Status.LOSING_DATA, Severity.ACT_NOW, id="losing data"),
        pytest.param(Status.STOPPED, Severity.ACT_NOW, id="stopped"),
        pytest.param(Status.STALLED, Severity.ACT_NOW, id="stalled"),
        pytest.param(Status.FALLING_BEHIND, Severity.WATCH, id="falling behind"),
        pytest.param(Status.REWOUND, Severity.WATCH, id="rewound"),
        pytest.param(Status.UNKNOWN, Severity.UNKNOWN, id="unknown"),
        pytest.param(Status.CATCHING_UP, None, id="catching up"),
        pytest.param(Status.OK, None, id="ok"),
    ],
)
def test_severity_of_a_group(status: Status, severity: Severity | None) -> None:
    items = attention(AttentionFacts(NOW, groups=(group("billing", status),)))

    assert [item.severity for item in items] == ([severity] if severity else [])
    for item in items:
        assert item.link.params == {"cluster": "demo", "group": "billing"}
        assert item.since == NOW - 300
        assert item.step


def test_a_stopped_sink_is_restarted_in_kafka_connect() -> None:
    stopped = group("connect-export", Status.STOPPED)

    [sink] = attention(AttentionFacts(NOW, groups=(replace(stopped, kind="connect"),)))
    [other] = attention(AttentionFacts(NOW, groups=(replace(stopped, kind="plain"),)))

    assert "Kafka Connect" in sink.step
    assert other.step.startswith("Start its consumers;")


def test_near_deadline_makes_it_urgent_and_says_when_it_hurts() -> None:
    deadline = DeadlineFact("demo", "billing", "orders", 0, NOW + 2 * HOUR)
    facts = AttentionFacts(
        NOW, groups=(group("billing", Status.FALLING_BEHIND),), deadlines=(deadline,)
    )

    [item] = attention(facts)

    assert item.severity is Severity.ACT_NOW
    assert item.until == NOW + 2 * HOUR
    assert "retention reaches it in 2 h" in item.why


def test_far_deadline_is_said_but_not_urgent() -> None:
    deadline = DeadlineFact("demo", "billing", "orders", 0, NOW + 31 * HOUR)

    [item] = attention(
        AttentionFacts(NOW, groups=(group("billing", Status.OK),), deadlines=(deadline,))
    )

    assert item.severity is Severity.WATCH
    assert item.what == "billing is close to losing data"


def test_missing_broker_folds_what_follows_from_it() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(
            group("lost", Status.UNKNOWN, lag=None),
            group("late", Status.FALLING_BEHIND),
        ),
        clusters=(
            up(
                missing=(MissingBroker(2, NOW - 60),),
                under_replicated=6,
                under_min_isr=4,
                offline=4,
            ),
        ),
        dead_letters=(DeadLetterFact("demo", "kafka", "orders.dlq"),),
        collections=(collected("groups", status="failed", error="broker 2 timed out"),),
    )

    items = attention(facts)

    assert [item.what for item in items] == ["Broker 2 is missing", "late falls behind"]
    assert items[0].since == NOW - 60
    assert items[0].why.startswith("4 partitions without a leader, 4 below min ISR")
    assert "6 under-replicated" in items[0].why
    folded = " ".join(items[0].folded)
    for part in ("4 partitions offline", "lost is unknown", "orders.dlq", "Collecting groups"):
        assert part in folded


def test_broker_of_another_cluster_explains_nothing_here() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(group("lost", Status.UNKNOWN, lag=None, cluster="other"),),
        clusters=(up(missing=(MissingBroker(2),)),),
    )

    assert [item.cluster for item in attention(facts)] == ["demo", "other"]


@pytest.mark.parametrize(
    ("facts", "whats", "severity"),
    [
        pytest.param(
            {"under_replicated": 3}, ["3 partitions under-replicated"], Severity.WATCH, id="URP"
        ),
        pytest.param(
            {"under_replicated": 3, "under_min_isr": 1},
            ["1 partition under min ISR"],
            Severity.ACT_NOW,
            id="under min ISR folds under-replicated",
        ),
        pytest.param(
            {"has_controller": False}, ["No active controller"], Severity.ACT_NOW, id="controller"
        ),
        pytest.param({}, [], None, id="all well"),
        pytest.param(
            {"has_controller": None, "under_replicated": None, "offline": None},
            [],
            None,
            id="unknown numbers are no alarm of their own",
        ),
    ],
)
def test_replication_without_a_missing_broker(
    facts: dict[str, object], whats: list[str], severity: Severity | None
) -> None:
    items = attention(AttentionFacts(NOW, clusters=(up(**facts),)))

    assert [item.what for item in items] == whats
    assert all(item.severity is severity for item in items)


@pytest.mark.parametrize(
    ("more", "severity", "why"),
    [
        pytest.param(
            {"arrivals_per_second": 0.5, "retained": 40, "top_reason": "ValueError"},
            Severity.WATCH,
            "30/min arrive, 40 messages held, mostly ValueError, nobody redrives them",
            id="arriving, nobody redrives",
        ),
        pytest.param(
            {"arrivals_per_second": 0.0, "retained": 40},
            Severity.INFO,
            "40 messages held, nobody redrives them",
            id="held, nobody redrives",
        ),
        pytest.param(
            {
                "arrivals_per_second": 0.5,
                "retained": 40,
                "redrive_group": "redrive",
                "unprocessed": 12,
            },
            Severity.INFO,
            "30/min arrive, 12 messages unprocessed, redrive redrives",
            id="redriven",
        ),
        pytest.param(
            {"arrivals_per_second": 0.0, "retained": 40, "deleted_at": NOW + HOUR},
            Severity.ACT_NOW,
            "40 messages held, nobody redrives them, the oldest is deleted in 1 h",
            id="deleted soon",
        ),
        pytest.param(
            {"retained": 40, "unknown_reason": "no READ on orders.dlq"},
            Severity.UNKNOWN,
            "no READ on orders.dlq",
            id="arrivals unknown",
        ),
        pytest.param(
            {"arrivals_per_second": 0.5, "retained": 40, "redrive_group": "redrive"},
            Severity.UNKNOWN,
            "arrivals or depth could not be read",
            id="unprocessed unknown",
        ),
    ],
)
def test_dead_letters(more: dict[str, object], severity: Severity, why: str) -> None:
    fact = DeadLetterFact("demo", "kafka", "orders.dlq", **more)  # type: ignore[arg-type]

    [item] = attention(AttentionFacts(NOW, dead_letters=(fact,)))

    assert (item.severity, item.why) == (severity, why)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"retained": 0}, id="empty"),
        pytest.param(
            {"retained": 90, "redrive_group": "redrive", "unprocessed": 0}, id="all redriven"
        ),
    ],
)
def test_quiet_dead_letters_need_nothing(more: dict[str, object]) -> None:
    fact = DeadLetterFact("demo", "kafka", "orders.dlq", arrivals_per_second=0.0, **more)  # type: ignore[arg-type]

    assert attention(AttentionFacts(NOW, dead_letters=(fact,))) == []


def test_idle_consumers_are_information_unless_the_group_has_a_problem() -> None:
    idle = (IdleFact("demo", "billing", 8, 2, 6),)

    [alone] = attention(AttentionFacts(NOW, groups=(group("billing", Status.OK),), idle=idle))
    [with_group] = attention(
        AttentionFacts(NOW, groups=(group("billing", Status.STALLED),), idle=idle)
    )

    assert (alone.severity, alone.kind) == (Severity.INFO, Kind.IDLE)
    assert alone.step == "Run 6 instead of 8."
    assert with_group.kind is Kind.GROUP
    assert with_group.folded == ("2 consumers of 8 idle",)


def test_failed_section_is_said_with_its_error_and_its_age() -> None:
    facts = AttentionFacts(
        NOW,
        collections=(
            collected("brokers"),
            collected("dead_letters", status="failed", age=30, error="not authorized."),
        ),
    )

    [item] = attention(facts)

    assert item.what == "Collecting dead_letters fails"
    assert item.why == "not authorized; last success 30 s ago"
    assert item.severity is Severity.WATCH


def test_failed_offsets_explain_unknown_groups_once() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(group("a", Status.UNKNOWN, lag=None), group("b", Status.UNKNOWN, lag=None)),
        collections=(
            collected("brokers"),
            collected("groups", status="failed"),
            collected("group_offsets", status="failed"),
        ),
    )

    items = attention(facts)

    assert [item.what for item in items] == [
        "Collecting group_offsets fails",
        "Collecting groups fails",
    ]
    assert sorted(len(item.folded) for item in items) == [0, 2]


def test_stale_data_is_the_first_thing() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(group("a", Status.STALLED), group("b", Status.UNKNOWN, lag=None)),
        collections=(collected("brokers", age=90), collected("groups", age=90)),
        deadlines=(DeadlineFact("demo", "a", "orders", 0, NOW + 60),),
    )

    items = attention(facts)

    assert [item.kind for item in items] == [Kind.MONITOR, Kind.GROUP]
    assert items[0].severity is Severity.ACT_NOW
    assert "1 min 30 s old" in items[0].why
    assert items[0].folded == ("b is unknown: UNKNOWN for a reason",)


def test_single_poll_is_never_stale() -> None:
    fact = CollectionFact("demo", "brokers", "ok", NOW - 9999, None)

    assert attention(AttentionFacts(NOW, collections=(fact,))) == []


def test_many_unknown_groups_are_one_item() -> None:
    groups = tuple(group(f"g{i}", Status.UNKNOWN, lag=None) for i in range(7))

    [item] = attention(AttentionFacts(NOW, groups=groups))

    assert item.what == "7 groups are unknown"
    assert len(item.folded) == 7


def test_worst_first_and_no_more_than_the_limit() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(
            group("rewound", Status.REWOUND),
            group("stalled", Status.STALLED),
            group("unknown", Status.UNKNOWN, lag=None),
            group("soon", Status.STOPPED),
        ),
        deadlines=(DeadlineFact("demo", "soon", "orders", 0, NOW + 9 * HOUR),),
        idle=(IdleFact("demo", "fine", 3, 1, 2),),
        clusters=(up(missing=(MissingBroker(1),)),),
    )

    items = attention(facts)

    assert [item.what for item in items] == [
        "Broker 1 is missing",
        "soon stopped",
        "stalled stalled",
        "rewound was rewound",
        "fine has 1 idle consumer",
    ]
    assert attention(facts, limit=2) == items[:2]


def test_headline_when_things_are_wrong() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(
            group("a", Status.FALLING_BEHIND, lag=1_200_000),
            group("b", Status.FALLING_BEHIND, lag=40_000),
            group("c", Status.STALLED, lag=1),
            group("d", Status.OK, lag=0),
        ),
        clusters=(up(),),
    )

    assert headline(attention(facts), facts) == (
        "1 thing needs you now, 2 to watch. "
        "Lag total 1.24 M, 1 of 4 groups stalled, 2 falling behind. All brokers up."
    )


def test_headline_when_all_is_well() -> None:
    facts = AttentionFacts(NOW, groups=(group("d", Status.OK, lag=0),), clusters=(up(),))

    assert headline(attention(facts), facts) == (
        "Nothing needs you. Lag total 0, none of 1 group falling behind. All brokers up."
    )


def test_headline_never_makes_a_partial_sum_look_complete() -> None:
    facts = AttentionFacts(
        NOW,
        groups=(group("a", Status.UNKNOWN, lag=None), group("b", Status.OK, lag=500)),
        clusters=(ClusterFact("demo"),),
    )

    sentence = headline(attention(facts), facts)

    assert "Nothing needs you now, 1 unknown." in sentence
    assert "Lag total 500 without 1 group that could not be read in full" in sentence
    assert "Whether all brokers are up is unknown." in sentence


@pytest.mark.parametrize(
    ("statuses", "words"),
    [
        pytest.param(
            (Status.UNKNOWN, Status.UNKNOWN),
            "Lag total unknown, none can be judged, 2 of 2 groups unknown.",
            id="all",
        ),
        pytest.param(
            (Status.UNKNOWN, Status.OK, Status.OK),
            "none of the other 2 falling behind, 1 of 3 groups unknown.",
            id="some",
        ),
    ],
)
def test_headline_does_not_call_unknown_groups_well(
    statuses: tuple[Status, ...], words: str
) -> None:
    groups = tuple(
        group(f"g{number}", status, lag=None if status is Status.UNKNOWN else 0)
        for number, status in enumerate(statuses)
    )
    facts = AttentionFacts(NOW, groups=groups, clusters=(up(),))

    assert words in headline(attention(facts), facts)


def test_headline_counts_missing_brokers() -> None:
    facts = AttentionFacts(NOW, clusters=(up(missing=(MissingBroker(2),)),))

    assert headline(attention(facts), facts).endswith("1 of 3 brokers missing.")
