from __future__ import annotations

import socket
import time
from contextlib import closing

import pytest

from bench.support.network import DEAD, network
from collectors.kafka.protocol.sockets import Address, SocketOptions, addresses, connect


def address(host: str, port: int) -> Address:
    return Address(family=socket.AF_INET, place=(host, port), name="kafka.test")


def soon() -> float:
    return time.monotonic() + 20


def test_a_dead_address_costs_a_moment_only() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server, network() as names:
        names.dead_first.add("kafka.test")
        port = server.getsockname()[1]
        options = SocketOptions(family=socket.AF_INET)
        found = addresses("kafka.test", port, options, is_bootstrap=False)
        assert [each.place[0] for each in found] == [DEAD, "127.0.0.1"]
        opened, used = connect(found, options, soon())
        with closing(opened):
            assert used.place == ("127.0.0.1", port)
            assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_refused_address_is_followed_by_the_next_one() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        candidates = [address("127.0.0.2", port), address("127.0.0.1", port)]
        opened, used = connect(candidates, SocketOptions(), soon())
        opened.close()
        assert used == candidates[1]


def test_where_none_answers_the_first_failure_is_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        connect([address("127.0.0.1", port)], SocketOptions(), soon())


def test_no_answer_until_the_deadline() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with network() as names:
            names.dead_first.add("kafka.test")
            hole, _ = addresses(
                "kafka.test", port, SocketOptions(family=socket.AF_INET), is_bootstrap=False
            )
            with pytest.raises(TimeoutError):
                connect([hole], SocketOptions(), time.monotonic() + 0.3)


def test_socket_options_take_effect() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        options = SocketOptions(keep_alive=True, no_delay=False, receive_buffer=20_000)
        opened, _ = connect([address("127.0.0.1", port)], options, soon())
        with closing(opened):
            assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert not opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 40_000  # Linux doubles


def test_a_canonical_bootstrap_name_is_that_of_the_address() -> None:
    options = SocketOptions(family=socket.AF_INET, canonical_bootstrap=True)
    (found,) = addresses("127.0.0.1", 9092, options, is_bootstrap=True)
    assert found.name == socket.getnameinfo(("127.0.0.1", 9092), socket.NI_NAMEREQD)[0]
    (found,) = addresses("127.0.0.1", 9092, options, is_bootstrap=False)
    assert found.name == "127.0.0.1"


def test_only_the_family_that_is_asked_for() -> None:
    options = SocketOptions(family=socket.AF_INET)
    found = addresses("localhost", 9092, options, is_bootstrap=True)
    assert {each.family for each in found} == {socket.AF_INET}


@pytest.mark.parametrize("host", ["kafka..test", "k" * 64 + ".test"])
def test_what_can_be_no_name_is_not_resolved(host: str) -> None:
    with pytest.raises(socket.gaierror):
        addresses(host, 9092, SocketOptions(), is_bootstrap=False)
