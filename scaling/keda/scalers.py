"""What KEDA's two Kafka scalers would do: their arithmetic to the letter, defects included.

From KEDA's source of August 2026 (``kafka_scaler.go``, ``apache_kafka_scaler.go``,
``typed_config.go``) and Kubernetes' ``replica_calculator.go``. Two results surprise people and
are wanted here, because they are what happens:

* The lag is cut to P x lagThreshold only where floor(lag / lagThreshold) > P. A lag between P and
  P + 1 thresholds is not cut, and HPA asks for P + 1 replicas.
* A lag cut to P thresholds lies within HPA's tolerance of 10 % once P / replicas <= 1.1: the last
  replicas are never started (24 partitions stay at 22).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from typing import Any

from scaling.keda.metadata import INT64, TriggerMetadata, whole_number

NEVER_COMMITTED = -1
SCALERS = ("kafka", "apache-kafka")

_INT32 = 2**31
_SASL = {
    "kafka": ("none", "plaintext", "scram_sha256", "scram_sha512", "oauthbearer", "gssapi"),
    "apache-kafka": ("none", "plaintext", "scram_sha256", "scram_sha512", "gssapi", "aws_msk_iam"),
}


class KedaError(ValueError):
    """KEDA would report an error instead of a metric; HPA then keeps what it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KedaOffsets:
    """A partition as KEDA reads it."""

    committed: int  # the group's committed offset; -1: nothing was ever committed
    log_end: int | None  # the next offset of the partition; None: the brokers did not tell it


@dataclass(frozen=True, slots=True, kw_only=True)
class KedaDecision:
    """What KEDA hands to HPA after one poll."""

    metric_lag: int  # the external metric, messages: total lag after exclusions and the cap
    activity_lag: int  # the lag that decides between none and some replicas, messages
    is_active: bool  # whether it exceeds activationLagThreshold


@dataclass(frozen=True, slots=True, kw_only=True)
class KedaTrigger:
    """The settings of one trigger, checked as KEDA checks them.

    Attributes:
        scaler: ``kafka`` or ``apache-kafka``.
        consumer_group: The group.
        topics: The topics it is limited to (``kafka`` takes one); empty: all that it is shown.
        partition_ranges: First and last number of each range that counts; None: every partition.
        lag_threshold: Messages per replica.
        activation_lag_threshold: Messages above which there is anything to do.
        offset_reset_policy: ``latest`` or ``earliest``.
        allow_idle_consumers: Whether there may be more replicas than partitions.
        exclude_persistent_lag: Whether partitions without progress since the last poll count as 0.
        scale_to_zero_on_invalid_offset: Whether partitions never committed count as no lag.
        limit_to_partitions_with_lag: Whether the bound is the partitions with lag.
        ensure_even_distribution_of_partitions: Whether replicas are a divisor of the partitions.
    """

    scaler: str
    consumer_group: str
    topics: tuple[str, ...] = ()
    partition_ranges: tuple[tuple[int, int], ...] | None = None
    lag_threshold: int = 10
    activation_lag_threshold: int = 0
    offset_reset_policy: str = "latest"
    allow_idle_consumers: bool = False
    exclude_persistent_lag: bool = False
    scale_to_zero_on_invalid_offset: bool = False
    limit_to_partitions_with_lag: bool = False
    ensure_even_distribution_of_partitions: bool = False

    @classmethod
    def from_metadata(
        cls,
        metadata: Mapping[str, Any],
        scaler: str = "kafka",
        *,
        environment: Mapping[str, str] | None = None,
    ) -> KedaTrigger:
        """Read the ``metadata`` of a trigger.

        Credentials come from a TriggerAuthentication, which is not part of the metadata: that they
        are complete is not checked. Keys that KEDA does not know are ignored, as KEDA does.

        Args:
            metadata: KEDA's keys with strings, or the native values of a parsed file.
            scaler: ``kafka`` or ``apache-kafka``.
            environment: The scaled container's environment, for keys that end in ``FromEnv``.

        Raises:
            ValueError: Where KEDA refuses the trigger.
        """
        if scaler not in SCALERS:
            raise ValueError(f"scaler must be one of {', '.join(SCALERS)}, not {scaler!r}")
        keys = TriggerMetadata(metadata, environment or {})
        keys.required("bootstrapServers")
        group = keys.required("consumerGroup")
        topic = keys.text("topic", from_env=True)
        names = [topic] if scaler == "kafka" else topic.split(",")
        topics = tuple(name.strip() for name in names) if topic else ()
        trigger = cls(
            scaler=scaler,
            consumer_group=group,
            topics=topics,
            partition_ranges=_partition_ranges(keys.text("partitionLimitation"), scaler),
            lag_threshold=keys.integer("lagThreshold", 10),
            activation_lag_threshold=keys.integer("activationLagThreshold", 0),
            offset_reset_policy=keys.choice("offsetResetPolicy", ("latest", "earliest"), "latest"),
            allow_idle_consumers=keys.boolean("allowIdleConsumers"),
            exclude_persistent_lag=keys.boolean("excludePersistentLag"),
            scale_to_zero_on_invalid_offset=keys.boolean("scaleToZeroOnInvalidOffset"),
            limit_to_partitions_with_lag=keys.boolean("limitToPartitionsWithLag"),
            ensure_even_distribution_of_partitions=keys.boolean(
                "ensureEvenDistributionOfPartitions"
            ),
        )
        _check_security(keys, scaler)
        if scaler == "kafka":
            _check_sarama(keys, topics)
        trigger.check()
        return trigger

    def check(self) -> None:
        """Refuse values and combinations that KEDA's ``Validate`` refuses.

        Raises:
            ValueError: With the setting and the reason.
        """
        if self.lag_threshold <= 0:
            raise ValueError("lagThreshold must be a positive number")
        if self.activation_lag_threshold < 0:
            raise ValueError("activationLagThreshold must be a non-negative number")
        limited, even = (
            self.limit_to_partitions_with_lag,
            self.ensure_even_distribution_of_partitions,
        )
        if self.allow_idle_consumers and limited:
            raise ValueError("allowIdleConsumers and limitToPartitionsWithLag exclude each other")
        if limited and not self.topics:
            raise ValueError("limitToPartitionsWithLag needs a topic")
        if self.scaler == "apache-kafka":
            return  # its Validate knows nothing of ensureEvenDistributionOfPartitions
        if limited and even:
            raise ValueError(
                "limitToPartitionsWithLag and ensureEvenDistributionOfPartitions exclude each other"
            )
        if even and not self.topics:
            raise ValueError("ensureEvenDistributionOfPartitions needs a topic")

    def reads(self, topic: str, partition: int) -> bool:
        """Return whether a partition counts; partitionLimitation is ignored without a topic."""
        if not self.topics:
            return True
        if topic not in self.topics:
            return False
        ranges = self.partition_ranges
        return ranges is None or any(first <= partition <= last for first, last in ranges)


