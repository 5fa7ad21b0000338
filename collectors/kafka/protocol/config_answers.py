"""The configurations of topics, of which most are alike.

An answer repeats all settings for each topic, five kilobytes of it. What is byte for byte what was
read before is not read again, and is the same object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest

from collectors.kafka.protocol.fetch.topic_records import FlexibleReader

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
        reader = FlexibleReader(body)
        throttle = reader.int32()
        results = []
        known: list[tuple[bytes, Config]] = []  # the newest first
        for _ in range(reader.count()):
            code, _, _, name = reader.int16(), reader.text(), reader.int8(), reader.text()
            begin = reader.position
            alike = next((each for each in known if reader.data.startswith(each[0], begin)), None)
            if alike is None:
                config = _config(reader)
                alike = reader.data[begin : reader.position], config
                known = [alike, *known[: _MOST_ALIKE - 1]]
            encoded, config = alike
            reader.position = begin + len(encoded)
            reader.no_tags()
            results.append(TopicResult(code, name or "", config))
        return SimpleNamespace(throttle_time_ms=throttle, results=results)


def configs_request(
    resource_type: int, names: Iterable[str], request: Any = DescribeConfigsRequest
) -> Any:
    """Return a request for all settings of some resources.

    Args:
        resource_type: As Kafka numbers them: 2 topics, 4 brokers, 32 groups.
        names: Which of them.
        request: Its class.
    """
    resource = request.DescribeConfigsResource
    return request(
        resources=[
            resource(resource_type=resource_type, resource_name=name, configuration_keys=None)
            for name in names
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _config(reader: FlexibleReader) -> Config:
    """Return the settings of a topic."""
    config = {}
    for _ in range(reader.count()):
        name, value = reader.text(), reader.text()
        _, source, is_sensitive = reader.flag(), reader.int8(), reader.flag()
        if reader.count():  # which nobody has asked for
            raise ValueError("synonyms")
        _, _ = reader.int8(), reader.text()  # the type and the documentation
        reader.no_tags()
        if name is not None and not is_sensitive:
            config[name] = (value, source == _DYNAMIC_TOPIC_CONFIG)
    return config
