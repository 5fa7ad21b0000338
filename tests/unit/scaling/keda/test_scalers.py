"""KEDA's arithmetic: what it accepts, what it reports, what HPA makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.keda.scalers import (
    KedaDecision,
    KedaError,
    KedaOffsets,
    KedaPreview,
    KedaTrigger,
    hpa_replicas,
)

BASE = {"bootstrapServers": "a:9092,b:9092", "consumerGroup": "billing", "topic": "orders"}


def trigger(scaler: str = "kafka", **metadata: Any) -> KedaTrigger:
    return KedaTrigger.from_metadata({**BASE, **metadata}, scaler)


def without(key: str, **metadata: Any) -> dict[str, Any]:
    return {name: value for name, value in {**BASE, **metadata}.items() if name != key}


def lags(*waiting: int, topic: str = "orders") -> dict[str, dict[int, KedaOffsets]]:
    return {
        topic: {n: KedaOffsets(committed=100, log_end=100 + lag) for n, lag in enumerate(waiting)}
    }


def metric(offsets: dict[str, dict[int, KedaOffsets]], **metadata: Any) -> int:
    return KedaPreview(trigger(**metadata)).poll(offsets).metric_lag


def test_the_defaults_are_kedas() -> None:
    assert trigger() == KedaTrigger(
        scaler="kafka",
        consumer_group="billing",
        topics=("orders",),
        partition_ranges=None,
        lag_threshold=10,
        activation_lag_threshold=0,
        offset_reset_policy="latest",
    )


@pytest.mark.parametrize("scaler", ["kafka", "apache-kafka"])
def test_strings_and_native_values_read_the_same(scaler: str) -> None:
    text = trigger(scaler, lagThreshold=" 50 ", excludePersistentLag="True", topic=" orders ")
    native = trigger(scaler, lagThreshold=50, excludePersistentLag=True)
    assert text == native
    assert trigger(scaler, lagThreshold="", version=None) == trigger(scaler)


def test_a_key_may_name_a_variable_of_the_container() -> None:
    metadata = without("topic", topicFromEnv="TOPIC")
    named = KedaTrigger.from_metadata(metadata, environment={"TOPIC": "orders"})
    assert named.topics == ("orders",)
    assert KedaTrigger.from_metadata(metadata).topics == ()


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(without("bootstrapServers"), id="no-brokers"),
        pytest.param(without("consumerGroup"), id="no-group"),
        pytest.param({**BASE, "consumerGroup": "  "}, id="blank-group"),
        pytest.param({**BASE, "lagThreshold": "0"}, id="threshold-0"),
        pytest.param({**BASE, "lagThreshold": -1}, id="threshold-negative"),
        pytest.param({**BASE, "lagThreshold": "1e3"}, id="threshold-exponent"),
        pytest.param({**BASE, "lagThreshold": 10.0}, id="threshold-float"),
        pytest.param({**BASE, "lagThreshold": "010"}, id="threshold-leading-zero"),
        pytest.param({**BASE, "lagThreshold": True}, id="threshold-bool"),
        pytest.param({**BASE, "lagThreshold": 2**63}, id="threshold-beyond-int64"),
        pytest.param({**BASE, "activationLagThreshold": "-1"}, id="activation-negative"),
        pytest.param({**BASE, "activationLagThreshold": "AA"}, id="activation-word"),
        pytest.param({**BASE, "offsetResetPolicy": "none"}, id="policy"),
        pytest.param({**BASE, "offsetResetPolicy": "Latest"}, id="policy-case"),
        pytest.param({**BASE, "allowIdleConsumers": "yes"}, id="bool-word"),
        pytest.param({**BASE, "excludePersistentLag": "tRUE"}, id="bool-case"),
        pytest.param({**BASE, "partitionLimitation": "a,b"}, id="partitions-words"),
        pytest.param({**BASE, "partitionLimitation": "1-2-3"}, id="partitions-two-dashes"),
        pytest.param({**BASE, "partitionLimitation": "1,,2"}, id="partitions-gap"),
        pytest.param({**BASE, "partitionLimitation": "-1"}, id="partitions-negative"),
        pytest.param({**BASE, "sasl": "foo"}, id="sasl"),
        pytest.param({**BASE, "tls": "yes"}, id="tls"),
        pytest.param(
            {**BASE, "allowIdleConsumers": "true", "limitToPartitionsWithLag": "true"},
            id="idle-and-limited",
        ),
        pytest.param(without("topic", limitToPartitionsWithLag="true"), id="limited-without-topic"),
    ],
)
@pytest.mark.parametrize("scaler", ["kafka", "apache-kafka"])
def test_what_both_scalers_refuse(metadata: dict[str, Any], scaler: str) -> None:
    with pytest.raises(ValueError):
        KedaTrigger.from_metadata(metadata, scaler)


@pytest.mark.parametrize(
    ("metadata", "other_too"),
    [
        pytest.param({**BASE, "version": "1.2.3.4"}, False, id="version"),
        pytest.param({**BASE, "fullMetadata": "notabool"}, False, id="full-metadata"),
        pytest.param(without("topic", fullMetadata="false"), False, id="partial-without-topic"),
        pytest.param(
            {
                **BASE,
                "ensureEvenDistributionOfPartitions": "true",
                "limitToPartitionsWithLag": "true",
            },
            False,
            id="even-and-limited",
        ),
        pytest.param(
            without("topic", ensureEvenDistributionOfPartitions="true"),
            False,
            id="even-without-topic",
        ),
        pytest.param({**BASE, "sasl": "aws_msk_iam", "awsRegion": "eu-west-1"}, False, id="msk"),
        pytest.param({**BASE, "sasl": "oauthbearer"}, True, id="oauthbearer"),
    ],
)
def test_what_one_scaler_refuses(metadata: dict[str, Any], other_too: bool) -> None:
    refusing, other = ("apache-kafka", "kafka") if other_too else ("kafka", "apache-kafka")
    with pytest.raises(ValueError):
        KedaTrigger.from_metadata(metadata, refusing)
    KedaTrigger.from_metadata(metadata, other)


def test_an_unknown_scaler_is_refused() -> None:
    with pytest.raises(ValueError, match="apache-kafka"):
        KedaTrigger.from_metadata(BASE, "kafka-go")


def test_partition_limitation_takes_lists_and_ranges() -> None:
    limited = trigger(partitionLimitation="1-4, 8,10-12")
    assert [n for n in range(14) if limited.reads("orders", n)] == [1, 2, 3, 4, 8, 10, 11, 12]
    assert not limited.reads("payments", 1)


def test_partition_limitation_is_ignored_without_a_topic() -> None:
    offsets = {**lags(5, 5), **lags(7, topic="payments")}
    preview = KedaPreview(KedaTrigger.from_metadata(without("topic", partitionLimitation="1")))
    assert preview.poll(offsets).metric_lag == 17


def test_partition_limitation_bounds_the_replicas_too() -> None:
    assert metric(lags(1000, 1000, 1000), partitionLimitation="0,1") == 2 * 10


def test_lag_is_the_sum_over_partitions() -> None:
    assert KedaPreview(trigger()).poll(lags(3, 0, 4)) == KedaDecision(
        metric_lag=7, activity_lag=7, is_active=True
    )


def test_lag_is_not_clamped_at_0() -> None:
    assert metric(lags(9, -4)) == 5


@pytest.mark.parametrize(
    ("policy", "to_zero", "lag"),
    [("latest", False, 1), ("latest", True, 0), ("earliest", False, 40), ("earliest", True, 0)],
)
def test_a_partition_never_committed(policy: str, to_zero: bool, lag: int) -> None:
    offsets = {"orders": {0: KedaOffsets(committed=-1, log_end=40)}}
    found = metric(
        offsets, offsetResetPolicy=policy, scaleToZeroOnInvalidOffset=to_zero, lagThreshold=100
    )
    assert found == lag


def test_a_partition_without_log_end_is_left_out_of_lag_and_bound() -> None:
    offsets = {
        "orders": {
            0: KedaOffsets(committed=5, log_end=None),
            1: KedaOffsets(committed=0, log_end=100),
        }
    }
    assert metric(offsets) == 10
    assert metric({"orders": {0: KedaOffsets(committed=5, log_end=None)}}) == 0


def test_active_means_above_the_activation_threshold() -> None:
    preview = KedaPreview(trigger(activationLagThreshold=5))
    assert not preview.poll(lags(5)).is_active
    assert preview.poll(lags(6)).is_active


def test_persistent_lag_leaves_the_metric_but_stays_in_the_activity() -> None:
    preview = KedaPreview(trigger(excludePersistentLag=True, lagThreshold=100))
    first = {
        "orders": {
            0: KedaOffsets(committed=10, log_end=30),
            1: KedaOffsets(committed=10, log_end=30),
        }
    }
    second = {
        "orders": {
            0: KedaOffsets(committed=10, log_end=50),
            1: KedaOffsets(committed=20, log_end=50),
        }
    }
    assert preview.poll(first) == KedaDecision(metric_lag=40, activity_lag=40, is_active=True)
    assert preview.poll(second) == KedaDecision(metric_lag=30, activity_lag=70, is_active=True)
    assert preview.poll(second) == KedaDecision(metric_lag=0, activity_lag=70, is_active=True)


def test_an_offset_never_committed_is_never_persistent() -> None:
    preview = KedaPreview(trigger(excludePersistentLag=True, offsetResetPolicy="earliest"))
    offsets = {"orders": {0: KedaOffsets(committed=-1, log_end=4)}}
    assert [preview.poll(offsets).metric_lag for _ in range(3)] == [4, 4, 4]


def test_lag_between_p_and_p_plus_1_thresholds_asks_for_one_replica_too_many() -> None:
    assert metric(lags(35, 0, 0)) == 35
    assert hpa_replicas(35, 10, 3, 1, 100) == 4
    assert metric(lags(40, 0, 0)) == 30


def test_the_last_replicas_never_start() -> None:
    capped = metric(lags(*[10_000] * 24), lagThreshold=100)
    assert capped == 2400
    assert hpa_replicas(capped, 100, 22, 1, 100) == 22
    assert hpa_replicas(capped, 100, 21, 1, 100) == 24


def test_even_distribution_takes_the_smallest_divisor_that_is_enough() -> None:
    even = {"ensureEvenDistributionOfPartitions": True}
    assert metric(lags(45, *[0] * 11), **even) == 60
    assert metric(lags(65, *[0] * 11), **even) == 120
    assert metric(lags(0, *[0] * 11), **even) == 10
    assert metric(lags(9000, *[0] * 11), **even) == 120


def test_the_bound_may_be_the_partitions_with_lag() -> None:
    assert metric(lags(500, 0, 0, 0), limitToPartitionsWithLag=True) == 10
    assert metric(lags(0, 0), limitToPartitionsWithLag=True) == 0


def test_idle_consumers_lift_the_bound_unless_another_flag_is_set() -> None:
    assert metric(lags(500), allowIdleConsumers=True) == 500
    assert metric(lags(500), allowIdleConsumers=True, ensureEvenDistributionOfPartitions=True) == 10


def test_one_scaler_takes_several_topics() -> None:
    offsets = {**lags(5), **lags(7, topic="payments"), **lags(9, topic="other")}
    named = trigger("apache-kafka", topic="orders,payments")
    assert KedaPreview(named).poll(offsets).metric_lag == 12


@pytest.mark.parametrize(
    ("offsets", "metadata"),
    [
        pytest.param({}, {}, id="topic-does-not-exist"),
        pytest.param({"orders": {}}, {}, id="topic-without-partitions"),
        pytest.param(lags(1), {"partitionLimitation": "7"}, id="no-partition-left"),
    ],
)
def test_where_keda_reports_an_error(
    offsets: dict[str, dict[int, KedaOffsets]], metadata: dict[str, str]
) -> None:
    with pytest.raises(KedaError):
        KedaPreview(trigger(**metadata)).poll(offsets)


def test_without_topic_and_members_apache_kafka_reports_an_error() -> None:
    preview = KedaPreview(KedaTrigger.from_metadata(without("topic"), "apache-kafka"))
    with pytest.raises(KedaError, match="billing"):
        preview.poll(lags(4), members=0)
    assert preview.poll(lags(4), members=1).metric_lag == 4


@pytest.mark.parametrize(
    ("metric_lag", "current", "replicas"),
    [
        pytest.param(110, 10, 10, id="exactly-10-percent-above"),
        pytest.param(90, 10, 10, id="exactly-10-percent-below"),
        pytest.param(111, 10, 12, id="beyond-above"),
        pytest.param(89, 10, 9, id="beyond-below"),
        pytest.param(0, 10, 1, id="nothing-waits"),
        pytest.param(-5, 3, 1, id="negative-lag"),
        pytest.param(1, 0, 1, id="from-none"),
        pytest.param(10_000, 10, 50, id="maximum"),
        pytest.param(600, 60, 50, id="maximum-within-the-tolerance"),
    ],
)
def test_replicas(metric_lag: int, current: int, replicas: int) -> None:
    assert hpa_replicas(metric_lag, 10, current, 1, 50) == replicas


@pytest.mark.parametrize("bad", [(1, 0, 1, 1, 2), (1, 10, -1, 1, 2), (1, 10, 1, 3, 2)])
def test_replicas_refuse_what_cannot_be(bad: tuple[int, int, int, int, int]) -> None:
    with pytest.raises(ValueError):
        hpa_replicas(*bad)


@given(
    waiting=st.lists(st.integers(0, 10_000), min_size=1, max_size=30),
    threshold=st.integers(1, 500),
)
def test_keda_never_asks_for_more_than_one_replica_beyond_the_partitions(
    waiting: list[int], threshold: int
) -> None:
    found = metric(lags(*waiting), lagThreshold=threshold)
    assert found <= sum(waiting)
    assert hpa_replicas(found, threshold, 0, 0, 10**6) <= len(waiting) + 1


@given(waiting=st.lists(st.integers(0, 10_000), min_size=1, max_size=30))
def test_even_distribution_always_divides_the_partitions(waiting: list[int]) -> None:
    found = metric(lags(*waiting), ensureEvenDistributionOfPartitions=True)
    assert len(waiting) % (found // 10) == 0