class KedaPreview:
    """Follows a group as KEDA would; it remembers the offsets of the poll before."""

    def __init__(self, trigger: KedaTrigger) -> None:
        self._trigger = trigger
        self._previous: dict[tuple[str, int], int] = {}

    def poll(
        self,
        offsets: Mapping[str, Mapping[int, KedaOffsets]],
        *,
        members: int | None = None,
    ) -> KedaDecision:
        """Return what KEDA reports after reading these offsets.

        Args:
            offsets: By topic and partition. Without a topic in the trigger, ``kafka`` reads what
                the group has offsets for, ``apache-kafka`` every topic of the cluster.
            members: Members of the group, where known; ``apache-kafka`` needs some if the trigger
                names no topic.

        Raises:
            KedaError: Where KEDA reports an error instead of a metric.
        """
        trigger = self._trigger
        self._refuse(offsets, members)
        # KEDA goes through the log ends that it got: a partition without one neither counts as
        # lag nor for the bound.
        known = [
            (topic, number, one.committed, one.log_end)
            for topic, partitions in offsets.items()
            for number, one in partitions.items()
            if one.log_end is not None and trigger.reads(topic, number)
        ]
        lags = [self._lag(*partition) for partition in known]
        metric = sum(lag for lag, _ in lags)
        activity = sum(lag for _, lag in lags)
        capped = self._capped(metric, len(known), sum(lag > 0 for lag, _ in lags))
        return KedaDecision(
            metric_lag=capped,
            activity_lag=activity,
            is_active=activity > trigger.activation_lag_threshold,
        )

    def _refuse(
        self, offsets: Mapping[str, Mapping[int, KedaOffsets]], members: int | None
    ) -> None:
        trigger = self._trigger
        if trigger.scaler == "apache-kafka":
            if not trigger.topics and members == 0:
                raise KedaError(f"no active members in group {trigger.consumer_group}")
            return
        for topic in trigger.topics or offsets:
            if topic not in offsets:
                raise KedaError(f"topic {topic} does not exist")
            if not any(trigger.reads(topic, number) for number in offsets[topic]):
                raise KedaError(f"expected at least one active partition within the topic {topic}")

    def _lag(self, topic: str, partition: int, committed: int, end: int) -> tuple[int, int]:
        """Return what a partition adds to the metric and to the activity; not clamped at 0."""
        trigger = self._trigger
        if committed == NEVER_COMMITTED:
            if trigger.scale_to_zero_on_invalid_offset:
                return 0, 0
            lag = 1 if trigger.offset_reset_policy == "latest" else end
            return lag, lag
        lag = end - committed
        if trigger.exclude_persistent_lag:
            if self._previous.get((topic, partition)) == committed:
                return 0, lag
            self._previous[topic, partition] = committed
        return lag, lag

    def _capped(self, metric: int, partitions: int, with_lag: int) -> int:
        trigger = self._trigger
        even, limited = (
            trigger.ensure_even_distribution_of_partitions,
            trigger.limit_to_partitions_with_lag,
        )
        if trigger.allow_idle_consumers and not (even or limited):
            return metric
        threshold = trigger.lag_threshold
        if even:
            metric = threshold * next(
                (one for one in _divisors(partitions) if one * threshold >= metric), partitions
            )
        bound = with_lag if limited else partitions
        return capped_lag(metric, threshold, bound)


