"""Requests of the Kafka protocol that kafka-python does not bring, in its own form of definition.

Each request and each answer has a JSON file of its name here: API key, versions, fields, as the
protocol guide gives them.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


# kafka-python has no types, hence Any as a base class.
class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """Describes groups of the consumer protocol (KIP-848), many at once."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """The answer."""


class ShareGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """Describes share groups (KIP-932), many at once."""


class ShareGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """The answer."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """Describes groups of Kafka Streams' own protocol (KIP-1071), many at once."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]
    """The answer."""


class DescribeShareGroupOffsetsRequest(  # type: ignore[call-arg]
    ApiMessage,  # type: ignore[misc]
    load_json=__name__,
):
    """Asks where share groups stand in each partition, and how far behind (KIP-932, KIP-1226)."""


class DescribeShareGroupOffsetsResponse(  # type: ignore[call-arg]
    ApiMessage,  # type: ignore[misc]
    load_json=__name__,
):
    """The answer."""
