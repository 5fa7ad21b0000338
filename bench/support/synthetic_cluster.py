"""A cluster of many topics that does not exist: encoded answers, sent by a process of its own.

It speaks as much of Kafka's protocol as a poll needs. What it does not offer, a poll leaves out as
with an old broker.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from uuid import UUID

PARTITIONS = 3
START, END = 100, 200
"""Where every log begins and ends."""
COMMITTED = 150
GROUP_TOPICS = 5
SIZE_BYTES = 1_000_000
CONFIGS = 33
"""Settings of a topic; the first one is set on the topic itself."""

_BROKERS = 3
_EARLIEST = -2
_VERSIONS = {2: 7, 3: 12, 9: 8, 15: 5, 16: 4, 18: 3, 32: 4, 35: 4}
"""API key: the one version that is spoken; all of them have the flexible encoding."""
_NONE = b"\0"  # a null text, an empty list of tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What there is: topics with three partitions, and groups that read five topics each."""

    topics: int
    groups: int


@contextmanager
def synthetic_cluster(size: Size) -> Iterator[str]:
    """Give the bootstrap servers of a cluster."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(size, theirs), daemon=True)
    process.start()
    theirs.close()  # else a process that ends early is waited for for ever
    try:
        yield ours.recv()
    finally:
        ours.send(None)
        process.join(10)


def topic_name(number: int) -> str:
    """Return the name of a topic."""
    return f"synthetic-topic-{number:06}"


def _serve(size: Size, parent: Connection) -> None:
    servers = [_Server(("127.0.0.1", 0), _Handler) for _ in range(_BROKERS)]
    ports = [int(server.server_address[1]) for server in servers]
    shared = _metadata(size, ports), _listed(size), _described(size), _committed(size)
    for broker, server in enumerate(servers):
        server.answers = _answers(size, broker, *shared)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    parent.send(",".join(f"127.0.0.1:{port}" for port in ports))
    parent.recv()


_Answer = Callable[[bytes], bytes]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    answers: dict[int, _Answer]


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while head := self.rfile.read(4):
            request = self.rfile.read(*struct.unpack(">i", head))
            key, _, correlation = struct.unpack_from(">hhi", request)
            tags = b"" if key == 18 else _NONE  # whose answer old clients have to understand
            body = self.server.answers[key](request)
            prefix = struct.pack(">i", correlation) + tags
            self.wfile.write(struct.pack(">i", len(prefix) + len(body)) + prefix + body)


def _answers(
    size: Size,
    broker: int,
    metadata: bytes,
    listed: bytes,
    described: Mapping[bytes, bytes],
    committed: Mapping[bytes, bytes],
) -> dict[int, _Answer]:
    starts, ends = _offsets(size, broker, START), _offsets(size, broker, END)
    directories = _log_directories(size, broker)
    versions = _array(struct.pack(">hhh", key, to, to) + _NONE for key, to in _VERSIONS.items())
    alone = broker == 0  # the coordinator of all groups
    no_groups = _array([])
    return {
        18: lambda _: struct.pack(">h", 0) + versions + struct.pack(">i", 0) + _NONE,
        3: lambda _: metadata,
        2: lambda request: starts if _time_of(request) == _EARLIEST else ends,
        16: lambda _: struct.pack(">ih", 0, 0) + (listed if alone else no_groups) + _NONE,
        15: lambda request: _of_groups(described, _names(request, behind_each=0)),
        # Behind a group stand a null list, which means all of its topics, and no tags.
        9: lambda request: _of_groups(committed, _names(request, behind_each=2)),
        32: _configs,
        35: lambda _: directories,
    }


def _time_of(request: bytes) -> int:
    """Return the time that a ListOffsets request asks for; all of its partitions have the same."""
    (time,) = struct.unpack_from(">q", request, len(request) - 11)
    return int(time)


def _metadata(size: Size, ports: list[int]) -> bytes:
    brokers = _array(
        struct.pack(">i", broker) + _text("127.0.0.1") + struct.pack(">i", port) + _NONE + _NONE
        for broker, port in enumerate(ports)
    )
    topics = _array(
        struct.pack(">h", 0)
        + _text(topic_name(number))
        + UUID(int=number + 1).bytes
        + b"\0"
        + _array(_partition(number, partition) for partition in range(PARTITIONS))
        + struct.pack(">i", -(2**31))
        + _NONE
        for number in range(size.topics)
    )
    head = struct.pack(">i", 0) + brokers + _text("synthetic") + struct.pack(">i", 0)
    return head + topics + _NONE


def _partition(topic: int, partition: int) -> bytes:
    leader = _leader(topic, partition)
    replicas = _array(struct.pack(">i", (leader + step) % _BROKERS) for step in range(_BROKERS))
    head = struct.pack(">hiii", 0, partition, leader, 0)
    return head + replicas + replicas + _array([]) + _NONE


def _leader(topic: int, partition: int) -> int:
    return (topic + partition) % _BROKERS


def _offsets(size: Size, broker: int, offset: int) -> bytes:
    """Return the answer for all partitions that a broker leads: a poll asks for all of them."""
    topics = _array(
        _text(topic_name(number))
        + _array(
            struct.pack(">ihqqi", partition, 0, -1, offset, 0) + _NONE
            for partition in range(PARTITIONS)
            if _leader(number, partition) == broker
        )
        + _NONE
        for number in range(size.topics)
    )
    return struct.pack(">i", 0) + topics + _NONE


def _group_names(size: Size) -> list[str]:
    return [f"synthetic-group-{number:05}" for number in range(size.groups)]


def _listed(size: Size) -> bytes:
    return _array(
        _text(name) + _text("consumer") + _text("Empty") + _NONE for name in _group_names(size)
    )


def _described(size: Size) -> dict[bytes, bytes]:
    """Return each group as it is described."""
    return {
        name.encode(): struct.pack(">h", 0)
        + b"".join(map(_text, (name, "Empty", "consumer", "")))
        + _array([])
        + struct.pack(">i", -(2**31))
        + _NONE
        for name in _group_names(size)
    }


def _committed(size: Size) -> dict[bytes, bytes]:
    """Return the committed offsets of each group."""
    partitions = _array(
        struct.pack(">iqi", partition, COMMITTED, -1) + _text("") + struct.pack(">h", 0) + _NONE
        for partition in range(PARTITIONS)
    )
    return {
        name.encode(): _text(name)
        + _array(
            _text(topic_name((number * GROUP_TOPICS + step) % size.topics)) + partitions + _NONE
            for step in range(GROUP_TOPICS)
        )
        + struct.pack(">h", 0)
        + _NONE
        for number, name in enumerate(_group_names(size))
    }


def _of_groups(answers: Mapping[bytes, bytes], groups: Iterable[bytes]) -> bytes:
    return struct.pack(">i", 0) + _array(answers[group] for group in groups) + _NONE


def _names(request: bytes, *, behind_each: int) -> list[bytes]:
    """Return the groups that a request names, with so many bytes behind each name."""
    (length,) = struct.unpack_from(">h", request, 8)
    count, position = _number(request, 10 + length + 1)  # behind the client's name and the tags
    names = []
    for _ in range(count - 1):
        length, position = _number(request, position)
        names.append(request[position : position + length - 1])
        position += length - 1 + behind_each
    return names


def _configs(request: bytes) -> bytes:
    """Answer DescribeConfigs: the same settings for each topic that is asked for."""
    (length,) = struct.unpack_from(">h", request, 8)
    _, position = _number(request, 10 + length + 1)  # behind the client's name and the tags
    names = []
    while request[position] == 2:  # a topic; behind the last one two flags follow, both false
        length, position = _number(request, position + 1)
        names.append(request[position : position + length - 1])
        position += length - 1 + 2  # all settings: a null list; and no tags
    results = _array(
        struct.pack(">h", 0) + _NONE + b"\2" + _varint(len(name) + 1) + name + _SETTINGS + _NONE
        for name in names
    )
    return struct.pack(">i", 0) + results + _NONE


def _log_directories(size: Size, broker: int) -> bytes:
    partitions = _array(
        struct.pack(">iqqb", partition, SIZE_BYTES, 0, 0) + _NONE for partition in range(PARTITIONS)
    )
    topics = _array(_text(topic_name(number)) + partitions + _NONE for number in range(size.topics))
    directory = struct.pack(">h", 0) + _text("/data") + topics + struct.pack(">qq", 10**12, 10**11)
    return struct.pack(">ih", 0, 0) + _array([directory + _NONE]) + _NONE


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _number(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position


def _text(value: str) -> bytes:
    data = value.encode()
    return _varint(len(data) + 1) + data


def _array(items: Iterable[bytes]) -> bytes:
    encoded = list(items)
    return _varint(len(encoded) + 1) + b"".join(encoded)


_SETTINGS = _array(
    _text("retention.ms" if number == 0 else f"synthetic.setting.{number:02}")
    + _text("3600000" if number == 0 else f"value-{number}")
    + struct.pack(">bbb", 0, 1 if number == 0 else 5, 0)
    + _array([])
    + b"\2"
    + _NONE
    + _NONE
    for number in range(CONFIGS)
)