def capped_lag(metric_lag: int, lag_threshold: int, bound: int) -> int:
    """Return the metric as KEDA cuts it: only where it asks for more than one beyond the bound.

    Args:
        metric_lag: Total lag, messages.
        lag_threshold: Messages per replica.
        bound: Replicas that can work: the partitions, or those with lag.
    """
    return bound * lag_threshold if metric_lag // lag_threshold > bound else metric_lag


def hpa_replicas(
    metric_lag: int, lag_threshold: int, current: int, minimum: int, maximum: int
) -> int:
    """Return the replicas that HPA wants for an external metric with an average value.

    Within 10 % of ``lag_threshold`` a replica it keeps the present number; beyond, it takes
    ceil(metric / threshold). How fast it goes there is not part of it.

    Args:
        metric_lag: KEDA's metric, messages.
        lag_threshold: Messages per replica.
        current: Replicas at present.
        minimum: Fewest replicas.
        maximum: Most replicas.

    Raises:
        ValueError: For a threshold below 1, a negative number of replicas, or a minimum above the
            maximum.
    """
    if lag_threshold < 1:
        raise ValueError("lag_threshold must be a positive number")
    if current < 0 or not 0 <= minimum <= maximum:
        raise ValueError("replicas must be current >= 0 and 0 <= minimum <= maximum")
    expected = lag_threshold * current
    # In whole numbers, so that exactly 10 % is within the tolerance.
    within = 10 * abs(expected - metric_lag) <= expected
    wanted = current if within else -(-metric_lag // lag_threshold)
    return max(minimum, min(maximum, wanted))


def _partition_ranges(text: str, scaler: str) -> tuple[tuple[int, int], ...] | None:
    if not text:
        return None
    ranges = []
    for part in text.split(","):
        bounds = [bound.strip() for bound in part.split("-")]
        if len(bounds) > 2:
            raise ValueError(f"partitionLimitation has an invalid range: {part.strip()!r}")
        numbers = [_partition(bound, scaler) for bound in bounds]
        ranges.append((numbers[0], numbers[-1]))
    if scaler == "apache-kafka" and all(first > last for first, last in ranges):
        return None  # an empty list limits nothing there; the other scaler finds no partition
    return tuple(ranges)


def _partition(text: str, scaler: str) -> int:
    if scaler == "apache-kafka":
        return whole_number("partitionLimitation", text, INT64)
    # Go's ParseInt takes a sign and leading zeros; a minus was taken for a range before.
    if not re.fullmatch(r"\+?[0-9]+", text) or int(text) >= _INT32:
        raise ValueError(f"partitionLimitation must hold whole numbers, not {text!r}")
    return int(text)


def _check_security(keys: TriggerMetadata, scaler: str) -> None:
    sasl = keys.choice("sasl", _SASL[scaler], "none")
    tls = keys.choice("tls", ("enable", "disable"), "disable")
    if scaler == "kafka":
        keys.boolean("unsafeSsl")
        provider = keys.choice("saslTokenProvider", ("bearer", "aws_msk_iam"), "bearer")
        is_msk = sasl == "oauthbearer" and provider == "aws_msk_iam"
    else:
        is_msk = sasl == "aws_msk_iam"
    if is_msk and not keys.text("awsRegion"):
        raise ValueError("awsRegion must be set for AWS MSK")
    # TLS that is not mentioned may be switched on by the TriggerAuthentication.
    if is_msk and keys.text("tls") and tls != "enable":
        raise ValueError("TLS must be enabled for AWS MSK")


def _check_sarama(keys: TriggerMetadata, topics: tuple[str, ...]) -> None:
    if not keys.boolean("fullMetadata", True) and not topics:
        raise ValueError("fullMetadata false needs a topic")
    version = keys.text("version")
    if version and not re.fullmatch(r"0(\.[0-9]+){3}|[1-9][0-9]*(\.[0-9]+){2}", version):
        raise ValueError(f"version {version!r} is no version of Kafka")


def _divisors(number: int) -> list[int]:
    low = [one for one in range(1, isqrt(number) + 1) if number % one == 0]
    return sorted({*low, *(number // one for one in low)})
