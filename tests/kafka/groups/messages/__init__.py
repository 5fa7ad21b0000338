"""Requests that make a member of a Streams group (KIP-1071), as kafka-python loads them."""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class StreamsGroupHeartbeatRequest(ApiMessage, load_json=__name__):
    pass


class StreamsGroupHeartbeatResponse(ApiMessage, load_json=__name__):
    pass
