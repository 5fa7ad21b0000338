"""The configurations of topics, of which most are alike.

An answer repeats all settings for each topic, five kilobytes of it. What is byte for byte what was
read before is not read again, and is the same object.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest

from collectors.kafka.protocol.topic_records import read_varint

_VERSION = 4
_DYNAMIC_TOPIC_CONFIG = 1
_MOST_ALIKE = 8  # that are compared with before a configuration is read

Config = Mapping[str, tuple[str | None, bool]]
"""Setting: its value, and whether it was set on the topic itself. Sensitive ones are left out."""


class TopicResult(NamedTuple):
    """What is answered for a topic."""

    error_code: int
    resource_name: str
    config: Config


class TopicConfigsRequest(DescribeConfigsRequest, init=False):  # type: ignore[call-arg, misc]
    """Asks for the configurations of topics."""

    def decode_answer(self, body: memoryview) -> Any:
        """Return the answer; None where kafka-python is to decode it.

        Raises:
            ValueError, IndexError, struct.error: Likewise.
        """
        if self.API_VERSION != _VERSION:
            return None
        data = bytes(body)
        (throttle,) = struct.unpack_from(">i", data)
        count, position = read_varint(data, 4)
        results = []
        known: list[tuple[bytes, Config]] = []  # the newest first
        for _ in range(count - 1):
            (code,) = struct.unpack_from(">h", data, position)
            _, position = _text(data, position + 2)
            name, position = _text(data, position + 1)
            alike = next((each for each in known if data.startswith(each[0], position)), None)
            if alike is None:
                config, end = _config(data, position)
                alike = data[position:end], config
                known = [alike, *known[: _MOST_ALIKE - 1]]
            encoded, config = alike
            position = _no_tags(data, position + len(encoded))
            results.append(TopicResult(code, name or "", config))
        return SimpleNamespace(throttle_time_ms=throttle, results=results)


def _config(data: bytes, position: int) -> tuple[Config, int]:
    """Return the settings of a topic, and where they end."""
    config = {}
    count, position = read_varint(data, position)
    for _ in range(count - 1):
        name, position = _text(data, position)
        value, position = _text(data, position)
        _, source, is_sensitive = struct.unpack_from(">bbb", data, position)
        synonyms, position = read_varint(data, position + 3)
        if synonyms > 1:  # which nobody has asked for
            raise ValueError("synonyms")
        _, position = _text(data, position + 1)  # behind its type: the documentation
        position = _no_tags(data, position)
        if name is not None and not is_sensitive:
            config[name] = (value, source == _DYNAMIC_TOPIC_CONFIG)
    return config, position


def _text(data: bytes, position: int) -> tuple[str | None, int]:
    length, position = read_varint(data, position)
    if not length:
        return None, position
    end = position + length - 1
    if end > len(data):
        raise ValueError("it ends too early")
    return data[position:end].decode(), end


def _no_tags(data: bytes, position: int) -> int:
    if data[position]:
        raise ValueError("fields that this version does not have")
    return position + 1
