from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus

import httpx
import pytest

from collectors.exporter.server import (
    CONNECTIONS,
    LARGEST_BODY_BYTES,
    Answer,
    ExporterServer,
    ServeError,
)
from tests.support import eventually

BODY = b"headroom_topics 7\n"


def metrics(packed: bool) -> Answer:
    return Answer(
        parts=[gzip.compress(BODY) if packed else BODY], content_type="text/plain", packed=packed
    )


def broken(_: bool) -> Answer:
    raise RuntimeError("a fault of ours")


PATHS = {"/metrics": metrics, "/healthz": lambda _: Answer.of_object({"a": 1}), "/broken": broken}


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


@pytest.fixture
def server() -> Iterator[ExporterServer]:
    with ExporterServer("localhost", 0, PATHS, connection_seconds=1.0) as made:
        yield made


def get(server: ExporterServer, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    url = f"http://localhost:{server.port}{path}"
    return httpx.request(method, url, headers=headers, timeout=10, trust_env=False)


def test_a_page_plain_and_packed(server: ExporterServer) -> None:
    plain = get(server, "/metrics", **{"accept-encoding": "identity"})
    assert (plain.status_code, plain.content) == (200, BODY)
    assert "content-encoding" not in plain.headers
    packed = get(server, "/metrics?x=1", **{"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == BODY
    assert int(packed.headers["content-length"]) != len(BODY)


def test_head_has_no_body(server: ExporterServer) -> None:
    answer = get(server, "/metrics", "HEAD", **{"accept-encoding": "identity"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(BODY))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/", 404, id="no such path"),
        pytest.param("GET", "/metrics/", 404, id="no such path below one"),
        pytest.param("HEAD", "/nothing", 404, id="HEAD of none"),
        pytest.param("POST", "/metrics", 405, id="POST"),
        pytest.param("DELETE", "/metrics", 405, id="DELETE"),
        pytest.param("BREW", "/metrics", 501, id="an unknown method"),
    ],
)
def test_what_is_not_served(server: ExporterServer, method: str, path: str, status: int) -> None:
    assert get(server, path, method).status_code == status


def test_json_answers(server: ExporterServer) -> None:
    answer = get(server, "/healthz")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.text) == {"a": 1}


def test_a_fault_costs_one_answer(server: ExporterServer) -> None:
    answer = get(server, "/broken")
    assert answer.status_code == 500
    assert "a fault of ours" not in answer.text
    assert get(server, "/healthz").status_code == 200


def test_garbage_is_refused(server: ExporterServer) -> None:
    with socket.create_connection(("localhost", server.port), timeout=10) as connection:
        connection.sendall(b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert b"400" in connection.recv(1000)
    assert get(server, "/healthz").status_code == 200


def test_slow_clients_are_cut_and_do_not_pile_up(server: ExporterServer) -> None:
    before = threads()
    slow = [
        socket.create_connection(("localhost", server.port), timeout=10)
        for _ in range(CONNECTIONS + 9)
    ]
    try:
        for number in range(8):
            for each in slow:
                try:
                    each.sendall(b"GET" if number == 0 else b" ")
                except OSError:
                    continue
            assert len(threads() - before) <= CONNECTIONS
            time.sleep(0.1)

        def answered() -> bool:
            try:
                return get(server, "/healthz").status_code == 200
            except httpx.TransportError:
                return False

        # Though none of them goes by itself, their time is over after a second.
        eventually(answered, timeout_seconds=5, what="answer beside slow clients")
        eventually(lambda: not threads() - before, timeout_seconds=5, what="end of their threads")
    finally:
        for each in slow:
            each.close()


def test_the_port_is_given_back_and_threads_end() -> None:
    before = threads()
    with ExporterServer("localhost", 0, PATHS) as first:
        port = first.port
        idle = socket.create_connection(("localhost", port), timeout=10)
        assert get(first, "/healthz").status_code == 200
    with ExporterServer("localhost", port, PATHS) as second:
        assert get(second, "/healthz").status_code == 200
    idle.close()
    eventually(lambda: not threads() - before, timeout_seconds=5, what="end of all threads")


def test_a_port_in_use() -> None:
    with (
        ExporterServer("localhost", 0, PATHS) as first,
        pytest.raises(ServeError, match=f"localhost:{first.port}: the port is in use"),
    ):
        ExporterServer("localhost", first.port, PATHS)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("192.0.2.1", "no address of this machine", id="another machine's"),
        pytest.param("no-such-host.invalid", "the address is unknown", id="no name"),
    ],
)
def test_an_address_that_cannot_be_served(address: str, said: str) -> None:
    with pytest.raises(ServeError, match=said):
        ExporterServer(address, 0, PATHS)


def test_an_ipv6_address() -> None:
    try:
        made = ExporterServer("::1", 0, PATHS)
    except ServeError as error:
        pytest.skip(f"no IPv6 here: {error}")
    with made:
        url = f"http://[::1]:{made.port}/healthz"
        assert httpx.get(url, timeout=10, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("path", "authorization", "status"),
    [
        ("/metrics", "Bearer of-this-test", 200),
        ("/metrics?x=1", "Bearer of-this-test", 200),
        ("/metrics", "", 401),
        ("/metrics?x=1", "Bearer other", 401),
        ("/metrics", "Bearer of-this-test-and-more", 401),
        ("/metrics", "of-this-test", 401),
        ("/healthz", "", 200),
    ],
)
def test_a_token_guards_its_page_alone(path: str, authorization: str, status: int) -> None:
    tokens = {"/metrics": "of-this-test"}
    with ExporterServer("localhost", 0, PATHS, tokens=tokens) as server:
        answer = get(server, path, **({"authorization": authorization} if authorization else {}))
        assert answer.status_code == status
        assert (b"headroom_topics" in answer.content) is (status == 200 and "metrics" in path)
        assert ("www-authenticate" in answer.headers) is (status == 401)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="no token"),
        pytest.param({"authorization": "Bearer of-that-test"}, 401, id="another token"),
        pytest.param({"authorization": "Bearer of-this-test"}, 201, id="the token"),
    ],
)
def test_what_is_posted_needs_a_token(headers: dict[str, str], status: int) -> None:
    taken: list[bytes] = []

    def take(content: bytes) -> Answer:
        taken.append(content)
        return Answer.of_object({}, HTTPStatus.CREATED)

    with ExporterServer(
        "localhost", 0, PATHS, tokens={"/marks": "of-this-test"}, takes={"/marks": take}
    ) as server:
        url = f"http://localhost:{server.port}/marks"
        answer = httpx.post(url, content=b"a", headers=headers, timeout=10, trust_env=False)
    assert answer.status_code == status
    assert taken == ([b"a"] if status == 201 else [])


def test_a_path_without_a_token_takes_nothing() -> None:
    takes = {"/marks": lambda content: Answer.of_object({})}
    with ExporterServer("localhost", 0, PATHS, takes=takes) as server:
        assert get(server, "/marks", "POST", authorization="Bearer x").status_code == 401


@pytest.mark.parametrize("length", ["-1", "", "1e3", "99999999999999", str(LARGEST_BODY_BYTES + 1)])
def test_a_body_of_a_wrong_length_is_not_read(length: str) -> None:
    takes = {"/marks": lambda content: Answer.of_object({})}
    with (
        ExporterServer("localhost", 0, PATHS, tokens={"/marks": "t"}, takes=takes) as server,
        socket.create_connection(("localhost", server.port), timeout=10) as connection,
    ):
        head = f"POST /marks HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: {length}"
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert b" 413 " in connection.recv(1000).split(b"\r\n")[0]
